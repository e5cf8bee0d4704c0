"""Conditioning, likelihood and EM steps of the two-view model against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.numerics import linear_gaussian as lg
from gnomon.numerics.moments import output_sets
from numerics import build
from oracles import em, gaussian

LIMITS = lg.Limits(1e-12, 1e-12)
FREE = lg.Limits(1e-12, 1e-12, shared_y_noise=False)
LOOSE = pytest.mark.parametrize("loose_below", [0, 4, 10**6], ids=["patterns", "mixed", "loose"])
ALL_TARGETS = pytest.mark.parametrize("targets", build.TARGETS)


def other_model(rng, model):
    """Parameters away from those that made the data."""
    return gaussian.random_model(rng, *model.W_x.shape, len(model.m_y), s2_x=0.7, s2_y=0.5)


def case(rng, targets, **kwargs):
    model, X, Y = build.draw(rng, targets=targets, **kwargs)
    return build.params(other_model(rng, model)), X, Y, rng.uniform(0.5, 3.0, len(X))


def test_latent_map_is_conditioning_of_the_joint_gaussian(rng):
    model, X, Y = build.draw(rng, targets="labeled")
    found = lg.latent_map(build.params(model), np.arange(3))
    mean, cov = gaussian.posterior(model, X, Y)
    centered = np.hstack([X - model.m_x, Y - model.m_y])
    assert_allclose(centered @ found.gain.T, mean, rtol=1e-9, atol=1e-11)
    assert_allclose(found.cov, cov[0], rtol=1e-9, atol=1e-11)
    assert_allclose(found.precision @ found.cov, np.eye(2), atol=1e-11)
    assert_allclose(found.log_det_precision, -np.linalg.slogdet(cov[0])[1], rtol=1e-9)


def test_latent_map_without_loadings_is_the_prior():
    params = lg.Params(np.zeros((4, 2)), np.zeros(4), 0.5, np.zeros((1, 2)), np.zeros(1), np.ones(1))
    found = lg.latent_map(params, np.arange(1))
    assert_allclose(found.gain, 0.0)
    assert_allclose(found.cov, np.eye(2))


def test_latent_map_turns_with_the_loadings(rng):
    model, _, _ = build.draw(rng)
    R = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    plain = lg.latent_map(build.params(model), np.arange(3))
    turned = lg.latent_map(build.params(model._replace(W_x=model.W_x @ R, W_y=model.W_y @ R)), np.arange(3))
    assert_allclose(turned.gain, R.T @ plain.gain, atol=1e-12)
    assert_allclose(turned.cov, R.T @ plain.cov @ R, atol=1e-12)


@ALL_TARGETS
def test_row_posterior_and_density_are_brute_force(rng, targets):
    model, X, Y = build.draw(rng, targets=targets)
    p = build.params(model)
    observed = ~np.isnan(Y)
    post = lg.row_posterior(p, (X - p.m_x) @ p.W_x, Y, observed, output_sets(observed))
    mean, cov = gaussian.posterior(model, X, Y)
    assert_allclose(post.mean, mean, rtol=1e-9, atol=1e-11)
    assert_allclose(post.covs[post.of_row], cov, rtol=1e-9, atol=1e-11)
    energy = ((X - p.m_x) ** 2).sum(axis=1) / p.x_noise_var
    assert_allclose(
        lg.log_density(p, post, energy, X.shape[1], Y, observed), gaussian.log_density(model, X, Y), rtol=1e-10
    )


@pytest.mark.costly
def test_many_covariances_are_applied_row_by_row(rng, monkeypatch):
    covs, of_row, b = rng.normal(size=(4, 3, 3)), rng.integers(0, 4, 50), rng.normal(size=(50, 3))
    expected = np.array([covs[g] @ v for g, v in zip(of_row, b, strict=True)])
    assert_allclose(lg.apply_by_row(covs, of_row, b), expected, rtol=1e-12)
    wide = rng.normal(size=(2, 1500, 1500)), rng.integers(0, 2, 3), rng.normal(size=(3, 1500))  # one row a chunk
    expected = np.array([wide[0][g] @ v for g, v in zip(wide[1], wide[2], strict=True)])
    assert_allclose(lg.apply_by_row(*wide), expected, rtol=1e-9, atol=1e-9)


@LOOSE
@ALL_TARGETS
def test_e_step_is_the_sum_of_brute_force_rows(rng, targets, loose_below):
    p, X, Y, w = case(rng, targets)
    k, q = p.W_x.shape[1], Y.shape[1]
    sums = lg.e_step(p, build.moments(X, Y, w, loose_below=loose_below))
    mean, cov = gaussian.posterior(build.model(p), X, Y)
    Ezz = cov + mean[:, :, None] * mean[:, None, :]
    dx, dy, seen = X - p.m_x, np.nan_to_num(Y - p.m_y), ~np.isnan(Y)
    assert_allclose(sums.log_likelihood, build.loglik(p, X, Y, w), rtol=1e-10)
    assert_allclose(sums.weight, w.sum())
    assert_allclose(sums.zz, np.einsum("i,iab->ab", w, Ezz), rtol=1e-9, atol=1e-9)
    assert_allclose(sums.z, w @ mean, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.xz, dx.T @ (w[:, None] * mean), rtol=1e-9, atol=1e-9)
    assert_allclose(sums.x, w @ dx, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.x_energy, w @ (dx**2).sum(axis=1), rtol=1e-10)
    z1 = np.column_stack([mean, np.ones(len(X))])
    expected = np.einsum("i,ij,ia,ib->jab", w, seen, z1, z1)
    expected[:, :k, :k] += np.einsum("i,ij,iab->jab", w, seen, cov)
    if q:
        assert_allclose(np.broadcast_to(sums.y_zz, expected.shape), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.y_zy, (w[:, None] * dy).T @ z1, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.y_energy, w @ dy**2, rtol=1e-10)
    assert_allclose(sums.y_count, w @ seen)


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_e_step_in_a_basis_counts_what_lies_outside(rng, targets):
    model, X, Y = build.draw(rng, p=7, targets=targets)
    B = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    p = build.params(gaussian.random_model(rng, 3, 2, Y.shape[1]))
    sums = lg.e_step(p, build.moments(X, Y, B=B))
    expected = gaussian.log_density(build.model(p, B), X, Y).sum()
    assert_allclose(sums.log_likelihood, expected, rtol=1e-10)
    assert_allclose(sums.x_energy, ((X - B @ p.m_x) ** 2).sum(), rtol=1e-10)


def gradient(p, sums, n_features):
    """Gradient of the log-likelihood from the expected statistics (Fisher's identity), in the order of `flat`."""
    k = len(sums.z)
    s2 = p.x_noise_var
    W_x = (sums.xz - p.W_x @ sums.zz) / s2
    m_x = (sums.x - p.W_x @ sums.z) / s2
    left = sums.x_energy - 2 * np.sum(p.W_x * sums.xz) + np.sum(p.W_x @ sums.zz * p.W_x)
    log_x = 0.5 * (left / s2 - sums.weight * n_features)
    zz = np.broadcast_to(sums.y_zz, (len(p.m_y), k + 1, k + 1))
    beta = np.column_stack([p.W_y, np.zeros(len(p.m_y))])  # y_zy holds y - m_y, so the mean counts as zero
    d_beta = (sums.y_zy - np.einsum("jab,jb->ja", zz, beta)) / p.y_noise_var[:, None]
    left = sums.y_energy - 2 * (beta * sums.y_zy).sum(1) + np.einsum("ja,jab,jb->j", beta, zz, beta)
    log_y = 0.5 * (left / p.y_noise_var - sums.y_count)
    return np.concatenate([W_x.ravel(), m_x, [log_x], d_beta[:, :k].ravel(), d_beta[:, k], log_y])


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries", "none"])
def test_gradient_of_the_log_likelihood_is_fishers_identity(targets):
    rng = np.random.default_rng(0)
    p, X, Y, w = case(rng, targets, n=15, p=3)
    vector, h = build.flat(p), 1e-5
    numeric = []
    for step in h * np.eye(len(vector)):
        up, down = (build.loglik(build.unflat(vector + s, p), X, Y, w) for s in (step, -step))
        numeric.append((up - down) / (2 * h))
    found = gradient(p, lg.e_step(p, build.moments(X, Y, w)), X.shape[1])
    assert_allclose(found, numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("targets", ["labeled", "semi"])
def test_plain_m_step_is_the_papers(rng, targets):
    model, X, Y = build.draw(rng, targets=targets)
    start = other_model(rng, model)
    start = start._replace(s2_y=np.full(3, 0.4))
    p = build.params(start)
    found = lg.m_step(lg.e_step(p, build.moments(X, Y)), p, X.shape[1], LIMITS, expand=False)
    for value, expected in zip(build.model(found), em.em_step(start, X, Y), strict=True):
        assert_allclose(value, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("expand", [False, True], ids=["plain", "px"])
@pytest.mark.parametrize("limits", [LIMITS, FREE], ids=["shared", "free"])
@pytest.mark.parametrize("targets", ["labeled", "semi", "entries", "none"])
def test_no_step_lowers_the_likelihood(rng, targets, limits, expand):
    p, X, Y, w = case(rng, targets)
    p = p._replace(y_noise_var=np.full(Y.shape[1], 0.5))  # inside the model with one shared variance
    moments = build.moments(X, Y, w)
    path = []
    for _ in range(12):
        sums = lg.e_step(p, moments)
        path.append(sums.log_likelihood)
        p = lg.m_step(sums, p, X.shape[1], limits, expand=expand)
    assert (np.diff(path) > -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 1.0
    assert_allclose(lg.e_step(p, moments).log_likelihood, build.loglik(p, X, Y, w), rtol=1e-10)


@pytest.mark.parametrize("limits", [LIMITS, FREE], ids=["shared", "free"])
def test_plain_m_step_maximizes_the_expected_log_likelihood(rng, limits):
    """At the maximizer of the expected log-likelihood its gradient vanishes, also with single outputs missing."""
    p, X, Y, w = case(rng, "entries")
    sums = lg.e_step(p, build.moments(X, Y, w))
    after = lg.m_step(sums, p, X.shape[1], limits, expand=False)
    dx, dy = after.m_x - p.m_x, after.m_y - p.m_y
    moved = sums._replace(  # the same expectations about the new means
        xz=sums.xz - np.outer(dx, sums.z),
        x=sums.x - sums.weight * dx,
        x_energy=sums.x_energy - 2 * dx @ sums.x + sums.weight * dx @ dx,
        y_zy=sums.y_zy - dy[:, None] * sums.y_zz[:, -1, :],
        y_energy=sums.y_energy - 2 * dy * sums.y_zy[:, -1] + sums.y_count * dy**2,
    )
    slope = gradient(after, moved, X.shape[1])
    q = Y.shape[1]
    if limits.shared_y_noise:
        slope = np.append(slope[:-q], slope[-q:].sum())
    assert_allclose(slope, 0.0, atol=1e-8)


def test_expansion_folds_the_estimated_prior_into_the_parameters(rng):
    """x | N(mu, S) prior on z is N(m + W mu, W S W' + noise): the expanded model and the folded one are the same."""
    p, X, Y, w = case(rng, "semi")
    sums = lg.e_step(p, build.moments(X, Y, w))
    plain, folded = (lg.m_step(sums, p, X.shape[1], LIMITS, expand=expand) for expand in (False, True))
    mean, cov = gaussian.posterior(build.model(p), X, Y)
    mu = w @ mean / w.sum()
    S = np.einsum("i,iab->ab", w, cov + (mean - mu)[:, :, None] * (mean - mu)[:, None, :]) / w.sum()
    assert np.abs(mu).max() > 0.01
    assert_allclose(folded.m_x, plain.m_x + plain.W_x @ mu, rtol=1e-9)
    assert_allclose(folded.m_y, plain.m_y + plain.W_y @ mu, rtol=1e-9)
    W, V = np.vstack([plain.W_x, plain.W_y]), np.vstack([folded.W_x, folded.W_y])
    assert_allclose(V @ V.T, W @ S @ W.T, rtol=1e-8, atol=1e-9)
    assert folded.x_noise_var == plain.x_noise_var


def test_expanded_step_stays_at_a_maximum(rng):
    p, X, Y, w = case(rng, "semi")
    moments = build.moments(X, Y, w)
    sums = lg.e_step(p, moments)
    for _ in range(4000):
        if lg.relative_residual(sums, p) < 1e-10:
            break
        p = lg.m_step(sums, p, X.shape[1], LIMITS)
        sums = lg.e_step(p, moments)
    assert lg.relative_residual(sums, p) < 1e-9
    after = lg.m_step(sums, p, X.shape[1], LIMITS)
    assert_allclose(after.W_x @ after.W_x.T, p.W_x @ p.W_x.T, atol=1e-7)
    assert_allclose(after.W_y @ after.W_x.T, p.W_y @ p.W_x.T, atol=1e-7)
    assert_allclose(sums.z, 0.0, atol=1e-7)
    assert_allclose(sums.zz / sums.weight, np.eye(2), atol=1e-6)


def test_floors_hold_the_noise_up(rng):
    p, X, Y, _ = case(rng, "semi")
    after = lg.m_step(lg.e_step(p, build.moments(X, Y)), p, X.shape[1], lg.Limits(50.0, 70.0))
    assert after.x_noise_var == 50.0
    assert (after.y_noise_var == 70.0).all()


@pytest.mark.parametrize("targets", ["semi", "entries"])
def test_relative_residual_is_that_of_the_likelihood_equations(rng, targets):
    p, X, Y, _ = case(rng, targets)
    sums = lg.e_step(p, build.moments(X, Y))
    slope = gradient(p, sums, X.shape[1])
    r, k = p.W_x.shape
    x_part = np.linalg.norm(slope[: r * k]) * p.x_noise_var / np.linalg.norm(sums.xz)
    q = len(p.m_y)
    start = r * k + r + 1
    y_slope = slope[start : start + q * k].reshape(q, k) * p.y_noise_var[:, None]
    y_part = np.linalg.norm(y_slope) / np.sqrt(sums.y_energy.sum() * np.trace(sums.zz))
    assert_allclose(lg.relative_residual(sums, p), max(x_part, y_part), rtol=1e-9)
    no_x = sums._replace(xz=p.W_x @ sums.zz)
    assert_allclose(lg.relative_residual(no_x, p), y_part, rtol=1e-9)
