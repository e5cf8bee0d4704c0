"""What is known at several models at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear.curved import Curved
from gnomon.models.linear.stack import diagonals, dots
from models.linear.test_curved import problem, random_params


@pytest.mark.parametrize("noise", ["shared", "each", "fixed"])
@pytest.mark.parametrize(("q", "k", "loose_below"), [(2, 3, 3), (4, 2, 3), (2, 3, 60), (2, 3, 999), (12, 17, 3)])
def test_several_models_are_what_each_is_by_an_e_step(noise, q, k, loose_below):
    em = problem(k, noise, q=q, p=20, loose_below=loose_below)
    models = [random_params(em, k, q, seed)._replace(y_noise_var=np.full(q, 0.5)) for seed in range(3)]
    curved = Curved(em.view, em.labels, em.rules, models[0])
    place = curved.at(curved.vectors(models))
    for i, at in enumerate(models):
        sums = em.e_step(at)
        assert_allclose(place.value[i], sums.objective, rtol=1e-12)
        assert_allclose(curved.params(place, i).W_x, at.W_x, atol=1e-12)
        R = place.held.found.R[i]
        assert_allclose(curved.view.axes @ place.held.found.xz[i] @ R.T, sums.xz1[:, :k], rtol=1e-9, atol=1e-7)
        assert_allclose(R @ place.held.found.zz[i] @ R.T, sums.zz1[0, :k, :k], rtol=1e-9, atol=1e-7)
        assert_allclose(place.held.found.noise_sums[i], sums.noise, rtol=1e-9, atol=1e-9)


def test_inner_products_and_diagonals_of_each(rng):
    A, B = rng.standard_normal((2, 3, 4, 4))
    assert_allclose(dots(A, B), [np.vdot(a, b) for a, b in zip(A, B, strict=True)])
    assert_allclose(diagonals(A), [a.diagonal() for a in A])
    diagonals(A)[:] += 1.0
    assert_allclose(diagonals(A) - 1.0, [a.diagonal() - 1.0 for a in A])
    assert diagonals(np.zeros((2, 0, 5, 5))).shape == (2, 0, 5)
