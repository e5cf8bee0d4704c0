"""Table 1 of the CPPCA paper: labeled and unlabeled reviews of each kind of product, and features of them.

Of its numbers those are compared that the text of the paper repeats: 5,834 features, 4,445 unlabeled reviews of books,
and 1,600 labeled ones of DVDs with 392 more to be told.
"""

import numpy as np

from gnomon.datasets import fetch_amazon
from gnomon.experiments import amazon
from gnomon.experiments._cells import Printed, Table, draws_of

PRINTED = {("books", "unlabeled"): 4445, ("dvd", "labeled"): 1992} | {(name, "features"): 5834 for name in amazon.NAMES}
REMARK = "the paper took fewer reviews, those with any of its words, and more words; its text repeats some numbers only"


def cells(n_draws=None, *, quick=False):
    """One cell for each kind of product, however many draws are asked for."""
    return draws_of([(name, "as read", None) for name in amazon.NAMES], lambda *_: 1)


def scores(cell):
    """What there is to count of a kind of product."""
    data = fetch_amazon()
    labeled = data.labeled[data.domain == data.domain_names.index(cell.task)]
    found = {"labeled": np.count_nonzero(labeled), "unlabeled": np.count_nonzero(~labeled)}
    return {name: float(value) for name, value in (found | {"features": data.data.shape[1]}).items()}


def printed(task, method, k, score):
    """What the text of the paper says."""
    known = PRINTED.get((task, score))
    return None if known is None else Printed(known, None, 1)


TABLE = Table(
    paper=amazon.TABLE.paper.rpartition(",")[0] + ", table 1",
    cells=cells,
    scores=scores,
    printed=printed,
    remarks=lambda task, method, k: REMARK,
)
