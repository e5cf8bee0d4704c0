"""DPPCA on rows: what EM does in coordinates, how it starts and ends, and rows that travel."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.models import dppca
from gnomon.models.dppca.anneal import Options
from gnomon.models.dppca.model import log_joint, reader
from gnomon.models.dppca.reduction import LIMITS, Limits
from gnomon.rows import read
from models.dppca.planted import planted
from oracles import dppca as oracle
from rows.copied import copied_rows

OPEN = dppca.Open(3, 0.0, 1.0)


def fitted(rows, index, given=OPEN, limits=LIMITS):
    return dppca.fit(rows, [dppca.Labels(index, 3)], 2, given, Options(), limits)


def dense(model):
    return oracle.Model(model.prior, model.class_means, model.factors.T, model.noise_var)


# 1 oracle


@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_densities_and_predictions_of_rows(rng, shrinkage):
    X, index = planted(rng)
    found = fitted(read(X), index, dppca.Open(3, shrinkage, 1.0)).targets[0]
    joint = oracle.log_joint(dense(found.model), X)
    assert_allclose(log_joint(found.model, read(X)), joint, rtol=1e-9)
    assert_allclose(dppca.predict(found.model, read(X)), oracle.responsibilities(dense(found.model), X, index * 0 - 1))
    assert_allclose(found.log_likelihood, dppca.log_density(found.model, read(X), index).sum(), rtol=1e-10)


def test_several_models_ask_rows_in_one_read_and_say_what_each_says(rng):
    X, index = planted(rng)
    models = [
        fitted(read(X * unit + shift), index).targets[0].model for unit, shift in ((1.0, 0.0), (1.3, 2.0), (0.1, -5.0))
    ]
    rows, together = read(X), reader(models)
    parts = together.together.odds_and_distances(together.log_joint(rows))
    for j, model in enumerate(models):
        wanted = oracle.log_joint(dense(model), X)
        odds, away = parts[0][:, j], parts[1][:, j]
        assert_allclose(odds, wanted - wanted.max(axis=1, keepdims=True), atol=1e-8)
        D = X[:, None] - model.class_means
        squares = np.einsum("ncp,ncp->nc", D @ np.linalg.inv(oracle.covariance(dense(model))), D)
        assert_allclose(away, squares.min(axis=1), rtol=1e-8)
    assert rows.reads == 1.0


def test_samples_and_the_way_back(rng):
    X, index = planted(rng)
    found = fitted(read(X), index)
    model = found.targets[0].model
    drawn, classes = dppca.sample(model, 4000, np.random.RandomState(0))
    assert_allclose(drawn[classes == 1].mean(axis=0), model.class_means[1], atol=0.3)
    assert_allclose(dppca.back(model, found.components) @ found.components.T, np.eye(2), atol=1e-9)


# 3 two routes to one answer


def test_loadings_are_what_the_covariance_says_of_a_row_given_its_projection(rng):
    """Of several models of the same rows it is the mean of theirs."""
    X, index = planted(rng)[:2]
    models = [fitted(read(X), index).targets[0].model, fitted(read(X), np.roll(index, 1)).targets[0].model]
    D = rng.normal(size=(2, X.shape[1]))
    for some in (models[:1], models):
        S = np.zeros((X.shape[1], X.shape[1]))
        for one in some:
            away = one.class_means - one.mean
            within = one.factors.T @ one.factors + one.noise_var * np.eye(len(S))
            S += ((one.prior[:, None] * away).T @ away + within) / len(some)
        assert_allclose(dppca.loadings(some, D), np.linalg.solve(D @ S @ D.T, D @ S), atol=1e-10)


def test_separation_does_not_hang_on_units(rng):
    X, index = planted(rng)[:2]
    (one,), (large,) = (fitted(read(scale * X), index).targets for scale in (1.0, 1e3))
    assert_allclose(dppca.separation([large.model]), dppca.separation([one.model]), rtol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_that_travel_give_the_same_fit(rng, form):
    X, index = planted(rng)
    here, away = (fitted(rows, index) for rows in (read(X), copied_rows(form(X))))
    assert_allclose(away.components, here.components, atol=1e-8)
    model = here.targets[0].model
    assert_allclose(log_joint(model, copied_rows(form(X))), log_joint(model, read(X)), rtol=1e-9)
    for one, other in zip(
        dppca.posterior(model, copied_rows(form(X)), here.components),
        dppca.posterior(model, read(X), here.components),
        strict=True,
    ):
        assert_allclose(one, other, atol=1e-9)


def test_leading_directions_of_a_large_table_hold_the_model(rng):
    X, index = planted(rng, n=200, p=60, spread=2.0)
    small = Limits(exact_side=10, n_leading=12)
    exact, some = (fitted(read(sp.csr_array(X)), index, limits=limits) for limits in (LIMITS, small))
    assert exact.exact
    assert not some.exact
    assert_allclose(some.targets[0].model.noise_var, exact.targets[0].model.noise_var, rtol=0.05)
    named = [dppca.predict(one.targets[0].model, read(X)).argmax(axis=1) for one in (some, exact)]
    assert (named[0] == named[1]).mean() > 0.98
    joint = oracle.log_likelihood(dense(some.targets[0].model), X, index, 1.0)  # exact whatever the basis
    assert_allclose(some.targets[0].log_likelihood, joint, rtol=2e-3)


# how it starts, and how it ends


# what "auto" compares by


@pytest.mark.parametrize("n_labels, wanted", [(2, np.exp(0.3)), (3, np.exp(0.3)), (1, 1.0)])
def test_the_mean_of_models_is_surer_the_fewer_labels_there_are(rng, n_labels, wanted):
    X, index = planted(rng)
    index[3 * n_labels :] = -1
    index[: 3 * n_labels] = np.arange(3 * n_labels) % 3
    labels = [dppca.Labels(index, 3)]
    found = dppca.fit(read(X), labels, 2, dppca.Open(3, 1e-3, "auto"), Options(), mean=True).targets[0]
    assert found.mean.calibration.exponent == pytest.approx(wanted)
