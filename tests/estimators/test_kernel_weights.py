"""KernelSPPCA with weights of rows and of labels and with private dimensions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from estimators.support import entries_missing, load
from gnomon import SPPCA, KernelSPPCA

RBF = {"kernel": "rbf", "gamma": 0.05}
OPTIONS = [{"label_weight": 20.0}, {"n_private": 2}, {"label_weight": 5.0, "n_private": 1}]
NEUTRAL = [{"label_weight": 1.0}, {"n_private": 0}, {"sample_weight": np.ones(178)}, {"sample_weight": 1.0}]


def wine(hidden=0.7):
    X, y = load("wine", hidden)
    return scale(X), y


def fitted(X, y, sample_weight=None, **params):
    return KernelSPPCA(2, **params).fit(X, y, sample_weight=sample_weight)


def assert_same(mine, other, X, tol=1e-6, X_other=None, classes=True):
    """Projections, predictions and likelihood agree; signs are fixed by different rows where rows differ."""
    X_other = X if X_other is None else X_other
    (Z, cov), (Z_other, cov_other) = (
        model.transform(rows, True, "plug-in") for model, rows in ((mine, X), (other, X_other))
    )
    flip = np.sign((Z * Z_other).sum(axis=0))
    assert_allclose(Z * flip, Z_other, atol=tol)
    assert_allclose(cov * np.outer(flip, flip), cov_other, atol=tol)
    if classes:
        assert_allclose(mine.predict_proba(X), other.predict_proba(X_other), atol=tol)
    assert_allclose(mine.log_likelihood_, other.log_likelihood_, rtol=1e-9)
    assert_allclose(mine.noise_variance_, other.noise_variance_, rtol=tol)
    assert_allclose(mine.y_noise_variance_, other.y_noise_variance_, rtol=tol)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_the_primal_model(options, weighted):
    X, y = wine()
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    primal, kernel = SPPCA(2, **options).fit(X, y, sample_weight=w), fitted(X, y, w, **options)
    assert kernel.n_components_ == primal.n_components_ == 2
    assert (kernel.n_samples_, kernel.n_labeled_) == (primal.n_samples_, primal.n_labeled_)
    new = X[:9] + 0.1
    for uncertainty in ("plug-in", "full"):
        of_both = (model.transform(new, True, uncertainty) for model in (kernel, primal))
        for mine, other in zip(*of_both, strict=True):
            assert_allclose(mine, other, atol=1e-6)
    assert_allclose(kernel.predict_proba(X), primal.predict_proba(X), atol=1e-6)
    assert_allclose(kernel.y_loadings_, primal.y_loadings_, atol=1e-6)
    assert_allclose(kernel.log_likelihood_, primal.log_likelihood_, rtol=1e-10)


@pytest.mark.parametrize("labeled", [30, 60], ids=["semi", "labeled"])
def test_weighted_linear_kernel_with_more_features_than_rows(rng, labeled):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 90)) + 2.0
    X[:, :3] += 4 * np.eye(3)[y]
    y[labeled:] = -1
    w = rng.uniform(0.5, 3.0, 60)
    primal, kernel = SPPCA(2).fit(X, y, sample_weight=w), fitted(X, y, w)
    assert kernel.solver_ == primal.solver_
    assert_allclose(kernel.transform(X), primal.transform(X), atol=1e-6)
    assert_allclose(kernel.log_likelihood_, primal.log_likelihood_, rtol=1e-10)


def test_weighted_linear_kernel_with_single_outputs_missing(rng):
    X, Y = entries_missing()
    w = rng.uniform(0.5, 3.0, len(X))
    primal = SPPCA(2, n_private=1, tol=1e-8).fit(X, Y, sample_weight=w)
    kernel = fitted(X, Y, w, n_private=1, tol=1e-8)
    assert_allclose(kernel.transform(X), primal.transform(X), atol=1e-6)
    assert_allclose(kernel.predict(X), primal.predict(X), rtol=1e-6, atol=1e-7 * np.ptp(Y[~np.isnan(Y)]))


@pytest.mark.parametrize("neutral", NEUTRAL, ids=lambda d: next(iter(d)))
@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_neutral_values_are_the_plain_model(neutral, n_landmarks):
    X, y = wine()
    params = {**RBF, "n_landmarks": n_landmarks}
    assert_same(fitted(X, y, **params, **neutral), fitted(X, y, **params), X, tol=1e-7)


@pytest.mark.parametrize("hidden", [0.0, 0.7])
def test_integer_weights_are_repeated_rows(hidden):
    X, y = wine(hidden)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = fitted(X, y, times, **RBF)
    repeated = fitted(np.repeat(X, times, axis=0), np.repeat(y, times), **RBF)
    assert weighted.n_samples_ == (times > 0).sum()
    assert weighted.rank_ == repeated.rank_
    assert_same(weighted, repeated, X)


def test_label_weight_repeats_labeled_rows():
    X, y = wine()
    times = np.where(y >= 0, 5, 1)
    weighted = fitted(X, y, label_weight=5.0, **RBF)
    assert_same(weighted, fitted(np.repeat(X, times, axis=0), np.repeat(y, times), **RBF), X, classes=False)
    assert weighted.class_counts_.sum() == (y >= 0).sum()  # a label of weight five is one label
    assert weighted.y_noise_variance_ < fitted(X, y, **RBF).y_noise_variance_


def test_rows_of_weight_zero_are_left_out_whatever_the_kernel(same_draws):
    X, y = wine()
    w = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    kept = w > 0
    K = rbf_kernel(X, gamma=0.05)
    named = fitted(X, y, w, **RBF)
    assert_same(named, fitted(X[kept], y[kept], w[kept], **RBF), X)
    given = fitted(K, y, w, kernel="precomputed")
    assert_same(given, named, K, X_other=X)
    assert_same(fitted(sp.csr_array(X), y, w, **RBF), named, sp.csr_array(X), X_other=X)
    few = fitted(X, y, w, n_landmarks=40, **RBF)
    assert_same(fitted(K, y, w, kernel="precomputed", n_landmarks=40), few, K, X_other=X)
    assert (w[few.landmarks_] > 0).all()
    with pytest.raises(ValueError, match=f"n_landmarks=178 must be at most n_samples={kept.sum()}"):
        fitted(X, y, w, n_landmarks=178, **RBF)


def test_private_dimensions_load_on_phi_alone():
    X, y = wine()
    model = KernelSPPCA(1, n_private=3, **RBF).fit(X, y)
    assert model.transform(X).shape == (178, 4)
    assert list(model.get_feature_names_out()) == [f"kernelsppca{j}" for j in range(4)]
    assert_allclose(model.y_loadings_[:, 1:], 0.0, atol=1e-12)
    assert (model.y_loadings_[:, 0] ** 2).sum() > 0
    bounds = [KernelSPPCA(k, **RBF).fit(X, y).log_likelihood_ for k in (1, 4)]
    assert bounds[0] < model.log_likelihood_ - 0.1
    assert model.log_likelihood_ < bounds[1] - 0.1


def test_private_dimensions_leave_room_by_default():
    X, y = load("iris", 0.5)
    assert KernelSPPCA(n_private=2).fit(X, y).n_components_ == 1
    assert KernelSPPCA(n_private=1).fit(X, y).n_components_ == 2


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_the_size_of_all_weights_does_not_matter(size):
    X, y = wine()
    w = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    a, b = fitted(X, y, w, **RBF), fitted(X, y, w * size, **RBF)
    assert_allclose(a.transform(X), b.transform(X), atol=1e-6)
    assert_allclose(a.log_likelihood_ * size, b.log_likelihood_, rtol=1e-9)


@pytest.mark.parametrize(
    ("w", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\); X has 178 rows"),
        (-np.ones(178), r"sample_weight\[0\]=-1\.0 must be finite and not negative"),
        (np.zeros(178), "sample_weight is zero for every row"),
        (np.arange(178) == 5, r"rank 0 \(n_samples=1"),
    ],
)
def test_bad_weights(w, message):
    X, y = wine(0.0)
    with pytest.raises(ValueError, match=message):
        fitted(X, y, w, **RBF)


def test_the_papers_algorithm_has_no_weights():
    X, y = wine()
    with pytest.raises(ValueError, match="algorithm 3 of the paper"):
        fitted(X, y, np.ones(178), solver="dual")


@pytest.mark.parametrize("model", [SPPCA(2), KernelSPPCA(2)])
def test_targets_of_rows_of_weight_zero_are_not_read(model):
    X, y = wine()
    w = np.where(y == 2, 0.0, 1.0)
    model.fit(X, y, sample_weight=w)
    assert list(model.classes_) == [0, 1]
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        model.fit(X, y, sample_weight=(y < 0).astype(float))
    assert model.n_labeled_ == 0
    Y = np.column_stack([X[:, 0], np.where(np.arange(178) < 9, X[:, 1], np.nan)])
    with pytest.raises(ValueError, match="column 1 of y is never observed"):
        model.fit(X, Y, sample_weight=np.arange(178) >= 9)
