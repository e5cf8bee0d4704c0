"""How often the 95 % interval that `compare` prints holds the error of the unlabeled rows.

Protocol: the sets of `gnomon reproduce breadth`, their rows as given, at most 1,500 of each; 2, 3, 5 or 10 labeled rows
of each class, all but one of a smaller one; and the unequal classes of `gnomon reproduce breadth-unbalanced` with 40
labels as they come, or ten of either class; draws by the seeds 300, 301, ... Held-out labeled rows give the interval;
the same method fitted to all labels gives the error of the unlabeled rows, of its projection in five dimensions
(1-NN) and of its own predictions.
"""

import warnings

import numpy as np

from gnomon import SPPCA, GuidedProjection
from gnomon.experiments import breadth, breadth_unbalanced
from gnomon.experiments._draw import draw_labeled, one_nn_error
from gnomon.selection import compare

FIRST_SEED = 300
MOST_ROWS, DIMS, N_SPLITS = 1500, 5, 5
LABELS = (2, 3, 5, 10, "unequal", "unequal, balanced labels")
MODELS = (GuidedProjection, SPPCA)
QUICK = {"sets": ("khan", "digits"), "labels": (5,), "n_draws": 1}
SCORES = {"score": ("low", "high"), "prediction": ("prediction_low", "prediction_high")}


def draw(name, labels, seed):
    """Rows, classes and a mask of labeled rows; None where a set has too few rows."""
    X, y = (breadth_unbalanced if isinstance(labels, str) else breadth).load(name)
    if isinstance(labels, str):
        found = breadth_unbalanced.unequal(X, y, seed)
        if found is None:
            return None
        X, y = found
    some = breadth.some_rows(X.shape[0], seed, MOST_ROWS)
    X, y = X[some], np.unique(y[some], return_inverse=True)[1]
    if labels == "unequal":
        return X, y, breadth_unbalanced.draw_unequal(y, seed)
    labeled = draw_labeled(y, 10 if isinstance(labels, str) else labels, seed)
    return (X, y, labeled) if np.count_nonzero(~labeled) >= 20 else None


def intervals_of_draw(X, y, labeled, models=MODELS, n_splits=N_SPLITS):
    """{(method, score): (low, printed error, high, error of the unlabeled rows)}."""
    seen, found = np.where(labeled, y, -1), {}
    with warnings.catch_warnings(action="ignore"):
        estimators = {model.__name__: model(DIMS) for model in models}
        table = compare(X, seen, estimators=estimators, n_splits=n_splits, unlabeled=-1, random_state=0)
        rows = {row["method"]: row for row in table.rows}
        for name, model in estimators.items():
            fitted = model.fit(X, seen)
            errors = (
                one_nn_error(fitted.transform(X), y, labeled),
                float(np.mean(fitted.predict(X[~labeled]) != y[~labeled])),
            )
            for (score, (low, high)), error in zip(SCORES.items(), errors, strict=True):
                found[name, score] = (rows[name][low], rows[name][score], rows[name][high], error)
    return found


def reproduce(sets=breadth_unbalanced.SETS, *, labels=LABELS, n_draws=2, models=MODELS):
    """Run the table; yield one record for each draw, number of labels, set, method and score."""
    for seed in range(FIRST_SEED, FIRST_SEED + n_draws):
        for n in labels:
            for name in sets:
                drawn = None if name == "digits" and not isinstance(n, str) else draw(name, n, seed)
                for (method, score), ends in ({} if drawn is None else intervals_of_draw(*drawn, models)).items():
                    about = {"data": name, "labels": n, "seed": seed, "method": method, "score": score}
                    yield about | dict(zip(("low", "value", "high", "error"), ends, strict=True))


def holds(one):
    """Whether the interval of a record holds the error."""
    return one["low"] <= one["error"] <= one["high"]


def format_table(records):
    """Return the records as text."""
    lines = [f"{'labels':26}{'method':18}{'score':12}{'draws':>7}{'held':>8}{'above':>8}{'below':>8}{'width':>8}"]
    keys = list(dict.fromkeys((r["labels"], r["method"], r["score"]) for r in records))
    methods = list(dict.fromkeys(key[1:] for key in keys))
    for n, method, score in [*keys, *(("all", *key) for key in methods)]:
        some = [r for r in records if (r["method"], r["score"]) == (method, score) and n in ("all", r["labels"])]
        held = np.mean([holds(r) for r in some])
        above, below = np.mean([r["error"] > r["high"] for r in some]), np.mean([r["error"] < r["low"] for r in some])
        width = np.mean([r["high"] - r["low"] for r in some])
        lines.append(f"{n!s:26}{method:18}{score:12}{len(some):>7}{held:>8.3f}{above:>8.3f}{below:>8.3f}{width:>8.3f}")
    return "\n".join(lines)
