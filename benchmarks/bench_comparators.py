"""KDA, SDRGLM and ColoredMVU: time beside peers, and what the projection ridge of SDRGLM is worth.

Digits: 1,797 rows of 64 pixels, ten classes.
"""

import numpy as np
from common import paired, ratio, record
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import MDS

from gnomon import KDA, SDRGLM, ColoredMVU
from gnomon.datasets import make_partial


def split(y, seed):
    """Five training rows of each class, and all others."""
    seen = make_partial(y, n_per_class=5, random_state=seed) >= 0
    return np.flatnonzero(seen), np.flatnonzero(~seen)


def accuracy(Z_train, Z_test, y_train, y_test):
    """Of logistic regression on projections of size one."""
    size = Z_train.std()
    reader = LogisticRegression(max_iter=2000).fit(Z_train / size, y_train)
    return reader.score(Z_test / size, y_test)


def projections(X, y):
    """Mean accuracy over ten draws: the ridge of the model, and the pseudo-inverse that keeps the scores of the fit."""
    by_model, inverse = [], []
    for seed in range(10):
        train, test = split(y, seed)
        model = SDRGLM(10).fit(X[train], y[train])
        by_model.append(accuracy(model.transform(X[train]), model.transform(X[test]), y[train], y[test]))
        by_pinv = X[test] @ (np.linalg.pinv(X[train]) @ model.embedding_)
        inverse.append(accuracy(model.embedding_, by_pinv, y[train], y[test]))
    return float(np.mean(by_model)), float(np.mean(inverse))


def main():
    """Run and record."""
    X, y = load_digits(return_X_y=True)
    train, _ = split(y, 0)
    seconds = paired(
        {
            "KDA": lambda: KDA().fit(X[:500], y[:500]),
            "LDA": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-3).fit(X[:500], y[:500]),
            "SDRGLM": lambda: SDRGLM(10).fit(X[train], y[train]),
            "logistic": lambda: LogisticRegression(max_iter=2000).fit(X[train], y[train]),
            "ColoredMVU": lambda: ColoredMVU(2).fit(X[:300], y[:300]),
            "MDS": lambda: MDS(2, n_init=1, init="random", random_state=0).fit(X[:300]),
        },
        repeats=3,
    )
    by_model, inverse = projections(X, y)
    rows = [
        ("KDA, linear kernel / LinearDiscriminantAnalysis, 500 rows, time", ratio(seconds, "KDA", "LDA"), None),
        ("SDRGLM, 50 rows, 10 scores / logistic regression, time", ratio(seconds, "SDRGLM", "logistic"), None),
        ("ColoredMVU, 300 rows / one start of metric MDS, time", ratio(seconds, "ColoredMVU", "MDS"), None),
        ("SDRGLM, 50 labels, error of logistic regression, ridge of the model", 1 - by_model, 0.2),
        ("SDRGLM, 50 labels, error of logistic regression, pseudo-inverse", 1 - inverse, None),
    ]
    record("comparators", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
