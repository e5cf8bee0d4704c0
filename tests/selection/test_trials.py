"""What a search tries: settings in two rounds, preprocessing once, wide rows in few coordinates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.preprocessing import Normalizer

from gnomon import NeighborFeatures
from gnomon.selection import Candidate, GuidedSearch, candidates
from gnomon.selection.baselines import RidgeLDA
from gnomon.selection.stability import ClassHalves, Score
from gnomon.selection.trials import Trials, _Trial
from selection.drawn import blobs, few_labels

QUICK = {"preprocessing": ["rows"], "n_splits": 1, "n_permutations": 0}
LDA = Candidate("LDA", RidgeLDA(), finer=({"shrinkage": 0.5},), sized=True)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_preprocessing_is_computed_once(iris, monkeypatch):
    made = []

    class Counted(NeighborFeatures):
        def fit_transform(self, X, y=None):
            made.append(len(X))
            return super().fit_transform(X)

    monkeypatch.setitem(candidates.PREPROCESSING, "neighbors", Counted)
    X, y = iris
    GuidedSearch([LDA], preprocessing=["neighbors"], n_splits=1, n_permutations=3).fit(X, few_labels(y, 4))
    assert made == [150]


def test_settings_are_compared_only_where_halves_have_two_rows_per_class():
    X, y = blobs(distance=1.5)
    for per_class, wanted in ((3, [{}]), (4, [{}, {"shrinkage": 0.5}])):
        search = GuidedSearch([LDA], **QUICK).fit(X, few_labels(y, per_class))
        assert [row["settings"] for row in search.results_.rows if row["model"] == "LDA"] == wanted


class Counted(RidgeLDA):
    """Its shrinkage may be "usual", which becomes a number in fit."""

    def fit(self, X, y):
        self.shrinkage_ = 0.25 if self.shrinkage == "usual" else self.shrinkage
        return RidgeLDA(self.n_components, shrinkage=self.shrinkage_).fit(X, y)._give_to(self)


def _give_to(self, other):
    other.__dict__ |= {name: value for name, value in self.__dict__.items() if name.endswith("_")}
    return other


Counted._give_to = RidgeLDA._give_to = _give_to


def test_a_setting_that_another_name_stands_for_is_fitted_once():
    X, y = blobs(distance=1.5)
    finer = ({"shrinkage": 0.25}, {"shrinkage": 0.5})
    one = Candidate("LDA", Counted(), {"shrinkage": "usual"}, finer, sized=True)
    search = GuidedSearch([one], **QUICK).fit(X, few_labels(y, 5))
    tried = [row["settings"]["shrinkage"] for row in search.results_.rows if row["model"] == "LDA"]
    assert tried == ["usual", 0.5]


@pytest.mark.slow
def test_the_usual_number_of_factors_is_tried_once_from_400_rows_up():
    X, y = blobs(n_per_class=200, n_classes=2, p=45, distance=1.2)
    dppca = candidates.CLASS_CANDIDATES[0]
    factors = [name for name in dppca.settings if dppca.settings[name] == "usual"]
    few = Candidate("DPPCA", dppca.estimator, dppca.settings, tuple({factors[0]: P} for P in (20, 40)), sized=True)
    search = GuidedSearch([few], **QUICK).fit(X, few_labels(y, 6))
    tried = [row["settings"][factors[0]] for row in search.results_.rows if row["model"] == "DPPCA"]
    assert tried == ["usual", 20]


def test_numbers_have_no_neighborhoods_and_it_is_said():
    X, y = blobs()
    search = GuidedSearch([("ridge", Ridge())], n_splits=1, n_permutations=0).fit(
        X, np.where(np.arange(60) < 20, X[:, 0], np.nan)
    )
    noted = {row["preprocessing"]: row["note"] for row in search.results_.rows if row["model"] == "ridge"}
    assert noted["neighbors"] == "neighborhoods are for classes"
    assert noted["rows"] is None


def test_small_classes_have_no_neighbors(iris):
    X, y = iris
    rows = np.concatenate([np.arange(c, c + 29) for c in (0, 50, 100)])
    for kept, reason in (
        (rows, "classes of about 29 rows are smaller than neighborhoods"),
        (slice(None), None),
    ):
        search = GuidedSearch(["ridge LDA"], n_splits=1, n_permutations=0).fit(X[kept], few_labels(y[kept], 3))
        assert {row["note"] for row in search.results_.rows if row["preprocessing"] == "neighbors"} == {reason}
    asked = {"preprocessing": ["neighbors"], "n_splits": 1, "n_permutations": 0}
    search = GuidedSearch(["ridge LDA"], **asked).fit(X[rows], few_labels(y[rows], 3))
    assert search.results_.rows[0]["note"] is None  # asked for by name


class Noted(RidgeLDA):
    seen = ()

    def fit(self, X, y):
        Noted.seen = [*Noted.seen, (X.shape, self.shrinkage)]
        return super().fit(X, y)


def test_halves_with_one_row_per_class_are_fitted_with_settings_of_their_own():
    X, y = blobs()
    for per_class, in_halves in ((3, 0.25), (4, 0.5)):
        Noted.seen = ()
        mine = Candidate("noted", Noted(), {"shrinkage": 0.5}, poor={"shrinkage": 0.25}, sized=True)
        search = GuidedSearch([mine], **QUICK).fit(X, few_labels(y, per_class))
        assert [shrinkage for _, shrinkage in Noted.seen] == [in_halves, in_halves, 0.5]
        assert search.results_.chosen_row["settings"] == {"shrinkage": 0.5}


def _always(settings):
    return True


@pytest.mark.parametrize("narrow, width", [(_always, 150), (None, 320)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_wide_table_is_scored_in_few_coordinates_where_the_settings_allow_it(narrow, width, form):
    X, y = blobs(n_per_class=110, p=320)
    mine = Candidate("wide", Noted(), {"shrinkage": 0.1}, sized=True, narrow=narrow)
    Noted.seen = ()
    GuidedSearch([mine], **QUICK).fit(form(X), few_labels(y, 4))
    assert [shape for shape, _ in Noted.seen] == [(330, width), (330, width), (330, 320)]  # two halves, then as given


def test_preprocessing_that_is_the_same_on_unit_rows_is_tried_once(iris):
    X, y = iris
    search = GuidedSearch(["ridge LDA"], n_splits=1, n_permutations=0).fit(
        Normalizer().fit_transform(X), few_labels(y, 4)
    )
    assert {row["preprocessing"] for row in search.results_.rows} == {"rows", "neighbors"}


def test_default_dimensions_follow_the_targets():
    index = np.repeat([0, 1, 2, -1], 4)
    halves = ClassHalves(index, np.arange(16.0), 1, np.random.default_rng(0))
    trials = Trials(np.eye(16), np.eye(16), halves, None, None)
    assert trials.k == 2
    X, y = blobs()
    assert GuidedSearch(["SPPCA"], **QUICK).fit(X, few_labels(y, 4)).transform(X).shape == (60, 2)


def trials_with(*scores):
    """Trials of candidates of these scores in three splits, the first the default."""
    trials = Trials(
        np.eye(12), np.eye(12), ClassHalves(np.repeat([0, 1], 6), np.arange(12.0), 3, np.random.default_rng(0)), 2, None
    )
    for i, each in enumerate(scores):
        trial = _Trial(Candidate(f"model {i}", RidgeLDA()), "rows", {}, Score(None, 0.0, float(np.mean(each)), each))
        trials.tried.append(trial)
    return trials


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([(0.5, 0.5, 0.5), (0.9, 0.8, 0.85)], 1),  # clearly better
        ([(0.5, 0.5, 0.5), (0.9, 0.2, 0.6)], 0),  # higher in the mean, by luck as it seems
        ([(0.5, 0.6, 0.4), (0.5, 0.6, 0.4)], 0),
        ([(0.5, 0.5, 0.5), (0.6, 0.61, 0.62), (0.9, 0.2, 0.8)], 0),  # the highest is held against the default
        ([(0.5,), (0.6,)], 1),  # one split has no standard error
    ],
)
def test_the_default_is_kept_unless_another_is_clearly_better(scores, chosen):
    trials = trials_with(*scores)
    assert trials.best({"model 0", "model 1", "model 2"}, keep_default=True) is trials.tried[chosen]
    best = max(range(len(scores)), key=lambda i: (np.mean(scores[i]), -i))
    assert trials.best({"model 0", "model 1", "model 2"}, keep_default=False) is trials.tried[best]


def test_it_says_that_the_default_was_kept(monkeypatch):
    X, y = blobs(distance=0.7)
    search = GuidedSearch(["SPPCA", "ridge LDA"], n_permutations=0).fit(X, few_labels(y, 4))
    best = max(row["score"] for row in search.results_.rows if row["score"] is not None)
    first = search.results_.rows[0]
    if search.results_.chosen == 0 and first["score"] < best:
        assert "the default was kept" in search.results_.verdict
    else:
        assert "the default was kept" not in search.results_.verdict
    monkeypatch.setattr(Score, "gain", lambda self, other: (0.1, 1.0))
    kept = GuidedSearch(["SPPCA", "ridge LDA"], n_permutations=0).fit(X, few_labels(y, 4)).results_
    assert kept.chosen == 0
    own = GuidedSearch([("own", RidgeLDA(2)), "SPPCA"], n_permutations=0).fit(X, few_labels(y, 4)).results_
    assert own.chosen_row["score"] == max(
        row["score"] for row in own.rows if not row["baseline"] and row["score"] is not None
    )
