"""The tables of gnomon demo over many draws of the labels: GuidedProjection beside PCA, LDA and PLS.

Protocol: the sets that come with scikit-learn, scaled as `gnomon demo` does; five labeled rows of each class, draws by
the seeds 0, 1, ...; error of the nearest labeled row in the projection on the rows whose labels were hidden, and of the
predictions of `GuidedProjection` itself.
"""

import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler

from gnomon import GuidedProjection
from gnomon.datasets import load_breast_cancer, load_digits, load_wine, make_partial
from gnomon.experiments._record import record
from gnomon.selection import compare

SETS = {"wine": (load_wine, 2), "breast_cancer": (load_breast_cancer, 2), "digits": (load_digits, 9)}
OWN = "own predictions"
N_LABELS = 5
QUICK = {"n_draws": 2}


def reproduce(sets=tuple(SETS), *, n_draws=20):
    """Run the table; yield one record for each set and method."""
    for name in sets:
        load, k = SETS[name]
        bunch = load()
        X, y = bunch.data if name == "digits" else StandardScaler().fit_transform(bunch.data), bunch.target
        draws = []
        for seed in range(n_draws):
            seen = make_partial(y, n_per_class=N_LABELS, random_state=seed)
            with warnings.catch_warnings(action="ignore"):
                found = compare(X, seen, y_true=y, n_components=k, estimators={"GuidedProjection": GuidedProjection(k)})
            errors = {row["method"]: row["score"] for row in found.rows}
            draws.append(errors | {OWN: found.rows[0]["prediction"]})
        for method in draws[0]:
            yield record([errors[method] for errors in draws], data=name, method=method)


def format_table(records):
    """Return the records as text: mean error and its deviation over draws."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    cells = {(r["data"], r["method"]): f"{r['mean']:.3f} ± {r['sd']:.3f}" for r in records}
    lines = [f"{'data':15}" + "".join(f"{method:>18}" for method in methods)]
    for name in dict.fromkeys(r["data"] for r in records):
        lines.append(f"{name:15}" + "".join(f"{cells[(name, method)]:>18}" for method in methods))
    means = np.mean([[r["mean"] for r in records if r["method"] == method] for method in methods], axis=1)
    return "\n".join([*lines, f"{'mean':15}" + "".join(f"{mean:>10.3f}        " for mean in means)])
