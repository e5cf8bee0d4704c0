"""EM over rows that miss entries, with any outputs: the definition, purity, copied rows, both loops agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from gnomon import CPPCA, SPPCA
from gnomon.likelihoods.inference import sites_of
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear import cppca, over_rows
from gnomon.models.linear.over_rows import RowsEM
from gnomon.models.linear.sites_em import Rules
from gnomon.numerics.linear_gaussian import Params
from gnomon.rows import read
from namespaces import LIBRARIES, put
from oracles import cppca as oracle
from rows.copied import copied_rows

MIXED = Layout(("logit", "categorical", "gaussian", "poisson"), (2, 3, 0, 0))
ONE = Layout(("probit",), (2,))
NUMBERS = Layout(("gaussian", "gaussian"), (0, 0))


def way_of(layout):
    return "variational" if len(layout.kinds) > 1 else "quadrature"


def draw_outputs(rng, layout, Z):
    columns = {
        "logit": lambda: rng.random(len(Z)) < 0.5,
        "probit": lambda: Z[:, 0] + rng.normal(size=len(Z)) > 0,
        "categorical": lambda: rng.integers(0, 3, len(Z)),
        "gaussian": lambda: Z[:, 1] + 0.5 * rng.normal(size=len(Z)),
        "poisson": lambda: rng.poisson(1.5, len(Z)),
    }
    Y = np.column_stack([columns[kind]() for kind in layout.kinds]).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[::5] = np.nan
    return Y


def problem(rng, layout, *, missing=0.25, n=45, p=6, storage=read, inference=None, **rules):
    X, Z = oracle.draw(rng, n, p)
    X[rng.random(X.shape) < missing] = np.nan
    X[::9] = X[0]  # a pattern that repeats
    Y = draw_outputs(rng, layout, Z)
    rows = storage(X, rng.uniform(0.5, 2.0, n), masked=missing > 0)
    standard = rows.standard(rows.summarize()).with_columns(y=Y)
    h = layout.size
    em = RowsEM(standard, Rules(layout, 0.2, 2, **rules), sites_of(layout, inference or way_of(layout)))
    params = Params(
        rng.normal(size=(p, 2)), 0.1 * rng.normal(size=p), 0.6, 0.7 * rng.normal(size=(h, 2)), 0.3 * rng.normal(size=h),
        rng.uniform(0.5, 1.0, len(layout.kinds)),
    )  # fmt: skip
    return em, params, (X - standard.mean) / standard.scale, Y, rows.weights


def by_definition(x, y, w, params, layout):
    """Objective and expected moments row by row: z given x by its joint normal law, sites one row at a time."""
    sites = sites_of(layout, way_of(layout))
    total, zz, xz1 = 0.0, np.zeros((2, 2)), np.zeros((len(params.m_x), 3))
    for xi, yi, wi in zip(x, y, w):
        o = ~np.isnan(xi)
        C = params.W_x[o] @ params.W_x[o].T + params.x_noise_var * np.eye(o.sum())
        left = np.linalg.solve(C, xi[o] - params.m_x[o])
        total -= 0.5 * wi * (left @ (xi - params.m_x)[o] + np.linalg.slogdet(2 * np.pi * C)[1])
        z = params.W_x[o].T @ left
        S = np.eye(2) - params.W_x[o].T @ np.linalg.solve(C, params.W_x[o])
        fit = sites(yi[None], (params.W_y @ z + params.m_y)[None], params.W_y @ S @ params.W_y.T, params.y_noise_var)
        total += wi * fit.log_z[0]
        z = z + S @ params.W_y.T @ fit.slope[0]
        S = S - S @ params.W_y.T @ fit.by_row[0] @ params.W_y @ S
        zz += wi * (np.outer(z, z) + S)
        xz1[o] += wi * np.outer(xi[o], np.append(z, 1.0))
    return total - 0.5 * 0.2 * (layout.ridged @ params.W_y**2).sum(), zz, xz1


@pytest.mark.parametrize("layout", [ONE, NUMBERS, MIXED], ids=["probit", "numbers", "mixed"])
@pytest.mark.parametrize("missing", [0.25, 0.0])
def test_an_e_step_is_the_definition_row_by_row(rng, layout, missing):
    em, params, x, y, w = problem(rng, layout, missing=missing)
    sums = em.e_step(params)
    objective, zz, xz1 = by_definition(x, y, w, params, layout)
    assert_allclose(sums.objective, objective, rtol=1e-8)
    assert_allclose(sums.total[:2, :2], zz, rtol=1e-7)
    assert_allclose(sums.xz1, xz1, atol=1e-7 * np.abs(xz1).max())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("layout", [ONE, NUMBERS, MIXED], ids=["probit", "numbers", "mixed"])
@pytest.mark.parametrize("missing", [0.25, 0.0])
def test_an_e_step_of_another_library_is_that_of_numpy(library, layout, missing):
    def there(X, *args, **options):
        return read(put(X, library), *args, **options)

    wanted, sums = [], []
    for storage, out in ((read, wanted), (there, sums)):
        em, params, *_ = problem(np.random.default_rng(8), layout, missing=missing, storage=storage)
        out.append(em.e_step(params))
        out.append(em.e_step(params._replace(W_y=1.5 * params.W_y), out[0], 1e-4))
    for mine, one in zip(sums, wanted, strict=True):
        assert_allclose(mine.objective, one.objective, rtol=1e-12)
        for what in ("total", "xz1", "zz1", "gradient"):
            value = getattr(one, what)
            assert_allclose(getattr(mine, what), value, atol=1e-10 * np.abs(value).max(), err_msg=what)


@pytest.mark.parametrize("missing", [0.25, 0.0])
def test_only_rows_with_outputs_come_home_in_an_e_step(monkeypatch, missing):
    em, params, _, Y, _ = problem(
        np.random.default_rng(8), NUMBERS, missing=missing, storage=lambda X, *a, **o: read(put(X, "strict"), *a, **o)
    )
    strict = type(put(Y, "strict"))
    moved, plain = [], strict.to_device

    def record(self, *args, **kwargs):
        moved.append(self.shape)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(strict, "to_device", record)
    em.e_step(params)
    labeled = (~np.isnan(Y)).any(axis=1).sum()
    assert moved
    assert max(shape[0] for shape in moved if shape) <= labeled < len(Y)


@pytest.mark.parametrize("layout", [ONE, MIXED], ids=["probit", "mixed"])
def test_derivatives_are_those_of_the_objective(rng, layout):
    em, params, *_ = problem(rng, layout, prior_precision=0.7)
    sums, step = em.e_step(params, None, 1e-11), 1e-5

    def slope(name, index):
        value = getattr(params, name)
        d = np.zeros_like(value)
        d[index] = step
        up, down = (em.e_step(params._replace(**{name: value + s * d}), None, 1e-11).objective for s in (1, -1))
        return (up - down) / (2 * step)

    for i, j in np.ndindex(params.W_y.shape):
        assert_allclose(sums.gradient[i, j], slope("W_y", (i, j)), atol=1e-4)
    for i in range(len(params.m_y)):
        assert_allclose(sums.gradient[i, 2], slope("m_y", i), atol=1e-4)
    right = sums.xz1 - params.m_x[:, None] * sums.zz1[:, 2]
    left = np.matmul(sums.zz1[:, :2].swapaxes(1, 2), params.W_x[:, :, None])[:, :, 0]  # Fisher's identity
    of_x = (right - left) / params.x_noise_var
    for i, j in np.ndindex(params.W_x.shape):
        assert_allclose(of_x[i, j] - 0.7 * params.W_x[i, j], slope("W_x", (i, j)), atol=2e-3)
    for i in range(len(params.m_x)):
        assert_allclose(of_x[i, 2], slope("m_x", i), atol=2e-3)


@pytest.mark.parametrize("rules", [{}, {"prior_precision": 2.0}, {"free_means": False}, {"noise": "shared"}], ids=str)
@pytest.mark.parametrize("layout", [ONE, NUMBERS, MIXED], ids=["probit", "numbers", "mixed"])
@pytest.mark.parametrize("missing", [0.25, 0.0])
def test_no_step_lowers_the_objective_and_the_end_is_stationary(rng, layout, missing, rules):
    em, params, *_ = problem(rng, layout, missing=missing, **rules)
    if "noise" in rules:
        params = params._replace(y_noise_var=np.full_like(params.y_noise_var, 0.8))
    found = em.maximize(params, 1e-7, 600, "alternating")
    assert found.status.name == "CONVERGED"
    assert (np.diff(found.path) >= -1e-9 * np.abs(found.path[:-1])).all()
    assert found.path[-1] > found.path[0] + 1.0
    best, sums = found.value
    assert np.abs(sums.gradient).max() < 1e-4
    if not rules.get("free_means", True):
        assert_allclose(best.m_x, params.m_x)
        assert_allclose(best.m_y[layout.ridged == 0], params.m_y[layout.ridged == 0])
    if "noise" in rules and layout is NUMBERS:
        assert_allclose(best.y_noise_var[0], best.y_noise_var[1], rtol=1e-12)


@pytest.mark.parametrize("inference, layout", [("variational", MIXED), ("ep", Layout(("probit",) * 2, (2, 2)))])
def test_copied_rows_give_the_same_and_steps_are_pure(inference, layout):
    """Task, block and answer through pickle; the same arguments give the same numbers, to the bit."""
    found = []
    for storage in (read, copied_rows):
        em, params, *_ = problem(np.random.default_rng(4), layout, storage=storage, inference=inference)
        first = em.e_step(params)
        far = em.e_step(params._replace(W_y=2.0 * params.W_y), first, 1e-3)
        near = em.e_step(params, far, 1e-4)
        em.maximize(params, 1e-6, 3, "alternating")
        for a, b in ((first, em.e_step(params)), (near, em.e_step(params, far, 1e-4))):
            for mine, again in zip(a[:7], b[:7]):
                assert np.array_equal(mine, again)
        found.append(first)
        found.append(em.maximize(params, 1e-6, 200, "alternating").value[1])
    for a, b in zip(found[:2], found[2:]):
        assert_allclose(a.objective, b.objective, rtol=1e-10)
        assert_allclose(a.xz1, b.xz1, rtol=1e-5, atol=1e-6 * np.abs(b.xz1).max())


@pytest.mark.parametrize("layout", [ONE, NUMBERS, MIXED], ids=["probit", "numbers", "mixed"])
def test_complete_rows_have_one_maximum_whichever_loop_finds_it(rng, layout):
    X, Z = oracle.draw(rng, 80, 7)
    Y = draw_outputs(rng, layout, Z)
    labeled = np.flatnonzero(~np.isnan(Y).all(axis=1))
    options = cppca.Options(2, tol=1e-8, prior_precision=0.5)
    grown = cppca.fit(read(X), labeled, Y[labeled], layout, options, np.random.default_rng(0))
    over = cppca.fit(read(X), labeled, Y[labeled], layout, options._replace(solver="em"), np.random.default_rng(0))
    assert_allclose(over.path[-1], grown.path[-1], rtol=1e-9)
    assert_allclose(over.value.params.x.W_x, grown.value.params.x.W_x, atol=1e-4)
    assert_allclose(over.value.params.x.m_x, X.mean(axis=0), atol=1e-6)


def test_a_limit_of_one_iteration_is_told(rng):
    X, Z = oracle.draw(rng, 60, 6)
    X[rng.random(X.shape) < 0.2] = np.nan
    Y = draw_outputs(rng, MIXED, Z)
    labeled = np.flatnonzero(~np.isnan(Y).all(axis=1))
    options = cppca.Options(2, max_iter=1)
    rows = read(X, masked=True)
    found = cppca.fit(rows, labeled, Y[labeled], MIXED, options, rng)
    assert found.status.name != "CONVERGED"
    assert found.stats["residual"] > options.tol


@pytest.mark.parametrize("inference", [None, "variational"], ids=["numbers", "classes"])
def test_a_part_of_many_rows_chooses_the_start_and_all_end_at_the_same(rng, monkeypatch, inference):
    X, Z = oracle.draw(rng, 600, 8)
    y = Z @ rng.normal(size=2) if inference is None else (Z @ rng.normal(size=(2, 3))).argmax(axis=1).astype(float)
    y[60:] = np.nan
    X[rng.random(X.shape) < 0.2] = np.nan
    weights = rng.uniform(0.5, 2.0, len(X))
    model = SPPCA(2) if inference is None else CPPCA(2, inference=inference, target="classes")
    whole = clone(model).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(over_rows, "FEW_ROWS", 50)
    monkeypatch.setattr(over_rows, "FEW_A_COLUMN", 1)
    found = clone(model).fit(X, y, sample_weight=weights)
    assert_allclose(found.log_likelihood_, whole.log_likelihood_, rtol=1e-7)
    assert found.converged_
    assert found.n_passes_ < whole.n_passes_


def test_a_part_weighs_as_much_as_the_rows_that_it_stands_for(rng, monkeypatch):
    em, *_ = problem(rng, Layout(("gaussian",), (0,)), n=300)
    assert over_rows._of_few(em) is em
    monkeypatch.setattr(over_rows, "FEW_ROWS", 20)
    monkeypatch.setattr(over_rows, "FEW_A_COLUMN", 1)
    few = over_rows._of_few(em)
    assert few.rows.shape[0] == 40
    labeled = [~np.isnan(one.rows.rows.gather("y")[:, 0]) for one in (few, em)]
    for mark in (True, False):
        some, all_of = (one.rows.weights[seen == mark].sum() for one, seen in zip((few, em), labeled))
        assert_allclose(some, all_of)
