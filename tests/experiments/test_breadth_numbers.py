"""The table of few numbers: its protocol on small data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

from gnomon import GuidedProjection
from gnomon.experiments import breadth_numbers
from gnomon.experiments.breadth_numbers import COVER, METHODS, errors_of_draw, format_table, reproduce


@pytest.fixture
def small(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    other = np.where(np.arange(120) % 3, X[:, 2], np.nan)
    monkeypatch.setattr(breadth_numbers, "load", lambda name: (X, np.column_stack([y, other]), ["first", "second"]))
    return X, y


def test_no_hidden_number_reaches_a_method(small):
    X, y = small
    labeled = np.arange(120) < 30
    found, moved = (errors_of_draw(X, np.where(labeled, y, at), labeled) for at in (y, y - 1e-9 * np.arange(120)))
    assert set(found) == {*METHODS, COVER}
    mean = GuidedProjection(2, target="real").fit(X, np.where(labeled, y, np.nan)).predict(X[~labeled])
    assert_allclose(found["GuidedProjection"], np.sqrt(np.mean((mean - y[~labeled]) ** 2)) / y[~labeled].std())
    assert_allclose(list(moved.values()), list(found.values()), rtol=1e-6)


def test_the_table_says_how_far_from_the_best_peer(small):
    records = list(reproduce(("cereal",), n_draws=2))
    assert {r["data"] for r in records} == {"cereal, first", "cereal, second"}
    peers = np.array([r["ratio"] for r in records if r["method"] in breadth_numbers.PEERS])
    assert (peers >= 1.0).all()
    text = format_table(records)
    assert "GuidedProjection: mean error " in text
    assert "PCA in two dimensions: " in text


def test_without_data_it_says_so(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GNOMON_DATA is not set"):
        breadth_numbers.load("gasoline")


@pytest.mark.realdata
@pytest.mark.slow
def test_spectra_are_read_better_than_by_the_best_peer_in_hindsight():
    records = list(reproduce(("gasoline", "nir_glc", "corn m5"), n_draws=3))
    ratios = np.array([r["ratio"] for r in records if r["method"] == "GuidedProjection"])
    within = np.array([r["mean"] for r in records if r["method"] == COVER])
    assert ratios.mean() < 0.84
    assert ratios.max() < 1.1
    assert 0.93 < within.mean() < 0.98
