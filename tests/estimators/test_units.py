"""Units and small truths of the linear family: outputs of any unit, exact outputs, draws, landmarks, limits of one."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA, PPCA, SPPCA, KernelSPPCA


def two_outputs(rng, n=200):
    """A price and a rating, explained by one latent variable each."""
    Z = rng.normal(size=(n, 2))
    X = Z @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(n, 6))
    price = 3e5 + 1e5 * Z[:, 0] + 2e4 * rng.normal(size=n)
    rating = 3.0 + 0.8 * Z[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.column_stack([price, rating])


@pytest.mark.parametrize("output_noise", ["ml", "per_output"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_rating_beside_a_price_is_heard(rng, output_noise, missing):
    X, Y = two_outputs(rng)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = SPPCA(2, output_noise=output_noise).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    spread = Y.std(axis=0)
    assert (std.mean(axis=0) < 0.8 * spread).all()
    assert (np.abs(mean - Y).mean(axis=0) < 0.6 * spread).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: SPPCA(2, tol=1e-8),
        lambda: SPPCA(2, tol=1e-8, output_noise="per_output"),
        lambda: SPPCA(2, tol=1e-8, prior_precision=2.0),
        lambda: KernelSPPCA(2, tol=1e-8),
        lambda: CPPCA(2, tol=1e-8),
    ],
    ids=["ml", "per_output", "prior", "kernel", "cppca"],
)
def test_the_unit_of_one_output_is_its_own_affair(rng, make):
    X, Y = two_outputs(rng)
    units = np.array([1e-6, 1e6])
    a, b = make().fit(X, Y), make().fit(X, Y * units)
    assert_allclose(b.transform(X), a.transform(X), atol=1e-6)
    assert_allclose(b.predict(X), a.predict(X) * units, rtol=1e-6)
    assert_allclose(b.log_likelihood_, a.log_likelihood_ - len(Y) * np.log(units).sum(), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("estimator", [SPPCA, KernelSPPCA])
@pytest.mark.parametrize("relation", ["multiple", "sum", "shares"])
def test_the_unit_of_one_of_several_dependent_outputs_is_its_own_affair(rng, estimator, relation):
    X, Y = two_outputs(rng)
    more = {"multiple": 3.0 * Y[:, :1], "sum": Y.sum(axis=1, keepdims=True), "shares": 5.0 - Y @ [[1.0], [2.0]]}
    Y = np.hstack([Y[:, :1] if relation == "multiple" else Y, more[relation]])
    Y[::3] = np.nan
    weights = rng.integers(1, 4, len(Y)).astype(float)
    a = estimator(2, tol=1e-8).fit(X, Y, sample_weight=weights)
    assert a.y_basis_.shape == (Y.shape[1], Y.shape[1] - 1)
    expected, std = a.predict(X, return_std=True)
    inside = a.log_likelihood_
    for j in range(Y.shape[1]):
        for size in (1e-6, 1e6):
            units = np.ones(Y.shape[1])
            units[j] = size
            b = estimator(2, tol=1e-8).fit(X, Y * units, sample_weight=weights)
            assert_allclose(b.transform(X), a.transform(X), atol=1e-6)
            found, spread = b.predict(X, return_std=True)
            assert_allclose(found, expected * units, rtol=1e-6, atol=1e-6 * size)
            assert_allclose(spread, std * units, rtol=1e-6)
            known = ~np.isnan(Y[:, 0])
            fall = _log_volume(a.y_basis_ * units[:, None]) * weights[known].sum()
            assert_allclose(b.log_likelihood_, inside - fall, rtol=1e-9, atol=1e-5)
            assert_allclose(b.posterior(X, Y * units)[0], a.posterior(X, Y)[0], atol=1e-6)


def _log_volume(basis):
    minors = [np.linalg.det(basis[list(rows)]) for rows in combinations(range(len(basis)), basis.shape[1])]
    return np.log(np.linalg.norm(minors))


def test_dependent_outputs_repeated_or_weighted_are_one_fit(rng):
    X, Y = two_outputs(rng)
    Y = np.column_stack([Y, 100.0 * Y.sum(axis=1)])
    weights = rng.integers(1, 4, len(Y))
    a = SPPCA(2, tol=1e-9).fit(X, Y, sample_weight=weights.astype(float))
    b = SPPCA(2, tol=1e-9).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    assert_allclose(a.predict(X), b.predict(X), rtol=1e-6)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9)


def test_per_output_is_cppca_with_real_outputs(rng):
    """One model, two faces: with some entries of y missing, and with some of x."""
    X, Y = two_outputs(rng, 120)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    H = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for rows in (X, H):
        a = SPPCA(2, output_noise="per_output", tol=1e-9, max_iter=5000).fit(rows, Y)
        b = CPPCA(2, families=["gaussian"] * 2, label_ridge=0.0, tol=1e-9, max_iter=5000).fit(rows, Y)
        assert a.noise_floors_ == b.noise_floors_ == ()
        assert abs(a.log_likelihood_ - b.log_likelihood_) < 1e-8
        assert_allclose(a.get_covariance(), b.get_covariance(), rtol=1e-4)


def test_an_output_that_is_almost_exact_keeps_its_deviation(rng):
    Z = rng.normal(size=(400, 2))
    X = Z @ rng.normal(size=(2, 40)) + 0.02 * rng.normal(size=(400, 40))
    y = Z @ [1.0, 0.5] + 0.01 * rng.normal(size=400)
    for model in (SPPCA(2), CPPCA(2), KernelSPPCA(2)):
        model.fit(X, y)
        assert model.noise_floors_ == ()
        assert_allclose(np.sqrt(model.y_noise_variance_), 0.01, rtol=0.15)


def test_drawn_classes_have_the_probabilities_of_predict_proba(rng):
    Z = rng.normal(size=(300, 2))
    X = Z @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(300, 6))
    y = (Z[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int) + (Z[:, 1] > 1)
    model = SPPCA(2).fit(X, y)
    drawn, labels = model.sample(20000, return_y=True, random_state=0)
    proba = model.predict_proba(drawn)
    for c in range(3):
        for low in np.arange(0.0, 1.0, 0.2):
            some = (proba[:, c] >= low) & (proba[:, c] < low + 0.2)
            if some.sum() > 300:
                assert abs((labels[some] == c).mean() - proba[some, c].mean()) < 4 * 0.5 / np.sqrt(some.sum())


def test_landmarks_count_the_energy_outside_their_span(rng):
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    exact = KernelSPPCA(2, kernel="rbf").fit(X, y)
    fits = [KernelSPPCA(2, kernel="rbf", n_landmarks=m, random_state=0).fit(X, y) for m in (10, 40, 119)]
    likelihoods = [model.log_likelihood_ for model in fits]
    assert max(likelihoods) <= exact.log_likelihood_ + 1e-6 * abs(exact.log_likelihood_)
    assert (np.diff(likelihoods) > 0).all()
    for model in fits:
        assert_allclose(model.noise_variance_, exact.noise_variance_, rtol=0.2)
        assert model.effective_dimension_ == exact.effective_dimension_
    assert_allclose(fits[-1].noise_variance_, exact.noise_variance_, rtol=1e-3)
    few = KernelSPPCA(2, kernel="poly", degree=2, n_landmarks=60, random_state=0).fit(X, y)  # 20 dimensions hold it all
    whole = KernelSPPCA(2, kernel="poly", degree=2).fit(X, y)
    assert few.effective_dimension_ == whole.effective_dimension_ == 20
    assert_allclose(few.log_likelihood_, whole.log_likelihood_, rtol=1e-8)


def test_noise_of_outputs_without_noise_is_none(rng):
    X, Y = two_outputs(rng)
    mixed = np.column_stack([Y[:, 1], Y[:, 0] > 3e5])
    model = CPPCA(2, families=["gaussian", "logit"]).fit(X, mixed)
    assert model.y_noise_variance_[1] is None
    assert model.y_noise_variance_[0] > 0
    assert CPPCA(2).fit(X, (Y[:, 0] > 3e5).astype(int)).y_noise_variance_ is None
    assert CPPCA(2).fit(X, Y).y_noise_variance_.shape == (2,)


def limited(rng):
    X, Y = two_outputs(rng, 80)
    y = (Y[:, 0] > 3e5).astype(int)
    some = np.where(np.arange(80) % 3, np.nan, Y.T).T
    H = np.where(rng.random(X.shape) < 0.15, np.nan, X)
    wide = rng.normal(size=(60, 300)) + rng.normal(size=(60, 3)) @ rng.normal(size=(3, 300))
    few = np.where(np.arange(60) % 4, -1, np.arange(60) % 3)
    return [
        (PPCA(2, max_iter=1), H, None),
        (PPCA(2, max_iter=1, solver="em"), X, None),
        (PPCA(2, max_iter=1, solver="subspace"), wide, None),
        (SPPCA(2, max_iter=1), X, some),
        (SPPCA(2, max_iter=1), H, some),
        (SPPCA(2, max_iter=1, solver="em"), X, some),
        (SPPCA(2, max_iter=1, solver="subspace"), wide, few),
        (SPPCA(2, max_iter=1, output_noise="per_output"), X, Y),
        (SPPCA(2, max_iter=1, solver="dual"), X, Y),
        (SPPCA(2, max_iter=1), X, Y),
        (KernelSPPCA(2, max_iter=1), X, some),
        (KernelSPPCA(2, max_iter=1, solver="dual"), X, some),
        (CPPCA(2, max_iter=1), X, y),
        (CPPCA(2, max_iter=1), H, y),
        (CPPCA(2, max_iter=1), wide, few),
        (CPPCA(2, max_iter=1, inference="laplace"), X, y),
        (CPPCA(2, max_iter=1, inference="ep"), X, y),
    ]


def test_converged_is_what_the_residual_says_with_limits_of_one():
    told = []
    for model, X, y in limited(np.random.default_rng(0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        assert model.converged_ == (model.objective_residual_ <= model.tol), model
        assert model.converged_ != any("residual" in str(w.message) for w in caught), model
        told.append(model.converged_)
    assert told.count(False) >= 12
    assert told.count(True) >= 1  # a closed form needs no iterations, and says so truthfully


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n_classes", "k"), [(3, 2), (3, 4), (5, 2)])
def test_probabilities_do_not_depend_on_the_order_of_classes(rng, n_classes, k, missing):
    y = rng.integers(0, n_classes, 150)
    X = rng.normal(size=(n_classes, 6))[y] + 0.8 * rng.normal(size=(150, 6))
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    y[rng.random(150) < 0.3] = -1
    order = rng.permutation(n_classes)
    renamed = np.where(y < 0, -1, order[y])
    expected, found = (CPPCA(k, tol=1e-8, max_iter=2000).fit(X, labels).predict_proba(X) for labels in (y, renamed))
    assert_allclose(found[:, order], expected, atol=1e-6)
