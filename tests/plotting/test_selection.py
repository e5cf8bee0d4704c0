"""The dots stand where the scores are, and the chosen candidate is told apart."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA
from gnomon.plotting import SelectionDisplay
from gnomon.selection import GuidedSearch, SearchResults


def results(chosen):
    rows = [
        {"preprocessing": "rows", "model": f"m{i}", "settings": {}, "score": score, "baseline": i == 2, "note": None}
        for i, score in enumerate([0.2, 0.9, 0.5, None])
    ]
    return SearchResults(rows, chosen, "classes", "")


def points(display):
    return {dots.get_label(): np.asarray(dots.get_offsets()).tolist() for dots in display.ax_.collections}


def test_each_kind_of_candidate_has_its_dots():
    display = SelectionDisplay.from_search(results(1))
    assert points(display) == {"chosen": [[0.9, 3]], "model": [[0.2, 1]], "baseline": [[0.5, 2]]}
    names = {y: label.get_text() for y, label in zip(display.ax_.get_yticks(), display.ax_.get_yticklabels())}
    assert names == {3: "m1 on rows", 2: "m2 on rows", 1: "m0 on rows"}


def test_the_chosen_one_is_drawn_however_few_are_asked_for():
    ax = plt.subplots()[1]
    display = SelectionDisplay.from_search(results(0), most=1, ax=ax)
    assert display.ax_ is ax
    assert_allclose(display.scores, [0.9, 0.2])
    assert points(display)["chosen"] == [[0.2, 1]]


@pytest.mark.parametrize(
    "given, said",
    [
        (PPCA(2), "PPCA holds no SearchResults"),
        (make_pipeline(StandardScaler(), PPCA(2)), "Pipeline holds no SearchResults"),
        (3, "int holds no SearchResults"),
        ({"rows": []}, "dict holds no SearchResults"),
        (GuidedSearch(), "GuidedSearch holds no SearchResults"),
        (None, "search=None; a fitted GuidedSearch"),
    ],
)
def test_what_is_no_search_is_refused_in_one_line(given, said):
    with pytest.raises(TypeError, match=said) as found:
        SelectionDisplay.from_search(given)
    assert "\n" not in str(found.value)


def test_the_label_below_is_not_cut():
    display = SelectionDisplay.from_search(results(1))
    display.names = [f"a candidate with a name as long as they come, number {i}, on neighbors" for i in range(3)]
    display.plot()
    display.figure_.canvas.draw()
    label, page = display.ax_.xaxis.label.get_window_extent(), display.figure_.bbox
    assert page.x0 <= label.x0 < label.x1 <= page.x1
    assert page.y0 <= label.y0


def test_a_pipeline_of_a_search_is_drawn_as_the_search():
    X, y = load_iris(return_X_y=True)
    seen = np.where(np.arange(150) % 10 == 0, y, -1)
    search = GuidedSearch(["SPPCA"], preprocessing=["rows"], baselines=False, n_splits=1, n_permutations=0)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, seen)
    display = SelectionDisplay.from_search(pipeline)
    assert display.names == SelectionDisplay.from_search(pipeline[-1]).names
