"""The growing basis reaches the optimum of the full space, on easy and on awkward data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import KernelSPPCA
from gnomon._types import Status
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear.basis import Basis
from gnomon.models.linear.grow import _to_come, grow
from gnomon.models.linear.in_basis import GaussianInBasis, RatioSearch
from gnomon.models.linear.patterns import group_outputs, read_by_pattern
from gnomon.models.linear.sites_em import Rules
from numerics import build
from oracles import closed_forms, gaussian
from rows.copied import copied_rows


def solve(X, Y, k, capacity=None, tol=1e-8, max_expansions=500, seed=0):
    """Maximize in a growing basis, or in a full one without `capacity`.

    Returns the result, the model in the units of X, and its log-likelihood by brute force.
    """
    w, generator = np.ones(len(X)), np.random.default_rng(seed)
    Y = Y - np.nanmean(Y, axis=0)
    data, source = read_by_pattern(copied_rows(X), group_outputs(Y, w, 1), capacity or X.shape[1], held=False)
    basis = data.basis
    if capacity is None:
        basis.expand(np.eye(X.shape[1]))
    else:
        basis.start(k, generator, whole=0)
    q = Y.shape[1]
    rules = Rules(Layout(("gaussian",) * q, (0,) * q), 0.0, k, noise="shared")
    search = None if q == 0 or np.isnan(Y).any() else RatioSearch(k)
    model = GaussianInBasis(data, k, rules, np.ones(q), search, tol, 2000)
    result = grow(model, tol=tol, max_expansions=max_expansions, look_again=True)
    B = basis.vectors
    assert_allclose(B.T @ B, np.eye(B.shape[1]), atol=1e-9)
    assert basis.size <= basis.capacity
    p, s = result.value[0], source.scale
    full = gaussian.Model(B @ p.W_x * s, source.mean + B @ p.m_x * s, p.x_noise_var * s**2, p.W_y, p.m_y, p.y_noise_var)
    return result, full, gaussian.log_density(full, X, Y).sum()


def assert_same_model(a, b, tol=1e-6):
    for mine, other in ((a.W_x @ a.W_x.T, b.W_x @ b.W_x.T), (a.W_y @ a.W_x.T, b.W_y @ b.W_x.T)):
        assert_allclose(mine, other, atol=tol * np.abs(other).max(initial=0.0))
    assert_allclose(a.s2_x, b.s2_x, rtol=tol)
    assert_allclose(a.s2_y, b.s2_y, rtol=tol)
    assert_allclose(a.m_x, b.m_x, atol=tol * np.sqrt(b.s2_x) * 10)


def rows(rng, n=80, p=60, k=3, targets="semi", q=2, s2_x=0.3):
    _, X, Y = build.draw(rng, n=n, p=p, k=k, q=q, targets=targets, s2_x=s2_x)
    return X, Y


def monotone(path):
    return (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries", "none"])
def test_reaches_the_optimum_of_the_full_basis(rng, targets):
    X, Y = rows(rng, targets=targets)
    full, best, value = solve(X, Y, 3)
    grown, model, grown_value = solve(X, Y, 3, capacity=45)
    assert full.status is grown.status is Status.CONVERGED
    assert full.stats["n_expansions"] == 0
    assert grown.stats["n_expansions"] > 0
    assert grown.stats["residual"] <= 1e-8
    assert monotone(grown.path)
    assert_allclose(grown_value, value, atol=1e-6)
    assert_same_model(model, best)


@pytest.mark.parametrize("targets", ["labeled", "semi", "none"])
@pytest.mark.parametrize("capacity", [18, 24])
def test_a_small_capacity_restarts_and_still_arrives(rng, targets, capacity):
    X, Y = rows(rng, targets=targets, s2_x=2.0)
    _, best, value = solve(X, Y, 3)
    grown, model, grown_value = solve(X, Y, 3, capacity=capacity)
    assert grown.status is Status.CONVERGED
    assert grown.stats["n_expansions"] > 3
    assert monotone(grown.path)
    assert_allclose(grown_value, value, atol=1e-6)
    assert_same_model(model, best, tol=1e-5)


def test_no_outputs_is_ppca(rng):
    X, Y = rows(rng, targets="none")
    _, model, _ = solve(X, Y, 3, capacity=40)
    assert_same_model(model, closed_forms.ppca(X, 3))


@pytest.mark.parametrize("targets", ["labeled", "semi"])
def test_duplicate_and_constant_columns(rng, targets):
    X, Y = rows(rng, p=20, targets=targets)
    X = np.hstack([X, X, X + 1e-12 * rng.normal(size=X.shape), np.full((len(X), 3), 7.0)])
    _, best, value = solve(X, Y, 3)
    grown, model, grown_value = solve(X, Y, 3, capacity=30)
    assert grown.status is Status.CONVERGED
    assert_allclose(grown_value, value, atol=1e-5)
    assert_same_model(model, best, tol=1e-5)
    assert_allclose(model.W_x[-3:], 0.0, atol=1e-6)


@pytest.mark.parametrize("targets", ["labeled", "semi"])
def test_more_features_than_rows(rng, targets):
    X, Y = rows(rng, n=25, p=90, targets=targets)
    _, best, value = solve(X, Y, 3)
    grown, model, grown_value = solve(X, Y, 3, capacity=30)
    assert grown.status is Status.CONVERGED
    assert_allclose(grown_value, value, atol=1e-6)
    assert_same_model(model, best, tol=1e-5)


@pytest.mark.parametrize("k", [10, 12])
def test_many_dimensions_beside_the_basis(rng, k):
    X, Y = rows(rng, n=60, p=40, k=4, targets="labeled")
    _, _, value = solve(X, Y, k)
    grown, _, grown_value = solve(X, Y, k, capacity=2 * k + 12)
    assert grown.status is Status.CONVERGED
    assert_allclose(grown_value, value, atol=1e-5)


@pytest.mark.parametrize("targets", ["labeled", "none"])
def test_a_flat_spectrum_converges_to_a_stationary_point(rng, targets):
    X = rng.normal(size=(100, 50))
    Y = rng.normal(size=(100, 0 if targets == "none" else 1))
    grown, model, value = solve(X, Y, 2, capacity=30, tol=1e-7)
    _, best, top = solve(X, Y, 2)
    assert grown.status is Status.CONVERGED
    assert_allclose(value, top, atol=1e-4)
    assert_same_model(model, best, tol=1e-3)


def test_a_basis_of_noise_is_filled_as_soon_as_its_pace_is_seen(rng):
    X = rng.normal(size=(400, 150))
    Y = rng.normal(size=(400, 1))
    Y[100:] = np.nan
    sizes, filled, fill = [], [], Basis.fill

    def counted(self):
        sizes.append(self.size)
        filled.append(fill(self))

    data, _ = read_by_pattern(copied_rows(X), group_outputs(Y, np.ones(400), 1), 150, held=True)
    data.basis.start(2, np.random.default_rng(0), whole=0)
    begun = data.basis.size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Basis, "fill", counted)
        model = GaussianInBasis(
            data, 2, Rules(Layout(("gaussian",), (0,)), 0.0, 2, noise="shared"), np.ones(1), None, 1e-8, 2000
        )
        found = grow(model, tol=1e-8, max_expansions=500)
    assert found.status is Status.CONVERGED
    assert sizes == [begun + 2]
    assert data.basis.whole


def test_the_pace_is_that_of_the_last_few_expansions():
    assert _to_come(0.1, [], 1e-6) == _to_come(1e-6, [0.1], 1e-6) == 0.0
    assert_allclose(_to_come(1e-2, [0.1], 1e-6), 4.0)
    assert_allclose(_to_come(1e-2, [1.0, 10.0, 1e-1, 1e-3], 1e-8), 6.0)  # the last of four has risen
    assert _to_come(0.1, [0.1], 1e-6) == np.inf


def is_filled(X, Y):
    """Whether a kernel of rows, of which every fifth has numbers, is taken as a whole."""
    filled, fill = [], Basis.fill
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Basis, "fill", lambda basis: filled.append(fill(basis)))
        model = KernelSPPCA(5, kernel="rbf").fit(X, np.where(np.arange(len(X)) % 5, np.nan, Y.T).T)
    assert model.converged_
    return bool(filled)


def test_a_flat_kernel_is_filled_only_where_all_directions_are_few(rng):
    """One eigenproblem of 1,200 directions takes longer than a dozen expansions."""
    X = rng.normal(size=(1200, 50))
    assert is_filled(X[:150], X[:150, :1])
    assert not is_filled(X, X[:, :1])


def test_a_flat_kernel_whose_first_expansion_gains_little_is_not_filled():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1200, 10)) + 1.5 * rng.normal(size=(5, 10))[rng.integers(0, 5, 1200)]
    assert not is_filled(Z @ rng.normal(size=(10, 50)) + rng.normal(size=(1200, 50)), Z[:, :3])


def test_an_exactly_flat_spectrum_ends():
    X = np.vstack([np.eye(30), -np.eye(30)])
    grown, model, value = solve(X, np.zeros((60, 0)), 2, capacity=20, max_expansions=30)
    assert grown.status is Status.CONVERGED
    expected = gaussian.log_density(closed_forms.ppca(X, 2), X).sum()
    assert_allclose(value, expected, rtol=1e-9)


def test_rows_of_low_rank_stay_inside_it(rng):
    X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 50))
    Y = X @ rng.normal(size=(50, 1)) + 0.1 * rng.normal(size=(60, 1))
    Y[::2] = np.nan
    grown, model, _ = solve(X, Y, 3, capacity=25)
    assert grown.status is Status.CONVERGED
    inside = np.linalg.svd(X - X.mean(axis=0))[2][:6].T
    assert_allclose(model.W_x - inside @ (inside.T @ model.W_x), 0.0, atol=1e-7 * np.abs(model.W_x).max())


def test_stops_after_the_allowed_expansions(rng):
    X, Y = rows(rng, targets="semi", s2_x=3.0)
    found, _, _ = solve(X, Y, 3, capacity=40, max_expansions=1)
    assert found.status is Status.MAX_ITER
    assert found.stats["n_expansions"] == 1
    assert found.stats["residual"] > 1e-8


def test_the_starting_block_does_not_matter(rng):
    X, Y = rows(rng)
    ends = [solve(X, Y, 3, capacity=40, seed=seed)[1] for seed in (0, 1)]
    assert_same_model(*ends)
