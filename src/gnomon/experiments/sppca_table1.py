"""Table 1 of the SPPCA paper: rows, columns and classes or labels of its data sets, and of those that stand for them.

Text columns are those that are not empty. 14_Tumors cannot be had from any public source that we know. RCV1 is the
union of five public subsets, not the training set of Lewis et al. (2004).
"""

from gnomon import datasets
from gnomon.experiments import sppca_table2
from gnomon.experiments._cells import Printed, Table, draws_of
from gnomon.rows.kind import is_sparse

# rows, columns, classes
PRINTED = {
    "yale": (165, 1024, 15),
    "orl": (400, 1024, 40),
    "pie": (11554, 1024, 68),
    "yaleb": (2414, 1024, 38),
    "11_tumors": (174, 12533, 11),
    "lung_cancer": (203, 12600, 5),
    "news20": (19928, 25284, 20),
    "tdt2": (8692, 35452, 20),
    "yeast": (2417, 103, 14),
    "rcv1": (23149, 15500, 103),
}
REMARKS = {
    "11_tumors": "four bladder and four pancreas samples are not in the public copies",
    "lung_cancer": "a stratified half, the other is in no public copy of a size that is kept",
    "news20": "the paper does not say how it took words",
    "tdt2": "49 documents more; the paper does not say which it left out",
    "rcv1": "the union of five public subsets",
}
COUNTS = ("rows", "columns", "classes")


def cells(n_draws=None, *, quick=False):
    """One cell for each data set, however many draws are asked for."""
    return draws_of([(name, "as read", None) for name in PRINTED], lambda *_: 1)


def scores(cell):
    """What there is to count of a data set."""
    if cell.task in sppca_table2.SETS:
        X, y = sppca_table2.load(cell.task)
        n_classes = len(set(y.tolist()))
    else:
        data = getattr(datasets, f"fetch_{cell.task}")()
        X, n_classes = data.data, data.target.shape[1]
    n_columns = (X != 0).sum(axis=0).astype(bool).sum() if is_sparse(X) else X.shape[1]
    return dict(zip(COUNTS, map(float, (X.shape[0], n_columns, n_classes)), strict=True))


def printed(task, method, k, score):
    """What the paper prints."""
    return Printed(PRINTED[task][COUNTS.index(score)], None, 1)


TABLE = Table(
    paper="Yu, Yu, Tresp, Kriegel and Wu: Supervised probabilistic principal component analysis, KDD 2006, table 1",
    cells=cells,
    scores=scores,
    printed=printed,
    remarks=lambda task, method, k: REMARKS.get(task, ""),
)
