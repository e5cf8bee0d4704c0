"""The picture of a table: a dot for each printed cell, with its deviations, by method and score."""

import numpy as np
import pytest

from gnomon.experiments._cells import Printed, Row
from gnomon.experiments._picture import picture, save_picture

pytest.importorskip("matplotlib")

ROWS = [
    Row("a", "PCA", 5, "error", 0.3, 0.02, 4, 0, Printed(0.25, 0.01, 50), False),
    Row("b", "PCA", 5, "error", 0.5, np.nan, 1, 0, Printed(0.55, None, 50), False),
    Row("a", "LDA $2$", 5, "error", 0.2, 0.03, 4, 0, Printed(0.2, 0.02, 50), False),
    Row("a", "PCA", 5, "F1", 0.6, 0.02, 4, 0, Printed(0.7, 0.01, 50), False),
    Row("a", "ours alone", 5, "error", 0.1, 0.02, 4, 0, None, False),
    Row("a", "failed", 5, "error", np.nan, np.nan, 0, 4, Printed(0.7, 0.01, 50), False),
]


def test_every_printed_cell_is_a_dot_in_the_panel_of_its_score():
    figure = picture(ROWS)
    left, right = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["error", "F1"]
    dots = {bars.get_label(): bars.lines[0].get_xydata() for bars in left.containers}
    assert dots["PCA"].tolist() == [[0.25, 0.3], [0.55, 0.5]]
    assert dots["LDA $2$"].tolist() == [[0.2, 0.2]]
    assert [bars.lines[0].get_xydata().tolist() for bars in right.containers] == [[[0.7, 0.6]]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["PCA", "LDA $2$"]


def test_a_deviation_is_as_long_as_it_is():
    _, _, (across, up) = picture(ROWS).axes[0].containers[0].lines
    assert np.allclose(across.get_segments(), [[[0.24, 0.3], [0.26, 0.3]], [[0.55, 0.5], [0.55, 0.5]]])
    assert np.allclose(up.get_segments(), [[[0.25, 0.28], [0.25, 0.32]], [[0.55, 0.5], [0.55, 0.5]]])


def test_nothing_printed_is_no_picture():
    assert picture(ROWS[4:]) is None
    assert picture([]) is None


def test_one_method_needs_no_legend():
    assert not picture(ROWS[:2]).legends


def test_the_file_is_the_same_for_the_same_numbers(tmp_path):
    for name in ("one.svg", "two.svg"):
        save_picture(picture(ROWS), tmp_path / name)
    one = (tmp_path / "one.svg").read_bytes()
    assert one == (tmp_path / "two.svg").read_bytes()
    assert b"<svg" in one
    assert b"dc:date" not in one
