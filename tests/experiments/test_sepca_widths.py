"""Figure 1 of the SEPCA paper by widths: the wider the uniform column, the fewer rows its followers name."""

import numpy as np
import pytest

from gnomon.experiments import sepca_widths as widths
from gnomon.experiments._cells import Cell
from gnomon.experiments.sepca_figures import clusters


def accuracy(method, width):
    return np.mean([widths.scores(Cell(f"half-width {width}", method, 2, seed))["accuracy"] for seed in range(2)])


def test_only_the_third_column_is_wider(rng):
    X, y = widths.widened(clusters(40, np.random.default_rng(0)), 20)
    plain, same = clusters(40, np.random.default_rng(0))
    assert (X[:, :2] == plain[:, :2]).all()
    assert np.allclose(X[:, 2], 5 * plain[:, 2])
    assert (y == same).all()


def test_the_printed_order_appears_where_the_column_dominates():
    assert accuracy("SPPCA", 4) > 90
    assert accuracy("SEPCA", 20) > accuracy("SPPCA", 20) + 10


@pytest.mark.slow
def test_every_method_has_a_number():
    for cell in widths.cells(1):
        assert 0 < widths.scores(cell)["accuracy"] <= 100
