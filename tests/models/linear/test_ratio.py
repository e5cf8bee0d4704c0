"""The global search over the ratio of noise variances, for fully labeled rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

from gnomon.models.linear import in_basis
from gnomon.models.linear import ratio as ratio_search
from gnomon.models.linear.in_basis import RatioSearch, leading
from gnomon.models.linear.ratio import JointMoments, params_at, profile, refine_ratio, search_ratio, slope
from gnomon.numerics.linear_gaussian import Limits
from numerics import build
from oracles import closed_forms, gaussian

FLOORS = Limits(1e-6, 1e-6)


def joint(X, Y, B=None):
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    B = np.eye(X.shape[1]) if B is None else B
    T, n = Xc @ B, len(X)
    outside = ((Xc - T @ B.T) ** 2).sum() / n
    return JointMoments(T.T @ T / n, T.T @ Yc / n, Yc.T @ Yc / n, outside, float(n), X.shape[1])


def centered(rng, **kwargs):
    _, X, Y = build.draw(rng, targets="labeled", **kwargs)
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def iris():
    data = load_iris()
    return data.data - data.data.mean(axis=0), closed_forms.code(data.target, [0, 1, 2])


@pytest.mark.parametrize("log_ratio", [-3.0, 0.0, 2.5])
def test_profile_is_the_likelihood_of_its_parameters(rng, log_ratio):
    X, Y = centered(rng, n=50)
    moments = joint(X, Y)
    params = params_at(moments, 2, log_ratio, FLOORS)
    value = profile(moments, 2, log_ratio, FLOORS)
    assert_allclose(value, build.loglik(params, X, Y), rtol=1e-10)
    assert_allclose(params.y_noise_var / params.x_noise_var, np.exp(log_ratio), rtol=1e-10)


@pytest.mark.parametrize("log_ratio", [-2.0, 1.0])
def test_loadings_are_those_of_theorem_2_at_the_same_noise(rng, log_ratio):
    X, Y = centered(rng, n=50)
    params = params_at(joint(X, Y), 2, log_ratio, FLOORS)
    expected = closed_forms.theorem_2(X, Y, 2, params.x_noise_var, params.y_noise_var[0])
    assert_allclose(params.W_x @ params.W_x.T, expected.W_x @ expected.W_x.T, rtol=1e-8, atol=1e-9)
    assert_allclose(params.W_y @ params.W_x.T, expected.W_y @ expected.W_x.T, rtol=1e-8, atol=1e-9)


def test_profile_is_the_maximum_at_its_ratio(rng):
    """No other common noise level does better, with the loadings of theorem 2 at that level."""
    X, Y = centered(rng, n=50)
    best = profile(joint(X, Y), 2, 0.7, FLOORS)
    noise = params_at(joint(X, Y), 2, 0.7, FLOORS).x_noise_var
    for factor in (0.8, 0.97, 1.03, 1.25):
        s2_x = noise * factor
        other = closed_forms.theorem_2(X, Y, 2, s2_x, s2_x * np.exp(0.7))
        assert gaussian.log_density(other, X, Y).sum() < best


def test_part_of_x_outside_the_basis_counts_as_noise(rng):
    X, Y = centered(rng, p=7)
    B = np.linalg.qr(rng.normal(size=(7, 4)))[0]
    moments = joint(X, Y, B)
    params = params_at(moments, 2, 0.3, FLOORS)
    expected = gaussian.log_density(build.model(params, B), X, Y).sum()
    assert_allclose(profile(moments, 2, 0.3, FLOORS), expected, rtol=1e-10)


@pytest.mark.parametrize("floors", [FLOORS, Limits(1e-6, 0.5), Limits(1.5, 1e-6)], ids=["free", "y_floor", "x_floor"])
def test_slope_is_the_derivative_of_the_profile(rng, floors):
    X, Y = centered(rng, n=50)
    moments, h = joint(X, Y), 1e-5
    for log_ratio in (-4.0, -1.0, 0.5, 3.0):
        up, down = (profile(moments, 2, log_ratio + s, floors) for s in (h, -h))
        numeric = (up - down) / (2 * h) / (moments.weight / 2)
        assert_allclose(slope(moments, 2, log_ratio, floors), numeric, rtol=1e-5, atol=1e-6)


def test_iris_has_two_maxima_and_the_better_one_comes_first():
    X, Y = iris()
    found = search_ratio(joint(X, Y), 2, FLOORS)
    values = [round(o.log_likelihood, 2) for o in found]
    assert values[0] == -507.38
    assert -548.15 in values
    assert values == sorted(values, reverse=True)


def test_iris_agrees_with_minimization_of_the_brute_force_likelihood():
    X, Y = iris()
    for best in search_ratio(joint(X, Y), 2, FLOORS)[:2]:
        params = params_at(joint(X, Y), 2, best.log_ratio, FLOORS)
        start = np.log([params.x_noise_var, params.y_noise_var[0]])
        loss, simplex = brute_loss(X, Y, 2, (0, 0)), start + 0.1 * np.array([[0, 0], [1, 0], [0, 1]])
        found = minimize(loss, start, method="Nelder-Mead", options={"initial_simplex": simplex, "fatol": 1e-9})
        assert_allclose(found.fun, -best.log_likelihood, atol=1e-6)
        assert_allclose(found.x, start, atol=1e-3)


def test_two_maxima_in_one_interval_of_the_grid_are_told_apart():
    X, Y = centered(np.random.default_rng(2), n=60, p=6)  # eigenvalues cross near the maximum at K = 3
    moments = joint(X, Y)
    fine = max(profile(moments, 3, u, FLOORS) for u in np.linspace(-0.7, -0.3, 400))
    assert search_ratio(moments, 3, FLOORS)[0].log_likelihood > fine - 1e-9


@pytest.mark.parametrize("k", [1, 3])
def test_a_maximum_is_stationary(rng, k):
    X, Y = centered(rng, n=60, p=6)
    best = search_ratio(joint(X, Y), k, FLOORS)[0]
    params = params_at(joint(X, Y), k, best.log_ratio, FLOORS)
    em = build.em(X, Y, k=k)
    sums = em.e_step(params)
    assert em.residual(sums, params, em.m_step(sums, params)) < 1e-7
    assert np.abs(sums.gradient).max() < 1e-8
    assert_allclose(sums.objective, best.log_likelihood, rtol=1e-11)


def brute_loss(X, Y, k, floors):
    """Minus the log-likelihood at two noise variances (logs, held at the floors) and the loadings of theorem 2."""

    def loss(logs):
        model = closed_forms.theorem_2(X, Y, k, *np.maximum(np.exp(logs), floors[:2]))
        mean, cov = gaussian.joint(model)
        return -multivariate_normal(mean[k:], cov[k:, k:]).logpdf(np.hstack([X, Y])).sum()

    return loss


@pytest.mark.parametrize("floors", [Limits(1e-6, 0.8), Limits(0.9, 1e-6), Limits(0.9, 0.8)], ids=["y", "x", "both"])
def test_active_floors_give_the_constrained_maximum(floors):
    X, Y = centered(np.random.default_rng(0), n=60, q=2)
    moments = joint(X, Y)
    best = search_ratio(moments, 2, floors)[0]
    params = params_at(moments, 2, best.log_ratio, floors)
    assert params.x_noise_var >= floors[0]
    assert params.y_noise_var[0] >= floors[1]
    options = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000}
    starts = [(a, b) for a in (-4.0, 0.0) for b in (-4.0, 0.0)]
    ends = [minimize(brute_loss(X, Y, 2, floors), s, method="Nelder-Mead", options=options).fun for s in starts]
    assert_allclose(best.log_likelihood, -min(ends), atol=1e-4)
    assert_allclose(build.loglik(params, X, Y), best.log_likelihood, rtol=1e-9)


def test_outputs_that_x_explains_exactly_rest_on_the_floor(rng):
    X, _ = centered(rng, n=40, p=6, s2_x=1e-4)
    Y = X[:, :2] @ rng.normal(size=(2, 1))
    best = search_ratio(joint(X, Y), 3, Limits(1e-9, 1e-3))[0]
    params = params_at(joint(X, Y), 3, best.log_ratio, Limits(1e-9, 1e-3))
    assert_allclose(params.y_noise_var, 1e-3, rtol=1e-6)


def test_refining_a_bracket_without_a_maximum_takes_its_better_end(rng):
    X, Y = centered(rng, n=50)
    moments = joint(X, Y)
    top = search_ratio(moments, 2, FLOORS)[0].log_ratio
    beyond = refine_ratio(moments, 2, FLOORS, (top + 1.0, top + 1.5))
    assert beyond.log_ratio == top + 1.0


def beside_noise(rng, rank):
    """Centered rows and outputs, half of what the latter have in common with the rows in no leading direction."""
    Z, X = rng.normal(size=(300, 4)), rng.normal(size=(300, 60))
    X += Z[:, :rank] @ rng.normal(size=(rank, 60))
    Y = Z[:, :2] + 0.5 * X[:, :2] + rng.normal(size=(300, 2))
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("k", [2, 6, 30])
def test_maxima_in_fewer_directions_lead_to_those_in_all(rng, rank, k, monkeypatch):
    X, Y = beside_noise(rng, rank)
    moments = joint(X, Y)
    fewer, _ = leading(moments, build.em(X, Y, k=k).view, k)
    every = search_ratio(moments, k, FLOORS)[0]
    looks, look = [], ratio_search.joint_second_moment
    monkeypatch.setattr(
        ratio_search, "joint_second_moment", lambda at, *of: (looks.append(len(at.xx)), look(at, *of))[1]
    )
    found = search_ratio(moments, k, FLOORS, fewer)
    assert_allclose(found[0].log_likelihood, every.log_likelihood, atol=1e-5)
    assert looks.count(60) <= 50 * len(found)


def test_a_maximum_that_lies_elsewhere_in_all_directions_is_followed():
    X, Y = beside_noise(np.random.default_rng(4), 0)
    moments = joint(X, Y)
    fewer, _ = leading(moments, build.em(X, Y, k=6).view, 6)
    begun, every = search_ratio(fewer, 6, FLOORS)[0], search_ratio(moments, 6, FLOORS)[0]
    assert abs(begun.log_ratio - every.log_ratio) > 0.3
    found = search_ratio(moments, 6, FLOORS, fewer)[0]
    assert_allclose(found.log_ratio, every.log_ratio, atol=1e-6)


def test_a_basis_that_has_not_changed_is_searched_once(monkeypatch):
    X, Y = iris()
    moments, view, inner = joint(X, Y), build.em(X, Y).view, RatioSearch(2)
    first = inner(moments, view, final=False)
    monkeypatch.setattr(in_basis, "search_ratio", None)
    assert_allclose(inner(moments, view, final=True).W_x, first.W_x, rtol=1e-12)


def test_ratio_inner_looks_at_everything_first_and_last():
    X, Y = iris()
    moments, em = joint(X, Y), build.em(X, Y)
    inner, view = RatioSearch(2), em.view
    first = inner(moments, view, final=False)
    assert_allclose(em.e_step(first).objective, -507.3763, atol=1e-3)
    view = view._replace()  # that of another basis
    tracked = inner(moments, view, final=False)
    assert_allclose(tracked.W_x, first.W_x, atol=1e-9)
    inner.bracket = (5.0, 9.0)  # a stale bracket: the optimum has left it
    assert_allclose(inner(moments, view, final=False).x_noise_var, first.x_noise_var, rtol=1e-8)
    inner.bracket, view = (5.0, 9.0), view._replace()
    assert_allclose(inner(moments, view, final=True).x_noise_var, first.x_noise_var, rtol=1e-8)
    assert len(inner.optima) >= 2


@pytest.mark.parametrize("weighted", [False, True])
def test_closed_form_without_outputs_is_ppca(rng, weighted):
    _, X, Y = build.draw(rng, targets="none")
    w = rng.uniform(0.5, 2, len(X)) if weighted else None
    X = X - np.average(X, axis=0, weights=w)
    view, expected = build.em(X, Y, w).view, closed_forms.ppca(X, 2, w)
    moments = JointMoments(view.xx / view.weight, X.T @ Y, Y.T @ Y, 0.0, view.weight, X.shape[1])
    found = params_at(moments, 2, 9.0, FLOORS)
    assert_allclose(found.x_noise_var, expected.s2_x, rtol=1e-10)
    assert_allclose(found.W_x @ found.W_x.T, expected.W_x @ expected.W_x.T, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("small", [0, 64])
def test_profiles_are_those_of_single_ratios(rng, monkeypatch, small):
    monkeypatch.setattr(ratio_search, "SMALL", small)
    _, X, Y = build.draw(rng, targets="labeled")
    moments, ratios = joint(X, Y), np.linspace(-9.0, 4.0, 7)
    expected = [profile(moments, 2, u, FLOORS) for u in ratios]
    assert_allclose(ratio_search.profiles(moments, 2, ratios, FLOORS), expected, rtol=1e-12)
