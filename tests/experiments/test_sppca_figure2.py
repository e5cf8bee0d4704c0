"""Figure 2 of the SPPCA paper: which way the directions point, and what is drawn."""

import numpy as np

from gnomon.experiments import sppca_figure2 as figure


def test_labels_turn_the_direction_from_the_long_one_to_the_one_that_tells_classes_apart():
    X, y, some = figure.toy()
    along = np.array([np.cos(figure.TILT), np.sin(figure.TILT)])
    across = np.array([-along[1], along[0]])
    whole, part = figure.directions(X, y, some | True), figure.directions(X, y, some)
    assert abs(whole["PCA"] @ along) > 0.98
    assert abs(whole["SPPCA"] @ across) > 0.95
    assert abs(whole["PCA"] @ across) < abs(part["S2PPCA"] @ across) < abs(part["SPPCA"] @ across)
    assert some.sum() == 2 * figure.N_LABELED
    assert (X[some] @ along > 0).all()


def test_the_picture_shows_every_row_and_direction(tmp_path):
    left, right = figure.draw_figure().axes
    assert [line.get_label() for line in left.lines] == ["PCA", "SPPCA"]
    assert [line.get_label() for line in right.lines] == ["PCA", "SPPCA", "S2PPCA"]
    assert sum(len(dots.get_offsets()) for dots in right.collections) == 2 * figure.N_PER_CLASS
    made = list(figure.reproduce(tmp_path))
    assert (tmp_path / "sppca-figure2.png").read_bytes().startswith(b"\x89PNG")
    assert "partly labeled" in figure.format_table(made)
