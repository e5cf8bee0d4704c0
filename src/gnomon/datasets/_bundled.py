"""The small real data sets that come with scikit-learn, with their origin and a digest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.utils import Bunch

from gnomon.datasets._generated import described
from gnomon.datasets._local import documented

RETURN_X_Y = """return_X_y : bool, default=False
    Return ``(data, target)`` in place of the Bunch."""


def _loader(name: str, shape: tuple[int, int], about: str) -> Callable[..., Any]:
    """The loader of a data set of scikit-learn."""
    fetch = getattr(sklearn.datasets, name)

    def load(*, return_X_y: bool = False) -> Any:
        source = fetch()
        data, target = np.asarray(source.data, dtype=np.float64), np.asarray(source.target)
        if return_X_y:
            return data, target
        return Bunch(
            **described(data, target, source.feature_names, source.get("target_names", ["progression"])),
            DESCR=source.DESCR,
            provenance=f"bundled with scikit-learn (sklearn.datasets.{name})",
        )

    load.__name__ = load.__qualname__ = name
    load.__doc__ = about
    return documented(load, RETURN_X_Y, digest="of the values", skip="", shape=shape)


load_iris = _loader("load_iris", (150, 4), "Iris: 150 flowers, 4 measurements, 3 species.")
load_wine = _loader(
    "load_wine", (178, 13), "Wine: 178 wines, 13 chemical measurements on very different scales, 3 cultivars."
)
load_digits = _loader("load_digits", (1797, 64), "Handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes.")
load_breast_cancer = _loader(
    "load_breast_cancer",
    (569, 30),
    "Breast cancer Wisconsin: 569 tumors, 30 measurements, malignant or benign.",
)
load_diabetes = _loader(
    "load_diabetes", (442, 10), "Diabetes: 442 patients, 10 measurements, disease progression as a real target."
)
