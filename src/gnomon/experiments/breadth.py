"""Few labels on eighteen kinds of data: GuidedProjection beside DPPCA, SPPCA, CPPCA and the methods of others.

Protocol: the sets of classes in GNOMON_DATA/breadth, their rows as given, with standardized columns (dense ones) or of
unit length; at most 3,000 random rows of each; 1, 2, 3, 5, 10 or 20 labeled rows of each class, all but one of a
smaller one; draws by the seeds 100, 101, ..., all cells of one draw before the next. "1-NN" is the share of unlabeled
rows whose nearest labeled row in 2, 5 or 10 dimensions is of another class; a method without it is its own predictions.
Methods of others see the rows as they are: PCA, ridge LDA, PLS, NCA and UMAP (where umap-learn is installed) for 1-NN;
for predictions logistic regression, whose strength is chosen by cross-validation among the labeled rows, self-training
of logistic regression, label spreading over nearest neighbors, ridge LDA and PLS. NCA, self-training and label
spreading leave sparse rows out.
"""

import os
import warnings
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from gnomon import CPPCA, DPPCA, SPPCA, GuidedProjection
from gnomon.datasets._local import stored_fields
from gnomon.experiments._draw import draw_labeled, one_nn_error, one_of_c
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable, lda_map, pca_map, pls_map

DIMS = (2, 5, 10)
MOST_ROWS = 3000
FIRST_SEED = 100
N_LABELS = (2, 5, 1, 3, 10, 20)
SCALINGS = ("as given", "standardized", "unit rows")
OURS = "GuidedProjection"
MODELS = (GuidedProjection, DPPCA, SPPCA, CPPCA)
SETS = (
    "beef", "coffee", "coil20", "dna", "golub", "khan", "lymphoma", "mnist", "musk", "oliveoil", "pbmc68k", "pcmac",
    "r8", "segment", "strawberry", "tox171", "warpar10p", "waveform",
)  # fmt: skip
STRENGTHS = tuple(10.0 ** np.arange(-3, 5))  # of logistic regression
QUICK = {"sets": ("coffee", "khan"), "n_labels": (3,), "dims": (2,), "n_draws": 1}
TIE = 1e-3  # mean errors that are nearer are won by none


def load(name):
    """Rows and classes 0, 1, ... of one of `SETS`."""
    with np.load(path_of(name), allow_pickle=False) as arrays:
        found = stored_fields({key: arrays[key] for key in arrays.files})
    return found["data"], np.unique(found["target"], return_inverse=True)[1]


def path_of(name):
    """Where one of `SETS` is stored."""
    folder = os.environ.get("GNOMON_DATA")
    if not folder:
        raise FileNotFoundError("the sets of breadth were not looked for, because GNOMON_DATA is not set.")
    return Path(folder) / "breadth" / f"{name}.npz"


def some_rows(n, seed, most=MOST_ROWS):
    """Random ones of n rows, `most` at most, in order."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])


def scaled(X, scaling):
    """Rows as a scaling has them; None where it does not apply."""
    if scaling == "unit rows":
        return normalize(X)
    if scaling == "standardized":
        if is_sparse(X):
            return None
        std = X.std(axis=0)
        return (X - X.mean(axis=0))[:, std > 0] / std[std > 0]
    return X


def projections_of_others(X, y, labeled, k):
    """{method: a function that gives all rows in k dimensions}."""
    X_labeled, index = X[labeled], y[labeled]
    size = min(k, len(index) - 1, X.shape[1])
    found = {
        "PCA": lambda: pca_map(X, k).project(X),
        "ridge LDA": lambda: lda_map(X_labeled, index, k).project(X),
        "PLS": lambda: pls_map(X_labeled, one_of_c(index), size).project(X),
    }
    if not is_sparse(X) and len(index) > len(np.unique(index)):  # of one row each there are no neighbors of one class
        nca = NeighborhoodComponentsAnalysis(size, max_iter=30, random_state=0)
        found["NCA"] = lambda: nca.fit(X_labeled, index).transform(X)
    with suppress(ImportError):
        from umap import UMAP

        found["UMAP"] = lambda: UMAP(n_components=k, random_state=0).fit_transform(X, np.where(labeled, y, -1))
    return found


def predictions_of_others(X, y, labeled):
    """{method: a function that gives the classes of the unlabeled rows}."""
    X_labeled, index, rest, seen = X[labeled], y[labeled], X[~labeled], np.where(labeled, y, -1)

    def logistic():
        model, n_folds = LogisticRegression(max_iter=300), min(5, int(np.unique(index, return_counts=True)[1].min()))
        if n_folds > 1:
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
            model = GridSearchCV(model, {"C": STRENGTHS}, cv=folds)
        return model.fit(X_labeled, index).predict(rest)

    def by_map(found):
        return found.predict(found.project(rest))

    size = min(len(np.unique(index)), len(index)) - 1
    found = {
        "logistic": logistic,
        "ridge LDA": lambda: by_map(lda_map(X_labeled, index, size)),
        "PLS": lambda: by_map(pls_map(X_labeled, one_of_c(index), size, np.unique(index))),
    }
    if not is_sparse(X):
        self_training = SelfTrainingClassifier(LogisticRegression(max_iter=300))
        found["self-training"] = lambda: self_training.fit(X, seen).predict(rest)
        found["label spreading"] = lambda: LabelSpreading(kernel="knn").fit(X, seen).transduction_[~labeled]
    return found


def errors_of_draw(X, y, labeled, dims=DIMS):
    """{method: error} of one draw; "DPPCA 1-NN 5" is that of the nearest labeled rows in its five dimensions."""
    seen, found = np.where(labeled, y, -1), {}
    with warnings.catch_warnings(action="ignore"):
        for k in dims:
            for model in MODELS:
                fitted = model(k).fit(X, seen)
                found[f"{model.__name__} 1-NN {k}"] = one_nn_error(fitted.transform(X), y, labeled)
                found[model.__name__] = float(np.mean(fitted.predict(X[~labeled]) != y[~labeled]))
            for name, project in projections_of_others(X, y, labeled, k).items():
                with suppress(NotApplicable):
                    found[f"{name} 1-NN {k}"] = one_nn_error(project(), y, labeled)
        for name, predict in predictions_of_others(X, y, labeled).items():
            with suppress(NotApplicable):
                found[name] = float(np.mean(predict() != y[~labeled]))
    return found


def reproduce(sets=SETS, *, scalings=SCALINGS, n_labels=N_LABELS, dims=DIMS, n_draws=10, done=()):
    """Run the protocol; yield one record for each draw, number of labels, set and scaling that is not in `done`."""
    known = {_key(one) for one in done}
    for seed, n, name in product(range(FIRST_SEED, FIRST_SEED + n_draws), n_labels, sets):
        left = [scaling for scaling in scalings if (name, scaling, n, seed) not in known]
        X, y = load(name) if left else (None, None)
        for scaling in left:
            some = some_rows(len(y), seed)
            table = scaled(X[some], scaling)
            if table is not None:
                errors = errors_of_draw(table, y[some], draw_labeled(y[some], n, seed), dims)
                yield {"data": name, "scaling": scaling, "n_labels": n, "seed": seed, "errors": errors}


def _key(one):
    return one["data"], one["scaling"], one["n_labels"], one["seed"]


def format_table(records):
    """Return the records as text: for each score mean errors by number of labels, ranks, regrets and pairs of methods.

    A cell is a set, a scaling and a number of labels, its error the mean over draws. "Scale unknown" takes
    GuidedProjection on the rows as given beside every other method with the one scaling that is best for it on average.
    """
    cells = {}
    for one in records:
        for method, error in one["errors"].items():
            cells.setdefault((one["data"], one["scaling"], one["n_labels"]), {}).setdefault(method, []).append(error)
    cells = {key: {method: float(np.mean(errors)) for method, errors in cell.items()} for key, cell in cells.items()}
    methods = {method for cell in cells.values() for method in cell}
    dims = sorted({int(method.rsplit(" ", 1)[1]) for method in methods if " 1-NN " in method})
    lines = [f"{len(records)} draws of {len(cells)} cells"]
    for score in (*(f" 1-NN {k}" for k in dims), ""):
        some = {
            key: {
                m.removesuffix(score): e for m, e in cell.items() if m.endswith(score) and (score or " 1-NN " not in m)
            }
            for key, cell in cells.items()
        }
        lines += ["", f"{score.strip() or 'predictions'}: mean error", *_lines_of_score(some)]
    return "\n".join(lines)


def _lines_of_score(cells):
    """Of {cell: {method: error}}."""
    names = sorted({method for cell in cells.values() for method in cell}, key=lambda name: (name != OURS, name))
    labels = sorted({n for _, _, n in cells})
    yield (
        f"{'method':20}"
        + "".join(f"{n:>8}" for n in labels)
        + f"{'all':>8}{'rank':>8}{'won:lost':>10}{'p':>9}{'worst':>8}"
    )
    table = np.array([[cell.get(name, np.nan) for name in names] for cell in cells.values()])  # (cells, methods)
    of_n = np.array([n for _, _, n in cells])
    ranks = np.array([rankdata(np.where(np.isnan(row), np.inf, row)) for row in table])
    for j, name in enumerate(names):
        mean = [np.nanmean(table[of_n == n, j]) if (~np.isnan(table[of_n == n, j])).any() else np.nan for n in labels]
        pair = _pair(table[:, 0] - table[:, j]) if j else ""
        whole = f"{np.nanmean(table[:, j]):>8.3f}{ranks[:, j].mean():>8.2f}"
        yield f"{name:20}" + "".join(f"{value:>8.3f}" for value in mean) + whole + pair
    others = table[:, 1:]
    best = int(np.nanargmin(np.where(np.isnan(others).any(axis=0), np.inf, others.mean(axis=0))))
    hindsight = np.mean(table[:, 0] - np.nanmin(others, axis=1))
    yield f"minus the best other method of every cell in hindsight: {hindsight:+.3f}"
    yield _regret(f"{names[1 + best]}, the best fixed method", list(cells), table[:, 0] - others[:, best])
    yield from _scale_unknown(cells, names)


def _scale_unknown(cells, names):
    """Rows as given beside the best method and scaling, fixed for all sets."""
    given = {(name, n): cell[OURS] for (name, scaling, n), cell in cells.items() if scaling == SCALINGS[0]}
    fixed = {}
    for (name, scaling, n), cell in cells.items():
        for method in names[1:]:
            if (name, n) in given and method in cell:
                fixed.setdefault((method, scaling), {})[name, n] = cell[method]
    whole = {key: errors for key, errors in fixed.items() if len(errors) == len(given)}
    if whole:
        key = min(whole, key=lambda key: np.mean(list(whole[key].values())))
        gains = np.array([error - whole[key][cell] for cell, error in given.items()])
        yield _regret(f"scale unknown: {' on rows '.join(key)}, the best fixed one", list(given), gains) + _pair(gains)


def _regret(what, keys, gains):
    """Mean over the cells of a set, of all and of the worst set."""
    sets = {name: np.mean([gain for key, gain in zip(keys, gains, strict=True) if key[0] == name]) for name, *_ in keys}
    worst = max(sets, key=sets.get)
    return f"minus {what}: {np.mean(gains):+.3f}, worst set {worst} {sets[worst]:+.3f}"


def _pair(gains):
    gains = gains[~np.isnan(gains)]
    won, lost = int((gains < -TIE).sum()), int((gains > TIE).sum())
    p = binomtest(won, won + lost).pvalue if won + lost else 1.0
    return f"{won:>6}:{lost:<4}{p:>8.2g}{gains.max():>+8.3f}"
