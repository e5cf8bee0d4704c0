"""The laws on real data of many kinds: rounding, and the order of rows and columns, decide nothing in any estimator."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from contract.test_laws import CASES, Case, agree, fitted
from gnomon.experiments.breadth import SETS, load
from gnomon.rows.kind import is_sparse

ROWS, COLUMNS = 140, 180
LEFT_OUT = {
    # rows that are the same but for the names of their words may change places: no axes are theirs alone
    "IFA": ("pcmac",),
    "IFA tied": ("pcmac",),
    # the same; and 140 rows without clusters in 21 directions: a hundred steps bring optima of others as near
    "IFA without labels": ("pcmac", "r8", "waveform"),
}
ORDERED = ("GuidedProjection of numbers",)  # differences along spectra

pytestmark = [
    pytest.mark.slow,
    pytest.mark.realdata,
    pytest.mark.filterwarnings("ignore"),
]


@cache
def some_of(name):
    """Some rows and columns of a set, a third of the rows labeled, and numbers for half of them."""
    rng = np.random.default_rng(len(name))
    X, y = load(name)
    rows = np.sort(rng.permutation(X.shape[0])[:ROWS])
    X, y = X[rows], np.unique(np.asarray(y)[rows], return_inverse=True)[1]
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    X = X[:, np.sort(rng.permutation(X.shape[1])[:COLUMNS])]
    X = X[:, X.std(axis=0) > 0]
    labels = np.where(rng.random(len(y)) < 0.35, y, -1)
    numbers = X[:, 0] + X[:, 0].std() * rng.normal(size=len(y))
    return X, labels, np.where(rng.random(len(y)) < 0.5, numbers, np.nan)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("what", CASES)
def test_nothing_but_the_rows_decides(what, name):
    if name in LEFT_OUT.get(what, ()):
        pytest.skip("not unique on these rows")
    X, labels, numbers = some_of(name)
    model = clone(CASES[what].model)
    if "max_iter" in model.get_params():
        model.set_params(max_iter=5000)
    given = CASES[what].y
    y = None if given is None else numbers if np.asarray(given).dtype.kind == "f" else labels
    try:
        plain = fitted(Case(model, X, y))
    except ValueError as error:
        if not (what.startswith("IFA") or what == "SDRGLM of counts"):  # too many columns or classes; no counts
            raise
        pytest.skip(str(error))
    moved = X * (1.0 + 1e-13)
    agree(plain, X, fitted(Case(model, moved, y)), moved)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    agree(plain, X, fitted(Case(model, X[rows], None if y is None else y[rows])), X[rows], rows)
    if what not in ORDERED:
        agree(plain, X, fitted(Case(model, X[:, columns], y)), X[:, columns])
