"""Every way to the moments and products is that of the dense formulas, whatever is missing in the targets."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.likelihoods.layout import Layout
from gnomon.models.linear import basis as basis_module
from gnomon.models.linear import patterns as patterns_module
from gnomon.models.linear.basis import Space, SweptProducts, may_be_held
from gnomon.models.linear.in_basis import BasisEM
from gnomon.models.linear.patterns import by_coordinates, group_outputs, read_by_pattern
from gnomon.models.linear.sites_em import Rules
from gnomon.numerics.linalg import orthonormal_columns
from numerics import build
from oracles import gaussian
from rows.copied import copied_rows

TARGETS = ("labeled", "semi", "entries", "unlabeled", "none")
N, P, R = 30, 8, 4


class Case:
    """Rows in standard units and the same rows in three bases of the same four directions."""

    def __init__(self, rng, targets, n=N, p=P, weighted=True, form=np.asarray):
        _, X, Y = build.draw(rng, n=n, p=p, targets=targets)
        self.w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        self.Y = Y
        self.outputs = group_outputs(Y, self.w, 1)
        self.form, self.raw = form, 3.0 * X + 100.0
        centered = self.raw - self.w @ self.raw / self.w.sum()
        self.X = centered / np.sqrt(self.w @ (centered**2).sum(axis=1) / (self.w.sum() * p))
        self.Q = orthonormal_columns(self.X[:R].T)  # inside the row space, so that few rows can hold it

    def source(self):
        return copied_rows(self.form(self.raw), self.w)

    def seen(self, *, held, capacity=6):
        """Patterns in a basis, the rows as they were read, and what takes coordinates to features."""
        data, rows = read_by_pattern(self.source(), self.outputs, capacity, held=held)
        features, Q = data.basis.products.features, self.Q
        if data.basis.products.size != Q.shape[0]:  # coordinates on the n x n side
            E = features(np.eye(data.basis.products.size))
            assert_allclose(E.T @ E, np.eye(E.shape[1]), atol=1e-9)
            Q = E.T @ Q
        data.basis.expand(Q[:, :3])
        data.basis.expand(Q[:, 3:])
        return data, rows, features


def assert_moments(data, case, B):
    """Compare through the likelihood and sums of an arbitrary model, which see every number in the moments."""
    params = random_params(np.random.default_rng(9), B.shape[1], case.Y.shape[1])
    reference = build.em(case.X, case.Y, case.w, B=B)
    sums = e_step(data, params)
    expected = reference.e_step(params)
    for name in ("objective", "xz1", "total", "gradient", "noise"):
        assert_allclose(getattr(sums, name), getattr(expected, name), rtol=1e-8, atol=1e-7, err_msg=name)


def e_step(data, params):
    q = len(params.m_y)
    rules = Rules(Layout(("gaussian",) * q, (0,) * q), 0.0, params.W_x.shape[1], noise="shared")
    return BasisEM(data.basis.view(), data.labels(), rules).e_step(params)


def random_params(rng, r, q):
    return build.params(gaussian.random_model(rng, r, 2, q))._replace(m_x=np.zeros(r))


def cross_of(data, params):
    return data.cross(params, *e_step(data, params).held[:2])


@pytest.fixture(params=[0, 1 << 24], ids=["all_loose", "patterns"], autouse=True)
def most_moments(request, monkeypatch):
    monkeypatch.setattr(patterns_module, "MOST_MOMENTS", request.param)
    monkeypatch.setattr(patterns_module, "FEWEST", 0)
    return request.param


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("targets", TARGETS)
def test_swept_moments_are_those_of_the_rows(rng, targets, form):
    case = Case(rng, targets, form=form)
    assert_moments(case.seen(held=False)[0], case, case.Q)


@pytest.mark.parametrize("shape", [(30, 8), (12, 20)], ids=["tall", "wide"])
@pytest.mark.parametrize("targets", TARGETS)
def test_moments_taken_at_once_are_those_of_the_rows(rng, targets, shape):
    case = Case(rng, targets, *shape)
    assert_moments(case.seen(held=True)[0], case, case.Q)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("kind", ["swept", "tall", "wide"])
def test_products_in_the_full_space(rng, targets, kind):
    case = Case(rng, targets, *((12, 20) if kind == "wide" else (N, P)))
    data, _, expand = case.seen(held=kind != "swept")
    basis = data.basis
    params = random_params(rng, R, case.Y.shape[1])
    Z, _ = gaussian.posterior(build.model(params, case.Q), case.X, case.Y)
    assert_allclose(expand(cross_of(data, params)), case.X.T @ (case.w[:, None] * Z), rtol=1e-7, atol=1e-7)
    XY = case.X.T @ (case.w[:, None] * np.nan_to_num(case.Y))
    assert_allclose(expand(basis.products.xy), XY, rtol=1e-8, atol=1e-7)
    assert_allclose(expand(basis.vectors), case.Q, atol=1e-9)
    block = expand(basis.products.leading(np.random.default_rng(0).normal(size=(basis.products.size, 2))))
    assert_allclose(block.T @ block, np.eye(2), atol=1e-9)
    S = case.X.T @ (case.w[:, None] * case.X)
    held = np.trace(block.T @ S @ block) / np.linalg.eigvalsh(S)[-2:].sum()
    assert held > (0.99 if kind == "wide" else 0.4)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("kind", ["swept", "moments"])
def test_rotating_the_basis_is_expanding_with_the_combinations(rng, targets, kind):
    case = Case(rng, targets, *((N, P) if kind == "swept" else (12, 20)))
    data, _, expand = case.seen(held=kind == "moments")
    basis = data.basis
    C = np.linalg.qr(rng.normal(size=(R, 2)))[0]
    basis.rotate(C)
    assert basis.size == 2
    assert_allclose(expand(basis.vectors), case.Q @ C, atol=1e-9)
    assert_moments(data, case, case.Q @ C)
    params = random_params(rng, 2, case.Y.shape[1])
    Z, _ = gaussian.posterior(build.model(params, case.Q @ C), case.X, case.Y)
    assert_allclose(expand(cross_of(data, params)), case.X.T @ (case.w[:, None] * Z), rtol=1e-7, atol=1e-7)
    extra = orthonormal_columns(rng.normal(size=(len(basis.vectors), 1)), basis.vectors)
    basis.expand(extra)
    assert_moments(data, case, np.hstack([case.Q @ C, expand(extra)]))


def test_a_full_basis_leaves_nothing_outside(rng):
    case = Case(rng, "semi")
    data, _ = read_by_pattern(case.source(), case.outputs, P, held=False)
    data.basis.expand(np.eye(P))
    assert data.basis.outside_energy == 0.0
    assert_moments(data, case, np.eye(P))


def test_passes_are_counted(rng):
    case = Case(rng, "semi")
    data, rows = read_by_pattern(case.source(), case.outputs, P, held=False)
    assert rows.reads == 1
    data.basis.products.leading(rng.normal(size=(P, 2)))
    assert rows.reads == 2
    data.basis.expand(case.Q)
    data.labels()
    assert rows.reads == 3
    params = random_params(rng, R, 3)
    cross_of(data, params)
    assert_allclose(rows.reads, 3 + len(case.outputs.others) / N)


@pytest.mark.parametrize("held", [0, 1 << 24])
def test_of_many_patterns_the_moments_of_x_alone_are_held(rng, held, monkeypatch):
    monkeypatch.setattr(basis_module, "HELD", held)
    case = Case(rng, "entries")
    data, rows, _ = case.seen(held=True)
    share = len(case.outputs.others) / N
    assert_allclose(rows.reads, 1 + (share if held else 2 * share))  # of two blocks
    cross_of(data, random_params(rng, R, 3))
    assert_allclose(rows.reads, 1 + (share if held else 3 * share))


@pytest.mark.parametrize("held", [0, 1 << 24])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("targets", ["semi", "entries"])
def test_held_rows_and_moments_of_patterns_say_the_same(rng, targets, form, held, monkeypatch):
    monkeypatch.setattr(basis_module, "HELD", held)
    case = Case(rng, targets, 30, 25, form=form)
    data, rows, _ = case.seen(held=True)
    assert_moments(data, case, case.Q)
    params = random_params(rng, R, case.Y.shape[1])
    Z, _ = gaussian.posterior(build.model(params, case.Q), case.X, case.Y)
    assert_allclose(cross_of(data, params), case.X.T @ (case.w[:, None] * Z), rtol=1e-7, atol=1e-7)
    if held:
        assert_allclose(rows.reads, 1 + len(case.outputs.others) / 30)


@pytest.mark.parametrize("n_kept", [20, 28, 30])
@pytest.mark.parametrize("held", [0, 1 << 24])
def test_products_are_those_of_the_kept_rows_in_their_order(rng, n_kept, held, monkeypatch):
    """Rows too many to be held are read each time; where nearly all are kept, all of them."""
    monkeypatch.setattr(basis_module, "HELD", held)
    rows, w = rng.normal(size=(30, 5)), rng.uniform(0.5, 2.0, 30)
    kept = np.arange(30) if n_kept == 30 else rng.permutation(30)[:n_kept]
    products = SweptProducts(copied_rows(rows, w), kept, np.zeros((30, 1)), second=True)
    X = (rows - products.rows.mean) / products.rows.scale
    Q, U = np.linalg.qr(rng.normal(size=(5, 2)))[0], rng.normal(size=(n_kept, 3))
    before = products.rows.reads
    xxQ, xQ = products.both(Q)
    assert_allclose(xxQ, X.T @ (w[:, None] * X) @ Q, rtol=1e-10)
    assert_allclose(xQ, X[kept] @ Q, rtol=1e-10, atol=1e-12)
    assert_allclose(products.back(U), X[kept].T @ (w[kept, None] * U), rtol=1e-10)
    assert_allclose(products.rows.reads - before, 0 if held else 2 * (1.0 if n_kept > 27 else n_kept / 30))


def test_rows_that_are_elsewhere_are_not_held(rng):
    rows = copied_rows(rng.normal(size=(30, 5)))
    assert may_be_held(rows, 3)
    assert not may_be_held(rows, 0)
    rows.elsewhere = True
    assert not may_be_held(rows, 3)


def test_held_moments_cost_one_read(rng, monkeypatch):
    monkeypatch.setattr(patterns_module, "MOST_MOMENTS", 1 << 24)
    case = Case(rng, "semi")
    data, rows, _ = case.seen(held=True)
    cross_of(data, random_params(rng, R, 3))
    assert rows.reads == 1


def test_no_pass_for_the_gradient_when_all_rows_are_alike(rng):
    case = Case(rng, "labeled")
    data, rows, _ = case.seen(held=False)
    before = rows.reads
    cross_of(data, random_params(rng, R, 3))
    assert rows.reads == before


def test_coordinates_of_inner_products_are_as_good_as_the_rows(rng):
    """From the kernel matrix alone, the loose rows with them: no feature is seen."""
    case = Case(rng, "entries", 10, 25)
    X, w = case.X, case.w
    root = np.sqrt(w)[:, None]
    values, U = np.linalg.eigh(root * (X @ X.T) * root.T)
    kept = values > 1e-9 * values[-1]
    T = U[:, kept] * np.sqrt(values[kept]) / root
    data = by_coordinates(T, w @ T**2, case.outputs, Space(w.sum(), float(w @ (X**2).sum(axis=1)), 25.0), 30)
    data.basis.expand(np.eye(T.shape[1]))
    E = X.T @ (root * U[:, kept]) / np.sqrt(values[kept])  # the features that the coordinates stand for
    params = random_params(rng, T.shape[1], case.Y.shape[1])
    found = e_step(data, params).objective
    assert_allclose(found, w @ gaussian.log_density(build.model(params, E), X, case.Y), rtol=1e-8)


class TestGroupOutputs:
    def test_every_row_is_in_one_group(self, rng, most_moments):
        _, _, Y = build.draw(rng, n=60, targets="entries")
        o = group_outputs(Y, np.ones(60), 1)
        rows = np.concatenate([o.majority, *(rows for _, rows in o.patterns), o.ungrouped])
        assert_array_equal(np.sort(rows), np.arange(60))
        for outputs, members in [(o.majority_outputs, o.majority), *o.patterns]:
            observed = np.zeros(3, dtype=bool)
            observed[outputs] = True
            assert (~np.isnan(Y[members]) == observed).all()
            assert len(members) <= len(o.majority)
        assert (len(o.ungrouped) > 0) == (most_moments == 0)
        assert_array_equal(o.Y, np.nan_to_num(Y))

    def test_rows_of_weight_zero_observe_nothing(self):
        o = group_outputs(np.ones((4, 1)), np.array([1.0, 0.0, 2.0, 1.0]), 1)
        assert_array_equal(o.observed[:, 0], [True, False, True, True])

    def test_groups_do_not_depend_on_the_order_of_rows(self, rng):
        _, _, Y = build.draw(rng, n=60, targets="entries")
        order = rng.permutation(60)
        a, b = group_outputs(Y, np.ones(60), 1), group_outputs(Y[order], np.ones(60), 1)
        assert_array_equal(np.sort(order[b.majority]), a.majority)

    def test_many_outputs(self, rng):
        Y = rng.normal(size=(30, 40))
        Y[rng.random(30) < 0.5, 35] = np.nan
        o = group_outputs(Y, np.ones(30), 1)
        assert len(o.patterns) == 1 or len(o.ungrouped) > 0
        assert len(o.majority) + len(o.others) == 30

    def test_patterns_of_few_rows_beside_dimensions_are_kept_row_by_row(self, most_moments, monkeypatch):
        monkeypatch.setattr(patterns_module, "LEAST_MOMENTS", 0)
        Y = np.repeat([[0.0, 0.0], [0.0, np.nan], [np.nan, 0.0]], [15, 8, 7], axis=0)
        o = group_outputs(Y, np.ones(30), 5)
        assert_array_equal(o.ungrouped, np.arange(23, 30) if most_moments else np.arange(15, 30))

    def test_of_few_patterns_moments_are_taken_however_few_rows_they_have(self, rng, most_moments):
        Y = np.repeat([[np.nan, np.nan], [0.0, np.nan], [np.nan, 0.0]], [30, 3, 2], axis=0)
        assert len(group_outputs(Y, np.ones(35), 5).ungrouped) == (0 if most_moments else 5)
        many = np.where(rng.random((40, 12)) < 0.5, 0.0, np.nan)
        assert len(group_outputs(many, np.ones(40), 5).ungrouped) > 30
