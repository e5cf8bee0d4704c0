"""The likelihood in a basis as a landscape: its slopes, and a metric near the inverse Hessian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import SPPCA
from gnomon._types import Status
from gnomon.models.linear import in_basis as module
from gnomon.models.linear.curved import AS_THEY_ARE, Curved
from gnomon.models.linear.in_basis import BasisEM, alike
from gnomon.models.linear.sites_em import Y_FLOOR
from gnomon.numerics.linear_gaussian import Params
from numerics import build


def landscape(k=3, noise="shared", p=8, n=400, labeled=100, **more):
    """A landscape over planted rows, and the place of a climb's end."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((n, 2))
    X = Z @ rng.standard_normal((2, p)) + rng.standard_normal((n, p))
    Y = Z @ rng.standard_normal((2, 2)) + 0.5 * rng.standard_normal((n, 2))
    Y[labeled:] = np.nan
    Y[:20, 0] = np.nan
    em = build.em(X - X.mean(axis=0), Y, noise=noise, k=k, **more)
    W = rng.standard_normal((p, k))
    start = Params(W, np.zeros(p), 1.0, 0.1 * rng.standard_normal((2, k)), np.zeros(2), np.ones(2))
    begun = em.maximize(start, 0.05, 50, "alternating")
    found = em.climb(*begun.value, 1e-9, 500)
    assert found.status is Status.CONVERGED
    return Curved(em), Curved(em).place(*begun.value), Curved(em).place(*found.value)


def differences(curved, place, directions, of, step=1e-5):
    """Central differences of a quantity of places, along directions."""
    ends = [[of(curved.at(place.vector + s * step * d, place)) for s in (1, -1)] for d in directions]
    return np.array([(up - down) / (2.0 * step) for up, down in ends])


@pytest.mark.parametrize("noise", ["shared", "each"])
def test_slopes_are_those_of_the_objective(noise):
    curved, place, _ = landscape(noise=noise)
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((10, len(place.vector)))
    parts = AS_THEY_ARE.unpack(place.vector, place.held[0])
    free = np.concatenate(
        [np.full(np.size(part), name != "m_x") for name, part in zip(Params._fields, parts, strict=True)]
    )
    directions[:, ~free] = 0.0
    if noise == "shared":
        directions[:, -1] = directions[:, -2]
    assert_allclose(differences(curved, place, directions, lambda at: at.value), directions @ place.slope, rtol=1e-5)


@pytest.mark.parametrize("k", [2, 4])
def test_the_metric_is_near_the_inverse_hessian(k):
    curved, _, top = landscape(k=k, noise="each")
    unit = np.eye(len(top.vector))
    metric = curved.metric(top)
    M = np.array([metric(e) for e in unit])
    assert_allclose(M, M.T, atol=1e-8 * np.abs(M).max())
    values, vectors = np.linalg.eigh(M)
    assert values[0] > -1e-10 * values[-1]
    free = ~np.isclose(top.vector, np.log(Y_FLOOR), atol=1e-3)  # a noise on its floor has a kink there, no curvature
    root = free[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    H = -differences(curved, top, root.T, lambda at: at.slope)
    product = np.linalg.eigvalsh(0.5 * (H @ root + (H @ root).T))
    felt = product[np.abs(product) > 1e-4]  # neither turns of the latent space nor means of x are
    assert len(felt) > 0.5 * len(product)
    assert 0.02 < felt[0] < felt[-1] < 20.0
    assert np.mean((felt > 0.5) & (felt < 1.5)) > 0.8


def count_steps(monkeypatch):
    counts = [0]
    e_step = BasisEM.e_step

    def counted(self, *args):
        counts[0] += 1
        return e_step(self, *args)

    monkeypatch.setattr(BasisEM, "e_step", counted)
    return counts


@pytest.mark.parametrize("rank", [0, 5])
def test_components_beyond_the_rank_cost_few_steps(rank, monkeypatch):
    rng = np.random.default_rng(0)
    n, p = 2000, 80
    Z = rng.standard_normal((n, 5))
    X = rng.standard_normal((n, p)) + Z[:, :rank] @ rng.standard_normal((rank, p))
    Y = Z[:, :2] + 0.5 * rng.standard_normal((n, 2))
    Y[200:] = np.nan
    counts = count_steps(monkeypatch)
    model = SPPCA(15).fit(X, Y)
    assert model.converged_
    assert model.objective_residual_ <= 1e-6
    assert counts[0] < 300


def test_starts_on_the_way_to_the_same_optimum_are_climbed_once(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 3))
    X = Z @ rng.standard_normal((3, 10)) * 3.0 + rng.standard_normal((200, 10))
    Y = np.where(np.arange(200)[:, None] < 60, Z[:, :1] + 0.3 * rng.standard_normal((200, 1)), np.nan)
    climbs = []
    climb = BasisEM.climb
    monkeypatch.setattr(BasisEM, "climb", lambda self, *args: climbs.append(0) or climb(self, *args))
    once = SPPCA(3).fit(X, Y)
    few = len(climbs)
    monkeypatch.setattr(module, "ALIKE", 0.0)
    every = SPPCA(3).fit(X, Y)
    assert few < len(climbs) - few
    assert_allclose(once.log_likelihood_, every.log_likelihood_, rtol=1e-12)


def test_models_are_alike_where_they_say_the_same():
    _, start, top = landscape()
    params = top.held[0]
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    assert alike(params._replace(W_x=params.W_x @ turn, W_y=params.W_y @ turn), params)
    assert not alike(params._replace(W_x=params.W_x @ turn), params)
    assert not alike(params._replace(W_x=1.2 * params.W_x), params)
    assert not alike(params._replace(y_noise_var=1.2 * params.y_noise_var), params)
