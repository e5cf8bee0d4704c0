"""MixturePPCA: its face, its criteria, bad input, real data."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.exceptions
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA, MixturePPCA
from gnomon.datasets import fetch_usps
from gnomon.export import load_model, save_model
from oracles import mixture as oracle

X, Y = load_iris(return_X_y=True)
MODEL = MixturePPCA(3, 1, n_init=3)
METHODS = ("predict", "predict_proba", "transform", "posterior", "score_samples", "score", "bic", "aic")


@pytest.fixture(scope="module")
def found():
    return clone(MODEL).fit(X)


def with_holes(share=0.15, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def oracle_of(found):
    W = [found.components_[c, :k].T for c, k in enumerate(found.n_components_)]
    return oracle.Model(found.mix_weights_, found.means_, W, found.noise_variances_)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rows", [X, with_holes()], ids=["complete", "missing"])
def test_everything_agrees_with_the_densities(shared, rows):
    found = MixturePPCA(2, [2, 1], shared_noise=shared).fit(rows)
    truth = oracle_of(found)
    assert_allclose(found.score_samples(rows), oracle.log_density(truth, rows), rtol=1e-8, atol=1e-8)
    R = found.predict_proba(rows)
    assert_allclose(R, oracle.responsibilities(truth, rows), atol=1e-9)
    assert_allclose(R.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(found.predict(rows), R.argmax(axis=1))
    assert_allclose(found.mean_responsibilities_, R.mean(axis=0), atol=1e-9)
    assert_allclose(found.mix_weights_, R.mean(axis=0), atol=1e-5)
    assert_allclose(found.log_likelihood_, found.score(rows) * len(X), rtol=1e-10)
    assert_allclose(found.objective_path_[-1], found.log_likelihood_, rtol=1e-12)
    assert_allclose(found.impute(rows), oracle.impute(truth, rows), rtol=1e-8)
    first = [oracle.latent(truth, rows[i], 0)[0] for i in range(5)]
    k = found.n_components_[0]
    assert_allclose(found.posterior(rows[:5], component=0)[0], first, atol=1e-8)
    assert_allclose(found.transform(rows[:5])[:, :k], R[:5, :1] * first, atol=1e-8)


def test_one_component_is_ppca():
    a, b = MixturePPCA(1, 2).fit(X), PPCA(2).fit(X)
    assert_allclose(a.components_[0], b.components_, atol=1e-8)
    assert_allclose(a.noise_variances_, b.noise_variance_, rtol=1e-9)
    assert_allclose(a.transform(X), b.transform(X), atol=1e-8)
    assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-9)
    assert_allclose(a.bic(X), b.bic(X), rtol=1e-12)
    assert_allclose(a.posterior(X)[1][0], b.posterior(X, uncertainty="plug-in")[1], atol=1e-10)


def test_one_component_is_ppca_with_missing_entries():
    holes = with_holes()
    a, b = MixturePPCA(1, 2, tol=1e-10).fit(holes), PPCA(2, tol=1e-10).fit(holes)
    assert (a.solver_, b.solver_) == ("masked", "em")
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-10)
    assert_allclose(a.components_[0], b.components_, atol=1e-6)
    assert_allclose(a.means_[0], b.mean_, atol=1e-6)
    assert_allclose(a.posterior(holes)[1], b.posterior(holes, uncertainty="plug-in")[1], atol=1e-6)
    assert_allclose(a.impute(holes), b.impute(holes), atol=1e-6)


def test_criteria_count_the_free_parameters():
    # 2 means of 4, loadings 4 + (8 - 1), one weight, noise variances
    for shared, extra in ((False, 2), (True, 1)):
        found = MixturePPCA(2, [1, 2], shared_noise=shared).fit(X)
        free = 8 + 11 + 1 + extra
        total = found.score_samples(X).sum()
        assert_allclose(found.bic(X), -2 * total + free * np.log(150))
        assert_allclose(found.aic(X), -2 * total + 2 * free)


def test_bic_finds_the_planted_number_of_components(rng):
    truth = oracle.random_model(rng, 6, (2, 2, 2))
    rows, _ = oracle.draw(rng, truth, 600)
    criteria = [MixturePPCA(s, 2, n_init=5).fit(rows).bic(rows) for s in (1, 2, 3, 4, 5)]
    assert int(np.argmin(criteria)) + 1 == 3


def test_no_missing_entries_is_the_complete_route():
    a, b = (MixturePPCA(2, 2, solver=solver, tol=1e-9).fit(X) for solver in ("masked", "moments"))
    assert_allclose(a.components_, b.components_, atol=1e-5)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-10)
    assert_array_equal(a.impute(X), X)


def test_incomplete_new_rows_of_a_complete_fit(found):
    holes = with_holes()
    holes[0] = np.nan
    assert_allclose(found.predict_proba(holes)[0], found.mix_weights_)
    assert_allclose(found.impute(holes)[0], found.mix_weights_ @ found.means_)
    assert adjusted_rand_score(found.predict(X), found.predict(holes)) > 0.6
    mean, cov = found.posterior(holes)
    assert_allclose(found.transform(holes), mean)
    assert cov.shape == (150, 3, 3)
    assert (np.linalg.eigvalsh(cov) > -1e-12).all()


def test_imputation_beats_the_mean_of_the_column():
    holes = with_holes(0.1)
    lost = np.isnan(holes)
    filled = MixturePPCA(3, 1).fit(holes).impute(holes)
    mean = np.broadcast_to(np.nanmean(holes, axis=0), X.shape)
    assert ((filled - X)[lost] ** 2).mean() < 0.2 * ((mean - X)[lost] ** 2).mean()


def test_shapes_names_and_containers():
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = MixturePPCA(2, [2, 1]).fit(frame)
    assert list(found.feature_names_in_) == list("abcd")
    assert found.components_.shape == (2, 2, 4)
    assert sorted(found.n_components_) == [1, 2]
    Z = found.set_output(transform="pandas").transform(frame)
    assert list(Z.columns) == ["mixtureppca0", "mixtureppca1", "mixtureppca2"]
    assert len(found.get_feature_names_out()) == 3
    mean, cov = found.posterior(frame, component=int(found.n_components_.argmin()))
    assert mean.shape == (150, 1)
    assert cov.shape == (1, 1)
    Z, cov = found.transform(frame, return_cov=True)
    assert isinstance(Z, pd.DataFrame)
    assert cov.shape == (150, 3, 3)
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype, found):
    single = clone(MODEL).fit(X.astype(dtype))
    assert single.components_.dtype == single.transform(X.astype(dtype)).dtype == dtype
    assert single.impute(with_holes().astype(dtype)).dtype == dtype
    assert single.sample(3).dtype == dtype
    assert_allclose(single.log_likelihood_, found.log_likelihood_, rtol=1e-4)
    assert_allclose(single.predict_proba(X.astype(dtype)), found.predict_proba(X), atol=2e-3)


def test_copies_and_files_answer_alike(found, tmp_path):
    save_model(found, tmp_path / "m.gnomon")
    for again in (pickle.loads(pickle.dumps(found)), load_model(tmp_path / "m.gnomon")):
        for method in METHODS[:3]:
            assert_array_equal(getattr(again, method)(with_holes()), getattr(found, method)(with_holes()))
        assert again.bic(X) == found.bic(X)
    assert not hasattr(clone(found), "components_")


def test_fits_do_not_depend_on_the_seed_or_the_order_of_rows():
    order = np.random.default_rng(0).permutation(150)
    a, b = MixturePPCA(3, 1, random_state=5).fit(X), MixturePPCA(3, 1).fit(X[order])
    assert_allclose(a.components_, b.components_, atol=1e-5)
    labels = MixturePPCA(3, 1).fit_predict(X)
    assert_array_equal(labels, a.predict(X))


def test_more_starts_help():
    few, many = (MixturePPCA(5, 1, init="random", n_init=n, random_state=5).fit(X) for n in (1, 6))
    assert len(many.optima_) == 6
    assert many.optima_[0] == few.log_likelihood_
    assert many.log_likelihood_ in many.optima_
    assert many.log_likelihood_ > few.log_likelihood_ + 0.5
    assert many.optima_.max() > many.log_likelihood_  # the highest has a collapsed component
    assert not many.noise_floors_


def test_weights_count_rows():
    w = np.arange(150) % 3
    a, b = MixturePPCA(2, 1).fit(X, sample_weight=w), MixturePPCA(2, 1).fit(np.repeat(X, w, axis=0))
    assert_allclose(a.components_, b.components_, atol=1e-6)
    assert a.n_samples_ == (w > 0).sum()


def test_sparse_rows():
    rows = np.where(X < 1.6, 0.0, X)
    a, b = MixturePPCA(2, 2, tol=1e-8).fit(sp.csr_array(rows)), MixturePPCA(2, 2, tol=1e-8).fit(rows)
    assert (a.solver_, b.solver_) == ("latent", "moments")
    assert_allclose(a.components_, b.components_, atol=1e-4)
    assert_allclose(a.transform(sp.csr_array(rows)), b.transform(rows), atol=1e-3)
    with pytest.raises(TypeError, match="impute needs a dense X"):
        a.impute(sp.csr_array(rows))
    bad = sp.csr_array(with_holes())
    with pytest.raises(ValueError, match="NaN"):
        a.predict(bad)
    with pytest.raises(ValueError, match="NaN"):
        MixturePPCA().fit(bad)


def test_samples_come_from_the_components(found):
    rows, labels = found.sample(4000, return_y=True, random_state=1)
    assert_allclose(np.bincount(labels) / 4000, found.mix_weights_, atol=0.03)
    for c in range(3):
        assert_allclose(rows[labels == c].mean(axis=0), found.means_[c], atol=0.1)
    assert_array_equal(found.sample(5), found.sample(5, random_state=0))


def test_works_inside_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), MixturePPCA(3, 2)).fit(X)
    assert adjusted_rand_score(Y, pipeline.predict(X)) > 0.85


@pytest.mark.parametrize(
    "parameters, error, match",
    [
        ({"n_mixtures": 0}, ValueError, "n_mixtures=0 must be at least 1"),
        ({"n_mixtures": 150}, ValueError, "n_mixtures=150 must be less than the number of rows, 150"),
        ({"n_components": 0}, ValueError, "n_components=0"),
        ({"n_components": 4}, ValueError, "n_components=4 must be less than the rank of X"),
        ({"n_components": 1.5}, TypeError, "n_components=1.5"),
        ({"n_components": [1, 0]}, ValueError, r"n_components\[1\]=0"),
        ({"n_components": [1, 1, 1]}, ValueError, "holds 3 numbers; one number, or n_mixtures=2"),
        ({"shared_noise": "none"}, ValueError, "shared_noise='none'"),
        ({"init": "zeros"}, ValueError, "init='zeros'"),
        ({"solver": "magic"}, ValueError, "solver='magic'"),
        ({"n_init": 0}, ValueError, "n_init=0"),
        ({"tol": 0.0}, ValueError, "tol=0.0"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
    ],
)
def test_bad_parameters(parameters, error, match):
    with pytest.raises(error, match=match):
        MixturePPCA(**parameters).fit(X)


def test_bad_rows(found):
    with pytest.raises(ValueError, match="infinity"):
        MixturePPCA().fit(np.where(X > 7, np.inf, X))
    with pytest.raises(ValueError, match="column 2 of X is never observed"):
        MixturePPCA().fit(np.where(np.arange(4) == 2, np.nan, X))
    with pytest.raises(ValueError, match="rank of X, 0"):
        MixturePPCA().fit(np.ones((20, 5)))
    with pytest.raises(ValueError, match="constant"):
        MixturePPCA().fit(np.where(np.eye(20, 5) > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="rank of X, 2"):
        MixturePPCA(2, 2).fit(X[:, [0, 1, 0, 1]])
    with pytest.raises(ValueError, match="component=3 must be less than n_mixtures=3"):
        found.posterior(X, component=3)
    with pytest.raises(ValueError, match="X has 3 features"):
        found.predict(X[:, :3])


@pytest.mark.parametrize("method", METHODS)
def test_unfitted(method):
    with pytest.raises(sklearn.exceptions.NotFittedError):
        getattr(MixturePPCA(), method)(X)


def test_warnings_name_collapsed_components_and_early_stops():
    tiny = np.vstack([X, 500 + np.eye(4)[:2]])
    with pytest.warns(UserWarning, match=r"components \[1\] collapsed.*fewer n_mixtures"):
        found = MixturePPCA(2, 2).fit(tiny)
    assert found.collapsed_ == (1,)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="raise max_iter"):
        found = MixturePPCA(3, 2, max_iter=1).fit(X)
    assert not found.converged_
    assert found.n_iter_ == 1


def held_out_gain(rows, n_mixtures, n_components):
    """Held-out log-likelihood in nats per row beyond that of one PPCA of the same latent dimensions."""
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = rows[order[: 2 * len(rows) // 3]], rows[order[2 * len(rows) // 3 :]]
    mixture = MixturePPCA(n_mixtures, n_components, n_init=1).fit(train)
    return mixture.score(test) - PPCA(n_components).fit(train).score(test)


@pytest.mark.slow
def test_digits_are_better_described_by_local_subspaces():
    digits = load_digits().data
    assert held_out_gain(digits, 10, 5) > 5
    rows = np.where(np.random.default_rng(0).random(digits.shape) < 0.2, np.nan, digits)
    found = MixturePPCA(5, 5).fit(rows)
    lost = np.isnan(rows)
    column = ((np.nanmean(rows, axis=0) - digits)[lost] ** 2).mean()
    assert ((found.impute(rows) - digits)[lost] ** 2).mean() < 0.45 * column


@pytest.mark.slow
@pytest.mark.realdata
def test_usps_is_better_described_by_local_subspaces():
    assert held_out_gain(np.asarray(fetch_usps().data, dtype=float), 10, 10) > 50


@pytest.mark.parametrize("max_iter", [1, 2, 1000])
def test_convergence_is_said_as_it_is(max_iter):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = MixturePPCA(3, 1, n_init=1, max_iter=max_iter).fit(X)
    assert found.converged_ == (found.objective_residual_ <= found.tol) == (max_iter == 1000)
    assert found.converged_ != any(issubclass(w.category, ConvergenceWarning) for w in caught)


def test_the_default_number_of_starts_finds_planted_components():
    rng = np.random.default_rng(1)
    s, p, n = 4, 15, 400
    labels = rng.integers(0, s, n)
    means, W = 1.4 * rng.normal(size=(s, p)), 1.5 * rng.normal(size=(s, p, 2))
    rows = means[labels] + np.einsum("npk,nk->np", W[labels], rng.normal(size=(n, 2))) + 0.5 * rng.normal(size=(n, p))
    assert adjusted_rand_score(MixturePPCA(s, 2).fit_predict(rows), labels) > 0.95


def test_a_single_component_needs_one_start():
    assert len(MixturePPCA(1, 1).fit(X).optima_) == 1
