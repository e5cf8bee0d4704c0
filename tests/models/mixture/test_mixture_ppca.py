"""The mixture of PPCA beside brute force over components and missing entries; what EM promises; the special cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.metrics import adjusted_rand_score

from gnomon.models.mixture import local_gaussians as local
from gnomon.models.mixture import mixture_ppca as model
from gnomon.models.mixture.em import CompleteRows, IncompleteRows
from gnomon.rows import namespace, read
from models.mixture.planted import SIZES, params_of, planted
from oracles import mixture as oracle
from rows.copied import copied_rows


def oracle_of(fitted):
    p = fitted.params
    W = [p.W[c, :, :k] for c, k in enumerate(fitted.sizes)]
    return oracle.Model(p.mix_weights, p.means, W, p.noise_vars)


def hide(rng, X, share=0.25, repeated=False):
    lost = rng.random(X.shape) < share
    return np.where(lost[np.arange(len(X)) % 5] if repeated else lost, np.nan, X)


def fit(X, sizes=SIZES, weights=None, seed=0, **options):
    return model.fit(read(X, weights, masked=None), model.Options(sizes, **options), np.random.default_rng(seed))


def standard(X, sizes, moments=True, shared=False):
    """Engine over rows in the units of X: mean 0, scale 1."""
    shape = local.Shape(sizes, X.shape[1], 1e-9, shared)
    if np.isnan(X).any() or moments is None:
        return IncompleteRows(copied_rows(X, masked=True).in_units(np.zeros(X.shape[1]), 1.0), shape)
    return CompleteRows(copied_rows(X).in_units(np.zeros(X.shape[1]), 1.0), shape, moments=moments)


# -- oracle ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True, "repeated"])
def test_densities_and_responsibilities_are_those_of_the_gaussians(rng, missing):
    truth, X, _ = planted(rng, n=40, spread=0.7)
    X = hide(rng, X, repeated=missing == "repeated") if missing else X
    post = model.conditioned(params_of(truth), read(X, masked=None), with_cov=True)
    assert_allclose(post.log_density, oracle.log_density(truth, X), rtol=1e-9)
    assert_allclose(post.resp, oracle.responsibilities(truth, X), rtol=1e-7, atol=1e-12)
    for i in (0, 7, 21):
        for c, k in enumerate(SIZES):
            mean, cov = oracle.latent(truth, X[i], c)
            assert_allclose(post.z[i, c, :k], mean, rtol=1e-8, atol=1e-9)
            found = post.covs[i, c] if missing else post.covs[c]
            assert_allclose(found[:k, :k], cov, rtol=1e-8, atol=1e-9)


def test_sparse_rows_have_the_densities_of_dense_ones(rng):
    truth, X, _ = planted(rng, n=40)
    X[rng.random(X.shape) < 0.5] = 0.0
    dense, sparse = (model.conditioned(params_of(truth), read(A, masked=None)) for A in (X, sp.csr_array(X)))
    assert_allclose(sparse.log_density, dense.log_density, rtol=1e-10)
    assert_allclose(sparse.z, dense.z, rtol=1e-8, atol=1e-10)


def test_rows_without_any_entry_are_left_to_the_prior(rng):
    truth, X, _ = planted(rng, n=5)
    X[2] = np.nan
    post = model.conditioned(params_of(truth), read(X, masked=None), with_cov=True)
    assert_allclose(post.log_density[2], 0.0, atol=1e-12)
    assert_allclose(post.resp[2], truth.weights, rtol=1e-12)
    assert_allclose(post.z[2], 0.0, atol=1e-12)


def test_imputed_entries_are_conditional_expectations(rng):
    truth, X, _ = planted(rng, n=30, spread=0.7)
    X = hide(rng, X)
    found = model.impute(params_of(truth), read(X, masked=True)).gather()
    assert_allclose(found, oracle.impute(truth, X), rtol=1e-8, atol=1e-9)
    seen = ~np.isnan(X)
    assert (found[seen] == X[seen]).all()


def test_gated_moments_are_those_of_draws(rng):
    truth, X, _ = planted(rng, n=1, p=3, sizes=(1, 2), spread=0.5)
    post = model.conditioned(params_of(truth), read(X, masked=None))
    mean, cov = model.gated_moments(post, (1, 2), with_cov=True)
    n = 200_000
    c = rng.random(n) < post.resp[0, 1]
    draws = np.zeros((n, 3))
    draws[~c, :1] = rng.multivariate_normal(*oracle.latent(truth, X[0], 0), size=(~c).sum())
    draws[c, 1:] = rng.multivariate_normal(*oracle.latent(truth, X[0], 1), size=c.sum())
    error = np.sqrt(np.diag(cov[0]) / n)
    assert (np.abs(draws.mean(axis=0) - mean[0]) < 5 * error + 1e-12).all()
    assert_allclose(np.cov(draws.T), cov[0], atol=0.02 * np.abs(cov).max())


# -- steps -------------------------------------------------------------------------------------------------------


def test_closed_form_step_is_that_of_the_paper(rng):
    truth, X, _ = planted(rng, spread=1.0)
    engine = standard(X, SIZES)
    before = params_of(truth)
    after = engine.m_step(engine.e_step(before), before)
    wanted = oracle.em_step(truth, X)
    assert_allclose(after.mix_weights, wanted.weights, rtol=1e-9)
    assert_allclose(after.means, wanted.means, rtol=1e-8, atol=1e-9)
    assert_allclose(after.noise_vars, wanted.s2, rtol=1e-8)
    for c in range(3):
        assert_allclose(after.W[c] @ after.W[c].T, wanted.W[c] @ wanted.W[c].T, rtol=1e-7, atol=1e-8)


def test_masked_step_on_complete_rows_takes_the_weighted_means(rng):
    truth, X, _ = planted(rng, spread=1.0)
    engine = standard(X, SIZES, moments=None)
    before = params_of(truth)
    after = engine.m_step(engine.e_step(before), before)
    R = oracle.responsibilities(truth, X)
    assert_allclose(after.means, (R.T @ X) / R.sum(axis=0)[:, None], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("repeated", [False, True])
def test_expected_sums_of_incomplete_rows_are_those_of_each_row(rng, repeated):
    truth, X, _ = planted(rng, n=40, spread=0.7)
    X = hide(rng, X, repeated=repeated)
    engine = standard(X, SIZES)
    found = engine.e_step(params_of(truth))
    assert_allclose(found.log_likelihood, oracle.log_density(truth, X).sum(), rtol=1e-10)
    resp, seen = oracle.responsibilities(truth, X), ~np.isnan(X)
    for c, k in enumerate(SIZES):
        used = [*range(k), 3]
        second, zz, xz = np.zeros((k + 1, k + 1)), np.zeros((7, k + 1, k + 1)), np.zeros((7, k + 1))
        for i, x in enumerate(X):
            mean, cov = oracle.latent(truth, x, c)
            z1 = np.append(mean, 1.0)
            both = np.outer(z1, z1)
            both[:k, :k] += cov
            second += resp[i, c] * both
            zz += resp[i, c] * seen[i][:, None, None] * both
            xz += resp[i, c] * np.nan_to_num(x)[:, None] * z1
        assert_allclose(found.second[c][np.ix_(used, used)], second, rtol=1e-8, atol=1e-9)
        assert_allclose(found.zz[c][:, used][:, :, used], zz, rtol=1e-8, atol=1e-9)
        assert_allclose(found.xz[c][:, used], xz, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("solver", ["moments", "latent", "masked"])
def test_single_steps_never_lower_the_likelihood(rng, solver, shared):
    _, X, _ = planted(rng, n=120, spread=0.5)
    X = hide(rng, X) if solver == "masked" else X
    engine = standard(X, SIZES, solver == "moments", shared)
    params = params_of(oracle.random_model(rng, 7, SIZES, 1.0))
    if shared:
        params = params._replace(noise_vars=np.full(3, 0.3))
    path = []
    for _ in range(30):
        sums = engine.e_step(params)
        path.append(sums.log_likelihood)
        params = engine.m_step(sums, params)
        assert not shared or np.ptp(params.noise_vars) == 0
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 10


@pytest.mark.parametrize("kind", ["moments", "latent", "masked"])
def test_fitted_likelihood_is_that_of_brute_force(rng, kind):
    _, X, _ = planted(rng, n=90)
    X = hide(rng, X, 0.15) if kind == "masked" else X
    found = fit(X, solver=kind)
    assert_allclose(found.value.log_likelihood, oracle.log_density(oracle_of(found.value), X).sum(), rtol=1e-9)
    assert (np.diff(found.path) >= -1e-9 * np.abs(found.path[:-1])).all()
    assert found.path[-1] > found.path[0]


# -- two routes --------------------------------------------------------------------------------------------------


def assert_same(a, b, tol):
    p, q = a.value.params, b.value.params
    assert_allclose(a.value.log_likelihood, b.value.log_likelihood, rtol=1e-8)
    scale = np.abs(q.W).max()
    assert_allclose(p.mix_weights, q.mix_weights, atol=tol)
    assert_allclose(p.means, q.means, atol=tol * scale)
    assert_allclose(p.W, q.W, atol=tol * scale)
    assert_allclose(p.noise_vars, q.noise_vars, rtol=tol)


@pytest.mark.parametrize("shared", [False, True])
def test_all_solvers_reach_the_same_maximum(rng, shared):
    _, X, _ = planted(rng, n=600, spread=8.0)  # clusters far apart: no other maximum is near the way of any solver
    found = [fit(X, solver=name, shared=shared, tol=1e-8) for name in ("moments", "latent", "masked")]
    assert_same(found[1], found[0], 1e-6)
    assert_same(found[2], found[0], 1e-6)


def test_sparse_is_dense(rng):
    _, X, _ = planted(rng, p=12)
    X[rng.random(X.shape) < 0.3] = 0.0
    a, b = fit(sp.csr_array(X), tol=1e-8), fit(X, tol=1e-8, solver="latent")
    assert a.stats["solver"] == "latent"
    assert_same(a, b, 1e-6)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_wide_tables_are_rotated_without_loss(rng, monkeypatch, convert):
    _, X, _ = planted(rng, n=60, p=90)
    weights = rng.uniform(0.5, 2.0, 60)
    rotated = fit(convert(X), weights=weights, tol=1e-8)
    monkeypatch.setattr(model, "GRAM_SIDE", 0)
    assert_same(rotated, fit(convert(X), weights=weights, tol=1e-8, solver="latent"), 1e-5)


@pytest.mark.parametrize("kind", ["moments", "latent", "masked"])
def test_integer_weights_are_repeated_rows(rng, kind):
    _, X, _ = planted(rng, n=150)
    X = hide(rng, X, 0.1) if kind == "masked" else X
    w = rng.integers(1, 4, len(X))
    a, b = fit(X, weights=w.astype(float), solver=kind, n_init=1), fit(np.repeat(X, w, axis=0), solver=kind, n_init=1)
    assert_same(a, b, 1e-5)


def test_extrapolated_and_plain_steps_end_together(rng):
    _, X, _ = planted(rng, spread=1.5)
    a, b = (fit(X, solver="latent", tol=1e-8, max_iter=5000, acceleration=acc) for acc in ("alternating", None))
    assert_same(a, b, 1e-4)
    assert a.stats["n_iter"] <= b.stats["n_iter"]


# -- special cases -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["moments", "latent", "masked"])
def test_one_component_is_ppca(rng, kind):
    X = oracle.draw(rng, oracle.random_model(rng, 6, (2,)), 80)[0]
    p = fit(X, (2,), solver=kind, tol=1e-9).value.params
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    noise = values[:4].mean()
    C = vectors[:, 4:] * (values[4:] - noise) @ vectors[:, 4:].T
    assert_allclose(p.noise_vars, noise, rtol=1e-7)
    assert_allclose(p.W[0] @ p.W[0].T, C, atol=1e-6 * np.abs(C).max())
    assert_allclose(p.means[0], X.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    "unit", [1e-150, pytest.param(1e-30, marks=pytest.mark.slow), pytest.param(1e30, marks=pytest.mark.slow), 1e150]
)
@pytest.mark.parametrize("missing", [False, True])
def test_units_do_not_matter(unit, missing):
    rng = np.random.default_rng(0)
    _, X, _ = planted(rng)
    X = hide(rng, X, 0.1) if missing else X
    a, b = fit(X, tol=1e-9), fit(X * unit, tol=1e-9)
    assert_allclose(b.value.params.W / unit, a.value.params.W, rtol=1e-5, atol=1e-7)
    assert_allclose(b.value.params.noise_vars / unit / unit, a.value.params.noise_vars, rtol=1e-6)
    shift = np.isfinite(X).sum() * np.log(unit)
    assert_allclose(b.value.log_likelihood + shift, a.value.log_likelihood, rtol=1e-7)
    assert_allclose(
        model.conditioned(b.value.params, read(X * unit, masked=None)).resp,
        model.conditioned(a.value.params, read(X, masked=None)).resp,
        atol=1e-6,
    )


def test_components_and_axes_have_a_canonical_order(rng):
    _, X, _ = planted(rng)
    found = fit(X).value
    assert (np.diff(found.params.mix_weights) <= 0).all()
    assert sorted(found.sizes) == sorted(SIZES)
    for c, k in enumerate(found.sizes):
        gram = found.params.W[c].T @ found.params.W[c]
        assert (found.params.W[c, :, k:] == 0).all()
        assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * gram.max())
        assert (np.diff(np.diag(gram)) <= 0).all()
        assert (np.take_along_axis(found.params.W[c], np.abs(found.params.W[c]).argmax(0)[None], 0) >= 0).all()


def test_tiny_clusters_rest_on_the_floor_and_are_named():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 4)), 500 + np.eye(4)[:2]])
    found = fit(X, (2, 2))
    assert found.stats["collapsed"] == [1]
    assert np.isfinite(found.value.log_likelihood)
    assert all(np.isfinite(part).all() for part in found.value.params)


def test_more_components_than_distinct_rows_stay_finite():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 5)), 6, axis=0)
    found = fit(X, (1,) * 6, n_init=2, max_iter=50)
    assert all(np.isfinite(part).all() for part in found.value.params)
    assert found.stats["floors"] or found.stats["collapsed"]


def test_a_healthy_start_wins_over_a_collapsed_one(monkeypatch):
    rng = np.random.default_rng(1)
    _, X, _ = planted(rng, sizes=(1, 1))
    results = []
    original = model._in_data_units

    def first_collapses(table, result, sizes):
        found = original(table, result, sizes)
        if not results:
            found.stats["collapsed"] = [0]
            found = found._replace(value=found.value._replace(log_likelihood=1e9))
        results.append(found)
        return found

    monkeypatch.setattr(model, "_in_data_units", first_collapses)
    monkeypatch.setattr(model, "SAME", -1.0)
    assert fit(X, (1, 1), n_init=2) is results[1]


# -- recovery ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_planted_subspaces_are_recovered(rng, missing):
    n, p, sizes = 3000, 10, (2, 2, 2)
    truth, X, labels = planted(rng, n, p, sizes)
    X = hide(rng, X, missing)
    found = fit(X, sizes)
    post = model.conditioned(found.value.params, read(X, masked=None))
    assert adjusted_rand_score(labels, post.resp.argmax(axis=1)) > 0.97
    assert found.value.log_likelihood >= oracle_of_truth(truth, X)
    for c in range(3):
        mine = int(np.linalg.norm(found.value.params.means - truth.means[c], axis=1).argmin())
        n_c = truth.weights[c] * n
        # an axis of variance v tilts by about sqrt(s2 (v + s2) / n) / v in each of the p - k other directions
        v = np.linalg.svd(truth.W[c], compute_uv=False)[-1] ** 2
        tilt = np.sqrt((p - 2) * truth.s2[c] * (v + truth.s2[c]) / (n_c * (1 - missing))) / v
        assert subspace_angles(truth.W[c], found.value.params.W[mine])[0] < 4 * tilt
        error = np.sqrt(2.0 / (n_c * (p - 2) * (1 - missing)))
        assert abs(np.log(found.value.params.noise_vars[mine] / truth.s2[c])) < 5 * error + 2 / n_c


def oracle_of_truth(truth, X):
    post = model.conditioned(params_of(truth), read(X, masked=None))
    return post.log_density.sum()


def test_draws_have_the_density_of_the_model(rng):
    truth, _, _ = planted(rng, n=1, p=4, sizes=(1, 2))
    X, labels = model.sample(params_of(truth), 20_000, rng)
    assert_allclose(np.bincount(labels) / 20_000, truth.weights, atol=0.02)
    for c in range(2):
        C = oracle.covariance(truth, c)
        assert_allclose(np.cov(X[labels == c].T), C, atol=0.06 * np.abs(C).max())


# -- contract ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n, p, s, kind, solver",
    [
        (100, 10, 2, "dense", "moments"),
        (100, 50, 2, "dense", "latent"),
        (2000, 500, 1, "dense", "moments"),
        (20, 500, 2, "dense", "moments"),
        (100, 500, 2, "dense", "latent"),
        (100, 10, 2, "sparse", "latent"),
        (20, 500, 2, "sparse", "moments"),
        (100, 10, 2, "missing", "masked"),
    ],
)
def test_the_choice_of_solver(n, p, s, kind, solver):
    assert model.choose_solver(n, p, s, sparse=kind == "sparse", missing=kind == "missing") == solver


def test_solvers_that_cannot_read_the_data_say_so(rng):
    _, X, _ = planted(rng, n=30)
    with pytest.raises(ValueError, match="solver='moments' would make the sparse X dense"):
        fit(sp.csr_array(X), solver="moments")
    with pytest.raises(ValueError, match="solver='latent' needs every entry of X"):
        fit(hide(rng, X), solver="latent")


def test_one_read_of_the_rows_per_iteration(rng):
    _, X, _ = planted(rng)
    short, long = (fit(X, solver="latent", acceleration=None, tol=1e-14, max_iter=m, n_init=1) for m in (3, 13))
    assert long.stats["n_passes"] - short.stats["n_passes"] == pytest.approx(10)


def test_a_start_far_below_is_left_and_the_best_is_the_same(rng, monkeypatch):
    centers = 10.0 * rng.normal(size=(6, 8))
    X = np.repeat(centers, 50, axis=0) + rng.normal(size=(300, 8))  # random rows as centers miss a cluster or two
    options = model.Options((1,) * 6, init="random", n_init=8)
    some, every = (fit_with(X, options, far, monkeypatch) for far in (0.5, np.inf))
    assert_allclose(some.value.log_likelihood, every.value.log_likelihood, rtol=1e-12)
    assert some.stats["n_passes"] < every.stats["n_passes"]
    for one, other in zip(some.stats["optima"], every.stats["optima"]):
        assert one == other or one < some.value.log_likelihood - 0.5 * len(X) + 1.0
    monkeypatch.setattr(model, "SAME", -1.0)  # starts of other maxima are taken for none of these
    alone = fit_with(X, options, np.inf, monkeypatch)
    assert_allclose(every.stats["optima"], alone.stats["optima"], rtol=1e-9)


def fit_with(X, options, far, monkeypatch):
    monkeypatch.setattr(model, "FAR", far)
    return model.fit(read(X, masked=None), options, np.random.default_rng(0))


def test_a_hopeless_start_is_left_early_and_the_best_is_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    centers = 30.0 * rng.normal(size=(6, 8))
    X = np.repeat(centers, 50, axis=0) + rng.normal(size=(300, 8))
    options = model.Options((1,) * 6, init="random", n_init=8)
    found = []
    for far in (5.0, np.inf):
        monkeypatch.setattr(model, "HOPELESS", far)
        found.append(model.fit(read(X, masked=None), options, np.random.default_rng(0)))
    some, every = found
    assert_allclose(some.value.log_likelihood, every.value.log_likelihood, rtol=1e-12)
    assert some.stats["n_passes"] < every.stats["n_passes"]
    assert some.stats["residual"] <= options.tol


@pytest.mark.parametrize("missing", [False, True])
def test_a_start_near_the_maximum_of_another_is_on_the_way_there(rng, missing, monkeypatch):
    _, X, _ = planted(rng, n=400, spread=0.7)
    X = hide(rng, X) if missing else X
    ended = []
    monkeypatch.setattr(model, "finish", lambda *a, finish=model.finish: ended.append(finish(*a)) or ended[-1])
    monkeypatch.setattr(model, "FAR", np.inf)
    some = fit(X, n_init=6)
    n_some = len(ended)
    monkeypatch.setattr(model, "SAME", -1.0)
    every = fit(X, n_init=6)
    assert n_some < len(ended) - n_some == 6
    assert_allclose(some.stats["optima"], every.stats["optima"], rtol=1e-9)


# -- rows elsewhere ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["moments", "latent", "masked", "wide"])
def test_rows_that_are_copied_to_every_step_give_the_same_fit(rng, solver, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)  # the same blocks, so that rounding picks the same maximum
    truth, X, _ = planted(rng, n=60 if solver == "wide" else 120, p=80 if solver == "wide" else 7)
    X = hide(rng, X) if solver == "masked" else X
    masked = solver == "masked"
    options = model.Options(SIZES, solver="auto" if solver == "wide" else solver, max_iter=15 if masked else 50)
    here = model.fit(read(X, masked=None), options, np.random.default_rng(0))
    there = model.fit(copied_rows(X, masked=masked), options, np.random.default_rng(0))
    assert_allclose(there.path[-1], here.path[-1], rtol=1e-8)
    assert_allclose(there.value.params.means, here.value.params.means, atol=1e-4)
    a, b = (
        model.conditioned(here.value.params, rows) for rows in (read(X, masked=None), copied_rows(X, masked=masked))
    )
    assert_allclose(b.resp, a.resp, atol=1e-12)
    assert_allclose(b.z, a.z, atol=1e-10)
