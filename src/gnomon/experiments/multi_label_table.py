"""Table 3 of the SPPCA paper on yeast: F1 and AUC of the unlabeled rows, five positive rows of each label known.

Protocol (Yu, Yu, Tresp, Kriegel and Wu, KDD 2006, section 6): five random positive rows of each label are labeled, in
all their labels; every method projects to K dimensions; one linear SVM with C = 100 for each label is trained on the
projected labeled rows and tested on the others. Draws by the seeds 100, 101, ...; the paper has 50. FULL is the SVM on
all features. PCA, S2PPCA and DPPCA see all rows, PLS and SPPCA the labeled ones. S2PPCA is `SPPCA` with NaN where rows
are unlabeled, DPPCA makes its own choices ("auto"), "predictions" are its own, without an SVM.

The paper does not say how features and projections were scaled; here neither is. docs/theory/dppca.md has the table.
"""

import warnings
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import SVC

from gnomon import DPPCA, SPPCA, datasets
from gnomon.experiments._draw import draw_positive
from gnomon.experiments._record import record
from gnomon.selection.baselines import pca_map, pls_map

DIMS = (5, 10, 20)
METHODS = ("FULL", "PCA", "PLS", "SPPCA", "S2PPCA", "DPPCA", "predictions")
SCORES = ("F1-macro", "F1-micro", "AUC")
FIRST_SEED = 100
N_POSITIVE = 5

# (F1-macro, F1-micro, AUC) for K = 5, 10, 20
PRINTED = {
    "FULL": ((0.3813, 0.5161, 0.5571),) * 3,
    "PCA": ((0.2318, 0.5600, 0.5279), (0.3113, 0.5916, 0.5493), (0.3723, 0.5537, 0.5614)),
    "PLS": ((0.3432, 0.5795, 0.5556), (0.3756, 0.5517, 0.5610), (0.3799, 0.5208, 0.5585)),
    "SPPCA": ((0.3823, 0.5332, 0.5641), (0.3924, 0.5459, 0.5685), (0.3859, 0.5517, 0.5640)),
    "S2PPCA": ((0.3927, 0.5890, 0.5842), (0.3985, 0.5914, 0.5896), (0.3976, 0.6012, 0.5921)),
}


def scores_of_draw(X, Y, labeled, dims=DIMS, methods=METHODS, **parameters):
    """Return {(method, K): (F1-macro, F1-micro, AUC)} for one draw of the rows whose labels are known.

    The parameters are those of DPPCA besides `n_components`.
    """
    known = np.where(labeled[:, None], Y, np.nan)
    maps = {
        "FULL": lambda k: X,
        "PCA": lambda k: pca_map(X, k).project(X),
        "PLS": lambda k: pls_map(X[labeled], Y[labeled], k).project(X),
        "SPPCA": lambda k: SPPCA(k, random_state=0).fit(X[labeled], Y[labeled]).transform(X),
        "S2PPCA": lambda k: SPPCA(k, random_state=0).fit(X, known).transform(X),
    }
    found = {}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        for method in methods:
            for k in dims if method in maps else ():
                same = method == "FULL" and k != dims[0]
                found[method, k] = found[method, dims[0]] if same else _svm_scores(maps[method](k), Y, labeled)
        if {"DPPCA", "predictions"} & set(methods):
            model = DPPCA(max(dims), target="classes", **parameters).fit(X, known)
            Z, hidden = model.transform(X), X[~labeled]
            proba = np.column_stack([one[:, 1] for one in model.predict_proba(hidden)])
            own = _scores(Y[~labeled], model.predict(hidden), proba)
            for k in dims:
                found["DPPCA", k] = _svm_scores(Z[:, :k], Y, labeled)
                found["predictions", k] = own
    return found


def reproduce(*, dims=DIMS, n_draws=10, methods=METHODS, **parameters):
    """Run the table on yeast; yield one record for each method, K and score, with the printed figure beside ours."""
    data = datasets.fetch_yeast()
    X, Y = data.data, data.target.astype(int)
    draws = [
        scores_of_draw(X, Y, draw_positive(Y, N_POSITIVE, FIRST_SEED + i), dims, methods, **parameters)
        for i in range(n_draws)
    ]
    for method, k, (i, score) in product(methods, dims, enumerate(SCORES)):
        printed = PRINTED[method][DIMS.index(k)][i] if method in PRINTED and k in DIMS else None
        values = [found[method, k][i] for found in draws]
        yield record(values, method=method, K=k, score=score, printed=printed)


def format_table(records):
    """Return the records as text: one line a method and K, scores in columns, the printed figures after ours."""
    lines = [f"{'method':10}{'K':>3}  " + "".join(f"{score:26}" for score in SCORES).rstrip()]
    for method, k in dict.fromkeys((r["method"], r["K"]) for r in records):
        cells = [r for r in records if (r["method"], r["K"]) == (method, k)]
        lines.append(f"{method:10}{k:>3}  " + "".join(f"{_cell(r):26}" for r in cells).rstrip())
    return "\n".join(lines)


def _svm_scores(Z, Y, labeled):
    """Scores on the other rows of one linear SVM a label."""
    decisions = np.empty((int((~labeled).sum()), Y.shape[1]))
    for j, column in enumerate(Y.T):
        if len(np.unique(column[labeled])) == 1:
            decisions[:, j] = 2.0 * column[labeled][0] - 1.0
            continue
        svm = SVC(kernel="linear", C=100.0).fit(Z[labeled], column[labeled])
        decisions[:, j] = svm.decision_function(Z[~labeled])
    return _scores(Y[~labeled], (decisions > 0).astype(int), decisions)


def _scores(truth, predicted, decisions):
    macro, micro = (f1_score(truth, predicted, average=kind, zero_division=0.0) for kind in ("macro", "micro"))
    return float(macro), float(micro), float(roc_auc_score(truth, decisions, average="macro"))


def _cell(record):
    printed = "" if record["printed"] is None else f" ({record['printed']:.4f})"
    return f"{record['mean']:.4f} ± {record['se']:.4f}{printed}"
