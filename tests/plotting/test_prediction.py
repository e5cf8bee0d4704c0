"""Predictions beside the truth, as drawn and in numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import confusion_matrix, r2_score, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import DPPCA, PPCA, SPPCA, GuidedProjection
from gnomon.plotting import PredictionDisplay

IRIS, DIABETES = load_iris(), load_diabetes()
NAMES = np.array(["$a$", "b", "c"], dtype=object)[IRIS.target]
SEEN = np.arange(150) % 5 == 0
CLASSES = make_pipeline(StandardScaler(), DPPCA(2)).fit(IRIS.data, np.where(SEEN, NAMES, None))
NUMBERS = SPPCA(3).fit(DIABETES.data[:100], DIABETES.target[:100] + 0.5)


def test_numbers_with_their_intervals():
    X, y = DIABETES.data[100:], DIABETES.target[100:] + 0.5
    display = PredictionDisplay.from_estimator(NUMBERS, X, y, target_name="$progress$")
    mean, std = NUMBERS.predict(X, return_std=True)
    assert_allclose([display.truth, display.values, display.std], [y, mean, std])
    said = display.figures
    assert said["rmse"] == pytest.approx(root_mean_squared_error(y, mean))
    assert said["r2"] == pytest.approx(r2_score(y, mean))
    assert said["covered"] == pytest.approx((np.abs(y - mean) <= 1.96 * std).mean(), abs=0.005)
    inside = round(said["covered"] * len(y))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [f"within its 95 % interval: {inside}", f"outside its 95 % interval: {len(y) - inside}"]
    display.figure_.canvas.draw()


def test_rows_without_a_target_are_left_out():
    y = DIABETES.target[100:].astype(float) + 0.5
    y[::2] = np.nan
    display = PredictionDisplay.from_estimator(NUMBERS, DIABETES.data[100:], y)
    assert_allclose(display.truth, y[1::2])
    with pytest.raises(ValueError, match="y has no row with a target"):
        PredictionDisplay.from_estimator(NUMBERS, DIABETES.data[100:], np.full(342, np.nan))


def test_the_confusion_matrix():
    X, y = IRIS.data[~SEEN], NAMES[~SEEN]
    display = PredictionDisplay.from_estimator(CLASSES, X, y)
    wanted = confusion_matrix(y.astype(str), CLASSES.predict(X).astype(str))
    drawn = np.zeros((3, 3), dtype=int)
    for text in display.ax_.texts:
        column, row = text.get_position()
        drawn[int(row), int(column)] = int(text.get_text())
    assert drawn.tolist() == wanted.tolist()
    assert display.figures["accuracy"] == pytest.approx(np.trace(wanted) / len(y))
    display.figure_.canvas.draw()


def test_reliability():
    X, y = IRIS.data[~SEEN], NAMES[~SEEN]
    display = PredictionDisplay.from_estimator(CLASSES, X, y, kind="reliability")
    proba, right = CLASSES.predict_proba(X), CLASSES.predict(X) == y
    sure, error = proba.max(axis=1), 0.0
    for low in np.arange(10) / 10:
        inside = (sure >= low) & (sure < low + 0.1 + (low == 0.9))
        error += abs((right[inside] - sure[inside]).sum()) / len(y)
    assert display.figures["calibration_error"] == pytest.approx(error)
    (points,) = [one for one in display.ax_.collections if len(one.get_offsets()) and one.get_zorder() == 3]
    low, high = points.get_offsets()[:, 1].min(), points.get_offsets()[:, 1].max()
    assert 0.0 <= low <= high <= 1.0


def test_one_of_several_targets():
    y = np.column_stack([DIABETES.target[:100] + 0.5, DIABETES.data[:100, 2]])
    model = SPPCA(3).fit(DIABETES.data[:100], y)
    display = PredictionDisplay.from_estimator(model, DIABETES.data[:100], y, output=1)
    assert_allclose(display.truth, y[:, 1])


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (NUMBERS, "confusion", "is not of a target that is numbers"),
        (CLASSES, "numbers", "is not of a target that is classes"),
        (CLASSES, "roc", "kind='roc' must be one of 'auto', 'numbers', 'confusion', 'reliability'"),
        (PPCA(2).fit(IRIS.data), "auto", "PPCA predicts no target"),
    ],
)
def test_what_cannot_be_drawn_says_why(model, kind, message):
    X, y = (DIABETES.data, DIABETES.target) if model is NUMBERS else (IRIS.data, NAMES)
    with pytest.raises(ValueError, match=message):
        PredictionDisplay.from_estimator(model, X, y, kind=kind)


def test_of_the_default_model():
    model = GuidedProjection().fit(IRIS.data, np.where(SEEN, IRIS.target, -1))
    assert PredictionDisplay.from_estimator(model, IRIS.data, IRIS.target).figures["accuracy"] > 0.9
