"""Random numbers of rows that depend on their lengths alone."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.scramble import random_row, random_rows, random_signs, random_uniforms


def test_numbers_follow_their_rows(rng):
    sizes = rng.chisquare(5, size=200) / 5
    order = rng.permutation(200)
    for draw in (random_signs, random_uniforms):
        one, other = (draw(A, np.random.default_rng(0)) for A in (sizes, sizes[order]))
        assert_array_equal(other, one[order])
        assert_allclose(draw(sizes * (1 + 1e-13), np.random.default_rng(0)), one, atol=1e-7)


def test_uniforms_are_uniform_and_free_of_the_lengths(rng):
    sizes = rng.chisquare(5, size=20_000) / 5
    found = random_uniforms(sizes, rng)
    assert_allclose(np.quantile(found, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.02)
    assert abs(np.corrcoef(found, sizes)[0, 1]) < 0.03


def test_rows_are_drawn_by_their_chances(rng):
    sizes, chances = rng.chisquare(5, size=4) / 5, np.array([0.0, 0.2, 0.3, 0.5])
    drawn = [random_row(chances, sizes, rng) for _ in range(4000)]
    assert_allclose(np.bincount(drawn, minlength=4) / 4000, chances, atol=0.03)


def test_drawn_rows_differ_and_follow_their_rows(rng):
    sizes = rng.chisquare(5, size=300) / 5
    one = random_rows(50, sizes, np.random.default_rng(0))
    assert len(np.unique(one)) == 50
    other = random_rows(50, sizes[::-1], np.random.default_rng(0))
    assert_array_equal(np.sort(299 - other), one)
