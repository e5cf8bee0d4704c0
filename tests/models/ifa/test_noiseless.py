"""Independent factor analysis: likelihood against its definition, two solvers, linear discriminants, recovery."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gnomon._types import Status
from gnomon.models.ifa import noiseless as model
from gnomon.rows import read
from oracles import ifa as oracle


def labels_of(ids, sizes, tied=False):
    """Labels of component numbers (n, b), -1 where unlabeled."""
    c = max(sizes)
    log_pl = np.full((ids.shape[1], c, len(ids)), -np.inf)
    with np.errstate(divide="ignore"):
        for s in range(ids.shape[1]):
            log_pl[s, : sizes[s]] = np.log(oracle.one_of_k(ids[:, s], sizes[s]).T)
    return model.Labels(log_pl, tuple(sizes), tied)


def planted(rng, n=300, p=5, sizes=(2, 3), gap=3.0, labeled=0.3):
    """Rows, all component numbers, the known ones, and the mixing."""
    ids = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    Z = rng.normal(size=(n, p))
    Z[:, : len(sizes)] += gap * ids
    mixing = rng.normal(size=(p, p))
    known = np.where(rng.random(ids.shape) < labeled, ids, -1)
    return Z @ mixing.T + rng.normal(size=p), ids, known, mixing


def fit(X, labels, seed=0, **options):
    return model.fit(read(X), labels, model.Options(**options), np.random.default_rng(seed))


def mixtures_of(fitted):
    params = fitted.params
    found = [
        (np.exp(params.log_weights[s][:k]), params.means[s][:k], params.variances[s][:k])
        for s, k in enumerate(fitted.sizes)
    ]
    return found + [(np.ones(1), np.zeros(1), np.ones(1))] * (len(fitted.unmixing) - len(found))


# -- oracle ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["profile", "gem", "gem-natural"])
def test_log_likelihood_is_that_of_the_definition(rng, solver):
    X, _, known, _ = planted(rng, n=80)
    result = fit(X, labels_of(known, (2, 3)), solver=solver, n_init=2)
    found = result.value
    pl = [oracle.one_of_k(known[:, s], k) for s, k in enumerate((2, 3))]
    want = oracle.log_likelihood(X, found.mean, found.unmixing, mixtures_of(found), pl)
    assert_allclose(result.stats["log_likelihood"], want, rtol=1e-9)
    assert_allclose(result.path[-1], want, rtol=1e-9)
    log_pl = labels_of(known, (2, 3)).log_pl
    assert_allclose(model.posterior(found, read(X), log_pl).log_density.sum(), want, rtol=1e-9)
    blank = oracle.log_likelihood(X, found.mean, found.unmixing, mixtures_of(found), [])
    assert_allclose(model.posterior(found, read(X)).log_density.sum(), blank, rtol=1e-9)


def test_tied_log_likelihood_is_that_of_the_definition(rng):
    X, _, known, _ = planted(rng, n=60, sizes=(3,))
    result = fit(X, labels_of(known, (3, 3), tied=True))
    found, p = result.value, result.value.params
    pl = oracle.one_of_k(known[:, 0], 3)
    args = (np.exp(p.log_weights[0]), p.means, p.variances, pl)
    assert_allclose(
        result.stats["log_likelihood"], oracle.tied_log_likelihood(X, found.mean, found.unmixing, *args), rtol=1e-9
    )


def test_mixing_and_unmixing_are_inverse(rng):
    X, _, known, _ = planted(rng)
    found = fit(X, labels_of(known, (2, 3))).value
    assert_allclose(found.mixing @ found.unmixing, np.eye(5), atol=1e-9)
    Z = model.posterior(found, read(X)).z
    assert_allclose(Z @ found.mixing.T + found.mean, X, atol=1e-9)
    assert_allclose(np.cov(Z.T, bias=True).diagonal(), 1.0)
    assert_allclose(np.cov(Z[:, 2:].T, bias=True), np.eye(3), atol=1e-9)


# -- at every step -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "solver, tied", [("profile", False), ("gem", False), ("gem-natural", False), ("profile", True)]
)
def test_likelihood_never_falls(rng, solver, tied):
    X, _, known, _ = planted(rng, gap=2.0)
    labels = labels_of(known[:, 1:], (3, 3), tied=True) if tied else labels_of(known, (2, 3))
    path = fit(X, labels, solver=solver, n_init=3).path
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 1.0


# -- two routes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gem", "gem-natural"])
def test_gem_reaches_the_maximum_of_the_profile(rng, solver):
    X, _, known, _ = planted(rng, gap=4.0)
    labels = labels_of(known, (2, 3))
    profile = fit(X, labels, init="labels")
    gem = fit(X, labels, init="labels", solver=solver, tol=1e-8, max_iter=5000)
    assert_allclose(gem.stats["log_likelihood"], profile.stats["log_likelihood"], rtol=0, atol=1e-3)
    assert_allclose(gem.value.unmixing[:2], profile.value.unmixing[:2], atol=5e-3)


def test_tied_and_fully_labeled_is_linear_discriminant_analysis(rng):
    X, ids, _, _ = planted(rng, sizes=(4,), gap=1.5)
    result = fit(X, labels_of(ids, (4, 4, 4), tied=True), init="labels")
    found = result.value
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, ids[:, 0])
    posterior = model.posterior(found, read(X)).proba[0]
    assert_allclose(posterior, lda.predict_proba(X), atol=1e-7)
    directions = np.linalg.svd(lda.scalings_[:, :3])[0][:, :3]
    own = np.linalg.svd(found.unmixing[:3].T)[0][:, :3]
    assert_allclose(np.linalg.svd(directions.T @ own, compute_uv=False), 1.0, atol=1e-8)
    scores = (X - found.mean) @ lda.scalings_[:, :3]
    cross = np.corrcoef(scores.T, model.posterior(found, read(X)).z[:, :3].T)[:3, 3:]
    assert_allclose(np.abs(cross), np.eye(3), atol=1e-5)  # the same axes in the same order


def test_tied_axes_do_not_change_the_model(rng):
    X, _, known, _ = planted(rng, sizes=(3,), gap=1.5)
    found = fit(X, labels_of(known, (3, 3), tied=True)).value
    variances = found.params.variances[:, 0]
    assert variances[0] < variances[1]
    assert_allclose(found.params.V @ found.params.V.T, np.eye(2), atol=1e-5)


def test_sparse_rows_are_dense_rows(rng):
    X, _, known, _ = planted(rng)
    X[rng.random(X.shape) < 0.3] = 0.0
    labels = labels_of(known, (2, 3))
    dense, sparse = (fit(A, labels, n_kept=4) for A in (X, sp.csc_array(X)))
    assert_allclose(sparse.value.unmixing, dense.value.unmixing, atol=1e-6)
    assert_allclose(sparse.stats["log_likelihood"], dense.stats["log_likelihood"], rtol=1e-9)
    Z = [model.posterior(dense.value, read(A)).z for A in (X, sp.csr_array(X))]
    assert_allclose(Z[0], Z[1], atol=1e-9)


def test_certain_and_empty_plausibilities_are_labels_and_none(rng):
    X, _, known, _ = planted(rng, n=100)
    labels = labels_of(known, (2, 3))
    scaled = labels._replace(log_pl=labels.log_pl + np.log(0.25))  # only their ratios matter
    a, b = fit(X, labels), fit(X, scaled)
    assert_allclose(a.value.unmixing, b.value.unmixing, atol=1e-8)
    assert_allclose(b.stats["log_likelihood"] - a.stats["log_likelihood"], 200 * np.log(0.25))


# -- special cases -----------------------------------------------------------------------------------------------------


def test_predictions_do_not_depend_on_the_coordinates(rng):
    X, _, known, _ = planted(rng)
    labels = labels_of(known, (2, 3))
    A = rng.normal(size=(5, 5))
    plain, turned = fit(X, labels, init="labels"), fit(X @ A + 3.0, labels, init="labels")
    change = -len(X) * np.linalg.slogdet(A)[1]
    assert_allclose(turned.stats["log_likelihood"], plain.stats["log_likelihood"] + change, rtol=1e-9)
    posteriors = [model.posterior(plain.value, read(X)), model.posterior(turned.value, read(X @ A + 3.0))]
    for one, other in zip(posteriors[0].proba, posteriors[1].proba, strict=True):
        assert_allclose(one, other, atol=1e-5)


def test_unlabeled_latents_have_one_order_and_sign(rng):
    X, _, known, _ = planted(rng, n=500, sizes=(2, 2, 2), gap=5.0)
    known[:, [0, 2]] = -1
    results = [fit(X, labels_of(known, (2, 2, 2)), seed=seed, n_init=12) for seed in (1, 2)]
    assert_allclose(results[0].value.unmixing, results[1].value.unmixing, atol=1e-4)
    mixing, params = results[0].value.mixing, results[0].value.params
    assert (mixing[np.abs(mixing).argmax(axis=0), np.arange(5)] > 0).all()
    explained = (mixing**2).sum(axis=0)
    assert explained[0] >= explained[2]
    assert explained[3] >= explained[4]
    assert (np.diff(params.means[[0, 2]], axis=1) > 0).all()


def test_labeled_components_keep_their_numbers(rng):
    X, ids, known, _ = planted(rng, gap=5.0)
    swapped = np.where(known[:, :1] < 0, -1, 1 - known[:, :1])
    found = fit(X, labels_of(np.hstack([swapped, known[:, 1:]]), (2, 3))).value
    for s, truth in enumerate((1 - ids[:, 0], ids[:, 1])):
        predicted = model.posterior(found, read(X)).proba[s].argmax(axis=1)
        assert (predicted == truth).mean() > 0.95


# -- optimality and recovery -------------------------------------------------------------------------------------------


def test_no_nearby_model_is_better(rng):
    X, _, known, _ = planted(rng, n=120)
    result = fit(X, labels_of(known, (2, 3)))
    found = result.value
    pl = [oracle.one_of_k(known[:, s], k) for s, k in enumerate((2, 3))]
    for size in (1e-4, 1e-2):
        W = found.unmixing * (1.0 + size * rng.normal(size=found.unmixing.shape))
        assert oracle.log_likelihood(X, found.mean, W, mixtures_of(found), pl) < result.stats["log_likelihood"]
        moved = [
            (w, m + size * rng.normal(size=m.shape), v * np.exp(size * rng.normal(size=v.shape)))
            for w, m, v in mixtures_of(found)
        ]
        assert oracle.log_likelihood(X, found.mean, found.unmixing, moved, pl) < result.stats["log_likelihood"]


def test_sources_are_recovered_as_well_as_by_fastica(rng):
    n, ids = 2000, rng.integers(0, 2, (2000, 4))
    Z = (2.0 * ids - 1.0) * [1.0, 1.5, 2.0, 3.0] + rng.normal(size=(n, 4))
    mixing = rng.normal(size=(4, 4))
    X = Z @ mixing.T
    nothing = labels_of(np.full((n, 4), -1), (2, 2, 2, 2))
    found = fit(X, nothing, init="random", n_init=3).value
    ica = FastICA(whiten="unit-variance", random_state=0, tol=1e-6, max_iter=2000).fit(X)
    own, other = (oracle.amari_distance(W, mixing) for W in (found.unmixing, ica.components_))
    assert own < 0.05
    assert own < other + 0.005


def test_samples_have_the_density_of_the_model(rng):
    X, _, known, _ = planted(rng, n=400)
    found = fit(X, labels_of(known, (2, 3))).value
    drawn, ids = model.sample(found, 40_000, rng)
    assert_allclose(
        drawn.mean(axis=0),
        found.mean + found.mixing[:, :2] @ [m @ w for w, m, _ in mixtures_of(found)[:2]],
        atol=5 * X.std() / 200,
    )
    weights = np.exp(found.params.log_weights[1])
    assert_allclose(np.bincount(ids[:, 1], minlength=3) / 40_000, weights, atol=5 * 0.5 / 200)
    refit = fit(drawn, labels_of(ids, (2, 3)), init="labels").value
    assert_allclose(refit.params.means, found.params.means, atol=0.06)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_more_latents_than_directions_are_refused(rng):
    X = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match="3 latent variables need"):
        fit(np.column_stack([X, X[:, 0]]), labels_of(np.full((50, 3), -1), (2, 2, 2)))


def test_a_variance_on_its_floor_is_named(rng):
    X = rng.normal(size=(200, 3))
    X[:, 0] = np.where(np.arange(200) < 100, 0.0, 5.0 + X[:, 0])  # one component without variance
    known = np.where(np.arange(200) % 2, -1, (np.arange(200) < 100).astype(int))[:, None]
    result = fit(X, labels_of(known, (2,)))
    assert result.stats["floors"] == [(0, 1)]
    assert result.value.params.variances.min() == pytest.approx(1e-4, rel=1e-6)
    assert result.status is Status.CONVERGED
    assert result.stats["residual"] <= 1e-6
