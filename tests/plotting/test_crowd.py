"""Density of many points: counts, colors, the box that holds nearly all."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.plotting._crowd import CELLS, FAINTEST, crowded, density


def test_a_cell_has_the_mean_color_and_an_opacity_by_its_count():
    points = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [CELLS - 0.5, 0.5]])
    colors = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    image = density(points, colors, (0.0, CELLS, 0.0, CELLS))
    assert_allclose(image[0, 0], [1 / 3, 2 / 3, 0.0, 1.0])
    assert_allclose(image[0, -1], [0.0, 0.0, 1.0, FAINTEST + (1 - FAINTEST) * np.log(2) / np.log(4)])
    assert_array_equal(np.count_nonzero(image[..., 3]), 2)


def test_points_on_the_edges_are_inside():
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    image = density(points, np.zeros((2, 3)), (0.0, 1.0, 0.0, 1.0))
    assert image[0, 0, 3] == image[-1, -1, 3] == 1.0


def test_the_box_leaves_out_what_is_far_away(rng):
    points = rng.normal(size=(5000, 2))
    points[:3] = 1e6
    box, inside = crowded(points)
    assert not inside[:3].any()
    assert inside.mean() > 0.99
    assert max(np.abs(box)) < 10


def test_points_that_are_all_alike_have_a_box():
    box, inside = crowded(np.ones((100, 2)))
    assert inside.all()
    assert_allclose(box, (0.5, 1.5, 0.5, 1.5))
