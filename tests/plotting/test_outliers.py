"""Rows against the limits of T2 and SPE, as drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import KDA, PPCA, SPPCA
from gnomon.describe import describe
from gnomon.plotting import OutlierDisplay
from gnomon.plotting.outliers import unlike

X, y = load_iris(return_X_y=True)


def test_rows_are_drawn_in_parts_of_their_limits():
    model = SPPCA(2).fit(X, y)
    display = OutlierDisplay.from_estimator(model, X)
    usual, far = model.control_limits(0.05), model.control_limits(0.01)
    t2, spe = model.hotelling_t2(X), model.spe(X)
    assert_allclose(display.t2, t2 / usual.t2)
    assert_allclose(display.spe, spe / usual.spe)
    assert_allclose(display.limits, [far.t2 / usual.t2, far.spe / usual.spe])
    assert sorted(display.beyond) == np.flatnonzero((t2 > far.t2) | (spe > far.spe)).tolist()
    within, beyond = display.ax_.collections
    assert len(within.get_offsets()) + len(beyond.get_offsets()) == 150
    assert_allclose(beyond.get_offsets(), np.column_stack([display.t2, display.spe])[display.beyond])


def test_rows_beyond_are_named_as_the_user_names_them():
    names = [f"$flower {i}$" for i in range(150)]
    display = OutlierDisplay.from_estimator(make_pipeline(StandardScaler(), PPCA(2)).fit(X), X, row_ids=names)
    said = [text.get_text() for text in display.ax_.texts]
    assert said == [names[i] for i in display.beyond[: len(said)]]
    display.figure_.canvas.draw()


def test_far_rows_leave_the_limits_in_sight():
    display = OutlierDisplay.from_estimator(PPCA(2).fit(X), np.vstack([X, 50.0 * X[:1]]))
    assert display.ax_.get_yscale() == "symlog"
    assert display.beyond[0] == 150


def test_a_model_without_limits_says_so():
    with pytest.raises(ValueError, match="KDA has no limits of T2 and SPE"):
        OutlierDisplay.from_estimator(KDA(2).fit(X, y), X)


def test_neither_names_nor_the_legend_cover_anything():
    crowd = np.vstack([X, X[:12] + 9.0])
    display = OutlierDisplay.from_estimator(PPCA(2).fit(X), crowd, row_ids=[f"flower {i}" for i in range(162)])
    display.figure_.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in display.ax_.texts]  # without their leaders
    assert len(boxes) == 10
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert not display.ax_.get_legend().get_window_extent().overlaps(display.ax_.bbox)


def test_real_rows_are_not_beyond_limits_all_the_time():
    display = OutlierDisplay.from_estimator(SPPCA(2).fit(X, y), X)
    assert len(display.beyond) <= 0.03 * len(X)


def test_rows_are_as_unlike_as_the_worse_of_both_says():
    model = PPCA(2).fit(X)
    far = model.control_limits(0.01)
    parts = np.column_stack([model.hotelling_t2(X) / far.t2, model.spe(X) / far.spe])
    assert set(parts.argmax(axis=1)) == {0, 1}
    assert_allclose(unlike(describe(model), X), parts.max(axis=1))
