"""The dual form without any estimator: algorithm 3, theorem 3, and the fast route in the coordinates of the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear import dual as model
from gnomon.numerics.linear_gaussian import Limits
from oracles import closed_forms, dual, gaussian

NO_FLOORS = Limits(1e-12, 1e-12)


def problem(rng, n=40, p=60, q=2, n_lab=15, k=3):
    """Centered rows and centered outputs of the first n_lab ones."""
    X, Y = gaussian.draw(rng, gaussian.random_model(rng, p, k, q), n)
    X = X - X.mean(axis=0)
    return X, Y[:n_lab] - Y[:n_lab].mean(axis=0)


def coordinates(X):
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    kept = s > 1e-9 * s[0]
    return U[:, kept] * s[kept]


def data_of(X, Y, dimension, order=None):
    order = np.arange(len(X)) if order is None else order
    position = np.argsort(order)
    rows = X[order]
    return model.DualData(rows @ rows.T, Y, position[: len(Y)], position[len(Y) :], dimension)


def random_start(rng, X, Y, k):
    Z = rng.normal(size=(len(X), k))
    A, B = rng.normal(size=(2, k, 2 * k))
    return dual.Dual(Z, len(X) * np.eye(k) + A @ A.T, len(Y) * np.eye(k) + B @ B.T, 0.7, 0.4)


@pytest.mark.parametrize("n_lab", [15, 40], ids=["semi", "labeled"])
@pytest.mark.parametrize("p", [6, 60], ids=["narrow", "wide"])
def test_algorithm_3_is_algorithm_2_iterate_by_iterate(rng, p, n_lab):
    X, Y = problem(rng, p=p, n_lab=n_lab)
    order = rng.permutation(len(X))  # labeled rows anywhere
    data = data_of(X, Y, p, order)
    start = random_start(rng, X, Y, 3)
    primal = dual.primal_start(start, X, Y)
    Z = start.Z[order]
    state = model.DualState(Z, start.C, start.C1, data.gram @ Z, start.s2_x, start.s2_y)
    for _ in range(40):
        primal = dual.algorithm_2(primal, X, Y)
        sums = model.e_step(state, data)
        state = model.m_step(sums, data, NO_FLOORS)
        W_x = X[order].T @ state.dual_loadings()
        assert_allclose(W_x, primal.W_x, rtol=1e-7, atol=1e-7 * np.abs(primal.W_x).max())
        assert_allclose(state.y_loadings(data), primal.W_y, rtol=1e-7, atol=1e-7 * np.abs(primal.W_y).max())
        assert_allclose([state.x_noise_var, state.y_noise_var], primal[2:], rtol=1e-7)


def test_steps_are_those_printed(rng):
    X, Y = problem(rng)
    data = data_of(X, Y, 55.5)
    printed = random_start(rng, X, Y, 2)
    state = model.DualState(*printed[:3], data.gram @ printed.Z, *printed[3:])
    for _ in range(3):
        printed = dual.algorithm_3(printed, X @ X.T, Y, 55.5)
        state = model.m_step(model.e_step(state, data), data, NO_FLOORS)
        assert_allclose(state.Z, printed.Z, rtol=1e-9, atol=1e-12)
        assert_allclose(state.C, printed.C, rtol=1e-9)
        assert_allclose(state.C_lab, printed.C1, rtol=1e-9)
        assert_allclose([state.x_noise_var, state.y_noise_var], printed[3:], rtol=1e-9)
    cross = rng.normal(size=(5, X.shape[1])) @ X.T
    expected = dual.algorithm_3_projection(printed, X @ X.T, cross)
    found = dual.project(data.gram, state.dual_loadings(), state.x_noise_var, cross)
    assert_allclose(found, expected, rtol=1e-8)


def test_log_likelihood_of_a_state_is_that_of_its_loadings(rng):
    X, Y = problem(rng, p=9)
    start = random_start(rng, X, Y, 2)
    data = data_of(X, Y, 9)
    sums = model.e_step(model.DualState(*start[:3], data.gram @ start.Z, *start[3:]), data)
    W_x, W_y, s2_x, s2_y = dual.primal_start(start, X, Y)
    all_Y = np.full((len(X), 2), np.nan)
    all_Y[: len(Y)] = Y
    explicit = gaussian.Model(W_x, np.zeros(9), s2_x, W_y, np.zeros(2), np.full(2, s2_y))
    assert_allclose(sums.log_likelihood, gaussian.log_density(explicit, X, all_Y).sum(), rtol=1e-10)


@pytest.mark.parametrize("init", ["pca", "random"])
def test_algorithm_3_never_lowers_the_likelihood(rng, init):
    X, Y = problem(rng)
    Y_all = np.vstack([Y, np.full((len(X) - len(Y), 2), np.nan)])
    options = model.Options(2, 60.0, "dual", max_iter=60, init=init, noise_init=0.1)
    path = model.fit(coordinates(X), Y_all, options, rng).path
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 1.0


def test_theorem_3_is_theorem_2(rng):
    X, Y = problem(rng, n_lab=40)
    X_new = rng.normal(size=(7, 60))
    s2_x, s2_y = 0.25, 0.35
    A = dual.theorem_3_loadings(X @ X.T, Y, 3, s2_x, s2_y)
    Z, Z_new = dual.theorem_3(X @ X.T, Y, 3, s2_x, s2_y, X_new @ X.T)
    primal = closed_forms.theorem_2(X, Y, 3, s2_x, s2_y)
    W_x, W_y = X.T @ A, Y.T @ A
    assert_allclose(W_x @ W_x.T, primal.W_x @ primal.W_x.T, atol=1e-9)
    assert_allclose(W_x @ W_y.T, primal.W_x @ primal.W_y.T, atol=1e-9)
    assert_allclose(Z @ W_x.T, gaussian.posterior(primal, X, Y)[0] @ primal.W_x.T, atol=1e-9)
    assert_allclose(Z_new @ W_x.T, gaussian.posterior(primal, X_new)[0] @ primal.W_x.T, atol=1e-9)


def test_algorithm_3_and_the_fast_route_agree_on_labeled_rows(rng):
    X, Y = problem(rng, n_lab=40, q=3)
    T = coordinates(X)
    slow = model.fit(T, Y, model.Options(2, 60.0, "dual", tol=1e-10, max_iter=20000), rng).value
    fast = model.fit(T, Y, model.Options(2, 60.0), rng).value
    assert_allclose(slow.log_likelihood, fast.log_likelihood, rtol=1e-9)
    assert_allclose(slow.params.W_x, fast.params.W_x, atol=1e-5 * np.abs(fast.params.W_x).max())


def test_estimated_means_beat_fixed_ones_with_unlabeled_rows(rng):
    X, Y = problem(rng, n_lab=15)
    Y_all = np.vstack([Y, np.full((len(X) - len(Y), 2), np.nan)])
    fixed = model.fit(coordinates(X), Y_all, model.Options(2, 60.0, "dual", tol=1e-8, max_iter=5000), rng)
    free = model.fit(coordinates(X), Y_all, model.Options(2, 60.0), rng)
    assert free.stats["solver"] == "moments"
    assert free.value.log_likelihood > fixed.value.log_likelihood + 1e-3


@pytest.mark.parametrize("max_iter", [1, 1000])
def test_the_mean_of_x_stays_that_of_the_sample(rng, max_iter):
    X, Y = problem(rng)
    Y_all = np.vstack([Y + [1.0, 2.0], np.full((len(X) - len(Y), 2), np.nan)])
    fitted = model.fit(coordinates(X), Y_all, model.Options(2, 60.0, max_iter=max_iter), rng).value.params
    assert np.abs(fitted.m_x).max() < 1e-9 * np.abs(fitted.W_x).max()
    assert np.abs(fitted.m_y - [1.0, 2.0]).max() > 1e-3  # that of the labeled rows is not kept


def test_no_outputs_is_kernel_pca(rng):
    X, _ = problem(rng)
    T = coordinates(X)
    for solver in ("auto", "dual"):
        options = model.Options(2, 39.0, solver, tol=1e-10, max_iter=5000)
        params = model.fit(T, np.zeros((40, 0)), options, rng).value.params
        values = (T**2).sum(axis=0) / 40
        noise = values[2:].sum() / (39 - 2)
        assert_allclose(params.x_noise_var, noise, rtol=1e-7)
        assert_allclose((params.W_x**2).sum(axis=0), values[:2] - noise, rtol=1e-6)


def test_effective_dimension_below_the_rank(rng):
    T = coordinates(problem(rng)[0])
    values = (T**2).sum(axis=0)
    least = 2 + values[2:].sum() / values[1]
    params = model.fit(T, np.zeros((40, 0)), model.Options(2, least + 1.0), rng).value.params
    assert_allclose(params.x_noise_var, values[2:].sum() / 40 / (least - 1.0))
    with pytest.raises(ValueError, match=r"effective_dimension=.* must exceed"):
        model.fit(T, np.zeros((40, 0)), model.Options(2, least - 0.01), rng)


def test_which_solver_runs():
    choose = model.choose_solver
    assert choose(complete=True, supervised=True, plain=True) == "ratio"
    assert choose(complete=False, supervised=True, plain=True) == "moments"
    assert choose(complete=True, supervised=False, plain=True) == "moments"
    assert choose(complete=True, supervised=True, plain=False) == "moments"


def test_errors_name_what_to_change(rng):
    X, Y = problem(rng, n_lab=40)
    T = coordinates(X)
    with pytest.raises(
        ValueError, match="n_components=39 must be less than the rank of the centered kernel matrix, 39"
    ):
        model.fit(T, Y, model.Options(39, 60.0), rng)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="solver='ratio' needs every output"):
        model.fit(T, Y, model.Options(2, 60.0, "ratio"), rng)
    with pytest.raises(ValueError, match="solver='dual' needs every output of a row or none"):
        model.fit(T, Y, model.Options(2, 60.0, "dual"), rng)
