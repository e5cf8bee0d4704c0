"""The scatter shows the rows where the model puts them, and regions that hold what they say."""

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Ellipse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import scale

from gnomon import PPCA, SPPCA
from gnomon.plotting import BiplotDisplay, OutlierDisplay, PredictionDisplay, ProjectionDisplay
from gnomon.plotting._style import NEUTRAL, class_style, far_points
from gnomon.plotting.projection import RADIUS_95

NAMES = np.array(["$barolo", "_grignolino", "barbera"], dtype=object)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    labeled = np.random.default_rng(2).random(len(y)) < 0.2
    seen = np.where(labeled, NAMES[y], None)
    return X, seen, labeled, SPPCA(3).fit(X, seen)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    seen = np.where(np.random.default_rng(2).random(len(y)) < 0.2, y, np.nan)
    return X, seen, np.isfinite(seen)


def points(collections):
    return np.vstack([c.get_offsets() for c in collections])


def ellipses(ax):
    return [patch for patch in ax.patches if isinstance(patch, Ellipse)]


def legend(display):
    return [text.get_text() for text in display.figure_.legends[0].get_texts()]


def test_labeled_rows_are_solid_with_an_edge_and_the_others_faint(wine):
    X, seen, labeled, model = wine
    ax = ProjectionDisplay.from_estimator(model, X, seen).ax_
    solid = [c for c in ax.collections if c.get_linewidths()[0] > 0 and len(c.get_offsets())]
    faint = [c for c in ax.collections if c.get_linewidths()[0] == 0 and len(c.get_offsets())]
    Z = model.transform(X)[:, :2]
    for drawn, rows in ((solid, labeled), (faint, ~labeled)):
        assert_allclose(np.sort(points(drawn), axis=0), np.sort(Z[rows], axis=0))
    assert min(c.get_sizes()[0] for c in solid) > 2 * max(c.get_sizes()[0] for c in faint)
    assert max(c.get_alpha() for c in faint) <= 0.5


def test_colors_are_labels_where_known_and_predictions_elsewhere(wine):
    X, seen, labeled, model = wine
    display = ProjectionDisplay.from_estimator(model, X, seen)
    codes = {name: code for code, name in enumerate(model.classes_)}
    expected = [codes[s if s is not None else p] for s, p in zip(seen, model.predict(X))]
    assert_array_equal(display.values, expected)
    assert_array_equal(display.labeled, labeled)
    drawn = {tuple(c.get_facecolor()[0][:3]) for c in display.ax_.collections if len(c.get_offsets())}
    assert drawn == {to_rgba(class_style(code)[0])[:3] for code in range(3)}


def test_classes_differ_by_shape_as_well_as_color():
    first = [class_style(code) for code in range(7)]
    assert [len(set(part)) for part in zip(*first, strict=True)] == [7, 7]
    assert len({class_style(code) for code in range(49)}) == 49


def test_names_are_shown_literally(wine):
    X, seen, _, model = wine
    display = ProjectionDisplay.from_estimator(model, X, seen)
    display.figure_.canvas.draw()
    rest = ["labeled", "unlabeled (prediction)", "95 % region of a row", "beyond a 99 % limit"]
    assert legend(display) == rest
    assert [text.get_text() for text in display.ax_.texts] == model.classes_.tolist()
    display.direct = False
    display.plot().figure_.canvas.draw()
    assert legend(display) == [*model.classes_, *rest]
    assert not display.ax_.texts
    for text in (*display.figure_.legends[0].get_texts(), *ProjectionDisplay.from_estimator(model, X, seen).ax_.texts):
        assert not text.get_parse_math()


def test_names_stand_on_the_labeled_rows_of_their_class_and_apart(wine):
    X, seen, labeled, model = wine
    display = ProjectionDisplay.from_estimator(model, X, seen)
    Z = model.transform(X)[:, :2]
    for text, name in zip(display.ax_.texts, model.classes_, strict=True):
        assert_allclose(text.xy, np.median(Z[labeled & (seen == name)], axis=0))
    display.projection = 0.01 * display.projection + [[5.0, 5.0]]
    display.n_ellipses = 0
    display.plot().figure_.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in display.ax_.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_legends_of_two_pictures_in_a_figure_are_apart(wine):
    X, seen, _, model = wine
    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for ax in axes:
        ProjectionDisplay.from_estimator(model, X, seen, ax=ax)
    figure.canvas.draw()
    assert not figure.legends
    boxes = [ax.get_legend().get_window_extent() for ax in axes]
    assert not boxes[0].overlaps(boxes[1])
    assert not any(ax.get_window_extent().overlaps(box) for ax in axes for box in boxes)


def test_two_components_have_one_scale(wine):
    X, seen, _, model = wine
    for display in (ProjectionDisplay.from_estimator(model, X, seen), BiplotDisplay.from_estimator(model, X, seen)):
        display.figure_.canvas.draw()
        (ox, oy), (ax, ay) = display.ax_.transData.transform([(0, 0), (1, 1)])
        assert_allclose(ax - ox, ay - oy, rtol=5e-3)


def test_the_rows_that_are_least_like_the_others_have_a_ring(wine):
    X, seen, _, model = wine
    X = X.copy()
    X[[7, 90]] *= 30.0
    display = ProjectionDisplay.from_estimator(model, X, seen)
    rings = next(line for line in display.ax_.lines if line.get_marker() == "o")
    Z = model.transform(X)[:, :2]
    assert_allclose(np.column_stack(rings.get_data())[:2], Z[np.argsort(-display.unlike)[:2]])
    assert set(np.argsort(-display.unlike)[:2]) == {7, 90}
    odd = OutlierDisplay.from_estimator(model, X).beyond
    assert_array_equal(display.marked, odd[:20])
    plain = ProjectionDisplay.from_estimator(model, X[100:110], seen[100:110], n_ellipses=0)
    assert (plain.unlike < 1.0).all()
    assert not plain.ax_.lines


def test_regions_hold_95_percent():
    cov = np.array([[2.0, 0.9], [0.9, 0.7]])
    display = ProjectionDisplay(
        projection=np.array([[1.0, -2.0]]), covariance=cov, labeled=np.array([False]), values=np.array([np.nan])
    ).plot()
    (ellipse,) = ellipses(display.ax_)
    edge = ellipse.get_patch_transform().transform(ellipse.get_path().vertices[:-1:3]) - [1.0, -2.0]
    distance = np.einsum("ij,jk,ik->i", edge, np.linalg.inv(cov), edge)
    assert len(distance) == 9  # where the splines of the path meet
    assert_allclose(distance, chi2.ppf(0.95, 2), rtol=1e-6)
    assert_allclose([RADIUS_95[d] ** 2 for d in (1, 2)], chi2.ppf(0.95, [1, 2]), rtol=1e-6)


def test_covariances_may_differ_row_by_row():
    cov = np.stack([np.diag([1.0, 0.25]), np.diag([4.0, 0.01])])
    display = ProjectionDisplay(
        projection=np.array([[0.0, 0.0], [9.0, 9.0]]),
        covariance=cov,
        labeled=np.zeros(2, dtype=bool),
        values=np.full(2, np.nan),
    ).plot()
    widths = sorted(ellipse.width for ellipse in ellipses(display.ax_))
    assert_allclose(widths, [2 * RADIUS_95[2] * 1.0, 2 * RADIUS_95[2] * 2.0])


def test_dims_choose_components_and_their_covariance(wine):
    X, seen, _, model = wine
    display = ProjectionDisplay.from_estimator(model, X, seen, dims=(2, 0))
    Z, cov = model.transform(X, return_cov=True)
    assert_allclose(display.projection, Z[:, [2, 0]])
    assert_allclose(display.covariance, cov[:, [2, 0]][:, :, [2, 0]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("component 3", "component 1")


@pytest.mark.parametrize("flat, times", [(0.6, 1), (0.24, 2), (0.07, 4), (1e-5, 1), (0.0, 1)])
def test_a_component_that_would_be_a_thin_band_is_stretched_as_its_axis_says(flat, times):
    circle = np.exp(2j * np.pi * np.arange(40) / 40)
    Z = np.column_stack([circle.real, flat * circle.imag])
    look = {"covariance": None, "labeled": np.zeros(40, dtype=bool), "values": np.full(40, np.nan)}
    said = f", stretched {times} times" if times > 1 else ""
    for places, names, shape in (
        (Z, ("component 1", f"component 2{said}"), times),
        (Z[:, ::-1], (f"component 1{said}", "component 2"), 1 / times),
    ):
        ax = ProjectionDisplay(projection=places, **look).plot().ax_
        assert (ax.get_xlabel(), ax.get_ylabel()) == names
        ax.figure.canvas.draw()
        here, right, above = ax.transData.transform([[0, 0], [1, 0], [0, 1]])
        assert (above - here)[1] / (right - here)[0] == pytest.approx(shape)


@pytest.mark.parametrize("dims", [(0, 3), (0, 1, 2), (), (-1, 0)])
def test_dims_that_do_not_exist_are_refused(wine, dims):
    X, seen, _, model = wine
    with pytest.raises(ValueError, match="below 3"):
        ProjectionDisplay.from_estimator(model, X, seen, dims=dims)


@pytest.mark.parametrize("Display", [ProjectionDisplay, BiplotDisplay, PredictionDisplay])
def test_labels_of_other_rows_are_refused(wine, Display):
    X, seen, _, model = wine
    with pytest.raises(ValueError, match=rf"y has 5 rows, X has {len(X)}; one for each row of X is wanted"):
        Display.from_estimator(model, X, seen[:5])


def test_regions_are_few_and_on_labeled_rows(wine):
    X, seen, labeled, model = wine
    shown = ellipses(ProjectionDisplay.from_estimator(model, X, seen, n_ellipses=5).ax_)
    centers = np.array([ellipse.center for ellipse in shown])
    gaps = np.abs(centers[:, None] - model.transform(X)[labeled][None, :, :2]).sum(axis=2)
    assert len(shown) == 5
    assert_allclose(gaps.min(axis=1), 0, atol=1e-12)
    assert not ellipses(ProjectionDisplay.from_estimator(model, X, seen, n_ellipses=0).ax_)


def test_ten_thousand_rows_stay_readable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4)) * [3, 2, 1, 1]
    y = np.where(rng.random(10_000) < 0.02, (X[:, 0] > 0).astype(int), -1)
    display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, y), X, y)
    assert len(ellipses(display.ax_)) == 12
    assert all(c.get_rasterized() for c in display.ax_.collections)
    faint = [c for c in display.ax_.collections if len(c.get_offsets()) > 1000]
    assert faint
    assert all(c.get_alpha() < 0.2 for c in faint)


def crowd(n=12_000):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4))
    X[:, :3] += 6.0 * np.eye(3)[kind]
    return X, kind, np.where(rng.random(n) < 0.01, kind, -1)


def test_many_rows_are_an_image_of_their_density():
    X, kind, y = crowd()
    model = SPPCA(2).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    (image,) = display.ax_.images
    drawn = points([c for c in display.ax_.collections if isinstance(c, PathCollection) and len(c.get_offsets())])
    assert (y >= 0).sum() < len(drawn) < 0.02 * len(X)  # the labeled rows and the few outside
    rgba, (left, right, low, high) = image.get_array(), image.get_extent()
    Z = model.transform(X)
    for code in range(3):  # the middle of a class has its color
        at = (np.median(Z[kind == code], axis=0) - [left, low]) / [right - left, high - low] * rgba.shape[1::-1]
        cell = rgba[int(at[1]), int(at[0])]
        assert_allclose(cell[:3], to_rgba(class_style(code)[0])[:3], atol=0.05)
        assert cell[3] > 0.5
    assert rgba[..., 3].min() == 0.0


def test_many_labeled_rows_are_in_the_image_too():
    X, kind, _ = crowd()
    display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, kind), X, kind)
    drawn = [c for c in display.ax_.collections if isinstance(c, PathCollection) and len(c.get_offsets())]
    assert len(points(drawn)) < 0.02 * len(X)


def test_many_rows_with_numbers_have_their_colors():
    X, _, _ = crowd()
    y = np.where(np.arange(len(X)) < 200, X[:, 0], np.nan)
    display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, y), X, y)
    (image,) = display.ax_.images
    assert len(np.unique(image.get_array()[..., :3].reshape(-1, 3), axis=0)) > 100
    assert len(display.figure_.axes) == 2


def test_real_targets_have_a_color_bar(diabetes):
    X, seen, labeled = diabetes
    model = SPPCA(2).fit(X, seen)
    display = ProjectionDisplay.from_estimator(model, X, seen, target_name="a_$_b")
    assert_allclose(display.values, np.where(labeled, seen, model.predict(X)))
    bar = display.figure_.axes[1]
    assert bar.get_ylabel() == "a_$_b"
    assert_allclose(bar.get_ylim(), [display.values.min(), display.values.max()])
    display.figure_.canvas.draw()


def test_one_of_several_outputs_gives_the_color(diabetes):
    X, seen, _ = diabetes
    Y = np.column_stack([seen, np.where(np.arange(len(X)) % 3, np.nan, X[:, 2])])
    model = SPPCA(2).fit(X, Y)
    display = ProjectionDisplay.from_estimator(model, X, Y, output=1)
    assert_array_equal(display.labeled, np.isfinite(Y[:, 1]))
    assert_allclose(display.values[display.labeled], Y[display.labeled, 1])


def test_one_component_and_a_real_target_make_a_curve(diabetes):
    X, seen, labeled = diabetes
    model = SPPCA(1).fit(X, seen)
    display = ProjectionDisplay.from_estimator(model, X, seen, target_name="progression")
    solid = [c for c in display.ax_.collections if isinstance(c, PathCollection)][-1]
    assert_allclose(solid.get_offsets(), np.column_stack([model.transform(X)[labeled], seen[labeled]]))
    assert display.ax_.get_ylabel() == "progression"
    Z, cov = (part.ravel() for part in model.transform(X, return_cov=True))
    bars = [line for line in display.ax_.collections if hasattr(line, "get_segments")]
    for bar in bars:
        ends = bar.get_segments()[0][:, 0]
        row = np.argmin(np.abs(Z - ends.mean()))
        assert_allclose(np.ptp(ends), 2 * RADIUS_95[1] * np.sqrt(cov[row]), rtol=1e-3)


def test_one_component_and_classes_make_lanes(wine):
    X, seen, _, _ = wine
    model = SPPCA(1).fit(X, seen)
    display = ProjectionDisplay.from_estimator(model, X, seen)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list(model.classes_)
    lanes = display._points()[:, 1]
    assert_array_equal(np.round(lanes), display.values)


def test_no_targets_at_all(wine):
    X = wine[0]
    display = ProjectionDisplay.from_estimator(PPCA(2).fit(X), X)
    assert not display.labeled.any()
    assert len(ellipses(display.ax_)) == 12
    assert to_rgba(NEUTRAL)[:3] == tuple(display.ax_.collections[0].get_facecolor()[0][:3])


def test_an_unsupervised_model_can_be_drawn_with_labels(wine, diabetes):
    X, seen, labeled, _ = wine
    display = ProjectionDisplay.from_estimator(PPCA(2).fit(X), X, seen)
    assert_array_equal(display.labeled, labeled)
    assert_array_equal(np.isfinite(display.values), labeled)  # nothing is predicted
    assert "unlabeled" in legend(display)
    X, seen, labeled = diabetes
    display = ProjectionDisplay.from_estimator(PPCA(2).fit(X), X, seen)
    assert_allclose(display.values, seen)
    assert len(display.figure_.axes) == 2


@pytest.mark.filterwarnings("ignore:y marks every row as unlabeled")
@pytest.mark.parametrize("y", [np.full(178, -1), np.full(178, np.nan)])
def test_a_model_that_saw_no_label_has_nothing_to_predict(wine, y):
    X = wine[0]
    display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, y), X, y)
    assert not display.labeled.any()
    assert np.isnan(display.values).all()


def test_an_axes_is_used_when_given(wine):
    X, seen, _, model = wine
    figure, ax = plt.subplots()
    display = ProjectionDisplay.from_estimator(model, X, seen, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_points_that_lie_far_apart_come_first():
    line = np.array([[0.0], [1.0], [2.0], [10.0]])
    assert_array_equal(far_points(line, 3), [3, 0, 2])
    assert_array_equal(far_points(line, 9), [0, 1, 2, 3])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    rows = SimpleNamespace(
        projection=np.zeros((1, 2)), covariance=np.eye(2), labeled=np.array([False]), values=np.array([np.nan])
    )
    with pytest.raises(ImportError, match=r"gnomon\[plot\]"):
        ProjectionDisplay(**vars(rows)).plot()


@pytest.mark.filterwarnings("error")
def test_long_names_leave_room_for_the_picture(wine):
    X, seen, _, _ = wine
    long = np.array([None if name is None else name + 180 * "x" + f"end of {name}" for name in seen], dtype=object)
    display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, long), X, long)
    display.figure_.canvas.draw()
    assert display.ax_.get_position().width > 0.4
    shown = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert len(set(shown)) == len(shown)
    assert any(text.startswith("barberaxxx") and text.endswith("end of barbera") for text in shown)
