"""Special and degenerate cases: each has a defined result or an error that says what to do."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from estimators.support import assert_same_fit, coded, load, oracle, quietly
from gnomon import CPPCA, PPCA, SPPCA
from oracles import closed_forms, gaussian

IRIS, _ = load_iris(return_X_y=True)
WINE, _ = load_wine(return_X_y=True)


def up_to_sign(components):
    """Rows whose largest entry is positive."""
    return components * np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])[:, None]


@pytest.mark.parametrize("solver", ["auto", "moments", "subspace", "em"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_ppca_is_scikit_learns_pca(k, solver):
    X = IRIS
    model, peer = PPCA(k, solver=solver, tol=1e-10, max_iter=5000).fit(X), PCA(k).fit(X)
    to_ml = (len(X) - 1) / len(X)  # the peer divides by n - 1
    noise = peer.noise_variance_ * to_ml
    assert_allclose(model.noise_variance_, noise, rtol=1e-6)
    expected = up_to_sign(peer.components_) * np.sqrt(peer.explained_variance_ * to_ml - noise)[:, None]
    assert_allclose(model.components_, expected, atol=1e-6)
    assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-8)
    values, vectors = np.linalg.eigh(np.cov(X.T, ddof=0))
    assert_allclose(model.get_covariance(), gaussian.joint(closed_forms.ppca(X, k))[1][k:, k:], atol=1e-6)
    peer.explained_variance_ = peer.explained_variance_ * to_ml
    peer.noise_variance_ = noise
    assert_allclose(model.score(X), peer.score(X), rtol=1e-8)
    assert_allclose(model.score_samples(X), peer.score_samples(X), rtol=1e-6)


def test_without_labels_it_is_ppca():
    assert_same_fit(SPPCA(2).fit(WINE), PPCA(2).fit(WINE))
    model = SPPCA(2).fit(WINE)
    assert model.target_kind_ == "none"
    assert model.y_loadings_.shape == (0, 2)
    assert not hasattr(model, "classes_")
    assert_allclose(model.log_likelihood_, gaussian.log_density(closed_forms.ppca(WINE, 2), WINE).sum(), rtol=1e-9)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match="without any"):
            method(WINE)


@pytest.mark.parametrize(
    "y", [np.full(150, -1), np.full(150, np.nan), np.full(150, None), np.full((150, 2), np.nan)],
    ids=["-1", "nan", "None", "table"],
)  # fmt: skip
def test_all_rows_unlabeled_is_ppca_with_a_warning(y):
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        model = SPPCA(2).fit(IRIS, y)
    assert_same_fit(model, PPCA(2).fit(IRIS))
    assert model.n_labeled_ == 0
    with pytest.raises(ValueError, match="without any"):
        model.predict(IRIS)


def test_one_class_is_ppca_with_a_warning():
    y = np.full(150, None)
    y[:20] = "setosa"
    with pytest.warns(UserWarning, match="single class 'setosa'"):
        model = SPPCA(2).fit(IRIS, y)
    assert_allclose(model.components_, PPCA(2).fit(IRIS).components_, atol=1e-7)
    assert (model.predict(IRIS[:3]) == "setosa").all()
    assert_allclose(model.predict_proba(IRIS[:3]), 1.0)
    assert model.n_labeled_ == 20


@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_a_class_with_one_row(hidden):
    X, y = load("iris", hidden)
    y[7] = 3
    model = SPPCA(2).fit(X, y)
    assert list(model.classes_) == [0, 1, 2, 3]
    assert model.y_loadings_.shape == (3, 2)
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, coded(model, y)).sum(), rtol=1e-9)
    assert model.predict_proba(X).shape == (150, 4)


def test_one_labeled_row_of_each_class():
    X, y = load("iris")
    few = np.full(150, -1)
    few[[0, 60, 120]] = y[[0, 60, 120]]
    model = quietly(SPPCA(2), X, few)
    assert np.isfinite(model.log_likelihood_)
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, coded(model, few)).sum(), rtol=1e-8)


def test_an_output_that_is_never_observed():
    Y = np.random.default_rng(0).normal(size=(150, 3))
    Y[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of y is never observed"):
        SPPCA(2).fit(IRIS, Y)


def test_an_output_with_a_single_value():
    Y = np.random.default_rng(0).normal(size=(150, 2))
    Y[:, 0] = 3.0
    with pytest.raises(ValueError, match=r"column 0 of y has the single value 3\.0"):
        SPPCA(2).fit(IRIS, Y)


class TestRank:
    @pytest.mark.parametrize("model", [PPCA, SPPCA])
    @pytest.mark.parametrize("k, shape", [(4, (150, 4)), (9, (150, 4)), (5, (6, 30))])
    def test_too_many_components_for_the_shape(self, model, k, shape):
        X = np.random.default_rng(0).normal(size=shape)
        bound = min(shape[0] - 1, shape[1])
        with pytest.raises(
            ValueError, match=f"n_components={k} must be less than the rank of X, which is at most {bound}"
        ):
            model(k).fit(X)

    @pytest.mark.parametrize("solver", ["auto", "moments", "subspace", "em"])
    @pytest.mark.parametrize("shape", [(60, 10), (12, 40)])
    @pytest.mark.parametrize("k", [3, 5])
    def test_too_many_components_for_the_rank(self, rng, k, shape, solver):
        X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
        with pytest.raises(ValueError, match=f"n_components={k} must be less than the rank of X, 3"):
            quietly(PPCA(k, solver=solver), X)

    @pytest.mark.parametrize("solver", ["ratio", "moments", "subspace"])
    def test_too_many_components_for_the_rank_with_targets(self, rng, solver):
        X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 10))
        y = X[:, 0] + rng.normal(size=60)
        if solver != "ratio":
            y[::2] = np.nan
        with pytest.raises(ValueError, match="n_components=4 must be less than the rank of X, 3"):
            quietly(SPPCA(4, solver=solver), X, y)

    def test_one_below_the_rank_is_fitted(self, rng):
        X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 10))
        model = PPCA(2).fit(X)
        assert_allclose(model.noise_variance_, closed_forms.ppca(X, 2).s2_x, rtol=1e-8)

    def test_constant_rows_have_no_rank(self):
        with pytest.raises(ValueError, match="rank of X, 0"):
            PPCA(1).fit(np.full((10, 4), 3.0))

    def test_default_leaves_noise(self):
        assert SPPCA().fit(np.random.default_rng(0).normal(size=(20, 2))).components_.shape == (1, 2)
        assert SPPCA().fit(IRIS).components_.shape == (2, 4)


def test_one_feature_cannot_be_projected():
    with pytest.raises(ValueError, match="rank of X, which is at most 1"):
        SPPCA(1).fit(np.arange(10.0)[:, None])


def test_two_features():
    X = np.random.default_rng(0).normal(size=(40, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
    y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=40)
    y[::3] = np.nan
    model = SPPCA(1).fit(X, y)
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, y[:, None]).sum(), rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", ["auto", "subspace", "em"])
@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_constant_columns_get_no_loadings(hidden, solver, form):
    X, y = load("wine", hidden)
    X = np.column_stack([np.full(len(X), 5.0), X, np.zeros(len(X))])
    model = SPPCA(2, solver=solver).fit(form(X), y)
    assert_allclose(model.components_[:, [0, -1]], 0.0, atol=1e-7 * np.abs(model.components_).max())
    assert_allclose(model.mean_[[0, -1]], [5.0, 0.0], atol=1e-8)
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, coded(model, y)).sum(), rtol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "subspace", "em"])
@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_duplicate_rows_double_the_likelihood(hidden, solver):
    X, y = load("iris", hidden)
    plain = SPPCA(2, solver=solver).fit(X, y)
    double = SPPCA(2, solver=solver).fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert_allclose(double.components_, plain.components_, atol=1e-6)
    assert_allclose(double.log_likelihood_, 2 * plain.log_likelihood_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "subspace", "em"])
def test_duplicate_columns_share_their_loadings(solver):
    X, y = load("iris", 0.5)
    model = SPPCA(2, solver=solver).fit(np.hstack([X, X]), y)
    assert_allclose(model.components_[:, :4], model.components_[:, 4:], atol=1e-7)


def test_fewer_rows_than_components_is_an_error_and_more_is_not():
    X = np.random.default_rng(0).normal(size=(5, 30))
    with pytest.raises(ValueError, match="at most 4"):
        SPPCA(6).fit(X)
    assert SPPCA(3).fit(X).components_.shape == (3, 30)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
@pytest.mark.parametrize("sizes", [(3e3, 3.0), (1e4, 10.0), (3e4, 20.0)])
def test_a_direction_of_little_variance_is_not_lost_beside_a_large_one(sizes, solver, rng):
    n = 200
    X = rng.normal(size=(n, 5)) * [*sizes, 1.0, 1.0, 1.0]
    y = np.where(rng.random(n) < 0.75, np.arange(n) % 3, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found, apart = SPPCA(2, solver=solver).fit(X, y), PPCA(2).fit(X)
    codes = np.eye(3)[y[y >= 0]]
    variance = codes.var(axis=0).sum() / 2  # of the codes along two contrasts, which need not go with x
    beside = -len(codes) * (np.log(2 * np.pi * variance) + 1)
    assert found.log_likelihood_ > apart.log_likelihood_ + beside - 1e-6
    assert_allclose(np.linalg.norm(found.components_, axis=1), np.linalg.norm(apart.components_, axis=1), rtol=0.05)


def test_columns_of_very_different_size():
    X, y = load("iris", 0.5)
    X = X * [1e-3, 1.0, 1e3, 1.0]
    model = SPPCA(2).fit(X, y)
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, coded(model, y)).sum(), rtol=1e-7)


class TestFloors:
    def test_exact_outputs_rest_on_the_floor_of_y(self):
        X, _ = load("iris")
        y = X @ [1.0, -2.0, 0.5, 0.3]
        model = SPPCA(3).fit(X, y)
        assert model.noise_floors_ == ("y",)
        assert_allclose(model.y_noise_variance_, 1e-5 * y.var(), rtol=1e-6)
        assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, y[:, None]).sum(), rtol=1e-9)

    def test_exact_outputs_of_some_rows(self):
        X, _ = load("iris")
        y = X @ [1.0, -2.0, 0.5, 0.3]
        y[::2] = np.nan
        model = SPPCA(3).fit(X, y)
        assert model.noise_floors_ == ("y",)
        assert_allclose(model.y_noise_variance_, 1e-5 * np.nanvar(y), rtol=1e-6)

    def test_nearly_exact_rows_rest_on_the_floor_of_x(self, rng):
        X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + 1e-5 * rng.normal(size=(60, 8))
        model = PPCA(2).fit(X)
        assert model.noise_floors_ == ("x",)
        assert_allclose(model.noise_variance_, 1e-6 * X.var(axis=0).mean(), rtol=1e-6)

    @pytest.mark.parametrize("holes", [False, True])
    @pytest.mark.parametrize("Model", [PPCA, SPPCA, CPPCA])
    def test_columns_lost_under_the_floor_bring_a_warning(self, Model, holes, rng):
        n = 200
        X = np.column_stack(
            [20_000 * np.exp(0.6 * rng.normal(size=n)), rng.integers(18, 90, n), rng.normal(size=(n, 3))]
        )
        X[rng.random(X.shape) < 0.1 * holes] = np.nan
        y = np.arange(n) % 4 - 1
        with pytest.warns(UserWarning, match=rf"{Model.__name__} holds noise_variance_ at its floor, 1e-06 .*Scaler"):
            model = Model(2).fit(X, y)
        assert model.noise_floors_ == ("x",)
        assert model.noise_variance_ > 10 * np.nanvar(X[:, 2:], axis=0).max()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("error", message=".*floor")
            assert "x" not in Model(2).fit((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0), y).noise_floors_

    def test_none_is_active_on_ordinary_data(self):
        assert SPPCA(2).fit(*load("iris", 0.5)).noise_floors_ == ()


@pytest.mark.parametrize("solver", ["em", "subspace"])
def test_too_few_iterations_are_reported_once(solver):
    X = np.random.default_rng(0).normal(size=(100, 60))
    y = X[:, 0].copy()
    y[::2] = np.nan
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model = SPPCA(2, solver=solver, max_iter=1).fit(X, y)
    assert len(caught) == 1
    assert not model.converged_
    assert SPPCA(2).fit(X, y).converged_


def test_passes_are_counted():
    X, y = load("wine", 0.5)
    em = SPPCA(2, solver="em", n_init=0).fit(X, y)
    trials = 2 * 25  # two of three starts, left after 25 iterations at most
    assert em.n_iter_ <= em.n_passes_ <= 2 * (em.n_iter_ + trials) + 12
    assert 1 <= SPPCA(2, solver="moments").fit(X, y).n_passes_ <= 4
    assert SPPCA(2, solver="subspace").fit(X, y).n_passes_ <= 15


def test_ratio_needs_all_labels():
    X, y = load("iris", 0.5)
    with pytest.raises(ValueError, match="solver='auto'"):
        SPPCA(2, solver="ratio").fit(X, y)
