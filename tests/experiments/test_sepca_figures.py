"""Figures 1 and 2 of the SEPCA paper: what is drawn, and that the order of the methods is the printed one."""

import numpy as np
import pytest
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import SEPCA
from gnomon.experiments import sepca_figures as figures


def test_rows_are_those_of_the_protocol(rng):
    for draw, n_classes, kept in ((figures.clusters, 4, 2.0), (figures.circles, 2, 1.0)):
        X, y = draw(400, rng)
        assert X.shape == (400, 3)
        assert len(set(y)) == n_classes
        within = [X[y == label, 2].std() for label in set(y)]
        assert_allclose(within, 2 * kept / 3**0.5, rtol=0.2)  # uniform from -2 kept to 2 kept


def test_projections_are_of_new_rows():
    found, y, y_test = figures.projections("figure1", 3)
    rng = np.random.default_rng(3)
    X, given = figures.clusters(80, rng)
    X_test, _ = figures.clusters(120, rng)
    assert_array_equal(given, y)
    assert_allclose(found["SEPCA"][1], SEPCA(2).fit(X, y).transform(X_test))
    assert len(y_test) == 120


@pytest.mark.slow
def test_sepca_and_discriminants_separate_best():
    pytest.importorskip("clarabel", reason="the extra gnomon[convex] is not installed")
    first, second = (figures.accuracies(name, n_draws=4) for name in ("figure1", "figure2"))
    assert min(first["SEPCA"].mean(), first["LDA"].mean()) > 0.98
    assert max(first["SPPCA"].mean(), first["Colored MVU"].mean()) < first["SEPCA"].mean() - 0.005
    assert min(second["SEPCA"].mean(), second["KDA"].mean()) > 0.95
    assert max(second["SPPCA"].mean(), second["Colored MVU"].mean()) < 0.85


@pytest.mark.slow
def test_pictures_are_written_with_a_panel_a_method(tmp_path):
    made = list(figures.reproduce(tmp_path, n_draws=2))
    assert {path.name for path in tmp_path.iterdir()} == {"sepca-figure1.png", "sepca-figure2.png"}
    for one in made:
        found = one["accuracies"]
        assert imread(one["file"]).shape[:2] == (-(-len(found) // 3) * 360, 1080)
        panels = figures.draw_figure(one["figure"]).axes
        assert [ax.get_title() for ax in panels] == list(found)
        assert all(sum(len(dots.get_offsets()) for dots in ax.collections) == 120 for ax in panels)
    assert "sepca-figure2.png" in figures.format_table(made)
