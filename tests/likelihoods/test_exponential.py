"""Exponential families: derivatives against differences, bounds that lie above, links."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.sdr_glm import FAMILIES
from oracles.sdr_glm import entry_nll, numeric_gradient

ENTRYWISE = ["gaussian", "bernoulli", "poisson"]
every = pytest.mark.parametrize("name", FAMILIES)


@every
def test_partition_is_that_of_the_definition(name, rng):
    family, theta = FAMILIES[name], rng.normal(size=(4, 3)) * 2
    expected = [[entry_nll(name, 0.0, t) for t in row] for row in theta] if name in ENTRYWISE else None
    if expected is None:
        expected = [[np.log(np.exp(row).sum())] for row in theta]
    assert_allclose(family.partition(theta), expected, rtol=1e-12)


@every
def test_mean_and_variance_are_derivatives_of_the_partition(name, rng):
    family, theta = FAMILIES[name], rng.normal(size=(4, 3)) * 2
    assert_allclose(family.mean(theta), numeric_gradient(lambda t: family.partition(t).sum(), theta), atol=1e-7)
    slope = np.array([numeric_gradient(lambda t, i=i: family.mean(t)[i].sum(), theta) for i in np.ndindex(4, 3)])
    diagonal = slope[np.arange(12), *np.indices((4, 3)).reshape(2, -1)].reshape(4, 3)
    mean = family.mean(theta)
    assert_allclose(family.variance(theta) - (mean**2 if name == "multinomial" else 0), diagonal, atol=1e-7)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "multinomial"])
def test_the_quadratic_lies_above_the_partition_and_touches_it(name, rng):
    family = FAMILIES[name]
    assert family.majorized
    for size in (0.0, 1e-6, 0.3, 3.0, 30.0):
        at, to = size * rng.normal(size=(50, 3)), 5 * rng.normal(size=(50, 3))
        move = to - at
        if name == "multinomial":  # the bound holds for steps that leave the sum of the logits
            move -= move.mean(axis=1, keepdims=True)
            to = at + move
        quadratic = family.mean(at) * move + 0.5 * family.bound(at) * move**2
        before, after, gain = family.partition(at), family.partition(to), quadratic
        if name == "multinomial":
            gain = quadratic.sum(axis=1, keepdims=True)
        assert (after <= before + gain + 1e-9 * (1 + np.abs(before))).all()
        if family.constant is not None:
            assert_allclose(family.bound(at), family.constant)


def test_the_bernoulli_bound_is_tight_at_minus_theta():
    family, theta = FAMILIES["bernoulli"], np.array([[-3.0, 0.5, 1e-5, 40.0]])
    touches = family.partition(theta) + family.mean(theta) * -2 * theta + 0.5 * family.bound(theta) * 4 * theta**2
    assert_allclose(touches, family.partition(-theta), atol=1e-9)


def test_nothing_overflows_far_away():
    far = np.array([[-800.0, 800.0, 0.0]])
    for name in ("bernoulli", "multinomial"):
        family = FAMILIES[name]
        for values in (family.partition(far), family.mean(far), family.bound(far)):
            assert np.isfinite(values).all()


@every
def test_the_link_gives_back_the_mean(name, rng):
    family, n = FAMILIES[name], 10**6
    total = np.array([0.2, 0.3, 0.5]) * n
    b = family.link(total, np.full(3, float(n)))
    assert_allclose(family.mean(b[None, :])[0], [0.2, 0.3, 0.5], rtol=1e-4)
    nothing = family.link(np.zeros(3), np.full(3, 5.0))
    assert np.isfinite(nothing).all()


@pytest.mark.parametrize(
    "name, good, bad",
    [("bernoulli", [0, 1, 1], [0, 0.5]), ("poisson", [0, 3, 1.5], [-1, 2]), ("multinomial", [0, 2], [-0.1, 1])],
)
def test_complaints(name, good, bad):
    assert FAMILIES[name].complaint(np.array(good)) is None
    assert FAMILIES[name].complaint(np.array(bad)) is not None
    assert FAMILIES["gaussian"].complaint(np.array(bad)) is None
