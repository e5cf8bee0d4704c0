"""The search must choose by labels that a fit has not seen, and be a scikit-learn estimator."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from gnomon import SPPCA, NeighborFeatures
from gnomon.selection import Candidate, GuidedSearch, SearchResults, candidates
from gnomon.selection.baselines import PCAClassifier, RidgeLDA
from gnomon.selection.search import _Trials
from gnomon.selection.stability import ClassHalves
from selection.drawn import blobs, few_labels

QUICK = {"preprocessing": ["rows"], "n_splits": 1, "n_permutations": 0}
LDA = Candidate("LDA", RidgeLDA(), finer=({"shrinkage": 0.5},), sized=True)


class Spy(BaseEstimator):
    """Learns nothing, but keeps what it was given."""

    fits = ()

    def __init__(self, *, unlabeled=None):
        self.unlabeled = unlabeled

    def fit(self, X, y):
        Spy.fits = [*Spy.fits, (X, np.array(y), self.unlabeled)]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Supervised(KNeighborsClassifier):
    """Refuses rows without a label, as scikit-learn's own classifiers do."""

    def fit(self, X, y):
        assert (np.asarray(y) != -1).all()
        assert all(value is not None for value in y)
        return super().fit(X, y)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def models(search):
    return [row["model"] for row in search.results_.rows]


def test_each_half_hides_the_other_and_all_candidates_see_the_same_halves():
    X, y = blobs()
    seen = few_labels(y, 5)
    Spy.fits = ()
    GuidedSearch([("a", Spy()), ("b", Spy())], preprocessing=["rows"], n_splits=3, n_permutations=0).fit(X, seen)
    fits = Spy.fits
    assert len(fits) == 2 * 3 * 2 + 1
    for first, second in zip(fits[0:6:2], fits[1:6:2]):
        assert not ((first[1] >= 0) & (second[1] >= 0)).any()
        assert_array_equal(np.maximum(first[1], second[1]), seen)
    for a, b in zip(fits[:6], fits[6:12]):
        assert_array_equal(a[1], b[1])
    assert_array_equal(fits[-1][1], seen)
    assert fits[-1][2] == "auto"


def test_curved_classes_take_the_neighbors():
    X, y = make_moons(200, noise=0.06, random_state=0)
    search = GuidedSearch(["ridge LDA"], n_components=1).fit(X, few_labels(y, 10))
    assert search.results_.chosen_row["preprocessing"].startswith("neighbors")
    assert (search.predict(X) != y).mean() < 0.02
    assert search.labels_helped_.labels_helped
    assert "The labels helped" in search.results_.verdict
    assert "the choice was not repeated" in search.results_.verdict


def test_the_choice_has_the_best_score_and_is_fitted_to_every_label(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    names[few_labels(y, 6) < 0] = None
    search = GuidedSearch(["ridge LDA"], n_permutations=0).fit(X, names)
    assert search.best_score_ == max(row["score"] for row in search.results_.rows if row["model"] == "ridge LDA")
    assert set(search.predict(X)) == {"setosa", "versicolor", "virginica"}
    assert_array_equal(search.classes_, ["setosa", "versicolor", "virginica"])
    assert (search.target_kind_, search.n_labeled_) == ("classes", 18)


def test_the_final_fit_is_that_of_the_model_alone(iris):
    X, y = iris
    seen = few_labels(y, 6)
    search = GuidedSearch(["ridge LDA"], preprocessing=["unit rows"], n_permutations=0).fit(X, seen)
    alone = RidgeLDA(2, **search.results_.chosen_row["settings"]).fit(Normalizer().fit_transform(X), seen)
    assert_allclose(search.transform(X), alone.transform(Normalizer().fit_transform(X)))


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


def test_the_usual_number_of_factors_is_tried_once_from_400_rows_up():
    X, y = blobs(n_per_class=200, n_classes=2, p=45, distance=1.2)
    dppca = candidates.CLASS_CANDIDATES[0]
    factors = [name for name in dppca.settings if dppca.settings[name] == "usual"]
    few = Candidate("DPPCA", dppca.estimator, dppca.settings, tuple({factors[0]: P} for P in (20, 40)), sized=True)
    search = GuidedSearch([few], **QUICK).fit(X, few_labels(y, 6))
    tried = [row["settings"][factors[0]] for row in search.results_.rows if row["model"] == "DPPCA"]
    assert tried == ["usual", 20]


@pytest.mark.parametrize("rate", [0.1, 0.2])
def test_the_majority_is_not_chosen_where_classes_are_unequal(rate):
    rng = np.random.default_rng(1)
    y = np.zeros(240, dtype=int)
    y[: int(240 * rate)] = 1
    X = rng.normal(size=(240, 6))
    X[y == 1, :2] += 2.5
    seen = np.full(240, -1)
    known = np.concatenate([np.arange(8), np.arange(48, 96)])
    seen[known] = y[known]
    majority = Candidate("majority", Spy(), baseline=True)
    search = GuidedSearch([majority, "ridge LDA", "SPPCA"], **QUICK).fit(X, seen)
    rows = {row["model"]: row for row in search.results_.rows}
    assert rows["majority"]["score"] == -1.0
    hidden = seen < 0
    recall = [(search.predict(X[hidden & (y == c)]) == c).mean() for c in (0, 1)]
    assert np.mean(recall) > 0.75


def test_a_choice_on_all_labeled_rows_goes_by_the_error():
    X, y = blobs(distance=2.5)
    search = GuidedSearch(["ridge LDA"], n_splits=2, n_permutations=0).fit(X, y)
    assert {row["agreement"] for row in search.results_.rows} == {None}
    row = search.results_.chosen_row
    assert_allclose(row["score"], -row["error"] / (2 / 3))
    assert "every row is labeled" in search.results_.verdict
    assert "agree on" not in search.results_.verdict
    assert " -  " in repr(search.results_)


def test_the_choice_is_the_same_for_rows_in_another_order_and_other_names(iris):
    X, y = iris
    X = StandardScaler().fit_transform(X)
    seen = few_labels(y, 5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(150), rng.permutation(4)
    names = np.array(["c", "a", "b", None], dtype=object)
    parameters = {"n_components": 2, "n_splits": 1, "n_permutations": 3}
    plain = GuidedSearch(["ridge LDA", "SPPCA"], **parameters).fit(X, seen)
    moved = GuidedSearch(["ridge LDA", "SPPCA"], **parameters).fit(X[rows][:, columns], names[seen[rows]])
    assert [row["model"] for row in plain.results_.rows] == [row["model"] for row in moved.results_.rows]
    assert plain.results_.chosen == moved.results_.chosen
    for one, other in zip(plain.results_.rows, moved.results_.rows):
        if not one["preprocessing"].startswith("neighbors"):  # rounding may break ties between neighbors
            assert_allclose(one["score"], other["score"], atol=1e-9)
    assert_array_equal(names[plain.predict(X)][rows], moved.predict(X[rows][:, columns]))


def test_seed_draws_the_halves():
    X, y = blobs(distance=1.5)
    scores = [
        [row["score"] for row in GuidedSearch([LDA], random_state=s, **QUICK).fit(X, few_labels(y, 5)).results_.rows]
        for s in (0, 0, 1)
    ]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_labels_of_pure_noise_do_not_help():
    X = np.random.default_rng(2).normal(size=(90, 6))
    y = np.random.default_rng(3).integers(3, size=90)
    search = GuidedSearch(["ridge LDA"], preprocessing=["rows"]).fit(X, few_labels(y, 5))
    assert not search.labels_helped_.labels_helped
    assert "No sign that the labels help" in search.results_.verdict


def test_missing_entries_leave_what_can_take_them(iris):
    X, y = iris
    X = np.where(np.arange(150)[:, None] % 7 == 0, np.where(np.arange(4) == 1, np.nan, X), X)
    search = GuidedSearch(["SPPCA"], n_components=2, n_splits=1, n_permutations=0).fit(X, few_labels(y, 5))
    assert search.results_.chosen_row["preprocessing"] == "rows"
    assert {row["note"] for row in search.results_.rows if row["preprocessing"] != "rows"} == {
        "it takes no missing entries"
    }
    assert "it takes no missing entries." in repr(search.results_)
    assert np.isfinite(search.transform(X)).all()


def test_sparse_rows_are_taken(iris):
    X, y = iris
    seen = few_labels(y, 5)
    dense, sparse = (
        GuidedSearch([LDA], n_splits=2, n_permutations=0).fit(rows, seen) for rows in (X, sp.csr_matrix(X))
    )
    scores = [[row["score"] for row in search.results_.rows] for search in (sparse, dense)]
    assert_allclose(*scores, atol=0.03)  # rounding may break ties between neighbors


def test_a_baseline_is_scored_but_not_chosen_unless_allowed():
    X, y = blobs()
    search = GuidedSearch(["SPPCA"], **QUICK).fit(X, few_labels(y, 5))
    assert search.results_.chosen_row["model"] == "SPPCA"
    assert any(row["model"] == "PCA + 1-NN" and row["score"] is not None for row in search.results_.rows)
    worst = GuidedSearch([("spy", Spy())], **QUICK).fit(X, few_labels(y, 5))
    assert worst.results_.chosen_row["model"] == "spy"
    other = GuidedSearch(["PCA + 1-NN"], **QUICK).fit(X, few_labels(y, 5))
    assert isinstance(other.best_estimator_, PCAClassifier)


def test_named_beside_the_usual_ones():
    tried, allowed = candidates.candidates_for("classes", ["usual", ("mine", LogisticRegression())])
    assert allowed == {"DPPCA", "CPPCA", "SPPCA", "ridge LDA", "PCA + 1-NN", "mine"}
    assert "PCA + logistic" in {candidate.name for candidate in tried}


def test_any_estimator_may_be_a_candidate_and_sees_labeled_rows_only(iris):
    X, y = iris
    names = np.array(["b", "a", "c"], dtype=object)[y]
    names[few_labels(y, 6) < 0] = None
    mine = make_pipeline(StandardScaler(), Supervised(1))
    search = GuidedSearch([("nearest", mine)], **QUICK).fit(X, names)
    assert search.results_.chosen_row["model"] == "nearest"
    assert search.results_.chosen_row["score"] > 0.3
    assert_array_equal(search.best_estimator_.classes_, ["a", "b", "c"])
    assert search.predict_proba(X).shape == (150, 3)
    assert not hasattr(search, "transform")
    regression = GuidedSearch([("ridge", Ridge())], **QUICK).fit(
        X, np.where(np.arange(150) % 3, np.nan, X[:, 0] + 0.01)
    )
    assert regression.results_.chosen_row["model"] == "ridge"
    assert "it does not predict classes targets" in repr(
        GuidedSearch(["SPPCA", ("r", Ridge())], **QUICK).fit(X, names).results_
    )


def test_real_targets_choose_by_correlation():
    X, y = load_diabetes(return_X_y=True)
    seen = np.where(np.arange(len(y)) % 5 == 0, y + 0.5, np.nan)
    search = GuidedSearch(["SPPCA"], **QUICK).fit(X, seen)
    assert search.target_kind_ == "real"
    assert not hasattr(search, "classes_")
    assert search.predict(X).shape == y.shape
    assert 0.3 < search.score(X, y) < 0.6
    assert "of the variance of held-out targets" in search.results_.verdict
    two = GuidedSearch(["PLS"], n_splits=1, n_permutations=0).fit(X, np.column_stack([seen, X[:, 0] - seen]))
    assert two.predict(X).shape == (len(y), 2)


def test_halves_of_few_whole_numbers_stay_real():
    X, y = load_diabetes(return_X_y=True)
    seen = np.where(np.arange(len(y)) % 20 == 0, y, np.nan)
    search = GuidedSearch(["SPPCA"], target="real", **QUICK).fit(X, seen)
    assert search.results_.chosen_row["model"] == "SPPCA"


class Told(Spy):
    """Keeps how it was told to read y."""

    targets = ()

    def __init__(self, *, target="auto", unlabeled=None):
        self.target, self.unlabeled = target, unlabeled

    def fit(self, X, y):
        Told.targets = [*Told.targets, self.target]
        return self


def test_every_fit_is_told_how_y_was_read():
    X, y = blobs()
    for kind, seen in (("classes", few_labels(y, 4)), ("real", np.where(np.arange(60) < 9, X[:, 0], np.nan))):
        Told.targets = ()
        GuidedSearch([("told", Told())], **QUICK).fit(X, seen)
        assert set(Told.targets) == {kind}


class Never(Spy):
    def fit(self, X, y):
        raise ValueError("never mind")


def test_what_cannot_be_fitted_is_said():
    X, y = blobs()
    never = [("never", Never()), Candidate("spy", Spy(), most_entries=10)]
    with pytest.raises(ValueError, match=r"no candidate could be fitted: more than 1e\+01 entries .*; never mind"):
        GuidedSearch(never, **QUICK).fit(X, few_labels(y, 5))


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"candidates": ["umap"]}, "candidates holds 'umap'; known are DPPCA"),
        ({"candidates": []}, "candidates holds nothing; known are DPPCA"),
        ({"preprocessing": []}, "preprocessing holds nothing"),
        ({"preprocessing": ["rank"]}, "preprocessing holds 'rank'; known are rows"),
        ({"target": "ordinal"}, "target='ordinal'"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    X, y = blobs()
    with pytest.raises(ValueError, match=words):
        GuidedSearch(**parameters).fit(X, few_labels(y, 4))


def test_infinite_rows_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match="infinity"):
        GuidedSearch().fit(np.where(X[0] == X, np.inf, X), few_labels(y, 4))


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


def test_names_of_columns_are_kept(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    for preprocessing in ("rows", "unit rows"):
        search = GuidedSearch(["SPPCA"], n_components=2, **QUICK | {"preprocessing": [preprocessing]})
        search.fit(frame, few_labels(y, 5))
        assert_array_equal(search.feature_names_in_, list("abcd"))
        assert_array_equal(search.best_estimator_.feature_names_in_, list("abcd"))
        assert_array_equal(search.get_feature_names_out(), ["sppca0", "sppca1"])
        with pytest.raises(ValueError, match="feature names"):
            search.predict(frame[list("badc")])


def test_it_is_cloned_pickled_and_asked_for_parameters(iris):
    X, y = iris
    search = GuidedSearch(["ridge LDA"], **QUICK)
    assert clone(search).get_params() == search.get_params()
    assert not hasattr(clone(search.fit(X, few_labels(y, 4))), "best_estimator_")
    back = pickle.loads(pickle.dumps(search))
    assert_array_equal(back.predict(X), search.predict(X))


def test_nested_cross_validation_measures_the_error_of_the_whole_choice(iris):
    X, y = iris
    search = GuidedSearch(["ridge LDA", "PCA + 1-NN"], n_components=2, **QUICK)
    assert is_classifier(search)
    assert cross_val_score(search, X, y, cv=3).min() > 0.85
    behind = make_pipeline(StandardScaler(), search)
    assert cross_val_score(behind, X, y, cv=3, scoring="accuracy").min() > 0.8
    grid = GridSearchCV(search, {"n_components": [1, 2]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.85


def test_nested_cross_validation_of_numbers():
    X, y = load_diabetes(return_X_y=True)
    search = GuidedSearch(["PLS"], n_components=2, target="real", **QUICK)
    assert is_regressor(search)
    assert cross_val_score(search, X, y, cv=3).min() > 0.3


def test_it_is_a_step_of_a_pipeline_and_projects_for_another(iris):
    X, y = iris
    seen = few_labels(y, 5)
    whole = Pipeline([("scale", StandardScaler()), ("search", GuidedSearch(["ridge LDA"], n_components=2, **QUICK))])
    assert whole.fit(X, seen).transform(X).shape == (150, 2)
    assert (whole.predict(X) == y).mean() > 0.85


def test_processes_give_the_same_search(iris):
    X, y = iris
    here, there = (
        GuidedSearch(["ridge LDA"], n_jobs=jobs, preprocessing=["rows"], n_splits=1, n_permutations=3).fit(
            X, few_labels(y, 4)
        )
        for jobs in (None, 2)
    )
    assert [row["score"] for row in here.results_.rows] == [row["score"] for row in there.results_.rows]
    assert here.labels_helped_ == there.labels_helped_


def test_results_survive_json_and_print(iris):
    X, y = iris
    search = GuidedSearch(["ridge LDA"], preprocessing=["rows"], n_splits=1, n_permutations=3).fit(X, few_labels(y, 4))
    results = search.results_
    back = SearchResults.from_dict(json.loads(json.dumps(results.to_dict())))
    assert back == results == SearchResults.of(search) == SearchResults.of(results.to_dict())
    assert SearchResults.of(None) is None
    assert repr(back) == repr(results)
    assert repr(results).splitlines()[1].startswith("*")
    assert "<table>" in results._repr_html_()
    header, body = results.cells(most=2)
    assert len(body) == 2
    assert len(header) == len(body[0])


def test_default_dimensions_follow_the_targets():
    index = np.repeat([0, 1, 2, -1], 4)
    halves = ClassHalves(index, np.arange(16.0), 1, np.random.default_rng(0))
    trials = _Trials(np.eye(16), np.eye(16), halves, 2, None)
    assert trials.k == 2
    X, y = blobs()
    assert GuidedSearch(["SPPCA"], **QUICK).fit(X, few_labels(y, 4)).transform(X).shape == (60, 2)


def test_an_own_estimator_keeps_its_size():
    X, y = blobs()
    assert GuidedSearch([("mine", SPPCA(1))], **QUICK).fit(X, few_labels(y, 4)).transform(X).shape == (60, 1)


DECLARED = {
    "check_estimators_pickle": "sends missing entries, which ridge LDA does not take; other candidates do",
    "check_classifiers_classes": "-1 beside 1 only is ambiguous where -1 may mark unlabeled rows",
    "check_classifiers_regression_target": "numbers are taken as real targets",
    "check_supervised_y_2d": "a column is a vector, without a warning",
}


def test_scikit_learns_checks_but_for_those_declared():
    search = GuidedSearch(["ridge LDA"], **QUICK)
    found = check_estimator(search, expected_failed_checks=DECLARED, on_skip=None, on_fail=None)
    assert [result["check_name"] for result in found if result["status"] == "failed"] == []
    assert len(found) > 50
