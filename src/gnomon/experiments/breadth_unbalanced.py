"""Unequal classes: GuidedProjection beside other models and logistic regression where 15 % of rows are of one class.

Protocol: of each set of `gnomon reproduce breadth` the two largest classes, of digits 8 and the rest; the larger class
and as many random rows of the other that these are 15 %, at least twelve and at most 3,000 rows in all; 40 random rows
are labeled, as they come, drawn anew until both classes have two; draws by the seeds 100, 101, ... Error and balanced
error (a mean over the two classes) of predictions for the unlabeled rows; log-loss and expected calibration error (ECE)
of probabilities. Logistic regression sees the labeled rows, its strength chosen by cross-validation among them for
balanced accuracy. IFA is tied, of five principal components.
"""

import warnings

import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from gnomon import DPPCA, IFA, KDA, GuidedProjection
from gnomon.experiments import breadth, class_probabilities
from gnomon.experiments._record import record

SETS = ("digits", *breadth.SETS)
MINORITY, N_LABELED, FEWEST = 0.15, 40, 12
METHODS = ("GuidedProjection", "DPPCA", "KDA", "IFA", "logistic")
OURS = (GuidedProjection, DPPCA, KDA, lambda: IFA(tied=True, pca_components=5))
QUICK = {"sets": ("segment", "waveform"), "n_draws": 1}
SCORES = ("balanced error", "error", "log-loss", "ECE")


def unequal(X, y, seed):
    """Rows of two classes, 1 being 15 % of them; None where that leaves fewer than twelve of it, or 80 rows."""
    rng, counts = np.random.default_rng(seed), np.bincount(y)
    order = np.argsort(-counts, kind="stable")[:2]
    large, small = (rng.permutation(np.flatnonzero(y == c)) for c in order)
    large = large[: int(breadth.MOST_ROWS * (1.0 - MINORITY))]
    small = small[: round(len(large) * MINORITY / (1.0 - MINORITY))]
    large = large[: round(len(small) * (1.0 - MINORITY) / MINORITY)]
    if len(small) < FEWEST or len(small) + len(large) < 2 * N_LABELED:
        return None
    some = np.sort(np.concatenate([large, small]))
    return X[some], (y[some] == order[1]).astype(int)


def draw_unequal(y, seed):
    """A mask of `N_LABELED` random rows of which at least two are of either class."""
    rng = np.random.default_rng(seed)
    while True:
        labeled = np.zeros(len(y), dtype=bool)
        labeled[rng.choice(len(y), N_LABELED, replace=False)] = True
        if 2 <= y[labeled].sum() <= N_LABELED - 2:
            return labeled


def scores_of_draw(X, y, labeled):
    """{method: scores in the order of `SCORES`} of one draw."""
    folds = StratifiedKFold(min(5, int(np.bincount(y[labeled]).min())), shuffle=True, random_state=0)
    logistic = GridSearchCV(
        LogisticRegression(max_iter=300), {"C": breadth.STRENGTHS}, cv=folds, scoring="balanced_accuracy"
    )
    seen, found = np.where(labeled, y, -1), {}
    with warnings.catch_warnings(action="ignore"):
        fitted = (*(make().fit(X, seen) for make in OURS), logistic.fit(X[labeled], y[labeled]))
    for method, model in zip(METHODS, fitted, strict=True):
        proba = np.asarray(model.predict_proba(X[~labeled]))
        balanced = 1.0 - float(balanced_accuracy_score(y[~labeled], proba.argmax(axis=1)))
        told = class_probabilities.scores(proba, y[~labeled])
        found[method] = (balanced, 1.0 - told["accuracy"], told["log-loss"], told["ECE"])
    return found


def load(name):
    """Rows and classes of one of `SETS`."""
    if name != "digits":
        return breadth.load(name)
    X, y = load_digits(return_X_y=True)
    return X, (y == 8).astype(int)


def reproduce(sets=SETS, *, n_draws=5):
    """Run the table; yield one record for each set, method and score."""
    for name in sets:
        X, y = load(name)
        draws = []
        for seed in range(breadth.FIRST_SEED, breadth.FIRST_SEED + n_draws):
            found = unequal(X, y, seed)
            if found is not None:
                draws.append(scores_of_draw(*found, draw_unequal(found[1], seed)))
        for method in METHODS if draws else ():
            for i, score in enumerate(SCORES):
                yield record([draw[method][i] for draw in draws], data=name, method=method, score=score)


def format_table(records):
    """Return the records as text."""
    cells = {(r["data"], r["score"], r["method"]): r["mean"] for r in records}
    sets = list(dict.fromkeys(r["data"] for r in records))
    lines = []
    for score in SCORES:
        lines.append(f"{score:16}" + "".join(f"{method:>18}" for method in METHODS))
        table = np.array([[cells[name, score, method] for method in METHODS] for name in sets])
        for name, row in zip([*sets, "mean"], [*table, table.mean(axis=0)], strict=True):
            lines.append(f"{name:16}" + "".join(f"{value:>18.3f}" for value in row))
        for j in range(1, len(METHODS)):
            won, lost = int((table[:, 0] < table[:, j]).sum()), int((table[:, 0] > table[:, j]).sum())
            p = binomtest(won, won + lost).pvalue if won + lost else 1.0
            lines.append(f"{METHODS[0]} beside {METHODS[j]}: won {won} : lost {lost} (sign test p = {p:.2g})")
    return "\n".join(lines)
