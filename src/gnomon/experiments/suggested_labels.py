"""Which rows to label next: suggested ones, random ones, and those of smallest margin, on eighteen kinds of data.

Protocol: the sets of `breadth`, rows as given, 800 random rows of each, half of them new rows that are predicted; two
or five labeled rows of each class in the other half, draws by the seeds 100, 101, ... `GuidedProjection` is fitted, as
many more rows as there are classes, five at least, are labeled, and it is fitted again. "random" is the mean of three
draws; "margin" takes the rows whose most probable class leads by least.
"""

import warnings

import numpy as np
from scipy.stats import binomtest

from gnomon import GuidedProjection
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments._record import record
from gnomon.experiments.breadth import FIRST_SEED, SETS, TIE, load
from gnomon.selection import suggest_labels

ROWS, FEWEST = 800, 5
QUICK = {"sets": ("coffee", "khan"), "n_labels": (2,), "n_draws": 1}
METHODS = ("before", "suggested", "random", "margin")


def errors_of_draw(X, y, n_labels, seed):
    """{method: error of new rows} of one draw; None where the rows hold too few classes."""
    some = np.random.default_rng(seed).permutation(X.shape[0])[:ROWS]
    known, new = some[: len(some) // 2], some[len(some) // 2 :]
    classes, counts = np.unique(y[known], return_counts=True)
    classes = classes[counts > n_labels]
    known, new = (rows[np.isin(y[rows], classes)] for rows in (known, new))
    if len(classes) < 2:
        return None
    labeled = draw_labeled(y[known], n_labels, seed)
    seen = np.where(labeled, y[known], -1)
    n = min(max(FEWEST, len(classes)), int((~labeled).sum()) // 2)
    first = GuidedProjection().fit(X[known], seen)

    def after(*choices):
        errors = []
        for rows in choices:
            model = GuidedProjection().fit(X[known], np.where(np.isin(np.arange(len(known)), rows), y[known], seen))
            errors.append(np.mean(model.predict(X[new]) != y[new]))
        return float(np.mean(errors))

    unlabeled, proba = np.flatnonzero(~labeled), np.sort(first.predict_proba(X[known]), axis=1)
    lead = (proba[:, -1] - proba[:, -2])[unlabeled]
    rng = np.random.default_rng(seed)
    return {
        "before": float(np.mean(first.predict(X[new]) != y[new])),
        "suggested": after(suggest_labels(first, n)),
        "random": after(*(rng.permutation(unlabeled)[:n] for _ in range(3))),
        "margin": after(unlabeled[np.argsort(lead, kind="stable")[:n]]),
    }


def reproduce(sets=SETS, *, n_labels=(2, 5), n_draws=3):
    """Run the table; yield one record for each set, number of labels and method."""
    for name in sets:
        X, y = load(name)
        for n in n_labels:
            with warnings.catch_warnings(action="ignore"):
                tried = [errors_of_draw(X, y, n, seed) for seed in range(FIRST_SEED, FIRST_SEED + n_draws)]
            draws = [found for found in tried if found is not None]
            for method in METHODS if draws else ():
                yield record([found[method] for found in draws], data=name, n_labels=n, method=method)


def format_table(records):
    """Return the records as text: mean errors, and suggested rows beside the others, set by set."""
    cells = {(r["n_labels"], r["data"], r["method"]): r["mean"] for r in records}
    lines = [f"{'labels':8}" + "".join(f"{method:>12}" for method in METHODS)]
    for n in dict.fromkeys(key[0] for key in cells):
        means = [np.mean([mean for (k, _, m), mean in cells.items() if (k, m) == (n, method)]) for method in METHODS]
        lines.append(f"{n:<8}" + "".join(f"{mean:>12.3f}" for mean in means))
    sets = list(dict.fromkeys(key[1] for key in cells))
    for other in METHODS[2:]:
        gains = np.array([
            np.mean([cells[(n, s, "suggested")] - cells[(n, s, other)] for n, t, m in cells if t == s and m == other])
            for s in sets
        ])  # fmt: skip
        won, lost = int((gains < -TIE).sum()), int((gains > TIE).sum())
        p = binomtest(won, won + lost).pvalue if won + lost else 1.0
        lines.append(
            f"suggested minus {other}: {gains.mean():+.3f}, sets won {won} : lost {lost} (sign test p = {p:.2g}), "
            f"worst {gains.max():+.3f} ({sets[int(gains.argmax())]})"
        )
    return "\n".join(lines)
