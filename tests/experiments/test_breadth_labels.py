"""The table of several labels per row: its protocol on planted rows."""

import numpy as np
import pytest

from gnomon.experiments import breadth_labels
from gnomon.experiments._draw import draw_positive
from gnomon.experiments.breadth_labels import IN_FIVE, METHODS, format_table, load, reproduce, scores_of_draw


def test_no_hidden_label_reaches_a_method():
    X, Y = load("planted")
    X, Y = X[:150], Y[:150, :2]
    labeled = draw_positive(Y, 8, 100)
    found = scores_of_draw(X, Y, labeled)
    turned = scores_of_draw(X, np.where(labeled[:, None], Y, 1 - Y), labeled)
    assert set(found) == {*METHODS, *IN_FIVE}
    for method in found:
        assert turned[method][0] == pytest.approx(1.0 - found[method][0])
    assert found["GuidedProjection"][0] > 0.8


def test_the_table_has_every_method(monkeypatch):
    X, Y = load("planted")
    monkeypatch.setattr(breadth_labels, "load", lambda name: (X[:120], Y[:120, :2]))
    text = format_table(list(reproduce(("planted",), n_positive=(8,), n_draws=1)))
    assert text.splitlines()[1].startswith("planted   8         AUC")
    assert all(method in text for method in (*METHODS, *IN_FIVE))


def test_without_data_it_says_so(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GNOMON_DATA is not set"):
        load("yeast")
