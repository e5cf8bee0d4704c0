"""Names in a picture: how many may be there, and that none covers another."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from gnomon.plotting._names import GAP, apart, may_be_named, spread, uncovered


@pytest.mark.parametrize(
    "names, may",
    [(["a"], False), (["a", "b"], True), (["a"] * 12, True), (["a"] * 13, False), (["a", "b" * 25], False)],
)
def test_few_short_names_may_stand_in_the_picture(names, may):
    assert may_be_named(list(names)) == may


@pytest.mark.parametrize("seed", range(5))
def test_boxes_come_apart(seed):
    rng = np.random.default_rng(seed)
    centers, sizes = rng.normal(size=(8, 2)) * 25, rng.uniform(10, 40, size=(8, 2))
    found = apart(centers, sizes)
    for i in range(8):
        for j in range(i):
            assert (np.abs(found[i] - found[j]) >= (sizes[i] + sizes[j]) / 2 + 0.5 * GAP).any()
    assert_allclose(found.mean(axis=0), centers.mean(axis=0))


def test_boxes_that_are_apart_stay():
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    assert_allclose(apart(centers, np.full((3, 2), 20.0)), centers)


def test_boxes_go_the_shorter_way():
    found = apart(np.array([[0.0, 0.0], [1.0, 2.0]]), np.full((2, 2), 10.0))
    assert_allclose(found, [[0.0, -5.5], [1.0, 7.5]])


def test_texts_that_are_there_are_not_covered():
    ax = Figure().subplots()
    ax.plot([0.0, 1.0], [0.0, 1.0])
    ax.annotate("a class", (0.5, 0.5), ha="center", va="center", bbox={})
    look = {"xytext": (0, 0), "textcoords": "offset points", "ha": "center", "va": "center", "bbox": {}}
    texts = [ax.annotate(name, (0.5, 0.5), arrowprops={"arrowstyle": "-"}, **look) for name in ("one", "two")]
    spread(ax, texts, np.array([[0.0, 0.0]]), np.ones(1))
    ax.figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(3) for j in range(i))


def test_boxes_that_are_kept_stay_and_others_go_round_them():
    found = apart(np.array([[0.0, 0.0], [1.0, 2.0]]), np.full((2, 2), 10.0), 1)
    assert_allclose(found, [[0.0, 0.0], [1.0, 13.0]])


BOUNDS = (-100.0, -100.0, 100.0, 100.0)
SIZE = np.array([[20.0, 10.0]])


def covered(center, points):
    return int((np.abs(points - center) < SIZE[0] / 2).all(axis=1).sum())


def test_a_name_goes_where_it_covers_nothing(rng):
    points = rng.uniform(-12, 12, size=(300, 2))
    (found,) = uncovered(np.zeros((1, 2)), SIZE, points, np.ones(300), BOUNDS)
    assert covered(np.zeros(2), points) > 50
    assert covered(found, points) == 0
    assert np.abs(found).max() < 40


def test_a_name_covers_unlabeled_rows_before_labeled_ones():
    points = np.array([[0.0, 0.0], [30.0, 0.0], [-30.0, 0.0]])
    middle = np.zeros((1, 2))
    assert_allclose(uncovered(middle, SIZE, points[1:], np.ones(2), BOUNDS), middle)
    assert_allclose(uncovered(middle, SIZE, points, np.array([1.0, 6.0, 6.0]), BOUNDS), middle)
    assert np.abs(uncovered(middle, SIZE, points, np.array([6.0, 1.0, 1.0]), BOUNDS)).max() > 5.0


def test_names_stay_in_the_picture_and_avoid_one_another():
    middles = np.array([[99.0, 99.0], [99.0, 98.0], [0.0, 0.0]])
    found = uncovered(middles, np.repeat(SIZE, 3, axis=0), np.empty((0, 2)), np.empty(0), BOUNDS)
    assert (found + SIZE / 2 <= 100.0).all()
    assert (np.abs(found[0] - found[1]) >= SIZE[0]).any()
    assert_allclose(found[2], [0.0, 0.0])
    taken = np.zeros((1, 2))
    (found,) = uncovered(np.zeros((1, 2)), np.repeat(SIZE, 2, axis=0), np.empty((0, 2)), np.empty(0), BOUNDS, taken)
    assert (np.abs(found) >= SIZE[0]).any()
