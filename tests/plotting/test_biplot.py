"""A projection with arrows for its columns, as drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from gnomon import PPCA, GuidedProjection
from gnomon.plotting import BiplotDisplay

IRIS = load_iris()


def arrows(display):
    return [text for text in display.ax_.texts if text.get_text() == ""]


@pytest.mark.parametrize("model", [PPCA(2), GuidedProjection()])
def test_arrows_point_where_their_columns_are_large(model):
    model.fit(IRIS.data, IRIS.target)
    display = BiplotDisplay.from_estimator(model, IRIS.data, IRIS.target, feature_names=["$a$", "b", "c", "d"])
    Z = display.rows.projection
    wanted = np.array([[np.corrcoef(x, z)[0, 1] for z in Z.T] for x in IRIS.data.T])
    assert_allclose(display.correlations, wanted, atol=1e-10)
    lengths = (wanted**2).sum(axis=1)
    assert display.top.tolist() == np.argsort(-lengths, kind="stable").tolist()
    center = Z.mean(axis=0)
    for arrow, j in zip(arrows(display), display.top, strict=True):
        away = np.array(arrow.xy) - center
        assert (np.sign(away) == np.sign(wanted[j])).all()
    display.figure_.canvas.draw()


def test_names_of_columns_that_go_together_stand_apart():
    """Twelve channels of a spectrum have arrows to one place."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) * np.linspace(1, 1.2, 12) + rng.normal(0, 0.05, (60, 12))
    y = np.where(X[:, 0] > 0, "large", "small")
    display = BiplotDisplay.from_estimator(PPCA(2).fit(X), X, y, feature_names=[f"wavelength {j}" for j in range(12)])
    display.figure_.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in display.ax_.texts if text.get_text()]
    assert len(boxes) == 12  # ten names, and those of two classes
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_the_longest_arrows_are_drawn_and_constant_columns_have_none():
    X = np.column_stack([IRIS.data, np.zeros(150)])
    model = PPCA(2).fit(X)
    assert len(arrows(BiplotDisplay.from_estimator(model, X, n_top=2))) == 2
    assert 4 not in BiplotDisplay.from_estimator(model, X, n_top=9).top


def test_two_components_are_wanted():
    model = PPCA(3).fit(IRIS.data)
    assert BiplotDisplay.from_estimator(model, IRIS.data, dims=(2, 0)).ax_.get_xlabel() == "component 3"
    for dims in ((0,), (0, 1, 2)):
        with pytest.raises(ValueError, match="must be two components"):
            BiplotDisplay.from_estimator(model, IRIS.data, dims=dims)
