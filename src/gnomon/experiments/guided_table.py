"""1-NN error of projected unlabeled rows on data with few labels: DPPCA beside PCA, ridge LDA and PLS.

Protocol: rows of unit length, of words TF-IDF weights; labeled at random two rows of each class below 500 rows, else
five; draws by the seeds 100, 101, ...; every method projects to K dimensions and the unlabeled rows get the class of
their nearest labeled row. PCA sees all rows, ridge LDA and PLS the labeled ones. DPPCA runs with its own choices
("auto"), which see no other label than those of the draw; "predictions" are its own, without a neighbor.
"search" is what `gnomon.selection.GuidedSearch` takes among models, preprocessing and settings, by the same labels.
"""

import warnings
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from gnomon import DPPCA, datasets
from gnomon.experiments._draw import draw_labeled, one_nn_error, one_of_c
from gnomon.experiments._record import record
from gnomon.rows.kind import is_sparse
from gnomon.selection import GuidedSearch
from gnomon.selection.baselines import NotApplicable, lda_map, pca_map, pls_map

DIMS = (5, 10, 20)
METHODS = ("PCA", "LDA", "PLS", "DPPCA", "predictions")
SEARCH = ("search", "its predictions")
FIRST_SEED = 100
SETS = ("orl_32x32", "yale_32x32", "11_tumors_166", "lung_cancer_102", "yaleb_32x32")
N_TOPICS = 20  # of tdt2, the largest, as in the SPPCA paper
SMALL = 500  # rows below which two rows per class are labeled, else five

LOADERS = {
    "orl_32x32": "fetch_orl",
    "yale_32x32": "fetch_yale",
    "yaleb_32x32": "fetch_yaleb",
    "11_tumors_166": "fetch_11_tumors",
    "lung_cancer_102": "fetch_lung_cancer",
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


def errors_of_draw(X, y, labeled, dims=DIMS, **parameters):
    """Return ({(method, K): error}, what DPPCA chose) for one draw of the rows of unit length whose class is known.

    The parameters are those of DPPCA besides `n_components`.
    """
    found = {}
    k = max(dims)
    maps = {
        "PCA": lambda m: pca_map(X, k),
        "LDA": lambda m: lda_map(X[labeled], y[labeled], k),
        "PLS": lambda m: pls_map(X[labeled], one_of_c(y[labeled]), m),
    }
    for (name, fit), m in product(maps.items(), dims):
        try:
            found[name, m] = one_nn_error(fit(m).project(X)[:, :m], y, labeled)
        except NotApplicable:
            found[name, m] = np.nan
    model = DPPCA(min(k, min(X.shape) - 1), **parameters)
    found |= _errors_of_model(METHODS[-2:], model, X, y, labeled, dims)
    return found, (model.n_factors_, model.shrinkage_, model.unlabeled_weight_)


def search_of_draw(X, y, labeled, dims=DIMS, **parameters):
    """Return ({(method, K): error}, what was chosen) of `GuidedSearch` for one draw."""
    search = GuidedSearch(n_components=min(max(dims), min(X.shape) - 1), n_permutations=0, **parameters)
    found = _errors_of_model(SEARCH, search, X, y, labeled, dims)
    row = search.results_.chosen_row
    return found, (row["model"], row["preprocessing"], *row["settings"].values())


def _errors_of_model(names, model, X, y, labeled, dims):
    """{(name, K): error} of what a model projects to, and of its predictions, once it is fitted."""
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, np.where(labeled, y, -1))
    Z, wrong = model.transform(X), float(np.mean(model.predict(X[~labeled]) != y[~labeled]))
    return {(names[0], m): one_nn_error(Z[:, :m], y, labeled) for m in dims} | {(names[1], m): wrong for m in dims}


def reproduce(sets=SETS, *, dims=DIMS, n_draws=10, methods=METHODS, **parameters):
    """Run the table; yield one record a cell, with the error to reach beside ours.

    A record holds what `_record.record` gives, data, method, K, target, and for DPPCA and the search what was chosen in
    each draw. `sets` are of `LOADERS`, `methods` are `METHODS` or `SEARCH`.
    """
    of_draw = search_of_draw if methods == SEARCH else errors_of_draw
    for name in sets:
        X, y = load(name)
        n_per_class = 2 if X.shape[0] < SMALL else 5
        draws = [
            of_draw(X, y, draw_labeled(y, n_per_class, FIRST_SEED + i), dims, **parameters) for i in range(n_draws)
        ]
        wanted = dict(zip(DIMS, TARGETS.get(name, (None,) * len(DIMS)), strict=True))
        for method, m in product(methods, dims):
            errors = [found[method, m] for found, _ in draws]
            chosen = [choice for _, choice in draws] if method in ("DPPCA", "search") else None
            yield record(errors, data=name, method=method, K=m, target=wanted.get(m), chosen=chosen)


def format_table(records):
    """Return the records as text: one line a data set and method, K in columns, the errors to reach below."""
    dims = sorted({r["K"] for r in records})
    lines = [f"{'data':18}{'method':14}" + "".join(f"{f'K = {k}':>16}" for k in dims)]
    for name in dict.fromkeys(r["data"] for r in records):
        for method in dict.fromkeys(r["method"] for r in records):
            cells = {r["K"]: r for r in records if (r["data"], r["method"]) == (name, method)}
            shown = [f"{cells[k]['mean']:.3f} ± {cells[k]['se']:.3f}" for k in dims]
            lines.append(f"{name:18}{method:14}" + "".join(f"{cell:>16}" for cell in shown))
        if name in TARGETS:
            wanted = dict(zip(DIMS, TARGETS[name], strict=True))
            shown = [f"{wanted[k]:.3f}" if wanted.get(k) else "" for k in dims]
            lines.append(f"{name:18}{'to reach':14}" + "".join(f"{cell:>16}" for cell in shown))
        chosen = next(r["chosen"] for r in records if r["data"] == name and r["chosen"])
        what = "" if isinstance(chosen[0][0], str) else " (factors, shrinkage, weight)"
        lines.append(f"{name:18}chose{what}: " + ", ".join(map(str, chosen)))
    return "\n".join(lines)
