"""What labels say of the predictors of a row: exact integrals in one and two dimensions, bounds, derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gnomon.likelihoods.ep import ExpectationPropagation
from gnomon.likelihoods.exact import GaussianSites
from gnomon.likelihoods.gaussian_rows import GaussianRows
from gnomon.likelihoods.inference import evidence_of, sites_of
from gnomon.likelihoods.layout import Layout
from gnomon.likelihoods.softmax_rows import SoftmaxRows
from oracles.cppca import log_output, sequential_ep

MIXED = Layout(("logit", "gaussian", "poisson", "categorical", "probit"), (2, 0, 0, 3, 2))
NOISE = np.array([1.0, 0.4, 1.0, 1.0, 1.0])
LABELS = {"logit": (0, 1), "probit": (0, 1), "poisson": (0, 3), "categorical": (0, 1, 2), "gaussian": (-1.0, 2.0)}


def problem(rng, layout, n=30, scale=1.0):
    h = layout.size
    Y = np.column_stack([rng.choice(LABELS[kind], n) for kind in layout.kinds]).astype(float)
    B = rng.normal(size=(h, h)) * np.sqrt(scale / h)
    return rng.normal(size=(n, h)), B @ B.T + 0.05 * np.eye(h), Y


def on_grid(layout, mean, cov, y, noise=NOISE):
    """Log-evidence, mean and covariance of one row with two predictors, on a grid."""
    root, axis = np.linalg.cholesky(cov), np.linspace(-9, 9, 301)
    u = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    a = mean + u @ root.T
    logs = -0.5 * (u**2).sum(axis=-1) - np.log(2 * np.pi) + 2 * np.log(axis[1] - axis[0])
    for j, (family, at) in enumerate(layout.parts):
        if not np.isnan(y[j]):
            logs = logs + log_output(family.name, a[..., at] @ family.contrasts.T, y[j], noise[j])
    total = np.exp(logs).sum()
    weights = np.exp(logs) / total
    center = np.einsum("ij,ija->a", weights, a)
    return np.log(total), center, np.einsum("ij,ija,ijb->ab", weights, a - center, a - center)


def rows_on_grid(layout, mean, cov, Y, noise=NOISE):
    return tuple(np.array(part) for part in zip(*(on_grid(layout, m, cov, y, noise) for m, y in zip(mean, Y))))


def moments(fit, mean, cov):
    return mean + fit.slope @ cov, cov - cov @ fit.by_row @ cov


@pytest.mark.parametrize("inference", ["variational", "laplace", "ep"])
def test_gaussian_outputs_are_conditioned_on_exactly(rng, inference):
    layout, noise = Layout(("gaussian",) * 3, (0,) * 3), np.array([0.3, 1.0, 2.0])
    mean, cov, Y = problem(rng, layout)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    fit = sites_of(layout, inference)(Y, mean, cov, noise)
    for i, y in enumerate(Y):
        s = np.flatnonzero(~np.isnan(y))
        total = cov[np.ix_(s, s)] + np.diag(noise[s])
        gain = cov[:, s] @ np.linalg.inv(total)
        assert_allclose(mean[i] + cov @ fit.slope[i], mean[i] + gain @ (y - mean[i])[s], atol=1e-8)
        assert_allclose(cov - cov @ fit.by_row[i] @ cov, cov - gain @ cov[s], atol=1e-8)
        expected = multivariate_normal(mean[i, s], total).logpdf(y[s]) if len(s) else 0.0
        assert_allclose(fit.log_z[i], expected, atol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_ep_with_one_label_is_exact(rng, link):
    layout, noise = Layout(("gaussian", link), (0, 2)), np.array([0.5, 1.0])
    mean, cov, Y = problem(rng, layout, 12, 4.0)
    Y[:3, 0], Y[3:5, 1] = np.nan, np.nan
    log_z, center, spread = rows_on_grid(layout, mean, cov, Y, noise)
    fit = sites_of(layout, "ep")(Y, mean, cov, noise)
    assert_allclose(fit.log_z, log_z, atol=1e-7)
    found = moments(fit, mean, cov)
    assert_allclose(found[0], center, atol=1e-7)
    assert_allclose(found[1], spread, atol=1e-6)
    alone = Layout((link,), (2,))
    ep, exact = (sites_of(alone, way)(Y[:, 1:], mean[:, 1:], cov[1:, 1:], noise[1:]) for way in ("ep", "quadrature"))
    for a, b in zip(ep[:3], exact[:3]):
        assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_ep_with_two_labels_is_close_to_the_integral_and_closer_than_laplace(rng, link):
    layout = Layout((link, link), (2, 2))
    mean, cov, Y = problem(rng, layout, 12, 2.0)
    log_z, center, spread = rows_on_grid(layout, mean, cov, Y)
    ep, laplace, bound = (sites_of(layout, way)(Y, mean, cov, NOISE) for way in ("ep", "laplace", "variational"))
    assert_allclose(ep.log_z, log_z, atol=0.02)
    found = moments(ep, mean, cov)
    assert_allclose(found[0], center, atol=0.03)
    assert_allclose(found[1], spread, atol=0.05, rtol=0.05)
    assert np.abs(ep.log_z - log_z).max() < 0.3 * np.abs(laplace.log_z - log_z).max()
    assert (bound.log_z <= log_z + 1e-9).all()
    assert_allclose(bound.log_z, log_z, atol=0.1)


@pytest.mark.parametrize("kinds", [("categorical",), ("logit", "poisson"), ("gaussian", "poisson")])
def test_variational_is_a_lower_bound_near_the_integral(rng, kinds):
    layout = Layout(kinds, tuple({"categorical": 3, "logit": 2}.get(kind, 0) for kind in kinds))
    mean, cov, Y = problem(rng, layout, 12)
    log_z, center, _ = rows_on_grid(layout, mean, cov, Y, np.full(2, 0.4))
    fit = sites_of(layout, "variational")(Y, mean, cov, np.full(2, 0.4))
    assert (fit.log_z <= log_z + 1e-9).all()
    assert_allclose(fit.log_z, log_z, atol=0.06)
    assert_allclose(moments(fit, mean, cov)[0], center, atol=0.1)


@pytest.mark.parametrize(
    "inference, layout",
    [
        ("variational", MIXED),
        ("variational", Layout(("categorical",), (3,))),
        ("ep", Layout(("probit", "logit"), (2, 2))),
        ("laplace", MIXED),
        ("laplace", Layout(("categorical", "gaussian"), (4, 0))),
    ],
)
def test_slope_and_curvature_are_the_derivatives_of_the_evidence(rng, inference, layout):
    mean, cov, Y = problem(rng, layout, 10)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    noise = NOISE[: len(layout.kinds)]
    fit = evidence_of(layout, inference)(Y, mean, cov, noise)
    step, h = 1e-5, layout.size
    for a in range(h):
        up, down = (evidence_of(layout, inference)(Y, mean + d * np.eye(h)[a], cov, noise) for d in (step, -step))
        assert_allclose((up.log_z - down.log_z) / (2 * step), fit.slope[:, a], atol=1e-5)
        for b in range(a + 1):
            E = np.zeros((h, h))
            E[a, b] = E[b, a] = step
            up, down = (evidence_of(layout, inference)(Y, mean, cov + d * E, noise) for d in (1, -1))
            expected = fit.slope[:, a] * fit.slope[:, b] - fit.by_row[:, a, b]
            expected = expected / 2 if a == b else expected
            assert_allclose((up.log_z - down.log_z) / (2 * step), expected, atol=2e-5)


def test_laplace_is_at_the_mode_and_counts_the_volume_around_it(rng):
    mean, cov, Y = problem(rng, MIXED, 10)
    fit = sites_of(MIXED, "laplace")(Y, mean, cov, NOISE)
    mode = moments(fit, mean, cov)[0]

    def log_joint(a):
        value = multivariate_normal(mean[0], cov).logpdf(a)
        for j, (family, at) in enumerate(MIXED.parts):
            value = value + log_output(family.name, a[at] @ family.contrasts.T, Y[0, j], NOISE[j])
        return float(value)

    step, h = 1e-4, MIXED.size
    left = cov - cov @ fit.by_row[0] @ cov
    log_volume = 0.5 * np.linalg.slogdet(2 * np.pi * left)[1]
    assert_allclose(fit.log_z[0], log_joint(mode[0]) + log_volume, rtol=1e-9)
    precision = np.linalg.inv(left)
    for direction in np.eye(h):
        up, down = log_joint(mode[0] + step * direction), log_joint(mode[0] - step * direction)
        assert abs(up - down) / (2 * step) < 1e-5
        second = (up + down - 2 * log_joint(mode[0])) / step**2
        assert_allclose(-second, direction @ precision @ direction, rtol=1e-3)


def test_rows_without_labels_and_a_second_call(rng):
    for inference, layout in (("variational", MIXED), ("laplace", MIXED), ("ep", Layout(("probit",) * 2, (2, 2)))):
        mean, cov, Y = problem(rng, layout, 8, 3.0)
        Y[0] = np.nan
        noise = NOISE[: len(layout.kinds)]
        sites = sites_of(layout, inference)
        first = sites(Y, mean, cov, noise)
        assert not first.slope[0].any()
        assert abs(first.log_z[0]) < 1e-12
        other = sites(Y, mean + 1.0, 2.0 * cov, noise)
        held = [part.copy() for part in other.near]
        again = sites(Y, mean, cov, noise, other.near)
        for a, b in zip(again[:3], first[:3]):  # where it starts does not decide where it ends
            assert_allclose(a, b, atol=1e-6)
        for a, b in zip(sites(Y, mean, cov, noise)[:3], first[:3]):  # nor does what was asked before, to the bit
            assert (a == b).all()
        assert all((a == b).all() for a, b in zip(held, other.near))  # what it starts from stays as it is
        by_row = sites_of(layout, inference)(Y, mean, np.tile(cov, (len(Y), 1, 1)), noise)
        assert_allclose(by_row.log_z, first.log_z, atol=1e-8)


@pytest.mark.parametrize("kinds", [("probit",) * 5, ("probit", "logit", "gaussian", "logit")])
def test_ep_against_a_long_sequential_run(rng, kinds):
    """Parallel and damped here, one site after another without damping there, moments from a grid: one fixed point."""
    layout, noise = Layout(kinds, tuple(0 if kind == "gaussian" else 2 for kind in kinds)), np.full(len(kinds), 0.4)
    mean, cov, Y = problem(rng, layout, 4, 3.0)
    fit = sites_of(layout, "ep")(Y, mean, cov, noise)
    found = moments(fit, mean, cov)
    for i, y in enumerate(Y):
        log_z, center, spread = sequential_ep(kinds, mean[i], cov, y, noise, 60)
        assert_allclose(fit.log_z[i], log_z, atol=1e-6)
        assert_allclose(found[0][i], center, atol=1e-6)
        assert_allclose(found[1][i], spread, atol=1e-6)


@pytest.mark.parametrize("inference", ["variational", "laplace", "ep"])
def test_mixed_outputs_reduce_to_each_single_one(rng, inference):
    """Where one output alone is observed, the others' predictors follow along and say nothing."""
    mixed = Layout(("logit", "gaussian", "probit"), (2, 0, 2)) if inference == "ep" else MIXED
    mean, cov, Y = problem(rng, mixed, 12)
    noise = NOISE[: len(mixed.kinds)]
    for j, (family, at) in enumerate(mixed.parts):
        kind = family.name
        one = np.where(np.arange(len(mixed.kinds)) == j, Y, np.nan)
        whole = sites_of(mixed, inference)(one, mean, cov, noise)
        single = Layout((kind,), (mixed.n_classes[j],))
        alone = sites_of(single, inference)(Y[:, [j]], mean[:, at], cov[at, at], noise[[j]])
        assert_allclose(whole.log_z, alone.log_z, atol=1e-9)
        assert_allclose(whole.slope[:, at], alone.slope, atol=1e-7)
        assert_allclose(whole.by_row[:, at, at], alone.by_row, atol=1e-7)
        assert not np.delete(whole.slope, np.arange(mixed.size)[at], axis=1).any()
        if kind in ("logit", "probit") and inference == "ep":
            exact = sites_of(single, "quadrature")(Y[:, [j]], mean[:, at], cov[at, at], noise[[j]])
            assert_allclose(whole.log_z, exact.log_z, atol=1e-8)


@pytest.mark.parametrize(
    "way, layout",
    [
        (lambda layout, m: GaussianRows(layout, variational=True, max_iter=m), MIXED),
        (lambda layout, m: GaussianRows(layout, variational=False, max_iter=m), MIXED),
        (lambda layout, m: SoftmaxRows(layout, max_iter=m), Layout(("categorical",), (3,))),
        (lambda layout, m: ExpectationPropagation(layout, max_iter=m), Layout(("probit", "logit"), (2, 2))),
    ],
    ids=["variational", "laplace", "softmax", "ep"],
)
def test_rows_that_run_out_of_iterations_say_so(rng, way, layout):
    mean, cov, Y = problem(rng, layout, 10, 3.0)
    noise = NOISE[: len(layout.kinds)]
    done, cut = way(layout, 100)(Y, mean, cov, noise), way(layout, 1)(Y, mean, cov, noise)
    assert done.gap.max() < 1e-8
    assert cut.gap.max() > 1e-4
    assert np.abs(cut.slope - done.slope).max() > 1e-6


@pytest.mark.parametrize("own", [False, True], ids=["one covariance", "a covariance each"])
def test_real_outputs_missing_in_many_ways_are_conditioned_on_at_once(rng, own, monkeypatch):
    n, h = 40, 7
    B = rng.normal(size=(n if own else 1, h, h))
    cov = np.matmul(B, np.swapaxes(B, 1, 2)) + 0.1 * np.eye(h)
    cov = cov if own else cov[0]
    Y, mean, noise = rng.normal(size=(n, h)), rng.normal(size=(n, h)), rng.uniform(0.1, 1.0, h)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    calls, inverse = [], np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda S: calls.append(len(S)) or inverse(S))
    fit = GaussianSites()(Y, mean, cov, noise)
    assert len(calls) == 1  # for each set of outputs in a loop, a table of digits took thirty times as long
    for i in range(n):
        o = np.flatnonzero(~np.isnan(Y[i]))
        S = (cov[i] if own else cov)[np.ix_(o, o)] + np.diag(noise[o])
        slope, curvature = np.zeros(h), np.zeros((h, h))
        slope[o], curvature[np.ix_(o, o)] = np.linalg.solve(S, (Y[i] - mean[i])[o]), np.linalg.solve(S, np.eye(len(o)))
        expected = multivariate_normal(mean[i, o], S).logpdf(Y[i, o]) if len(o) else 0.0
        assert_allclose(fit.log_z[i], expected, rtol=1e-9)
        assert_allclose(fit.slope[i], slope, atol=1e-9)
        assert_allclose(fit.by_row[i], curvature, atol=1e-9)
