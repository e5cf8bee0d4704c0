"""1-NN error of projected unlabeled rows on data with few labels: guided projections beside PCA, ridge LDA and PLS.

Protocol: rows of unit length, of words TF-IDF weights; labeled at random two rows of each class below 500 rows, else
five; draws by the seeds 100, 101, ...; every method projects to K dimensions and the unlabeled rows get the class of
their nearest labeled row. PCA sees all rows, ridge LDA and PLS the labeled ones. DPPCA and GuidedProjection run with
their defaults, which see no other label than those of the draw; "search" is what `gnomon.selection.GuidedSearch` takes
among models, preprocessing and settings, by the same labels. Each is fitted once a draw, to the most dimensions;
"DPPCA predicts" and the like are predictions of its own, without a neighbor. "logistic" is logistic regression on all
columns of the labeled rows.

No paper has this table; a page tells the errors that DPPCA has to reach.
"""

from functools import lru_cache

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from gnomon import DPPCA, GuidedProjection, datasets
from gnomon.experiments._cells import Table, draws_of
from gnomon.experiments._draw import draw_labeled, one_nn_error, one_of_c
from gnomon.rows.kind import is_sparse
from gnomon.selection import GuidedSearch
from gnomon.selection.baselines import lda_map, pca_map, pls_map

DIMS = (5, 10, 20)
MODELS = {
    "DPPCA": DPPCA,
    "GuidedProjection": GuidedProjection,
    "search": lambda k: GuidedSearch(n_components=k, n_permutations=0),
}
OWN = {f"{name} predicts": name for name in MODELS}
METHODS = ("PCA", "LDA", "PLS", *MODELS, *OWN, "logistic")
FIRST_SEED = 100
N_DRAWS, FEW_DRAWS, QUICK_DRAWS = 10, 3, 2
LARGE = ("news20",)  # of fewer draws
QUICK_SETS = ("orl_32x32", "yale_32x32")
N_TOPICS = 20  # of tdt2, the largest, as in the SPPCA paper
SMALL = 500  # rows below which two rows per class are labeled, else five

LOADERS = {
    "orl_32x32": "fetch_orl",
    "yale_32x32": "fetch_yale",
    "11_tumors_166": "fetch_11_tumors",
    "lung_cancer_102": "fetch_lung_cancer",
    "yaleb_32x32": "fetch_yaleb",
    "usps": "fetch_usps",
    "usps_3456": "fetch_usps",
    "tdt2": "fetch_tdt2",
    "news20": "fetch_news20",
    "digits": "load_digits",
}

# Errors to reach with K = 5, 10, 20; None where none is set
TARGETS = {
    "orl_32x32": (0.24, 0.15, 0.15),
    "yale_32x32": (0.44, 0.40, 0.40),
    "11_tumors_166": (0.26, 0.205, None),
    "lung_cancer_102": (0.29, None, None),
    "usps_3456": (0.047, None, None),
    "tdt2": (0.12, 0.10, 0.08),
}


@lru_cache(maxsize=1)
def load(name):
    """Return rows of unit length and classes 0, 1, ... of one of `LOADERS`.

    "usps_3456" holds the digits 3 to 6, "tdt2" the 20 largest topics.
    """
    data = getattr(datasets, LOADERS[name])()
    X, y = data.data, data.target
    if name == "usps_3456":
        kept = np.isin(y, [3, 4, 5, 6])
        X, y = X[kept], y[kept]
    if name == "tdt2":
        kept = np.isin(y, np.argsort(-np.bincount(y))[:N_TOPICS])
        X, y = X[kept], y[kept]
        X = X[:, np.flatnonzero(X.getnnz(axis=0))]
    X = TfidfTransformer().fit_transform(X) if is_sparse(X) else normalize(np.asarray(X, dtype=float))
    return X, np.unique(y, return_inverse=True)[1]


def cells(n_draws=None, *, quick=False):
    """Cells of the table, all of one draw before the next; `quick` leaves the search and the large sets out."""
    kinds = [
        (name, method, k)
        for name in (QUICK_SETS if quick else LOADERS)
        for method in METHODS
        for k in ((None,) if method in (*OWN, "logistic") else DIMS)
        if not (quick and OWN.get(method, method) == "search")
    ]

    def draws(name, _, __):
        return n_draws or (QUICK_DRAWS if quick else FEW_DRAWS if name in LARGE else N_DRAWS)

    return draws_of(kinds, draws)


def labeled_of(name, seed):
    """The rows whose class is known in a draw."""
    y = load(name)[1]
    return draw_labeled(y, 2 if len(y) < SMALL else 5, FIRST_SEED + seed)


@lru_cache(maxsize=1)
def model_of(name, method, seed):
    """The fitted model of a draw, which serves all dimensions and its own predictions."""
    (X, y), labeled = load(name), labeled_of(name, seed)
    return MODELS[method](min(max(DIMS), min(X.shape) - 1)).fit(X, np.where(labeled, y, -1))


def scores(cell):
    """The error of a cell over its unlabeled rows."""
    (X, y), labeled = load(cell.task), labeled_of(cell.task, cell.seed)
    if cell.method in OWN:
        found = model_of(cell.task, OWN[cell.method], cell.seed).predict(X[~labeled])
    elif cell.method == "logistic":
        found = LogisticRegression(C=100.0, max_iter=1000).fit(X[labeled], y[labeled]).predict(X[~labeled])
    else:
        return {"error": one_nn_error(project(cell, X, y, labeled)[:, : cell.k], y, labeled)}
    return {"error": float(np.mean(found != y[~labeled]))}


def project(cell, X, y, labeled):
    """All rows by the method of a cell, in its k dimensions or more."""
    if cell.method in MODELS:
        return model_of(cell.task, cell.method, cell.seed).transform(X)
    if cell.method == "PCA":
        return pca_map(X, max(DIMS), 0).project(X)
    if cell.method == "LDA":
        return lda_map(X[labeled], y[labeled], cell.k).project(X)
    return pls_map(X[labeled], one_of_c(y[labeled]), min(cell.k, int(labeled.sum()) - 1)).project(X)


def _remark(task, method, k):
    wanted = dict(zip(DIMS, TARGETS.get(task, ()), strict=False)).get(k) if method == "DPPCA" else None
    return f"to reach: {wanted:g}" if wanted else ""


TABLE = Table(
    paper="Guided projections of rows with few labels, in no paper",
    cells=cells,
    scores=scores,
    printed=lambda task, method, k, score: None,
    remarks=_remark,
)
