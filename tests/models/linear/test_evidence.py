"""Real outputs by pattern and row by row: the likelihood and its derivatives by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.likelihoods.exact import GaussianSites
from gnomon.likelihoods.layout import Layout
from gnomon.likelihoods.softmax_rows import SoftmaxRows
from gnomon.models.linear import evidence as file
from gnomon.models.linear.evidence import Coded, LabeledPatterns, LabeledRows
from gnomon.numerics.linear_gaussian import Params, given_x
from gnomon.numerics.moments import output_sets
from numerics import build
from oracles import gaussian

LOOSE = pytest.mark.parametrize("loose_below", [0, 4, 10**6], ids=["patterns", "mixed", "loose"])
TARGETS = pytest.mark.parametrize("targets", build.TARGETS)


def case(rng, targets, **kwargs):
    """Centered rows, weights, and parameters away from those that made them."""
    model, X, Y = build.draw(rng, targets=targets, **kwargs)
    other = gaussian.random_model(rng, *model.W_x.shape, len(model.m_y), s2_x=0.7, s2_y=0.5)
    w = rng.uniform(0.5, 3.0, len(X))
    params = build.params(other)._replace(m_x=np.zeros(X.shape[1]))
    return params._replace(y_noise_var=rng.uniform(0.3, 1.0, len(params.m_y))), X - w @ X / w.sum(), Y, w


@LOOSE
@TARGETS
def test_an_e_step_is_the_sum_of_brute_force_rows(rng, targets, loose_below):
    p, X, Y, w = case(rng, targets)
    sums = build.em(X, Y, w, loose_below=loose_below).e_step(p)
    mean, cov = gaussian.posterior(build.model(p), X, Y)
    assert_allclose(sums.objective, build.loglik(p, X, Y, w), rtol=1e-10)
    assert_allclose(sums.total[:2, :2], np.einsum("i,iab->ab", w, cov + mean[:, :, None] * mean[:, None]), rtol=1e-9)
    assert_allclose(sums.xz1[:, :2], X.T @ (w[:, None] * mean), rtol=1e-9, atol=1e-9)
    assert_allclose(sums.total[2, 2], w.sum())


@LOOSE
@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_gradients_are_those_of_the_density(targets, loose_below):
    """In loadings and means of the outputs, their noise variances and, by Fisher's identity, the loadings of x."""
    rng = np.random.default_rng(0)
    p, X, Y, w = case(rng, targets, n=25, p=3)
    sums, h = build.em(X, Y, w, loose_below=loose_below).e_step(p), 1e-5
    of_x = (sums.xz1[:, :2] - p.W_x @ sums.total[:2, :2]) / p.x_noise_var

    def slope(name, index):
        d = np.zeros_like(getattr(p, name))
        d[index] = h
        up, down = (build.loglik(p._replace(**{name: getattr(p, name) + s * d}), X, Y, w) for s in (1, -1))
        return (up - down) / (2 * h)

    for j in range(3):
        assert_allclose(
            sums.gradient[j], [slope("W_y", (j, 0)), slope("W_y", (j, 1)), slope("m_y", j)], rtol=1e-5, atol=1e-5
        )
        assert_allclose(sums.noise[0, j] / 2, slope("y_noise_var", j), rtol=1e-5, atol=1e-5)
        assert_allclose(of_x[j], [slope("W_x", (j, 0)), slope("W_x", (j, 1))], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_a_basis_counts_what_lies_outside(rng, targets):
    _, X, Y = build.draw(rng, p=7, targets=targets)
    X = X - X.mean(axis=0)
    B = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    p = build.params(gaussian.random_model(rng, 3, 2, Y.shape[1]))._replace(m_x=np.zeros(3))
    expected = gaussian.log_density(build.model(p, B), X, Y).sum()
    assert_allclose(build.em(X, Y, B=B).e_step(p).objective, expected, rtol=1e-10)


def test_a_pattern_is_its_rows(rng):
    """All that `LabeledRows` sums, from the moments; the curvature has what feels the covariance besides."""
    p, X, Y, w = case(rng, "labeled")
    layout, x = Layout(("gaussian",) * 3, (0,) * 3), given_x(p)
    rows, sets = LabeledRows(X, w, Y, layout, GaussianSites()), output_sets(~np.isnan(Y))
    pattern = LabeledPatterns(sets.sets, build.moments_by_set(X, Y, w, sets), None)
    (a, of_rows), (b, of_pattern) = (data.sums(p, x, None, 1e-8) for data in (rows, pattern))
    for name, mine, other in zip(a._fields, a, b, strict=True):
        assert_allclose(mine, other, rtol=1e-9, atol=1e-9, err_msg=name)
    assert rows.weight == pytest.approx(pattern.weight)
    assert of_rows.fit.curvature.shape == (1, 3, 3)  # one for all rows
    a, b = rows.newton(x, of_rows), pattern.newton(x, of_pattern)
    precision, VS = of_rows.fit.curvature[0], p.W_y @ x.cov
    more = np.zeros_like(a.z1z1)
    more[:-1, :-1] = 2.0 * w.sum() * VS.T @ precision @ VS
    assert_allclose(b.z1z1, a.z1z1 + more, rtol=1e-9, atol=1e-9)
    assert_allclose(b.H, a.H + np.kron(precision, more), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("noise", ["shared", "each", "fixed"])
@pytest.mark.parametrize("targets", build.TARGETS)
def test_no_step_lowers_the_likelihood_and_the_end_is_stationary(rng, targets, noise):
    p, X, Y, w = case(rng, targets)
    p = p._replace(y_noise_var=np.full(len(p.m_y), 0.5))
    em = build.em(X, Y, w, noise=noise)
    if targets == "unlabeled":
        p = p._replace(W_y=0.0 * p.W_y)
    found = em.maximize(p, 1e-9, 2000, "alternating")
    assert found.status.name == "CONVERGED"
    assert (np.diff(found.path) >= -1e-9 * np.abs(found.path[:-1])).all()
    assert found.path[-1] > found.path[0] + 1.0
    best, sums = found.value
    assert_allclose(sums.objective, build.loglik(best, X, Y, w), rtol=1e-10)
    assert np.abs(sums.gradient).max(initial=0.0) < 1e-5
    if noise == "fixed":
        assert_allclose(best.y_noise_var, 0.5)
    if noise == "shared" and len(best.m_y):
        assert_allclose(best.y_noise_var, best.y_noise_var[0])


def test_coded_outputs_are_averaged_over_the_rows_that_observe_them(rng):
    _, _, Y = build.draw(rng, targets="entries")
    seen, w = ~np.isnan(Y), rng.uniform(0.5, 2.0, len(Y))
    coded = Coded.of(np.where(seen, Y, 0.0), seen, w)
    assert_allclose(coded.counts, w @ seen)
    both = seen[:, 0] & seen[:, 1]
    assert_allclose(coded.yy[0, 1], w[both] @ (Y[both, 0] * Y[both, 1]) / w[both].sum())


def test_rows_are_asked_again_where_their_predictors_changed_or_more_accuracy_is_wanted(rng):
    layout, n = Layout(("categorical",), (4,)), 40
    Y, T = rng.integers(0, 4, (n, 1)).astype(float), rng.normal(size=(n, 3))
    p = Params(rng.normal(size=(3, 2)), np.zeros(3), 0.5, rng.normal(size=(3, 2)), np.zeros(3), np.ones(1))
    rows = LabeledRows(T, rng.uniform(0.5, 2.0, n), Y, layout, SoftmaxRows(layout))
    found, held = rows.sums(p, given_x(p), None, 1e-3)
    grown = p._replace(W_x=np.vstack([p.W_x, np.zeros((1, 2))]), m_x=np.zeros(4))
    wider = LabeledRows(np.column_stack([T, rng.normal(size=n)]), rows.weights, Y, layout, rows.sites)
    again, same = wider.sums(grown, given_x(grown), held, 1e-3)
    assert same.fit is held.fit
    assert_allclose(again.slope_x[:, :3], found.slope_x, rtol=1e-12)
    assert_allclose(again.curvature, found.curvature, rtol=1e-12)
    sharper, other = rows.sums(p, given_x(p), held, 1e-9)
    assert other.fit is not held.fit
    assert_allclose(sharper.slopes, rows.sums(p, given_x(p), None, 1e-9)[0].slopes, rtol=1e-7)
    for name in ("W_x", "W_y", "m_y"):
        moved = p._replace(**{name: getattr(p, name) + 1e-3})
        assert_allclose(
            rows.sums(moved, given_x(moved), other, 1e-9)[0].slopes,
            rows.sums(moved, given_x(moved), None, 1e-9)[0].slopes,
            rtol=1e-6,
        )


def test_rows_that_stand_for_all_do_not_depend_on_their_order(rng):
    layout, n = Layout(("categorical",), (3,)), 200
    Y, T, w = rng.integers(0, 3, (n, 1)).astype(float), rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)
    w[::3] = 0.0
    rows = LabeledRows(T, w, Y, layout, SoftmaxRows(layout))
    at, order = rows.chosen(50), rng.permutation(n)
    few = rows.some(at)
    assert len(np.unique(at)) == 50
    assert w[at].all()
    assert_allclose(few.weight, w.sum())
    assert_allclose(few.weights / w[at], few.weight / w[at].sum())
    other = LabeledRows(T[order], w[order], Y[order], layout, rows.sites)
    assert set(order[other.chosen(50)]) == set(at)


def test_the_curvature_of_many_rows_is_near_that_of_those_that_stand_for_them(rng, monkeypatch):
    layout, n = Layout(("categorical",), (3,)), 4000
    Y, T = rng.integers(0, 3, (n, 1)).astype(float), rng.normal(size=(n, 2))
    p = Params(rng.normal(size=(2, 2)), np.zeros(2), 0.5, rng.normal(size=(2, 2)), np.zeros(2), np.ones(1))
    rows = LabeledRows(T, np.ones(n), Y, layout, SoftmaxRows(layout))
    x = given_x(p)
    held = rows.sums(p, x, None, 1e-6)[1]
    every = rows.newton(x, held).H
    monkeypatch.setattr(file, "FEWEST", 2000)
    monkeypatch.setattr(file, "MOST_PRODUCTS", 0)
    some = rows.newton(x, held).H
    assert not np.array_equal(some, every)
    assert np.abs(some - every).max() < 0.1 * np.abs(every).max()
