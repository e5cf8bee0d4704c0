"""Newton's steps of label parameters: factorized, or by conjugate gradients where they are many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA
from gnomon.likelihoods.sites import SiteFit
from gnomon.models.linear import curvature as module
from gnomon.models.linear.curvature import curvature_of_groups, curvature_of_rows, newton_step
from gnomon.models.linear.of_rank import Normal


def positive(rng, n, size):
    root = rng.standard_normal((n, size, size + 2))
    return root @ np.swapaxes(root, 1, 2)


def dense(C, M):
    """The sum of Kronecker products, one after the other."""
    return sum(np.kron(c, m) for c, m in zip(C, M, strict=True))


@pytest.fixture(params=[(6, 4), (2, 5), (1, 3)])  # more pairs of outputs than predictors and 1, or fewer
def problem(request):
    rng, (h, m), n = np.random.default_rng(0), request.param, 30
    z1 = np.column_stack([rng.standard_normal((n, m - 1)), np.ones(n)])
    return {
        "C": positive(rng, n, h),
        "z1": z1,
        "weights": rng.uniform(0.5, 2.0, n),
        "gradient": rng.standard_normal((h, m)),
        "penalty": rng.uniform(0.0, 3.0, h),
        "second": -positive(rng, 1, h)[0],
        "cov": positive(rng, 1, m - 1)[0],
    }


@pytest.mark.parametrize("kind", ["rows", "named", "groups"])
@pytest.mark.parametrize("held", [False, True])
def test_steps_solve_the_dense_equations_however_many_they_are(problem, kind, held, monkeypatch):
    p = problem
    (h, m), w, z1 = p["gradient"].shape, p["weights"], p["z1"]
    of_row = np.arange(len(z1)) % 3 if kind == "named" else None
    C = p["C"] if of_row is None else p["C"][:3]
    moments = w[:, None, None] * z1[:, :, None] * z1[:, None, :]
    fit = SiteFit(w, np.zeros((len(w), h)), C, of_row=of_row)
    cov = np.zeros((m, m))
    cov[:-1, :-1] = p["cov"]
    H = dense(fit.by_row, moments) + np.kron(-p["second"], cov)
    H += np.diag(np.column_stack([np.tile(p["penalty"][:, None], m - 1), np.zeros(h)]).ravel())
    fixed = np.zeros(h, dtype=bool)
    fixed[-1] = held
    free = np.ones((h, m), dtype=bool)
    free[fixed, -1] = False
    wanted = np.zeros((h, m))
    wanted[free] = np.linalg.solve(H[np.ix_(free.ravel(), free.ravel())], p["gradient"][free])

    for most in (h * m, h * m - 1):
        monkeypatch.setattr(module, "MOST_UNKNOWNS", most)
        monkeypatch.setattr(module, "STEP_ACCURACY", 1e-10)
        rows = (
            curvature_of_groups(C, moments)
            if kind == "groups"
            else curvature_of_rows(fit, z1, w, fit.total_curvature(w), most)
        ).with_covariance(p["second"], p["cov"], float(w.sum()))
        assert bool(rows.terms) == (most < h * m)
        found = newton_step(rows, p["gradient"], p["penalty"], fixed, float(w.sum()))
        assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("largest", [200, 1, 0])
def test_steps_that_private_dimensions_bound_are_the_best_of_those(problem, largest, monkeypatch):
    p, rng = problem, np.random.default_rng(1)
    (h, m), w, z1 = p["gradient"].shape, p["weights"], p["z1"]
    normal = Normal.beside(rng.standard_normal((h, 1)) @ np.eye(m - 1)[:1], 1)
    gradient = p["gradient"].copy()
    gradient[:, :-1] = normal.left_out(gradient[None, :, :-1])[0]
    monkeypatch.setattr(module, "STEP_ACCURACY", 1e-10)
    fit = SiteFit(w, np.zeros((len(w), h)), p["C"])
    curvature = curvature_of_rows(fit, z1, w, fit.total_curvature(w), largest)
    if not largest:  # as if curvatures and predictors varied independently
        curvature = curvature._replace(terms=())
    H = dense(p["C"], w[:, None, None] * z1[:, :, None] * z1[:, None, :])
    H += np.kron(np.diag(p["penalty"]), np.diag([1.0] * (m - 1) + [0.0]))
    values, vectors = np.linalg.eigh(normal.projection()[0])
    tangents = vectors[:, values < 0.5]
    wanted = tangents @ np.linalg.solve(tangents.T @ H @ tangents, tangents.T @ gradient.ravel())
    found = newton_step(curvature, gradient, p["penalty"], np.zeros(h, dtype=bool), float(w.sum()), normal)
    assert_allclose(normal.left_out(found[None, :, :-1])[0], found[:, :-1], atol=2e-3 * np.abs(found).max())
    if largest:
        assert_allclose(found, wanted.reshape(h, m), atol=5e-3 * np.abs(found).max())


def test_many_classes_in_many_dimensions_take_as_few_steps():
    rng = np.random.default_rng(5)
    Z = rng.standard_t(4, (400, 30))
    X = Z @ rng.standard_normal((30, 60)) + 2.0 * rng.standard_normal((400, 60))
    y = (2.0 * Z[:, :10] @ rng.standard_normal((10, 30)) + rng.gumbel(size=(400, 30))).argmax(axis=1)
    y[rng.permutation(400)[100:]] = -1
    for k in (5, 20):  # 29 x 6 and 29 x 21 label parameters
        model = CPPCA(k).fit(X, y)
        assert model.converged_
        assert model.n_iter_ <= 15


def test_covariances_turn_with_the_loadings(problem):
    p = problem
    (h, m), w, z1 = p["gradient"].shape, p["weights"], p["z1"]
    rng, weight = np.random.default_rng(1), float(p["weights"].sum())
    fit, VS = SiteFit(w, np.zeros((len(w), h)), p["C"]), rng.standard_normal((h, m))
    total = fit.total_curvature(w)
    turning = np.zeros((m, m))
    turning[:-1, :-1] = (2.0 / weight * VS.T @ total @ VS)[: m - 1, : m - 1]
    step = rng.standard_normal((h, m))
    for most in (h * m, h * m - 1):
        rows = curvature_of_rows(fit, z1, w, total, most)
        assert_allclose(
            rows.with_turning(total, VS, weight).times(step), rows.times(step) + total @ step @ turning, rtol=1e-9
        )


def overlapping_classes(n, p, n_classes, n_labels):
    """Rows of many classes that lie on one another, few of them labeled."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    X = 0.3 * rng.normal(size=(n_classes, p))[y] + rng.normal(size=(n, p))
    labels = np.full(n, -1)
    for c in range(n_classes):
        some = np.flatnonzero(y == c)[:n_labels]
        labels[some] = c
    return X, labels


@pytest.mark.parametrize(
    ("k", "problem"), [(3, (1000, 30, 50, 3)), (4, (2000, 20, 26, 20))], ids=["few labels", "more labels"]
)
def test_many_classes_that_overlap_do_not_crawl(k, problem):
    X, labels = overlapping_classes(*problem)
    model = CPPCA(k).fit(X, labels)
    assert model.converged_
    assert model.objective_residual_ <= model.tol
    assert model.n_iter_ <= 100


def test_many_classes_that_overlap_do_not_crawl_where_entries_are_missing():
    X, labels = overlapping_classes(400, 15, 20, 3)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = CPPCA(3).fit(X, labels)
    assert model.converged_
    assert model.n_iter_ <= 50
