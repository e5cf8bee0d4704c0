"""How sure probabilities of classes are beside how often they are right: our estimators and logistic regression.

Protocol: the sets of classes in GNOMON_DATA/breadth, rows as given and with standardized columns (dense ones), at most
3,000 random rows of each; 3 or 10 labeled rows of each class, all but one of a smaller one; draws by the seeds 100,
101, ..., all cells of one draw before the next. Five dimensions, more where a model needs one less than there are
classes. "plug-in" takes parameters for known. The logistic regression is `LogisticRegressionCV` on the labeled rows, by
log-loss. Draws that leave fewer than twenty unlabeled rows, which say little of how often it is right, are left out.
"""

import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

from gnomon import CPPCA, DPPCA, IFA, KDA, SDRGLM, SEPCA, SPPCA, GuidedProjection
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments.breadth import FIRST_SEED, SCALINGS, SETS, STRENGTHS, load, scaled, some_rows
from gnomon.rows.kind import is_sparse

K, N_LABELS, BINS = 5, (2, 3, 5, 10), 10
FEWEST = 20  # unlabeled rows
LEAST = 1e-6  # probability that the class of a row has at least in its log-loss
DRAWS = 20  # of outcomes of a perfect forecast
OURS = {
    "SPPCA": lambda _: SPPCA(K),
    "CPPCA": lambda _: CPPCA(K),
    "CPPCA plug-in": lambda _: CPPCA(K, uncertainty="plug-in"),
    "IFA": lambda n: IFA(tied=True, pca_components=max(K, n - 1)),
    "SEPCA": lambda _: SEPCA(K),
    "SEPCA plug-in": lambda _: SEPCA(K, uncertainty="plug-in"),
    "SDRGLM": lambda _: SDRGLM(K),
    "SDRGLM plug-in": lambda _: SDRGLM(K, uncertainty="plug-in"),
    "DPPCA": lambda _: DPPCA(),
    "KDA": lambda _: KDA(),
    "GuidedProjection": lambda _: GuidedProjection(K),
}
QUICK = {"sets": ("coffee",), "n_labels": (3,), "n_draws": 1}
LOGISTIC = "LogisticRegressionCV"


def calibration_error(proba, right):
    """Expected calibration error: |share right - confidence| in ten bins of confidence, weighted by their rows."""
    sure = proba.max(axis=1)
    bins = np.minimum((BINS * sure).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, right - sure, BINS)).sum() / len(sure))


def scores(proba, y):
    """What is told of probabilities (n, C) of rows of classes y; "floor" is the "ECE" of a perfect forecast."""
    right, sure, rng = proba.argmax(axis=1) == y, proba.max(axis=1), np.random.default_rng(0)
    floor = np.mean([calibration_error(proba, rng.random(len(y)) < sure) for _ in range(DRAWS)])
    return {
        "accuracy": float(right.mean()),
        "ECE": calibration_error(proba, right),
        "floor": float(floor),
        "log-loss": float(-np.log(np.maximum(proba[np.arange(len(y)), y], LEAST)).mean()),
        "too sure": float(sure.mean() - right.mean()),
    }


def logistic(index):
    """The logistic regression for labels of these classes."""
    n_folds = min(5, int(np.bincount(index).min()))
    if n_folds < 2:
        return LogisticRegression(max_iter=300)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return LogisticRegressionCV(Cs=STRENGTHS, cv=folds, scoring="neg_log_loss", max_iter=300)


def scores_of_draw(X, y, labeled, methods=None):
    """{method: scores} of one draw, of classes 0, 1, ... that all have labels."""
    seen, found = np.where(labeled, y, -1), {}
    with warnings.catch_warnings(action="ignore"):
        for name in methods or (*OURS, LOGISTIC):
            if name == LOGISTIC:
                model = logistic(y[labeled]).fit(X[labeled], y[labeled])
            else:
                model = OURS[name](y.max() + 1).fit(X, seen)
            places = np.searchsorted(model.classes_, np.arange(y.max() + 1))
            found[name] = scores(np.asarray(model.predict_proba(X[~labeled]))[:, places], y[~labeled])
    return found


def reproduce(sets=SETS, *, n_labels=N_LABELS, n_draws=3, methods=None, done=()):
    """Run the protocol; yield one record for each draw, number of labels, set and scaling that is not in `done`."""
    known = {_key(one) for one in done}
    for seed, n, name in product(range(FIRST_SEED, FIRST_SEED + n_draws), n_labels, sets):
        X, y = load(name)
        some = some_rows(X.shape[0], seed)
        X, y = X[some], np.unique(y[some], return_inverse=True)[1]
        labeled = draw_labeled(y, n, seed)
        for scaling in SCALINGS[: 1 if is_sparse(X) else 2]:
            if (name, scaling, n, seed) not in known and np.count_nonzero(~labeled) >= FEWEST:
                found = scores_of_draw(scaled(X, scaling), y, labeled, methods)
                yield {"data": name, "scaling": scaling, "n_labels": n, "seed": seed, "scores": found}


def _key(one):
    return one["data"], one["scaling"], one["n_labels"], one["seed"]


def format_table(records):
    """Return the records as text: means over the cells, a set and a scaling each, with the worst cell; worst first."""
    lines = []
    for n in sorted({one["n_labels"] for one in records}):
        cells = {}
        for one in records:
            if one["n_labels"] == n:
                for method, found in one["scores"].items():
                    cell = cells.setdefault(method, {}).setdefault((one["data"], one["scaling"]), [])
                    cell.append(list(found.values()))
        lines += [f"{n} labels per class", f"{'':22}accuracy    ECE  floor  log-loss  too sure  worst ECE"]
        found = {method: {key: np.mean(draws, axis=0) for key, draws in of.items()} for method, of in cells.items()}
        means = {method: np.mean(list(of.values()), axis=0) for method, of in found.items()}
        for method in sorted(means, key=lambda method: -means[method][1]):
            accuracy, error, floor, loss, sure = means[method]
            worst = max(found[method], key=lambda key, of=found[method]: of[key][1])
            lines.append(
                f"{method:22}{accuracy:8.3f}{error:7.3f}{floor:7.3f}{loss:10.3f}{sure:+10.3f}"
                f"{found[method][worst][1]:7.3f} {', '.join(worst)}"
            )
        lines.append("")
    return "\n".join(lines).rstrip()
