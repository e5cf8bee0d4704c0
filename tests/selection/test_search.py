"""The choice must be made by labels that a fit has not seen, and be what a reader can check."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_moons
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, scale

from gnomon import SPPCA, NeighborFeatures
from gnomon.selection import GuidedChoice, candidates, choose_guided, search
from gnomon.selection.baselines import PLS, PCAReader, RidgeLDA
from gnomon.selection.candidates import Candidate
from gnomon.selection.permutation import PermutationTest
from gnomon.selection.results import verdict
from gnomon.selection.stability import ClassHalves, RealHalves


def few_labels(y, per_class, seed=0):
    rng = np.random.default_rng(seed)
    seen = np.concatenate([rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)])
    out = np.full(len(y), -1)
    out[seen] = y[seen]
    return out


@pytest.fixture
def quick(monkeypatch):
    """Two models that take no time."""
    models = (
        Candidate("ridge LDA", RidgeLDA, {}, ({"ridge": 0.5},)),
        Candidate("PCA + 1-NN", PCAReader, {}, guided=False),
    )
    monkeypatch.setattr(search, "CLASS_MODELS", models)
    return models


class Spy(BaseEstimator):
    """Learns nothing, but keeps what it was given."""

    fits = ()

    def __init__(self, n_components=None, *, unlabeled=None):
        self.n_components, self.unlabeled = n_components, unlabeled

    def fit(self, X, y):
        Spy.fits = [*Spy.fits, (X, np.array(y), self.unlabeled)]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_each_half_hides_the_other_and_all_candidates_see_the_same_halves(monkeypatch):
    X, y = load_wine(return_X_y=True)
    seen = few_labels(y, 5)
    monkeypatch.setattr(search, "CLASS_MODELS", (Candidate("a", Spy, {}, fronts=("rows",)), Candidate("b", Spy, {})))
    Spy.fits = ()
    choose_guided(X, seen, fronts=["rows"], n_splits=3, n_permutations=0)
    fits = Spy.fits
    assert len(fits) == 2 * 3 * 2 + 1
    for first, second in zip(fits[0:6:2], fits[1:6:2]):
        assert not ((first[1] >= 0) & (second[1] >= 0)).any()
        assert_array_equal(np.maximum(first[1], second[1]), seen)
    for a, b in zip(fits[:6], fits[6:12]):
        assert_array_equal(a[1], b[1])
    assert_array_equal(fits[-1][1], seen)
    assert fits[-1][2] == "auto"


def test_the_score_of_real_targets_is_its_definition(rng):
    n, q = 40, 2
    Y = rng.normal(size=(n, q))
    Y[10:] = np.nan
    Y[3, 1] = np.nan
    halves = RealHalves(Y, 2, rng)
    made = [rng.normal(size=(n, q)) for _ in range(4)]
    given = iter(made)
    score = halves.score(lambda half: next(given))
    agreements, errors = [], []
    for s, (first, second) in enumerate(halves.splits):
        a, b = made[2 * s], made[2 * s + 1]
        agreements.append(np.mean([np.corrcoef(a[10:, j], b[10:, j])[0, 1] for j in range(q)]))
        per_output = []
        for j in range(q):
            squares = [(b[i, j] - Y[i, j]) ** 2 for i in range(n) if np.isfinite(first[i, j])]
            squares += [(a[i, j] - Y[i, j]) ** 2 for i in range(n) if np.isfinite(second[i, j])]
            per_output.append(np.mean(squares) / np.nanvar(Y[:, j]))
        errors.append(np.mean(per_output))
        assert np.isfinite(first).any(axis=1).sum() == np.isfinite(second).any(axis=1).sum() == 5
    assert_allclose(score, (np.mean(agreements), np.mean(errors), np.mean(agreements) - np.mean(errors)))


def test_constant_predictions_agree_on_nothing():
    Y = np.append(np.arange(6.0), [np.nan] * 3)[:, None]
    score = RealHalves(Y, 1, np.random.default_rng(0)).score(lambda half: np.full(9, 2.5))
    assert score.agreement == 0.0
    assert_allclose(score.error, 1.0)


def test_permuted_labels_stay_on_the_labelled_rows(rng):
    index = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, -1, -1])
    halves = ClassHalves(index, 3, rng).permuted(rng)
    assert_array_equal(halves.targets < 0, index < 0)
    assert_array_equal(np.sort(halves.targets), np.sort(index))
    assert (halves.targets != index).any()
    Y = np.append(np.arange(8.0), np.nan)[:, None]
    moved = RealHalves(Y, 1, rng).permuted(rng).targets
    assert np.isnan(moved[8]).all()
    assert_allclose(np.sort(moved[:8, 0]), np.arange(8.0))


def test_curved_classes_take_the_front_of_neighbours(quick):
    X, y = make_moons(400, noise=0.06, random_state=0)
    seen = few_labels(y, 10)
    choice = choose_guided(X, seen, n_components=1)
    assert choice.rows[choice.chosen]["front"].startswith("neighbours")
    assert (choice.estimator_.predict(X) != y).mean() < 0.02
    assert choice.labels_helped.labels_helped
    assert "The labels helped" in choice.verdict


def test_the_choice_has_the_best_score_and_is_fitted_to_every_label(quick):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    names[few_labels(y, 6) < 0] = None
    choice = choose_guided(X, names, n_permutations=0)
    assert choice.rows[choice.chosen]["score"] == max(row["score"] for row in choice.rows)
    assert set(choice.estimator_.predict(X)) == {"setosa", "versicolor", "virginica"}
    model = choice.estimator_[-1] if isinstance(choice.estimator_, Pipeline) else choice.estimator_
    assert_array_equal(model.classes_, ["setosa", "versicolor", "virginica"])


def test_the_final_fit_is_that_of_the_model_alone(quick):
    X, y = load_iris(return_X_y=True)
    seen = few_labels(y, 6)
    choice = choose_guided(X, seen, models=["ridge LDA"], fronts=["unit rows"], n_permutations=0)
    settings = choice.rows[choice.chosen]["settings"]
    alone = RidgeLDA(2, unlabeled=-1, **settings).fit(Normalizer().fit_transform(X), seen)
    assert_allclose(choice.estimator_.transform(X), alone.transform(Normalizer().fit_transform(X)))


def test_a_front_is_computed_once(quick, monkeypatch):
    made = []

    class Counted(NeighborFeatures):
        def fit_transform(self, X, y=None):
            made.append(len(X))
            return super().fit_transform(X)

    monkeypatch.setitem(candidates.FRONTS, "neighbours", Counted)
    X, y = load_iris(return_X_y=True)
    choose_guided(X, few_labels(y, 4), fronts=["neighbours"], n_permutations=3)
    assert made == [150]


def test_further_settings_of_the_leader_are_tried(quick):
    X, y = load_iris(return_X_y=True)
    choice = choose_guided(X, few_labels(y, 4), fronts=["rows"], n_permutations=0)
    assert [row["settings"] for row in choice.rows if row["model"] == "ridge LDA"] == [{}, {"ridge": 0.5}]


def test_labels_of_pure_noise_do_not_help(quick):
    X = scale(load_wine().data)
    y = np.random.default_rng(3).integers(3, size=len(X))
    choice = choose_guided(X, few_labels(y, 5), fronts=["rows"], random_state=1)
    assert not choice.labels_helped.labels_helped
    assert "No sign that the labels help" in choice.verdict


def test_missing_entries_leave_what_can_take_them():
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    choice = choose_guided(X, few_labels(y, 5), n_components=2, n_splits=1, n_permutations=0)
    assert choice.rows[choice.chosen]["front"] == "rows"
    assert {row["note"] for row in choice.rows if row["front"] != "rows"} == {"it takes no missing entries"}
    assert "it takes no missing entries." in repr(choice)
    assert np.isfinite(choice.estimator_.transform(X)).all()


def test_sparse_rows_are_taken(quick):
    X, y = load_iris(return_X_y=True)
    seen = few_labels(y, 5)
    dense, sparse = (choose_guided(rows, seen, n_permutations=0) for rows in (X, sp.csr_matrix(X)))
    scores = [[row["score"] for row in choice.rows] for choice in (sparse, dense)]
    assert_allclose(*scores, atol=0.02)  # rounding may break ties between neighbours


def test_a_baseline_is_scored_but_not_chosen_unless_allowed(quick):
    X, y = load_iris(return_X_y=True)
    choice = choose_guided(X, few_labels(y, 5), models=["ridge LDA"], n_permutations=0)
    assert choice.rows[choice.chosen]["model"] == "ridge LDA"
    assert any(row["model"] == "PCA + 1-NN" and row["score"] is not None for row in choice.rows)
    other = choose_guided(X, few_labels(y, 5), models=["PCA + 1-NN"], n_permutations=0)
    assert isinstance(other.estimator_[-1] if isinstance(other.estimator_, Pipeline) else other.estimator_, PCAReader)


def test_a_baseline_that_scores_best_is_chosen_unless_it_is_a_read_out_alone(monkeypatch):
    X, y = load_iris(return_X_y=True)
    for usual, wanted in ((True, "PCA + 1-NN"), (False, "spy")):
        models = (Candidate("spy", Spy, {}), Candidate("PCA + 1-NN", PCAReader, {}, guided=False, usual=usual))
        monkeypatch.setattr(search, "CLASS_MODELS", models)
        choice = choose_guided(X, few_labels(y, 5), fronts=["rows"], n_splits=1, n_permutations=0)
        assert choice.rows[choice.chosen]["model"] == wanted


def test_real_targets_choose_by_correlation():
    X, y = load_diabetes(return_X_y=True)
    seen = np.where(np.arange(len(y)) % 5 == 0, y, np.nan)
    choice = choose_guided(X, seen, models=["SPPCA"], n_splits=2, n_permutations=0)
    assert choice.target_kind == "real"
    assert isinstance(choice.estimator_, SPPCA | Pipeline)
    assert choice.estimator_.predict(X).shape == y.shape
    assert "of the variance of held-out targets" in choice.verdict
    two = choose_guided(X, np.column_stack([seen, -seen + X[:, 0]]), models=["PLS"], n_splits=1, n_permutations=0)
    assert two.estimator_.predict(X).shape == (len(y), 2)


@pytest.mark.parametrize("model", [PLS(2), PCAReader(2, read_out="ridge")])
def test_baselines_of_real_targets_learn_from_labelled_rows_only(model):
    X, y = load_diabetes(return_X_y=True)
    rows = np.arange(0, len(y), 4)
    seen = np.full(len(y), np.nan)
    seen[rows] = y[rows]
    predicted = model.fit(X, seen).predict(X)
    assert predicted.shape == y.shape
    assert 1 - np.mean((predicted - y) ** 2) / y.var() > 0.3


def test_what_cannot_be_fitted_is_said(monkeypatch):
    class Never(Spy):
        def fit(self, X, y):
            raise ValueError("never mind")

    models = (Candidate("never", Never, {}), Candidate("spy", Spy, {}, most=10))
    monkeypatch.setattr(search, "CLASS_MODELS", models)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"no candidate could be fitted: more than 1e\+01 entries .*; never mind"):
        choose_guided(X, few_labels(y, 5), fronts=["rows"], n_permutations=0)


def test_bad_input_is_refused(quick):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="every class of y has one labelled row at most"):
        choose_guided(X, few_labels(y, 1))
    with pytest.raises(ValueError, match="y has no label"):
        choose_guided(X, np.full(150, -1))
    with pytest.raises(ValueError, match="single class 0"):
        choose_guided(X, np.where(few_labels(y, 4) == 0, 0, -1))
    with pytest.raises(ValueError, match="models holds 'umap'; known are ridge LDA"):
        choose_guided(X, few_labels(y, 4), models=["umap"])
    with pytest.raises(ValueError, match="fronts holds 'nothing'"):
        choose_guided(X, few_labels(y, 4), fronts=[])
    with pytest.raises(ValueError, match="3 labelled rows; choosing a model takes 4"):
        choose_guided(X, np.where(np.arange(150) < 3, X[:, 0], np.nan))
    with pytest.raises(ValueError, match="infinity"):
        choose_guided(np.where(X[0] == X, np.inf, X), few_labels(y, 4))


def test_p_values_count_the_true_score():
    test = PermutationTest(0.5, [0.1] * 18 + [0.5])
    assert_allclose(test.p_value, 0.1)
    assert not test.labels_helped
    assert PermutationTest(0.5, [0.1] * 19).labels_helped


def test_a_choice_survives_json_and_prints(quick):
    X, y = load_iris(return_X_y=True)
    choice = choose_guided(X, few_labels(y, 4), fronts=["rows"], n_permutations=3)
    back = GuidedChoice.from_dict(json.loads(json.dumps(choice.to_dict())))
    assert back == choice
    assert repr(back) == repr(choice)
    assert repr(choice).splitlines()[1].startswith("*")
    assert "<table>" in choice._repr_html_()
    header, body = choice.cells(most=2)
    assert len(body) == 2
    assert len(header) == len(body[0])


def test_the_verdict_says_when_a_baseline_is_better():
    row = {"front": "rows", "settings": {}, "agreement": 0.8, "error": 0.1, "seconds": 0.1, "note": None}
    rows = [
        {**row, "model": "SPPCA", "score": 0.7, "baseline": False},
        {**row, "model": "PLS", "score": 0.8, "baseline": True},
    ]
    said = verdict(rows, 0, "classes", None)
    assert "Chosen: SPPCA on rows, score 0.700" in said
    assert "below the best baseline, PLS on rows by 0.100" in said


def test_settings_are_compared_only_where_halves_have_two_rows_a_class(quick):
    X, y = load_iris(return_X_y=True)
    for per_class, wanted in ((3, [{}]), (4, [{}, {"ridge": 0.5}])):
        choice = choose_guided(X, few_labels(y, per_class), fronts=["rows"], models=["ridge LDA"], n_permutations=0)
        assert [row["settings"] for row in choice.rows if row["model"] == "ridge LDA"] == wanted


def test_small_classes_have_no_neighbour_fronts(quick):
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(c, c + 29) for c in (0, 50, 100)])
    for kept, reason in (
        (rows, "classes of about 29 rows are smaller than neighbourhoods"),
        (slice(None), None),
    ):
        choice = choose_guided(X[kept], few_labels(y[kept], 4), n_permutations=0)
        assert {row["note"] for row in choice.rows if row["front"] == "neighbours"} == {reason}
    choice = choose_guided(X[rows], few_labels(y[rows], 4), fronts=["neighbours"], n_permutations=0)
    assert choice.rows[0]["note"] is None  # asked for by name


def test_halves_with_one_row_a_class_are_fitted_with_settings_of_their_own(monkeypatch):
    seen = []

    class Noted(RidgeLDA):
        def fit(self, X, y):
            seen.append(self.ridge)
            return super().fit(X, y)

    monkeypatch.setattr(search, "CLASS_MODELS", (Candidate("ridge LDA", Noted, {"ridge": 0.5}, poor={"ridge": 0.25}),))
    X, y = load_iris(return_X_y=True)
    for per_class, in_halves in ((3, 0.25), (4, 0.5)):
        seen.clear()
        choice = choose_guided(X, few_labels(y, per_class), fronts=["rows"], n_splits=1, n_permutations=0)
        assert seen == [in_halves, in_halves, 0.5]
        assert choice.rows[0]["settings"] == {"ridge": 0.5}


def test_a_wide_table_is_scored_in_few_coordinates_where_the_settings_allow_it(monkeypatch, rng):
    monkeypatch.setattr(search, "LEADING", 10)
    seen = []

    class Wide(RidgeLDA):
        def fit(self, X, y):
            seen.append(X.shape)
            return super().fit(X, y)

    y = np.arange(60) % 3
    X = rng.normal(size=(60, 40)) + 4 * (np.arange(40) == y[:, None])
    for wide, width in ((True, 10), (False, 40)):
        models = (Candidate("ridge LDA", Wide, {"ridge": 0.1}, narrow=lambda settings, wide=wide: wide),)
        monkeypatch.setattr(search, "CLASS_MODELS", models)
        for table in (X, sp.csr_array(X)):
            seen.clear()
            choose_guided(table, few_labels(y, 4), fronts=["rows"], n_splits=1, n_permutations=0)
            assert seen == [(60, width), (60, width), (60, 40)]  # two halves, then the rows as they are
    seen.clear()
    monkeypatch.setattr(search, "CLASS_MODELS", (models[0]._replace(narrow=lambda settings: True),))
    choose_guided(X[:, :20], few_labels(y, 4), fronts=["rows"], n_splits=1, n_permutations=0)
    assert seen[0] == (60, 20)  # not wide


def test_fronts_that_are_the_same_on_unit_rows_are_tried_once(quick):
    X, y = load_iris(return_X_y=True)
    choice = choose_guided(Normalizer().fit_transform(X), few_labels(y, 4), n_permutations=0)
    assert {row["front"] for row in choice.rows} == {"rows", "neighbours"}
