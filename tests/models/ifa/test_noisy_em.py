"""EM for independent factors in noise: its sums beside the whole table, its steps, its packing."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models.ifa import noisy as model
from gnomon.models.ifa import noisy_em
from gnomon.models.ifa.noisy_em import NoisyEM, NoisyVector, maximize_noisy, state_plausibilities
from gnomon.rows import read
from models.ifa.noisy_draws import SIZES, log_pl_of, planted, random_model
from oracles import ifa as oracle
from rows.copied import copied_rows


def test_plain_steps_never_lower_the_likelihood(rng):
    X, _, known, _ = planted(rng, gap=2.0)
    rows = copied_rows(X)
    em = NoisyEM(rows.standard(rows.summarize()), log_pl_of(known), SIZES)
    params = random_model(rng, 6)[0].params
    path = []
    for _ in range(30):
        sums = em.e_step(params)
        path.append(sums.latent.log_likelihood)
        params = em.m_step(sums, params)
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 10
    weights = np.exp(params.log_weights)
    assert_allclose((weights * params.means).sum(axis=1), 0.0, atol=1e-12)
    assert_allclose((weights * (params.variances + params.means**2)).sum(axis=1), 1.0)


def test_packing_returns_what_it_was_given(rng):
    params = random_model(rng)[0].params
    packing = NoisyVector(np.isfinite(params.log_weights))
    for found, given in zip(packing.unpack(packing.pack(params), params), params, strict=True):
        assert_allclose(found, given, atol=1e-12)


def test_the_sums_are_those_of_the_posterior_of_every_row(rng, monkeypatch):
    """Whatever the blocks: the log-likelihood by brute force, and X'E[z]."""
    monkeypatch.setattr(noisy_em, "BLOCK", 40)
    fitted, mixtures = random_model(rng)
    X, ids = model.sample(fitted, 15, rng)
    ids[::2, 0] = -1
    X = X - X.mean(axis=0)
    rows = copied_rows(X)
    standard = rows.standard(rows.summarize())
    sums = NoisyEM(standard, log_pl_of(ids), SIZES).e_step(fitted.params)
    T, p = X / standard.scale, fitted.params
    pl = [oracle.one_of_k(ids[:, s], size) for s, size in enumerate(SIZES)]
    args = (np.zeros(4), p.A, p.noise_var, mixtures)
    total = sum(oracle.noisy_log_density(x, *args, [table[i] for table in pl]) for i, x in enumerate(T))
    assert_allclose(sums.latent.log_likelihood, total, rtol=1e-9)
    z = model.posterior(fitted._replace(mean=np.zeros(4)), read(T), log_pl_of(ids)).z
    assert_allclose(sums.xz, T.T @ z, rtol=1e-8, atol=1e-10)


def test_plausibility_of_a_product_is_that_of_its_parts(rng):
    log_pl, states = rng.normal(size=(5, 2, 3)), np.array([[0, 0], [1, 2], [0, 1]])
    expected = [[row[0, a] + row[1, b] for a, b in states] for row in log_pl]
    assert_allclose(state_plausibilities(log_pl, states), expected, rtol=1e-14)


def test_climbing_ends_where_a_step_is_short(rng):
    X, _, known, _ = planted(rng)
    rows = copied_rows(X)
    em = NoisyEM(rows.standard(rows.summarize()), log_pl_of(known), SIZES)
    found = maximize_noisy(em, random_model(rng, 6)[0].params, tol=1e-4, max_iter=3000)
    at, sums = found.value
    assert em.residual(sums, at, em.m_step(sums, at)) <= 1e-4
    assert (np.diff(found.path) >= -1e-9 * np.abs(found.path[:-1])).all()
