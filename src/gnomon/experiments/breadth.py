"""Few labels on eighteen kinds of data: GuidedProjection beside DPPCA, PCA, ridge LDA and logistic regression.

Protocol: the sets of classes in GNOMON_DATA/breadth, their rows as given, with standardized columns (dense ones) or of
unit length; at most 3,000 random rows of each; two or five labeled rows of each class, all but one of a smaller one;
draws by the seeds 100, 101, ... "1-NN" is the share of unlabeled rows whose nearest labeled row in five dimensions is
of another class; a method without it is its own predictions. Logistic regression sees the labeled rows, its strength
chosen by cross-validation among them.
"""

import os
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import normalize

from gnomon import DPPCA, GuidedProjection
from gnomon.datasets._local import stored_fields
from gnomon.experiments._draw import draw_labeled, one_nn_error
from gnomon.experiments._record import record
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable, lda_map, pca_map

DIMS = 5
MOST_ROWS = 3000
FIRST_SEED = 100
SCALINGS = ("as given", "standardized", "unit rows")
METHODS = ("GuidedProjection 1-NN", "DPPCA 1-NN", "ridge LDA 1-NN", "PCA 1-NN", "GuidedProjection", "DPPCA", "logistic")
SETS = (
    "beef", "coffee", "coil20", "dna", "golub", "khan", "lymphoma", "mnist", "musk", "oliveoil", "pbmc68k", "pcmac",
    "r8", "segment", "strawberry", "tox171", "warpar10p", "waveform",
)  # fmt: skip
PAIRS = (
    ("GuidedProjection 1-NN", "DPPCA 1-NN"),
    ("GuidedProjection 1-NN", "ridge LDA 1-NN"),
    ("GuidedProjection 1-NN", "PCA 1-NN"),
    ("GuidedProjection", "DPPCA"),
    ("GuidedProjection", "logistic"),
)
STRENGTHS = tuple(10.0 ** np.arange(-3, 5))  # of logistic regression
TIE = 1e-3  # mean errors that are nearer are won by none


def load(name):
    """Rows and classes 0, 1, ... of one of `SETS`."""
    folder = os.environ.get("GNOMON_DATA")
    if not folder:
        raise FileNotFoundError("the sets of breadth were not looked for, because GNOMON_DATA is not set.")
    with np.load(Path(folder) / "breadth" / f"{name}.npz", allow_pickle=False) as arrays:
        found = stored_fields({key: arrays[key] for key in arrays.files})
    return found["data"], np.unique(found["target"], return_inverse=True)[1]


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


def errors_of_draw(X, y, labeled):
    """{method: error} of one draw."""
    seen, found = np.where(labeled, y, -1), {}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        for name, model in (("GuidedProjection", GuidedProjection(DIMS)), ("DPPCA", DPPCA(DIMS))):
            model.fit(X, seen)
            found[f"{name} 1-NN"] = one_nn_error(model.transform(X), y, labeled)
            found[name] = float(np.mean(model.predict(X[~labeled]) != y[~labeled]))
        for name, fit in (
            ("PCA", lambda: pca_map(X, DIMS)),
            ("ridge LDA", lambda: lda_map(X[labeled], y[labeled], DIMS)),
        ):
            try:
                found[f"{name} 1-NN"] = one_nn_error(fit().project(X)[:, :DIMS], y, labeled)
            except NotApplicable:
                found[f"{name} 1-NN"] = np.nan
        n_folds = min(5, int(np.bincount(y[labeled]).min()))
        if n_folds > 1:
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
            logistic = GridSearchCV(LogisticRegression(max_iter=300), {"C": STRENGTHS}, cv=folds)
            found["logistic"] = float(np.mean(logistic.fit(X[labeled], y[labeled]).predict(X[~labeled]) != y[~labeled]))
    return found


def reproduce(sets=SETS, *, scalings=SCALINGS, n_labels=(2, 5), n_draws=2):
    """Run the table; yield one record for each set, scaling, number of labels and method."""
    for name in sets:
        X, y = load(name)
        for scaling, n in product(scalings, n_labels):
            draws = []
            for seed in range(FIRST_SEED, FIRST_SEED + n_draws):
                some = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:MOST_ROWS])
                table = scaled(X[some], scaling)
                if table is not None:
                    draws.append(errors_of_draw(table, y[some], draw_labeled(y[some], n, seed)))
            for method in METHODS if draws else ():
                errors = [found.get(method, np.nan) for found in draws]
                yield record(errors, data=name, scaling=scaling, n_labels=n, method=method)


def format_table(records):
    """Return the records as text: mean errors by number of labels and scaling, and pairs of methods cell by cell."""
    cells = {(r["data"], r["scaling"], r["n_labels"], r["method"]): r["mean"] for r in records}
    lines = [f"{'labels':8}{'rows':14}" + "".join(f"{method:>23}" for method in METHODS)]
    kinds = dict.fromkeys((r["n_labels"], r["scaling"]) for r in records)
    for n, scaling in kinds:
        means = [
            np.nanmean([mean for (_, s, k, m), mean in cells.items() if (s, k, m) == (scaling, n, method)])
            for method in METHODS
        ]
        lines.append(f"{n:<8}{scaling:14}" + "".join(f"{mean:>23.3f}" for mean in means))
    for ours, other in PAIRS:
        keys = [key[:3] for key in cells if key[3] == ours]
        gains = np.array([cells[(*key, ours)] - cells[(*key, other)] for key in keys])
        gains, keys = gains[~np.isnan(gains)], [key for key, gain in zip(keys, gains, strict=True) if gain == gain]
        won, lost = int((gains < -TIE).sum()), int((gains > TIE).sum())
        p = binomtest(won, won + lost).pvalue if won + lost else 1.0
        worst = keys[int(gains.argmax())]
        lines.append(
            f"{ours} minus {other}: {gains.mean():+.3f}, won {won} : lost {lost} (sign test p = {p:.2g}), "
            f"worst {gains.max():+.3f} ({', '.join(map(str, worst))})"
        )
    return "\n".join(lines)
