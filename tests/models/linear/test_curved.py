"""The likelihood in a basis as a landscape: its slopes, and a metric near the inverse Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from gnomon import SPPCA
from gnomon._types import Status
from gnomon.models.linear.curved import Y_OFFSET, Curved
from gnomon.models.linear.in_basis import alike
from gnomon.models.linear.sites_em import X_FLOOR, Y_FLOOR
from gnomon.models.linear.stack import Stack
from gnomon.numerics.linear_gaussian import Params
from gnomon.solvers import quasi_newton
from gnomon.solvers.quasi_newton import pick
from numerics import build


def problem(k=3, noise="shared", p=8, n=400, labeled=100, q=2, guided=None, **more):
    """EM over planted rows, some of which miss an output; latent dimensions that are not guided are private."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((n, 2))
    X = Z @ rng.standard_normal((2, p)) + rng.standard_normal((n, p))
    Y = Z @ rng.standard_normal((2, q)) + 0.5 * rng.standard_normal((n, q))
    Y[labeled:] = np.nan
    Y[:20, 0] = np.nan
    return build.em(X - X.mean(axis=0), Y, noise=noise, k=guided or k, **more)


def random_params(em, k, q=2, seed=0):
    rng = np.random.default_rng(seed)
    p = len(em.view.values)
    W, V = rng.standard_normal((p, k)), 0.3 * rng.standard_normal((q, k))
    V[:, em.rules.n_guided :] = 0.0
    y_noise = np.full(q, 0.6) if em.rules.noise == "shared" else np.linspace(0.4, 0.8, q)
    return Params(W, np.zeros(p), 1.0 + rng.random(), V, 0.1 * rng.standard_normal(q), y_noise)


def landscape(k=3, noise="shared", **more):
    """A landscape over planted rows, a place on the way and that of a climb's end."""
    em = problem(k, noise, **more)
    begun = em.maximize(random_params(em, k, more.get("q", 2)), 0.05, 50, "alternating")
    found = em.climb(begun.value[0], 1e-9, 500)
    assert found.status is Status.CONVERGED
    curved = Curved(em.view, em.labels, em.rules, begun.value[0])
    return curved, *(curved.at(curved.vectors([found.value[0]])) for found in (begun, found))


def differences(curved, place, directions, of, step=1e-5):
    """Central differences of a quantity of places, along directions."""
    many = pick(place, np.zeros(len(directions), dtype=int))
    up, down = (of(curved.at(many.vector + s * step * directions, many)) for s in (1, -1))
    return (up - down) / (2.0 * step)


def test_the_residual_is_that_of_em():
    curved, start, _ = landscape()
    em, params = problem(), curved.params(start)
    sums = em.e_step(params)
    assert_allclose(start.residual, em.residual(sums, params, em.of_x(sums, params).params), rtol=1e-3)


@pytest.mark.parametrize("noise", ["shared", "each", "fixed"])
@pytest.mark.parametrize("loose_below", [3, 60, 999])
def test_slopes_are_those_of_the_objective(noise, loose_below):
    em = problem(noise=noise, loose_below=loose_below)
    curved = Curved(em.view, em.labels, em.rules, random_params(em, 3))
    place = curved.at(curved.vectors([random_params(em, 3)]))
    directions = np.random.default_rng(0).standard_normal((10, place.vector.shape[1]))
    found = differences(curved, place, directions, lambda at: at.value)
    assert_allclose(found, directions @ place.slope[0], rtol=1e-5)


@pytest.mark.parametrize("free_means", [True, False])
@pytest.mark.parametrize(("k", "more"), [(2, {}), (4, {}), (4, {"q": 3, "guided": 1}), (3, {"q": 5, "guided": 2})])
def test_the_metric_is_near_the_inverse_hessian(k, more, free_means):
    curved, _, top = landscape(k=k, noise="each", free_means=free_means, **more)
    unit = np.eye(top.vector.shape[1])
    metric = curved.metric(top)
    M = np.array([metric(e[None])[0] for e in unit])
    assert_allclose(M, M.T, atol=1e-8 * np.abs(M).max())
    values, vectors = np.linalg.eigh(M)
    assert values[0] > -1e-10 * values[-1]
    free = ~np.isclose(
        top.vector[0], np.log(Y_FLOOR + Y_OFFSET), atol=1e-6
    )  # a noise on its floor has a kink, no curvature
    root = free[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    H = -differences(curved, top, root.T, lambda at: at.slope)
    product = np.linalg.eigvalsh(0.5 * (H @ root + (H @ root).T))
    felt = product[np.abs(product) > 1e-4]  # neither turns of the latent space nor means that are held are
    assert len(felt) > 0.5 * len(product)
    assert 0.02 < felt[0] < felt[-1] < 20.0
    assert np.mean((felt > 0.5) & (felt < 1.5)) > 0.8


@pytest.fixture
def steps(monkeypatch):
    """The number of places that each step of a climb moves, step by step."""
    counts, step = [], quasi_newton._Climb.step

    def counted(self):
        counts.append(len(self.place.value))
        step(self)

    monkeypatch.setattr(quasi_newton._Climb, "step", counted)
    return counts


@pytest.mark.parametrize(("n", "p", "k", "labeled", "most"), [(4000, 100, 20, 400, 64), (2000, 80, 30, 400, 78)])
def test_few_steps_are_taken_where_outputs_turn_the_loadings_of_noise(n, p, k, labeled, most, steps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = 0.5 * X[:, :5] + rng.standard_normal((n, 5))
    Y[labeled:] = np.nan
    assert SPPCA(k).fit(X, Y).converged_
    assert len(steps) <= most


def test_a_noise_far_below_the_offset_falls_to_its_floor_in_one_step():
    curved, place, _ = landscape()
    W, V, b, noise, y_noise = curved.parts(place.vector)
    low = np.concatenate([W.ravel(), V.ravel(), b.ravel(), noise, np.log(1e-3 + Y_OFFSET) + 0.0 * y_noise[0]])
    near = curved.at(low[None])
    assert_allclose(near.held.models.y_noise, 1e-3)
    step = np.zeros_like(low)
    step[-1] = -1.0
    assert curved.longest(near, step[None]) == 1.0
    assert_allclose(curved.at(near.vector + step).held.models.y_noise, Y_FLOOR)


def test_a_metric_of_many_outputs_and_dimensions_is_positive():
    em = problem(17, q=12, p=20)
    curved = Curved(em.view, em.labels, em.rules, random_params(em, 17, 12))
    place = curved.at(curved.vectors([random_params(em, 17, 12)]))
    slopes = np.random.default_rng(0).standard_normal((20, place.vector.shape[1]))
    metric = curved.metric(place)
    steps = np.concatenate([metric(slope[None]) for slope in slopes])
    products = steps @ slopes.T
    assert_allclose(products, products.T, atol=1e-10 * np.abs(products).max())
    assert np.linalg.eigvalsh(products)[0] > 0.0


@pytest.mark.parametrize("size", [(4, 3), (17, 12)])  # factorized, and not
def test_steps_keep_the_rank_that_private_dimensions_leave(size):
    k, q = size
    em = problem(k, q=q, p=20, guided=2)
    curved = Curved(em.view, em.labels, em.rules, random_params(em, k, q))
    place = curved.at(curved.vectors([random_params(em, k, q)]))
    slopes = np.random.default_rng(0).standard_normal((20, place.vector.shape[1]))
    directions = np.concatenate([curved.metric(place)(slope[None]) for slope in slopes])
    V = curved.parts(directions)[1]
    normal = curved.normal(place.held.models.V)
    assert_allclose(normal.left_out(V), V, atol=2e-3 * np.abs(V).max())
    products = directions @ slopes.T
    assert_allclose(products, products.T, atol=1e-9 * np.abs(products).max())
    assert np.linalg.eigvalsh(products)[0] > 0.0
    found = differences(curved, place, slopes, lambda at: at.value)
    assert_allclose(found, slopes @ place.slope[0], rtol=1e-5)
    params = curved.params(place)
    assert not params.W_y[:, 2:].any()
    assert_allclose(em.e_step(params).objective, place.value[0], rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1)])
def test_rounding_decides_nothing_where_private_dimensions_made_em_crawl(sizes):
    X, y = load_wine(return_X_y=True)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, y, -1)
    fits = [SPPCA(sizes[0], n_private=sizes[1], tol=1e-9).fit(rows, y) for rows in (X, X * (1.0 + 1e-13))]
    want, got = (fit.transform(X) for fit in fits)
    assert_allclose(got, want, rtol=0, atol=1e-7 * np.abs(want).max())
    assert all(fit.converged_ for fit in fits)


def test_noise_on_its_floor_has_no_slope_outward():
    em = problem()
    curved = Curved(em.view, em.labels, em.rules, random_params(em, 3))
    start = random_params(em, 3)
    vector = curved.vectors([start])
    vector[0, -1] = -30.0
    place = curved.at(vector)
    assert place.held.models.y_noise[0] == pytest.approx(Y_FLOOR)
    assert place.slope[0, -1] > 0.0
    exact = Curved(em.view, em.labels, em.rules, start)
    exact.stack.view = exact.view = em.view._replace(energy=0.0)
    vector = exact.vectors([start._replace(x_noise_var=1e-9, W_x=1e-9 * start.W_x)])
    assert exact.at(vector).held.models.noise[0] == pytest.approx(X_FLOOR)
    assert exact.at(vector).slope[0, -2] == 0.0


def test_steps_of_em_are_those_of_one_model_and_never_fall():
    em = problem()
    models = [random_params(em, 3, seed=seed) for seed in range(4)]
    curved = Curved(em.view, em.labels, em.rules, models[0])
    place = curved.at(curved.vectors(models))
    after = curved.em_step(place)
    assert (after.value >= place.value).all()
    assert (after.value > place.value + 1.0).any()
    for i in np.flatnonzero(after.value > place.value):
        sums = em.e_step(models[i])
        plain = super(type(em), em).m_step(sums, models[i])
        found = curved.params(after, i)
        assert_allclose(found.W_x @ found.W_x.T, plain.W_x @ plain.W_x.T, rtol=1e-6, atol=1e-8)
        assert_allclose(found.W_x @ found.W_y.T, plain.W_x @ plain.W_y.T, rtol=1e-2, atol=1e-3)
        assert_allclose(found.x_noise_var, plain.x_noise_var, rtol=1e-9)
        assert_allclose(found.y_noise_var, plain.y_noise_var, rtol=1e-3)


def count_steps(monkeypatch):
    """Sizes of the stacks that are evaluated."""
    sizes = []
    call = Stack.__call__
    monkeypatch.setattr(Stack, "__call__", lambda self, at: sizes.append(len(at.noise)) or call(self, at))
    return sizes


@pytest.mark.parametrize("rank", [0, 5])
def test_components_beyond_the_rank_cost_few_steps(rank, monkeypatch):
    rng = np.random.default_rng(0)
    n, p = 2000, 80
    Z = rng.standard_normal((n, 5))
    X = rng.standard_normal((n, p)) + Z[:, :rank] @ rng.standard_normal((rank, p))
    Y = Z[:, :2] + 0.5 * rng.standard_normal((n, 2))
    Y[200:] = np.nan
    sizes = count_steps(monkeypatch)
    model = SPPCA(15).fit(X, Y)
    assert model.converged_
    assert model.objective_residual_ <= 1e-6
    assert sum(sizes) < 120


def test_a_noise_on_its_floor_costs_few_steps(monkeypatch):
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((200, 5)), rng.standard_normal((200, 20))
    X += Z @ (np.linspace(1.5, 0.4, 5)[:, None] * rng.standard_normal((5, 20)))
    Y = Z @ rng.standard_normal((5, 5)) + 0.5 * rng.standard_normal((200, 5))
    Y[rng.permutation(200)[20:]] = np.nan
    sizes = count_steps(monkeypatch)
    model = SPPCA(15).fit(X, Y)
    assert model.noise_floors_ == ("y",)
    assert model.converged_
    assert len(sizes) < 60


def test_starts_on_the_way_to_the_same_optimum_are_climbed_once(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 3))
    X = Z @ rng.standard_normal((3, 10)) * 3.0 + rng.standard_normal((200, 10))
    Y = np.where(np.arange(200)[:, None] < 60, Z[:, :1] + 0.3 * rng.standard_normal((200, 1)), np.nan)
    sizes = count_steps(monkeypatch)
    once = SPPCA(3).fit(X, Y)
    few = sum(sizes)
    sizes.clear()
    monkeypatch.setattr(Curved, "distinct", lambda self, place, share=0.0: np.arange(len(place.value)))
    every = SPPCA(3).fit(X, Y)
    assert few < 0.8 * sum(sizes)
    assert_allclose(once.log_likelihood_, every.log_likelihood_, rtol=1e-10)


def test_models_are_alike_where_they_say_the_same():
    curved, _, top = landscape()
    params = curved.params(top)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    assert alike(params._replace(W_x=params.W_x @ turn, W_y=params.W_y @ turn), params)
    assert not alike(params._replace(W_x=params.W_x @ turn), params)
    assert not alike(params._replace(W_x=1.2 * params.W_x), params)
    assert not alike(params._replace(y_noise_var=1.2 * params.y_noise_var), params)


def test_distinct_places_are_the_best_and_those_unlike_better_ones():
    curved, start, top = landscape()
    params = curved.params(top)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turned = params._replace(W_x=params.W_x @ turn, W_y=params.W_y @ turn)
    noisier = params._replace(y_noise_var=1.2 * params.y_noise_var)
    longer = params._replace(W_x=1.2 * params.W_x)
    place = curved.at(curved.vectors([longer, noisier, turned._replace(x_noise_var=1.01 * params.x_noise_var), params]))
    assert curved.distinct(place).tolist() == [3, *np.array([0, 1])[np.argsort(-place.value[:2])]]
