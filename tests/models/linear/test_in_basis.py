"""Where the climb inside a basis begins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import SPPCA
from gnomon.models.linear import in_basis
from gnomon.models.linear.curved import Curved
from gnomon.models.linear.in_basis import START_LOG_RATIOS, BasisEM, gaussian_starts, leading
from gnomon.models.linear.ratio import JointMoments
from gnomon.solvers import quasi_newton
from numerics import build


def problem(rng, n=2000, labeled=1500, r=5, q=2):
    """EM of rows, and their averages as if every row were labeled."""
    Z = rng.standard_normal((n, 2))
    X = Z @ rng.standard_normal((2, r)) + rng.standard_normal((n, r))
    Y = Z @ rng.standard_normal((2, q)) + 0.3 * rng.standard_normal((n, q))
    X, Y = X - X.mean(axis=0), (Y - Y[:labeled].mean(axis=0)) / Y[:labeled].std(axis=0)
    Y[labeled:] = np.nan
    A, C = X[:labeled], Y[:labeled]
    joint = JointMoments(X.T @ X / n, A.T @ C / labeled, C.T @ C / labeled, 0.0, float(n), r)
    return build.em(X, Y), joint


@pytest.mark.parametrize("n_guided", [1, 2])
def test_a_start_is_within_the_rules(rng, n_guided):
    em, joint = problem(rng)
    for start in gaussian_starts(joint, 2, em.rules._replace(n_guided=n_guided), START_LOG_RATIOS):
        assert not start.W_y[:, n_guided:].any()
        assert start.y_noise_var.max() <= 1.0


def every_start_to_its_end(monkeypatch):
    """From here on fits climb from nine ratios, none of them left before its residual is small."""
    monkeypatch.setattr(quasi_newton, "HOPE", np.inf)
    monkeypatch.setattr(Curved, "distinct", lambda self, place, share=0.0: np.arange(len(place.value)))
    for name in ("FEW_LOG_RATIOS", "START_LOG_RATIOS"):
        monkeypatch.setattr(in_basis, name, np.log(10.0) * np.arange(4.0, -5.0, -1.0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "k", "labeled", "rank"), [(200, 5, 20, 5), (200, 5, 20, 0), (1200, 6, 24, 6)])
def test_no_start_that_was_left_would_have_ended_higher(seed, n, k, labeled, rank, monkeypatch):
    rng = np.random.default_rng(seed)
    Z, X = rng.standard_t(3, (n, 6)), rng.standard_normal((n, 20))
    X += Z[:, :rank] @ rng.standard_normal((rank, 20))
    Y = Z[:, :3] @ rng.standard_normal((3, 3)) + 0.5 * rng.standard_normal((n, 3))
    Y[labeled:] = np.nan
    found = SPPCA(k).fit(X, Y)
    every_start_to_its_end(monkeypatch)
    assert SPPCA(k).fit(X, Y).log_likelihood_ == pytest.approx(found.log_likelihood_, abs=1e-5)


@pytest.mark.parametrize(("weight", "few"), [(1.0, True), (100.0, False)])
def test_few_starts_are_climbed_from_where_labeled_rows_weigh_no_more_than_the_others(weight, few, rng, monkeypatch):
    Z = rng.standard_normal((2000, 10))
    X, Y = Z @ rng.standard_normal((10, 60)) + rng.standard_normal((2000, 60)), Z[:, :3].copy()
    Y[200:] = np.nan
    begun, climb = [], BasisEM.best_climb
    monkeypatch.setattr(
        BasisEM, "best_climb", lambda self, starts, *of: climb(self, begun.append(starts) or starts, *of)
    )
    SPPCA(12, label_weight=weight).fit(X, Y)
    assert len(begun[0]) == (3 if few else len(START_LOG_RATIOS))
    assert not begun[0][0].W_y.any()


@pytest.mark.parametrize(("output_noise", "seed"), [("ml", 29), ("ml", 57), ("per_output", 27), ("per_output", 73)])
def test_labels_of_large_weight_end_as_high_as_from_any_start(output_noise, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    Z, X = 3 * rng.standard_normal((4, 3))[rng.integers(4, size=200)], rng.standard_normal((200, 10))
    X, Y = X + Z @ rng.standard_normal((3, 10)), Z @ rng.standard_normal((3, 3)) + rng.standard_normal((200, 3))
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = SPPCA(4, output_noise=output_noise, label_weight=100)
    found = model.fit(X, Y).log_likelihood_
    every_start_to_its_end(monkeypatch)
    assert model.fit(X, Y).log_likelihood_ == pytest.approx(found, abs=1e-3)


def test_starts_in_leading_directions_are_near_those_in_all(rng):
    Z = rng.standard_normal((500, 3))
    X = Z @ rng.standard_normal((3, 60)) + 0.5 * rng.standard_normal((500, 60))
    Y = Z[:, :2] + 0.3 * rng.standard_normal((500, 2))
    em = build.em(X - X.mean(axis=0), Y - Y.mean(axis=0), k=3)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    joint = JointMoments(X.T @ X / 500, X.T @ Y / 500, Y.T @ Y / 500, 0.0, 500.0, 60)
    fewer, C = leading(joint, em.view, 3)
    assert len(fewer.xx) < 20
    assert_allclose(C.T @ C, np.eye(C.shape[1]), atol=1e-10)
    assert_allclose(np.trace(fewer.xx) + fewer.outside, np.trace(joint.xx))
    for ratio in START_LOG_RATIOS[:6]:
        (whole,), (part,) = (gaussian_starts(moments, 3, em.rules, [ratio]) for moments in (joint, fewer))
        W = C @ part.W_x
        assert_allclose(W @ W.T, whole.W_x @ whole.W_x.T, atol=0.02 * np.linalg.norm(whole.W_x, 2) ** 2)
        assert_allclose(part.x_noise_var, whole.x_noise_var, rtol=0.02)


@pytest.mark.parametrize(("seed", "k", "q"), [(4, 4, 9), (7, 4, 9), (1, 3, 5)])
def test_outputs_that_share_what_x_does_not_have_are_soon_fitted(seed, k, q, monkeypatch):
    """There loadings of x are all but zero, and quasi-Newton steps crawl: EM goes on, to where it leads by itself."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((400, 5)), rng.standard_normal((400, 1)) + 0.5 * rng.standard_normal((400, q))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    steps, step = [], quasi_newton._Climb.step
    monkeypatch.setattr(quasi_newton._Climb, "step", lambda self: steps.append(step(self)))
    found = SPPCA(k, target="real").fit(X, Y)
    assert found.converged_
    assert len(steps) <= 600
    monkeypatch.setattr(BasisEM, "curved", lambda *_: False)
    by_em = SPPCA(k, target="real").fit(X, Y)
    assert found.log_likelihood_ >= by_em.log_likelihood_ - 1e-6 * len(X)
