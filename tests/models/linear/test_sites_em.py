"""Steps of EM with outputs of several kinds: the law of z that is folded in, gradients, the growing basis."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from gnomon import CPPCA
from gnomon.likelihoods.gaussian_rows import GaussianRows
from gnomon.likelihoods.inference import sites_of
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear.basis import Basis
from gnomon.models.linear.cppca import products_of
from gnomon.models.linear.evidence import LabeledRows
from gnomon.models.linear.in_basis import BasisEM
from gnomon.models.linear.sites_em import X_FLOOR, Y_FLOOR, OfX, Rules, Schedule, Steps, Vector, expansion, moved
from gnomon.numerics.linear_gaussian import Params, given_x
from rows.copied import copied_rows

LAYOUT = Layout(("logit", "categorical", "gaussian"), (2, 3, 0))


def test_expansion_is_the_best_law_of_z(rng):
    """Against a general maximizer over lower triangular maps."""
    k, h = 3, 2
    B = rng.normal(size=(k, k))
    zz, V, ridge = B @ B.T + np.eye(k), rng.normal(size=(h, k)), np.array([0.3, 2.0])

    def loss(entries):
        L = np.zeros((k, k))
        L[np.tril_indices(k)] = entries
        S = L @ L.T
        penalty = 0.5 * np.sum(ridge[:, None] * (V @ L) ** 2)
        return 0.5 * (np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(S, zz))) + penalty

    L = expansion(zz, V, ridge)
    assert_allclose(L, np.tril(L))
    found = minimize(loss, np.eye(k)[np.tril_indices(k)], method="BFGS", options={"gtol": 1e-9})
    assert_allclose(loss(L[np.tril_indices(k)]), found.fun, rtol=1e-9)
    assert_allclose(expansion(zz, 0.0 * V, ridge) @ expansion(zz, 0.0 * V, ridge).T, zz, rtol=1e-12)


def problem(rng, n=40, p=6, k=2, ridge=0.2):
    X = rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) + rng.normal(size=(n, p))
    labeled = np.sort(rng.permutation(n)[:25])
    Y = np.column_stack([rng.integers(0, 2, 25), rng.integers(0, 3, 25), rng.normal(size=25)]).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    basis = Basis(products_of(copied_rows(X), labeled, np.zeros((40, 0)), held=True)[0], p)
    basis.start(k, rng)
    rows = LabeledRows(basis.T, np.ones(25), Y, LAYOUT, sites_of(LAYOUT, "variational"))
    em = BasisEM(basis.view(), rows, Rules(LAYOUT, ridge, k))
    params = Params(
        rng.normal(size=(p, k)), np.zeros(p), 0.7, rng.normal(size=(4, k)), rng.normal(size=4), np.array([1, 1, 0.5])
    )  # fmt: skip
    return em, params


def test_the_gradient_is_that_of_the_objective(rng):
    em, params = problem(rng)
    gradient, step = em.e_step(params).gradient, 1e-5
    for i, j in np.ndindex(params.W_y.shape):
        E = np.zeros_like(params.W_y)
        E[i, j] = step
        up, down = (em.e_step(params._replace(W_y=params.W_y + d * E)).objective for d in (1, -1))
        assert_allclose(gradient[i, j], (up - down) / (2 * step), atol=1e-4)
    for i in range(4):
        e = step * np.eye(4)[i]
        up, down = (em.e_step(params._replace(m_y=params.m_y + d * e)).objective for d in (1, -1))
        assert_allclose(gradient[i, -1], (up - down) / (2 * step), atol=1e-4)


def test_the_gradient_of_the_loadings_is_that_of_the_objective(rng):
    """By Fisher's identity it comes from the expected statistics."""
    em, params = problem(rng)
    sums, step = em.e_step(params), 1e-5
    gradient = (sums.xz1[:, :2] - params.W_x @ sums.total[:2, :2]) / params.x_noise_var
    for i, j in np.ndindex(params.W_x.shape):
        E = np.zeros_like(params.W_x)
        E[i, j] = step
        up, down = (em.e_step(params._replace(W_x=params.W_x + d * E)).objective for d in (1, -1))
        assert_allclose(gradient[i, j], (up - down) / (2 * step), rtol=1e-4, atol=1e-3)


def test_a_step_never_lowers_the_objective(rng):
    em, params = problem(rng)
    values = [em.e_step(params).objective]
    for _ in range(15):
        sums = em.e_step(params)
        params, found, _ = em.safeguard(sums, params, em.m_step(sums, params))
        values.append(found.objective)
    assert (np.diff(values) >= -1e-9 * np.abs(values[0])).all()
    assert values[-1] > values[0] + 1.0


def test_an_e_step_is_pure_in_its_arguments(rng):
    """To the bit: whatever was asked before, and what it is given stays as it was."""
    em, params = problem(rng)
    first = em.e_step(params)
    other = params._replace(W_y=2.0 * params.W_y)
    far = em.e_step(other, first, 1e-3)
    near = em.e_step(params, far, 1e-4)
    em.residual(far, other, em.m_step(far, other))
    em.maximize(other, 1e-6, 5, "alternating")
    for a, b in ((first, em.e_step(params)), (near, em.e_step(params, far, 1e-4))):
        for mine, again in zip(a[:7], b[:7]):
            assert np.array_equal(mine, again)
        for mine, again in zip(a.held[1].fit[:3], b.held[1].fit[:3]):
            assert np.array_equal(mine, again)
    assert near.objective != first.objective  # the last two arguments do count


def at_rest(sums, params):
    """Sums at which loadings and label parameters are stationary."""
    xz1 = np.column_stack([params.W_x @ sums.total[:2, :2], sums.xz1[:, 2]])
    return sums._replace(xz1=xz1, gradient=0.0 * sums.gradient, noise=0.0 * sums.noise)


@pytest.mark.parametrize("variational", [True, False])
def test_rows_that_run_out_keep_the_fit_from_converging(rng, variational):
    """Sites that stop after one iteration leave a residual, whatever else has come to rest."""
    em, params = problem(rng)
    few = GaussianRows(LAYOUT, variational=variational, max_iter=1)
    rows = em.labels
    cut = BasisEM(em.view, LabeledRows(rows.T, rows.weights, rows.Y, LAYOUT, few), em.rules)
    one = cut.e_step(params)
    still = at_rest(one, params)
    assert cut.residual(still, params, params) > 1e-4
    done = em.e_step(params)
    still = at_rest(done, params)
    assert em.residual(still, params, params) < 1e-7


def test_a_prior_and_held_means_are_in_the_equations(rng):
    em, params = problem(rng)
    rules = em.rules._replace(prior_precision=3.0, free_means=False)
    free, held = em, BasisEM(em.view, em.labels, rules)
    penalty = 1.5 * ((params.W_x**2).sum() + (params.W_y[3] ** 2).sum())
    assert_allclose(free.e_step(params).objective - held.e_step(params).objective, penalty, rtol=1e-9)
    assert held.e_step(params).gradient[3, -1] == 0.0
    found = held.maximize(params._replace(m_y=np.append(params.m_y[:3], 0.3)), 1e-8, 500, "alternating")
    (best, sums), path = found.value, found.path
    assert found.status.name == "CONVERGED"
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert best.m_y[3] == 0.3
    assert np.abs(sums.gradient).max() < 1e-6
    left = best.W_x @ (sums.total[:2, :2] + 3.0 * best.x_noise_var * np.eye(2))
    assert_allclose(sums.xz1[:, :2], left, atol=1e-5)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
@pytest.mark.parametrize("shape", [(50, 130), (160, 120)])
def test_what_is_outside_a_basis(rng, solver, shape):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.3)
    weights = rng.uniform(0.5, 2.0, shape[0])
    labeled = np.arange(0, shape[0], 3)
    rows = copied_rows(sp.csr_array(X), weights)
    codes = np.zeros((shape[0], 2))
    codes[labeled] = rng.normal(size=(len(labeled), 2))
    products, standard = products_of(rows, labeled, codes, held=solver == "moments")
    basis = Basis(products, 60)
    basis.start(3, rng)
    centered = (X - weights @ X / weights.sum()) / standard.scale
    w = weights[labeled]
    view = basis.view()
    assert_allclose(view.energy, weights @ (centered**2).sum(axis=1), rtol=1e-9)
    r = len(view.xx)
    params = Params(rng.normal(size=(r, 3)), np.zeros(r), 0.5, np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    gain, shift = given_x(params).gain, rng.normal(size=(len(labeled), 3))
    found = basis.cross(gain, shift)
    D, size = basis.outside(found), np.linalg.norm(found)
    B = basis.products.features(basis.vectors)
    cross = centered.T @ (weights[:, None] * (centered @ B @ gain.T)) + centered[labeled].T @ (w[:, None] * shift)
    assert_allclose(basis.T, centered[labeled] @ B, atol=1e-8)
    assert_allclose(basis.products.features(D), cross - B @ (B.T @ cross), atol=1e-6 * size)
    assert_allclose(size, np.linalg.norm(cross), rtol=1e-8)
    before = view.xx
    W = np.linalg.qr(rng.normal(size=(len(before), 3)))[0]
    C = basis.shrink(W, room=20)
    assert_allclose(basis.xx, C.T @ before @ C, atol=1e-8 * np.abs(before).max())
    assert_allclose(C @ (C.T @ W), W, atol=1e-8)


def test_without_labels_a_step_lands_on_the_principal_directions(rng):
    """A step is as long as PCA wants it: what is left of the loadings falls as the square, not by a share."""
    X = rng.normal(size=(200, 8)) * np.array([4.0, 3.0, 2.0, 1.8, 1.6, 1.0, 0.8, 0.6])
    basis = Basis(products_of(copied_rows(X), np.arange(0), np.zeros((200, 0)), held=True)[0], 8)
    basis.start(2, rng)
    nothing, view = Layout((), ()), basis.view()
    rows = LabeledRows(basis.T, np.zeros(0), np.zeros((0, 0)), nothing, sites_of(nothing, "variational"))
    em = BasisEM(view, rows, Rules(nothing, 0.1, 2))
    values, Q = np.linalg.eigh(view.xx / view.weight)
    noise = float(values[:-2].mean())
    W = Q[:, -2:] * np.sqrt(values[-2:] - noise)
    left = []
    for size in (1e-2, 1e-3):
        off = Q[:, :-2] @ rng.normal(size=(6, 2)) * size
        start = Params(W + off, np.zeros(8), noise, np.zeros((0, 2)), np.zeros(0), np.zeros(0))
        after = em.m_step(em.e_step(start), start)
        left.append(np.linalg.norm(Q[:, :-2].T @ after.W_x) / np.linalg.norm(off))
    assert left[0] < 0.05
    assert left[1] < 0.2 * left[0]


class TestVector:
    @pytest.mark.parametrize("noise", ["each", "fixed"])
    def test_round_trip(self, rng, noise):
        _, params = problem(rng)
        packing = Vector(Rules(LAYOUT, 0.1, 2, noise=noise))
        vector = packing.pack(params)
        assert len(vector) == 1 + 3 + 12 + 6 + 12
        for a, b in zip(packing.unpack(vector, params), params, strict=True):
            assert_allclose(a, b, rtol=1e-12)
        moved_on = packing.unpack(vector + 0.5, params).y_noise_var / params.y_noise_var
        assert_allclose(moved_on, [1.0, 1.0, np.exp(0.5) if noise == "each" else 1.0])  # one output has a noise

    def test_respects_the_floors(self, rng):
        _, params = problem(rng)
        packing = Vector(Rules(LAYOUT, 0.1, 2))
        back = packing.unpack(packing.pack(params) - 50.0, params)
        assert back.x_noise_var == X_FLOOR
        assert back.y_noise_var.tolist() == [1.0, 1.0, Y_FLOOR]


@pytest.mark.parametrize("scoring", [True, False])
def test_no_step_leads_the_noise_of_outputs_below_its_floor(scoring):
    rules = Rules(Layout(("gaussian",) * 3, (0,) * 3), 0.0, 1)
    noise = np.array([1.0, 1.5, 100.0]) * Y_FLOOR
    falling = np.array([[-1e9] * 3, [1.0] * 3, [1e6] * 3])
    steps = rules.noise_steps(
        noise, falling if scoring else falling * [[1e-9 / Y_FLOOR / 1e3], [1], [1e-6]], scoring=scoring
    )
    assert_allclose(noise[0] * np.exp(steps[0]), Y_FLOOR)
    assert (noise * np.exp(steps) >= Y_FLOOR * (1 - 1e-12)).all()
    assert steps[2] < 0.0


def test_the_law_of_z_that_is_folded_in_leaves_x_and_predictors_as_they_are(rng):
    k, p, h = 2, 5, 3
    params = Params(
        rng.normal(size=(p, k)), rng.normal(size=p), 0.5, rng.normal(size=(h, k)), rng.normal(size=h), np.ones(h)
    )
    mean, root = rng.normal(size=k), np.tril(rng.normal(size=(k, k)))
    after = moved(OfX(params, mean, root), params, Steps(np.zeros((h, k + 1)), np.zeros(h)), 1.0, k)
    z = rng.normal(size=k)
    folded = mean + root @ z
    assert_allclose(after.W_x @ z + after.m_x, params.W_x @ folded + params.m_x)
    assert_allclose(after.W_y @ z + after.m_y, params.W_y @ folded + params.m_y)


def test_a_step_toward_private_dimensions_turns_them_to_guided_ones(rng):
    k, g, p, h = 4, 2, 6, 3
    V = np.hstack([rng.normal(size=(h, g)), np.zeros((h, k - g))])
    params = Params(rng.normal(size=(p, k)), np.zeros(p), 0.5, V, rng.normal(size=h), np.ones(h))
    direction = np.zeros((h, k + 1))
    direction[:, g:k] = V[:, :g] @ rng.normal(size=(g, k - g))  # tangent: of the columns that are there
    step = 1e-4
    still = OfX(params, np.zeros(k), np.eye(k))
    after = moved(still, params, Steps(direction, np.zeros(h)), step, g)
    assert not after.W_y[:, g:].any()
    assert_allclose(after.W_x @ after.W_x.T, params.W_x @ params.W_x.T, rtol=1e-10)
    wanted = (V + step * direction[:, :k]) @ params.W_x.T
    assert_allclose(after.W_y @ after.W_x.T, wanted, rtol=0, atol=100 * step**2)
    assert np.abs(wanted - V @ params.W_x.T).max() > 1e3 * step**2


def test_noise_that_is_far_too_large_falls_to_what_outputs_leave_in_one_step():
    rules = Rules(Layout(("gaussian",), (0,)), 0.0, 1)
    n, noise, left = 50.0, np.array([100.0]), 1e-3  # outputs that z hardly feels leave the mean square `left`
    sums = np.array([[n * (left / noise[0] ** 2 - 1.0 / noise[0])], [n / noise[0] ** 2], [n]])
    (step,) = rules.noise_steps(noise, sums, scoring=True)
    assert_allclose(noise[0] * np.exp(step), left)


def test_newton_steps_that_were_too_long_are_shorter_from_then_on(rng):
    schedule = Schedule(0.0, 1e-6)
    for taken, share in ((1.0, 1.0), (0.25, 0.7), (0.25, 0.49), (1.0, 0.49), (0.001, 0.49), (0.0, 0.49)):
        schedule.shorten(taken)
        assert_allclose(schedule.share, share)
    for _ in range(20):
        schedule.shorten(0.25)
    assert_allclose(schedule.share, 0.1)


def test_steps_of_loadings_that_were_too_long_are_shorter_from_then_on():
    schedule = Schedule(0.0, 1e-6)
    for taken, lengthened in (
        (0.25, 1.0),
        (1.0, 0.5),
        (1.0, 0.25),
        (0.0, 0.25),
        (1.0, 0.125),
        (1.0, 0.0625),
        (1.0, 0.0),
    ):
        schedule.shorten(taken)
        assert schedule.lengthened == lengthened


def test_a_share_of_what_steps_of_loadings_are_lengthened_by_can_be_taken(rng):
    em, params = problem(rng)
    sums = em.e_step(params)
    none, half, full = (em.m_step(sums, params, 0.0, 1.0, lengthened) for lengthened in (0.0, 0.5, 1.0))
    assert_allclose(none.W_x, super(BasisEM, em).m_step(sums, params).W_x)
    assert_allclose(half.W_x, 0.5 * (none.W_x + full.W_x), rtol=1e-9)
    assert np.abs(full.W_x - none.W_x).max() > 1e-3


@pytest.mark.parametrize(("seed", "n_classes"), [(2, 3), (2, 4)])
def test_where_lengthened_steps_are_refused_the_climb_does_not_crawl(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4000, 150)), rng.integers(0, n_classes, 4000)
    model = CPPCA(8).fit(X, np.where(rng.random(4000) < 0.1, y, -1))
    assert model.converged_
    assert model.n_iter_ < 250


def test_outputs_that_need_no_iteration_are_never_found_too_coarsely(rng):
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60).astype(float)
    layout = Layout(("logit",), (2,))
    basis = Basis(products_of(copied_rows(X), np.arange(60), np.zeros((60, 0)), held=True)[0], 5)
    basis.start(2, rng)
    params = Params(rng.normal(size=(5, 2)), np.zeros(5), 0.7, rng.normal(size=(1, 2)), np.zeros(1), np.ones(1))
    for inference, exact in (("quadrature", True), ("variational", False)):
        rows = LabeledRows(basis.T, np.ones(60), y[:, None], layout, sites_of(layout, inference))
        sums = BasisEM(basis.view(), rows, Rules(layout, 0.1, 2)).e_step(params, None, 1e-2)
        assert sums.accuracy == (0.0 if exact else 1e-2)
        assert sums.held[1].accuracy == sums.accuracy


def test_where_no_step_will_be_taken_none_is_computed(rng, monkeypatch):
    em, params = problem(rng)
    found = em.maximize(params, 1e-4, 200, "alternating")
    (params, sums), steps = found.value, []
    monkeypatch.setattr(em, "steps", lambda *a: steps.append(a))
    assert em.residual(sums, params, em.m_step(sums, params, 1e-4)) <= 1e-4
    assert not steps


def test_a_share_of_the_newton_steps_can_be_taken(rng):
    em, params = problem(rng)
    sums = em.e_step(params)
    none, half, full = (em.m_step(sums, params, 0.0, share) for share in (0.0, 0.5, 1.0))
    assert_allclose(half.W_y, 0.5 * (none.W_y + full.W_y), rtol=1e-9)
    assert np.abs(full.W_y - none.W_y).max() > 1e-3
    assert_allclose(half.W_x, full.W_x)
