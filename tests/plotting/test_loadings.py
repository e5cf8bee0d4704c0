"""Loadings come by size, with sign and name."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from gnomon import KDA, PPCA, NeighborFeatures
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


def test_rows_are_regressed_where_the_model_knows_no_loadings(model):
    data = load_wine(as_frame=True).data
    frame, kinds = pd.DataFrame(scale(data), columns=data.columns), load_wine().target
    for curved in (make_pipeline(NeighborFeatures(n_components=5), PPCA(2)), KDA(2, kernel="rbf")):
        curved.fit(frame, kinds)
        with pytest.raises(ValueError, match=r"what a component adds to the columns .*from_estimator\(model, X=X\)"):
            LoadingsDisplay.from_estimator(curved)
        display = LoadingsDisplay.from_estimator(curved, X=frame[frame.columns[::-1]].assign(more="text")[data.columns])
        assert list(display.feature_names) == list(data.columns)
        Z = curved.transform(frame)
        wanted = np.linalg.lstsq(Z - Z.mean(axis=0), frame.to_numpy(), rcond=None)[0]
        assert_allclose(display.loadings, wanted, atol=1e-8)
    own = LoadingsDisplay.from_estimator(model, X=frame, dims=[0]).loadings
    assert np.corrcoef(own, model.components_[0])[0, 1] > 0.999


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
        ({"kind": "pie"}, "kind='pie' must be one of 'auto', 'bars', 'curve', 'image'"),
        ({"kind": "curve"}, "names of columns that are, or hold, different numbers"),
        ({"kind": "image"}, "shape=None must be the height and width of an image of 13 columns"),
        ({"shape": (4, 4)}, "must be the height and width"),
    ],
)
def test_errors_name_the_argument(model, arguments, words):
    with pytest.raises(ValueError, match=words):
        LoadingsDisplay.from_estimator(model, **arguments)


def test_one_axes_a_component(model):
    with pytest.raises(ValueError, match="2 components need one each"):
        LoadingsDisplay.from_estimator(model, dims=[0, 1], ax=plt.subplots()[1])


def spectra(order):
    """A model of 40 spectra of 30 wavelengths, in some order of the columns, and its wavelengths."""
    waves = np.linspace(1100.0, 1390.0, 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1)) * np.exp(-(((waves - 1200.0) / 40.0) ** 2)) + rng.normal(size=(40, 30)) * 0.02
    return PPCA(2).fit(pd.DataFrame(X[:, order], columns=[f"{wave:g}" for wave in waves[order]])), waves


@pytest.mark.parametrize("order", [np.arange(30), np.random.default_rng(1).permutation(30)])
def test_columns_that_are_numbers_make_a_curve_whatever_their_order(order):
    model, waves = spectra(order)
    display = LoadingsDisplay.from_estimator(model, dims=[0])
    (line,) = [line for line in display.ax_[0].lines if len(line.get_xdata()) == 30]
    assert_allclose(line.get_xdata(), waves)
    assert_allclose(line.get_ydata(), model.components_[0, np.argsort(order)])
    assert abs(waves[np.abs(line.get_ydata()).argmax()] - 1200.0) < 20.0
    assert LoadingsDisplay.from_estimator(model, dims=[0], kind="bars").ax_[0].patches


@pytest.mark.parametrize("first", [0, 1])
def test_columns_that_are_only_counted_stay_bars(first):
    X = np.random.default_rng(0).normal(size=(40, 12))
    model = PPCA(1).fit(pd.DataFrame(X, columns=[str(j + first) for j in range(12)]))
    assert len(LoadingsDisplay.from_estimator(model).ax_[0].patches) == 12
    assert not LoadingsDisplay.from_estimator(model, kind="curve").ax_[0].patches


def drawn(names):
    """Where the columns of those names lie on a curve; None where they are bars."""
    model = PPCA(1).fit(np.random.default_rng(0).normal(size=(40, len(names))))
    panel = LoadingsDisplay.from_estimator(model, feature_names=names).ax_[0]
    return None if panel.patches else panel.lines[-1].get_xdata().tolist()


@pytest.mark.parametrize("name", ["{:g} nm", "X{:g}", "NIR.{:g} nm", "{:g}cm-1", "wave {:.1f}", "A-{:g}"])
def test_names_that_hold_numbers_of_an_axis_make_a_curve(name):
    waves = np.delete(np.arange(1100.0, 1500.0, 12.5), [11, 12])  # a band that was left out
    assert_allclose(drawn([name.format(wave) for wave in waves]), waves, atol=0.06)
    assert_allclose(drawn([name.format(wave) for wave in waves[::-1]]), waves, atol=0.06)


def test_names_that_hold_other_numbers_stay_bars():
    numbers = [3, 7, 8, 20, 21, 40, 90, 91, 95, 120, 300, 301]
    for places in (range(12), range(2, 14), numbers, np.random.default_rng(0).permutation(12) * 5 + 100):
        assert drawn([f"gene{place}" for place in places]) is None
    assert drawn([f"{place} nm" for place in range(100, 109)]) is None  # few
    assert drawn([f"{letter}1100" for letter in "abcdefghijkl"]) is None


def test_pixels_make_an_image():
    X = np.random.default_rng(0).normal(size=(40, 12))
    model = PPCA(2).fit(X)
    display = LoadingsDisplay.from_estimator(model, shape=(3, 4))
    for k, panel in enumerate(display.ax_):
        (image,) = panel.images
        assert_allclose(image.get_array(), model.components_[k].reshape(3, 4))
        assert image.get_clim()[0] == -image.get_clim()[1]


def test_words_of_texts_are_named():
    texts = ["red apple", "red cherry", "green apple", "green pear"] * 5
    model = make_pipeline(TfidfVectorizer(), PPCA(1)).fit(texts)
    shown = LoadingsDisplay.from_estimator(model, n_top=2).ax_[0].get_yticklabels()
    assert {label.get_text() for label in shown} == {"green", "red"}
