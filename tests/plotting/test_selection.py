"""The dots stand where the scores are, and the chosen candidate is told apart."""

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


def test_a_pipeline_of_a_search_is_drawn_as_the_search():
    X, y = load_iris(return_X_y=True)
    seen = np.where(np.arange(150) % 10 == 0, y, -1)
    search = GuidedSearch(["SPPCA"], preprocessing=["rows"], baselines=False, n_splits=1, n_permutations=0)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, seen)
    display = SelectionDisplay.from_search(pipeline)
    assert display.names == SelectionDisplay.from_search(pipeline[-1]).names
