"""Every method that takes X takes `gnomon.rows` objects too, and says the same of them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

import gnomon
from gnomon.rows import Rows, read

X, Y = load_iris(return_X_y=True)
LABELS = np.where(np.arange(150) % 4, -1, Y)
METHODS = ("transform", "posterior", "predict", "predict_proba", "score_samples", "impute")
MODELS = [
    gnomon.CPPCA(2),
    gnomon.ColoredMVU(2, n_basis=5),
    gnomon.DPPCA(n_factors=1, shrinkage=0.1, unlabeled_weight=1.0),
    gnomon.DomainStack(scale=1.0, C=1.0),
    gnomon.GuidedProjection(),
    gnomon.IFA(n_init=1),
    gnomon.KDA(kernel="rbf"),
    gnomon.KernelSPPCA(2, kernel="rbf"),
    gnomon.MixturePPCA(2, 1, n_init=1),
    gnomon.NeighborFeatures(5),
    gnomon.PPCA(2),
    gnomon.SCL(2, n_pivots=3),
    gnomon.SDRGLM(2),
    gnomon.SEPCA(2),
    gnomon.SPPCA(2),
]
named = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def answers(model, table):
    """What each method says of rows, in a flat list of arrays."""
    found = []
    for name in METHODS:
        if hasattr(model, name):
            answer = getattr(model, name)(table)
            parts = answer if isinstance(answer, (list, tuple)) else [answer]
            found += [part.gather() if isinstance(part, Rows) else part for part in parts]
    return found


@named
def test_rows_are_taken_by_fit_and_all_methods(model):
    if isinstance(model, gnomon.ColoredMVU):
        pytest.importorskip("clarabel", reason="the extra gnomon[convex] is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, other = clone(model).fit(X, LABELS), clone(model).fit(read(X), LABELS)
    want, got = answers(plain, X), answers(other, read(X))
    assert len(want) >= 1
    for one, two in zip(want, got, strict=True):
        assert_array_equal(one, two)
    if hasattr(model, "score"):
        assert plain.score(X, Y) == other.score(read(X), Y)


@pytest.mark.parametrize(
    "model",
    [
        gnomon.PPCA(2),
        gnomon.SPPCA(2),
        gnomon.CPPCA(2),
        gnomon.KernelSPPCA(2),
        gnomon.MixturePPCA(2, 1),
        gnomon.SEPCA(2),
    ],
)
def test_weights_of_rows_are_sample_weights(model):
    weights = np.where(np.arange(150) % 2, 2.0, 1.0)
    plain = clone(model).fit(X, LABELS, sample_weight=weights)
    other = clone(model).fit(read(X, weights), LABELS)
    assert_array_equal(plain.transform(X), other.transform(X))
    with pytest.raises(ValueError, match="pass sample_weight, or read X with weights, not both"):
        clone(model).fit(read(X, weights), LABELS, sample_weight=weights)
    with pytest.raises(ValueError, match=r"sample_weight\[0\]=-1.0 must be finite and not negative"):
        clone(model).fit(read(X, -weights), LABELS)


def test_weights_are_refused_by_a_model_that_takes_none():
    with pytest.raises(ValueError, match="the rows of X have weights, and KDA takes none"):
        gnomon.KDA().fit(read(X, np.ones(150)), Y)


def test_missing_entries_of_rows_are_seen():
    gaps = X.copy()
    gaps[3, 1] = np.nan
    rows = read(gaps, masked=True)
    assert_array_equal(gnomon.PPCA(2).fit(rows).impute(rows).gather(), gnomon.PPCA(2).fit(gaps).impute(gaps))
    with pytest.raises(ValueError, match="Input X contains NaN; KDA needs every entry"):
        gnomon.KDA().fit(rows, Y)
