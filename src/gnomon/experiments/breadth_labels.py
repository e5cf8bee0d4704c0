"""Several labels per row: GuidedProjection beside DPPCA, SPPCA and logistic regression, on music, genes, planted rows.

Protocol: 593 pieces of music with six emotions, 2,417 genes of yeast with fourteen functions, and 600 planted rows
whose five labels are thresholds of what is linear in eight hidden variables; 5 or 20 random positive rows of each label
are labeled, in all their labels, draws by the seeds 100, 101, ...; labels that all or none of these have are left out.
Area under the curve (AUC) and F1 of the unlabeled rows, means over labels: of own predictions, and of a linear SVM with
C = 100 for each label on five dimensions. Logistic regression sees standardized columns of the labeled rows, C = 0.1.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gnomon import DPPCA, SPPCA, GuidedProjection
from gnomon.experiments._draw import draw_positive
from gnomon.experiments._record import record

SETS = ("emotions", "yeast", "planted")
FILES = {"emotions": "breadth/emotions.npz", "yeast": "yeast.npz"}
QUICK = {"sets": ("emotions",), "n_positive": (5,), "n_draws": 1}
DIMS, FIRST_SEED = 5, 100
METHODS = ("GuidedProjection", "DPPCA", "logistic")
IN_FIVE = tuple(f"{name}, five dimensions" for name in ("GuidedProjection", "DPPCA", "SPPCA"))


def load(name):
    """Rows and labels (n, q) of zeros and ones of one of `SETS`."""
    if name == "planted":
        rng = np.random.default_rng(0)
        Z = rng.standard_normal((600, 8))
        X = Z @ rng.standard_normal((8, 60)) + rng.standard_normal((600, 60))
        return X, (Z @ rng.standard_normal((8, 5)) + 0.5 * rng.standard_normal((600, 5)) > 1.0).astype(int)
    folder = os.environ.get("GNOMON_DATA")
    if not folder:
        raise FileNotFoundError("the sets of several labels were not looked for, because GNOMON_DATA is not set.")
    with np.load(Path(folder) / FILES[name], allow_pickle=False) as arrays:
        return arrays["X"], arrays["Y"].astype(int)


def scores_of_draw(X, Y, labeled):
    """{method: (AUC, F1)} of one draw."""
    Y = Y[:, (Y[labeled].min(axis=0) < Y[labeled].max(axis=0)) & (Y[~labeled].min(axis=0) < Y[~labeled].max(axis=0))]
    seen, hidden, found = np.where(labeled[:, None], Y, -1), Y[~labeled], {}

    def scores(values, threshold):
        auc = np.mean([roc_auc_score(truth, value) for truth, value in zip(hidden.T, values.T, strict=True)])
        return float(auc), float(f1_score(hidden, values > threshold, average="macro", zero_division=0))

    def by_svm(Z):
        Z = Z / Z.std()
        machines = [SVC(kernel="linear", C=100.0).fit(Z[labeled], y) for y in Y[labeled].T]
        return scores(np.column_stack([machine.decision_function(Z[~labeled]) for machine in machines]), 0.0)

    for name, model in (("GuidedProjection", GuidedProjection(DIMS)), ("DPPCA", DPPCA(DIMS))):
        model.fit(X, seen)
        found[name] = scores(np.column_stack([proba[:, 1] for proba in model.predict_proba(X[~labeled])]), 0.5)
        found[f"{name}, five dimensions"] = by_svm(model.transform(X))
    known = np.where(labeled[:, None], Y, np.nan)
    found["SPPCA, five dimensions"] = by_svm(SPPCA(DIMS, random_state=0).fit(X, known).transform(X))
    rows = StandardScaler().fit_transform(X)
    logistic = [LogisticRegression(C=0.1, max_iter=500).fit(rows[labeled], y) for y in Y[labeled].T]
    found["logistic"] = scores(np.column_stack([one.predict_proba(rows[~labeled])[:, 1] for one in logistic]), 0.5)
    return found


def reproduce(sets=SETS, *, n_positive=(5, 20), n_draws=5):
    """Run the table; yield one record for each set, number of positive rows, method and score."""
    for name in sets:
        X, Y = load(name)
        for n in n_positive:
            with warnings.catch_warnings(action="ignore"):
                draws = [
                    scores_of_draw(X, Y, draw_positive(Y, n, seed)) for seed in range(FIRST_SEED, FIRST_SEED + n_draws)
                ]
            for method in (*METHODS, *IN_FIVE):
                for i, score in enumerate(("AUC", "F1")):
                    values = [found[method][i] for found in draws]
                    yield record(values, data=name, n_positive=n, method=method, score=score)


def format_table(records):
    """Return the records as text."""
    methods = (*METHODS, *IN_FIVE)
    cells = {(r["data"], r["n_positive"], r["score"], r["method"]): r["mean"] for r in records}
    lines = [f"{'data':10}{'positive':10}{'score':6}" + "".join(f"{method:>35}" for method in methods)]
    for name, n, score in dict.fromkeys(key[:3] for key in cells):
        values = "".join(f"{cells[(name, n, score, method)]:>35.3f}" for method in methods)
        lines.append(f"{name:10}{n:<10}{score:6}{values}")
    return "\n".join(lines)
