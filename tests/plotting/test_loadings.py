"""Loadings come by size, with sign and name."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import PPCA
from gnomon.plotting import LoadingsDisplay
from gnomon.plotting._style import NEGATIVE, POSITIVE


@pytest.fixture(scope="module")
def model():
    data = load_wine(as_frame=True).data
    return PPCA(4).fit(pd.DataFrame(scale(data), columns=data.columns))


def test_bars_are_the_largest_loadings_largest_on_top(model):
    display = LoadingsDisplay.from_estimator(model, n_top=5, dims=[1, 0])
    for panel, k in zip(display.ax_, (1, 0)):
        order = np.argsort(-np.abs(model.components_[k]))[:5]
        by_height = sorted(panel.patches, key=lambda bar: -bar.get_y())
        assert_allclose([bar.get_width() for bar in by_height], model.components_[k, order])
        names = [label.get_text() for label in panel.get_yticklabels()][::-1]
        assert names == [model.feature_names_in_[j] for j in order]
        assert panel.get_title() == f"component {k + 1}"


def test_sign_has_a_color(model):
    from matplotlib.colors import to_rgba

    (panel,) = LoadingsDisplay.from_estimator(model, dims=[1], n_top=13).ax_
    for bar in panel.patches:
        assert bar.get_facecolor() == to_rgba(POSITIVE if bar.get_width() >= 0 else NEGATIVE)
    assert {bar.get_width() > 0 for bar in panel.patches} == {True, False}


def test_the_first_three_components_are_drawn_by_default(model):
    assert LoadingsDisplay.from_estimator(model).ax_.shape == (3,)


def test_names_may_be_given_and_are_literal(model):
    names = [f"$x_{j} {'long ' * 12}" for j in range(13)]
    display = LoadingsDisplay.from_estimator(model, feature_names=names, dims=[0], n_top=2)
    display.figure_.canvas.draw()
    shown = [label.get_text() for label in display.ax_[0].get_yticklabels()]
    assert all(text.startswith("$x_") and len(text) == 28 for text in shown)


def test_models_fitted_to_arrays_count_their_features():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [5, 2, 1]
    display = LoadingsDisplay.from_estimator(PPCA(1).fit(X), n_top=1)
    assert display.ax_[0].get_yticklabels()[0].get_text() == "x0"
    display.n_top = 2
    assert_array_equal(display.top(0), np.argsort(-np.abs(display.loadings[0]))[:2])


def test_given_axes_are_used(model):
    figure, axes = plt.subplots(1, 2)
    display = LoadingsDisplay.from_estimator(model, dims=[0, 1], ax=axes)
    assert display.figure_ is figure
    assert list(display.ax_) == list(axes)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"dims": [4]}, "below 4"),
        ({"dims": []}, "below 4"),
        ({"feature_names": ["a"]}, "1 names; the model has 13"),
    ],
)
def test_errors_name_the_argument(model, arguments, words):
    with pytest.raises(ValueError, match=words):
        LoadingsDisplay.from_estimator(model, **arguments)


def test_one_axes_a_component(model):
    with pytest.raises(ValueError, match="2 components need one each"):
        LoadingsDisplay.from_estimator(model, dims=[0, 1], ax=plt.subplots()[1])
