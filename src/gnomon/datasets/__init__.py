"""Data sets: bundled ones (load_*), generated ones (make_*) and real ones from public sources (fetch_*).

Each returns a Bunch with `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance` and
`sha256`. The fetch_* functions read the folder named by the environment variable GNOMON_DATA; a set whose file is not
there is downloaded from its public source, once, to the folder named by GNOMON_CACHE or that of the system, and its
content is checked (`pip install 'gnomon[data]'`). No file is shipped; `DESCR` says which license the source states.
"""

from gnomon.datasets._bundled import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from gnomon.datasets._fetch import (
    fetch_9_tumors,
    fetch_11_tumors,
    fetch_amazon,
    fetch_corn,
    fetch_crabs,
    fetch_gcm,
    fetch_lung_cancer,
    fetch_news20,
    fetch_orl,
    fetch_pie,
    fetch_rcv1,
    fetch_tdt2,
    fetch_usps,
    fetch_wq,
    fetch_yale,
    fetch_yaleb,
    fetch_yeast,
)
from gnomon.datasets._generated import make_low_rank, make_partial, make_text

__all__ = [
    "load_iris",
    "load_wine",
    "load_digits",
    "load_breast_cancer",
    "load_diabetes",
    "make_partial",
    "make_low_rank",
    "make_text",
    "fetch_yale",
    "fetch_orl",
    "fetch_yaleb",
    "fetch_pie",
    "fetch_usps",
    "fetch_crabs",
    "fetch_11_tumors",
    "fetch_9_tumors",
    "fetch_gcm",
    "fetch_lung_cancer",
    "fetch_tdt2",
    "fetch_news20",
    "fetch_amazon",
    "fetch_rcv1",
    "fetch_yeast",
    "fetch_wq",
    "fetch_corn",
]
