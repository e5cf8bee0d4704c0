"""Profiled likelihood of independent latents, its gradient, and the closed-form moves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from gnomon.models.ifa import likelihood as ind
from oracles import ifa as oracle

SIZES = (2, 3)


def problem(rng, n=90, d=4, sizes=SIZES, tied=False, labeled=0.4):
    """White rows with some labels, and a point with rows of V that are not orthogonal."""
    Z = rng.laplace(size=(d, n))
    b, c = (1 if tied else len(sizes)), max(sizes)
    ids = np.stack([rng.integers(0, size, n) for size in sizes[:b]])
    Z[: len(sizes)] += 2.0 * (ids if not tied else np.stack([ids[0] == s for s in range(len(sizes))]))
    ids[rng.random((b, n)) > labeled] = -1
    U = rng.normal(size=(d, d)) @ Z
    U = np.linalg.solve(np.linalg.cholesky(np.cov(U, bias=True)), U - U.mean(axis=1, keepdims=True))
    pl = [oracle.one_of_k(ids[s], sizes[s]) for s in range(b)]
    log_pl = np.full((b, c, n), -np.inf)
    with np.errstate(divide="ignore"):
        for s in range(b):
            log_pl[s, : sizes[s]] = np.log(pl[s].T)
    rows = ind.Rows(U, log_pl, len(sizes) if tied else 0)
    present = np.arange(c) < np.array(sizes)[:, None]
    return rows, present, pl


def random_params(rng, rows, present, tied):
    S, c = present.shape
    V = rng.normal(size=(S, len(rows.U)))
    weights = np.where(present[: len(rows.log_pl)], rng.uniform(0.5, 1.5, (len(rows.log_pl), c)), 0.0)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights / weights.sum(axis=1, keepdims=True))
    variances = rng.uniform(0.2, 1.0, (S, 1 if tied else c)) * np.ones((S, c))
    return ind.Params(
        V / np.linalg.norm(V, axis=1)[:, None],
        log_weights,
        np.where(present, rng.normal(size=(S, c)), 0.0),
        np.where(present, variances, 1.0),
    )


def completed(params, rng):
    """A square W: the rows of V and a random orthonormal basis of their complement."""
    S, d = params.V.shape
    complement = np.linalg.svd(params.V)[2][S:]
    turn = ortho_group.rvs(d - S, random_state=rng) if d - S > 1 else np.eye(d - S)
    return np.vstack([params.V, turn @ complement])


def mixtures_of(params, present):
    return [
        (np.exp(params.log_weights[s][present[s]]), params.means[s][present[s]], params.variances[s][present[s]])
        for s in range(len(present))
    ]


GAUSSIAN = (np.ones(1), np.zeros(1), np.ones(1))


def test_profiled_likelihood_is_the_full_one_at_any_orthonormal_complement(rng):
    rows, present, pl = problem(rng)
    params = random_params(rng, rows, present, False)
    found = rows.U.shape[1] * ind.log_likelihood(params, rows)
    mixtures = [*mixtures_of(params, present), GAUSSIAN, GAUSSIAN]
    for _ in range(2):
        W = completed(params, rng)
        assert_allclose(found, oracle.log_likelihood(rows.U.T, np.zeros(4), W, mixtures, pl), rtol=1e-10)


def test_no_other_gaussian_rows_are_better(rng):
    rows, present, pl = problem(rng)
    params = random_params(rng, rows, present, False)
    found = rows.U.shape[1] * ind.log_likelihood(params, rows)
    for size in (1e-2, 0.3):
        W = completed(params, rng)
        W[2:] += size * rng.normal(size=(2, 4))
        z = W[2:] @ rows.U
        rest = [(np.ones(1), z[[j]].mean(axis=1), z[[j]].var(axis=1)) for j in range(2)]
        full = oracle.log_likelihood(rows.U.T, np.zeros(4), W, [*mixtures_of(params, present), *rest], pl)
        assert full < found


def test_tied_likelihood_is_that_of_the_densities(rng):
    rows, present, pl = problem(rng, sizes=(3, 3), tied=True)
    p = random_params(rng, rows, present, True)
    want = oracle.tied_log_likelihood(
        rows.U.T, np.zeros(4), completed(p, rng), np.exp(p.log_weights[0]), p.means, p.variances, pl[0]
    )
    assert_allclose(rows.U.shape[1] * ind.log_likelihood(p, rows), want, rtol=1e-10)


@pytest.mark.parametrize("sizes, tied", [(SIZES, False), ((2, 2, 2, 2), False), ((3, 3), True)])
def test_gradient_is_that_of_finite_differences(rng, sizes, tied):
    rows, present, _ = problem(rng, sizes=sizes, tied=tied)
    packing = ind.Packing(present, 4, tied=tied)
    vector = packing.pack(random_params(rng, rows, present, tied))
    vector[: packing.edges[0]] *= 1.7  # rows of any length are the same model
    value, gradient = packing.value_and_gradient(vector, rows)
    assert_allclose(value, ind.log_likelihood(packing.unpack(vector), rows), rtol=1e-12)
    step = 1e-5
    for j in range(len(vector)):
        e = np.zeros(len(vector))
        e[j] = step
        ends = [packing.value_and_gradient(vector + sign * e, rows)[0] for sign in (1, -1)]
        assert_allclose(gradient[j], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-8)


def test_packing_returns_what_it_was_given(rng):
    rows, present, _ = problem(rng)
    params = random_params(rng, rows, present, False)
    packing = ind.Packing(present, 4, tied=False)
    for found, given in zip(packing.unpack(packing.pack(params)), params, strict=True):
        assert_allclose(found, given, atol=1e-14)


def test_chunks_of_rows_add_up(rng, monkeypatch):
    rows, present, _ = problem(rng)
    params = random_params(rng, rows, present, False)
    whole, moments = ind.accumulate(params, rows), ind.cluster_moments(params, rows, 1)
    monkeypatch.setattr(ind, "CHUNK", 17)
    for found, want in zip(ind.accumulate(params, rows), whole, strict=True):
        assert_allclose(found, want, atol=1e-12)
    for found, want in zip(ind.cluster_moments(params, rows, 1), moments, strict=True):
        assert_allclose(found, want, atol=1e-12)


def test_moments_of_components_are_weighted_moments(rng):
    rows, present, _ = problem(rng)
    params = random_params(rng, rows, present, False)
    found = ind.cluster_moments(params, rows, 1)
    resp = ind.condition(params, params.V @ rows.U, rows.log_pl).resp[1]
    for k in range(3):
        assert_allclose(found.shares[k], resp[k].mean())
        assert_allclose(found.means[k], np.average(rows.U, axis=1, weights=resp[k]), atol=1e-10)
        assert_allclose(found.covariances[k], np.cov(rows.U, bias=True, aweights=resp[k]), atol=1e-9)


def test_each_move_raises_the_likelihood(rng):
    rows, present, _ = problem(rng)
    params, path = random_params(rng, rows, present, False), []
    for _ in range(4):
        for s in range(2):
            path.append(ind.log_likelihood(params, rows))
            params = ind.move_latent(params, ind.cluster_moments(params, rows, s), s, present)
    assert (np.diff(path) >= -1e-12).all()
    assert path[-1] > path[0] + 0.05


def test_the_moved_row_is_the_best_one_for_given_responsibilities(rng):
    rows, present, _ = problem(rng)
    params = random_params(rng, rows, present, False)
    moments = ind.cluster_moments(params, rows, 1)
    A = np.einsum("k,kij->ij", moments.shares / params.variances[1], moments.covariances)

    def bound(v):  # logdet(V V') / 2 - expected energy, at the best length of v
        length = 1.0 / np.sqrt(v @ A @ v)
        V = np.vstack([params.V[0], length * v])
        return 0.5 * np.linalg.slogdet(V @ V.T)[1] - 0.5

    best = ind.move_latent(params, moments, 1, present).V[1]
    for size in (1e-3, 0.1, 1.0):
        assert bound(best) > bound(best + size * rng.normal(size=4))


def test_tied_moves_raise_the_likelihood(rng):
    rows, present, _ = problem(rng, sizes=(3, 3), tied=True)
    params, path = random_params(rng, rows, present, True), []
    for _ in range(6):
        path.append(ind.log_likelihood(params, rows))
        params = ind.move_tied(params, ind.cluster_moments(params, rows, 0))
    assert (np.diff(path) >= -1e-12).all()
    assert path[-1] > path[0] + 0.05


def test_directions_that_explain_as_much_are_those_of_the_rows(rng):
    rows, _, _ = problem(rng, d=5, sizes=(2,))
    V, unwhiten = np.eye(5)[:1], np.diag([1.0, 2.0, 2.0, 2.0, 3.0])
    found = ind.complement(V, unwhiten, rows)
    assert_allclose(np.abs(found[0]), np.eye(5)[4], atol=1e-12)
    R = ortho_group.rvs(5, random_state=1)
    turned = ind.complement(V @ R.T, unwhiten @ R.T, ind.Rows(R @ rows.U, rows.log_pl)) @ R
    assert_allclose(np.abs(np.einsum("sd,sd->s", turned, found)), 1.0, atol=1e-10)
    alone = ind.complement(V @ R.T, unwhiten @ R.T) @ R
    assert np.abs(np.einsum("sd,sd->s", alone, found)).min() < 0.999
