"""The comparison must be honest: no held-out label reaches a method, and scores are what they say."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from gnomon import CPPCA, DPPCA, SPPCA
from gnomon.selection import Comparison, GuidedSearch, compare

NAMES = np.array(["barolo", "grignolino", "barbera"], dtype=object)


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    labeled = np.random.default_rng(1).random(len(y)) < 0.2
    return scale(X), y, labeled


@pytest.fixture
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    labeled = np.random.default_rng(1).random(len(y)) < 0.3
    return scale(X), y, labeled


class Spy(SPPCA):
    """SPPCA that keeps the targets of every fit."""

    seen = ()

    def fit(self, X, y=None, sample_weight=None):
        Spy.seen = [*Spy.seen, (len(X), np.array(y))]
        return super().fit(X, y)


class Cut(TransformerMixin, BaseEstimator):
    """The first two columns: quick, and without predictions."""

    def fit(self, X, y):
        return self

    def transform(self, X):
        return X[:, :2]


def by_method(comparison):
    return {row["method"]: row for row in comparison.rows}


def test_held_out_labels_reach_no_fit(wine):
    X, y, labeled = wine
    Spy.seen = ()
    result = compare(X, np.where(labeled, y, -1), estimators={"spy": Spy(2)}, n_splits=10, random_state=0)
    *fits, (_, whole) = Spy.seen
    assert len(fits) == result.n_splits == 10
    assert_array_equal(np.not_equal(whole, None), labeled)  # for the shares of the classes
    assert {n for n, _ in fits} == {len(X)}
    visible = np.array([np.not_equal(targets, None) for _, targets in fits])
    assert not visible[:, ~labeled].any()
    assert_array_equal((~visible[:, labeled]).sum(axis=0), 2)  # five folds, twice
    for _, targets in fits:
        assert set(targets.tolist()) == {None, 0, 1, 2}


def test_labels_of_pure_noise_are_worth_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 70)), rng.integers(0, 2, 90)
    result = compare(X, np.where(np.arange(90) < 60, y, -1), n_components=1, n_splits=5, random_state=0)
    for row in result.rows:  # LDA separates these rows perfectly when it is allowed to see them
        assert row["low"] - 0.1 < 0.5 < row["high"] + 0.1, row
        assert row["high"] - row["low"] > 0.1


def test_a_few_rows_a_class_lose_one_a_split():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, -1], [2, 3, 1, 20])
    X = rng.normal(size=(26, 6)) + 3 * np.eye(6)[y]
    Spy.seen = ()
    result = compare(X, y, estimators={"spy": Spy(2)}, n_splits=6, random_state=0)
    for _, targets in Spy.seen[:-1]:
        kept = [label for label in targets.tolist() if label is not None]
        lost = np.bincount(y[:6], minlength=3) - np.bincount(kept, minlength=3)
        assert lost.max() == 1
        assert lost[2] == 0
    assert result.n_scored == 5  # the only row of the third class stays


def test_hidden_truth_scores_are_one_nearest_neighbor(wine):
    X, y, labeled = wine
    result = by_method(compare(X, np.where(labeled, y, -1), y_true=y, random_state=0))
    for name, Z in [("all features", X), ("PCA", PCA(2).fit_transform(X))]:
        error = 1 - KNeighborsClassifier(1).fit(Z[labeled], y[labeled]).score(Z[~labeled], y[~labeled])
        assert_allclose(result[name]["score"], error)
        n = (~labeled).sum()
        ends = beta.ppf([0.025, 0.975], [n * error, 1 + n * error], 1 + n * (1 - error))
        assert_allclose([result[name]["low"], result[name]["high"]], ends)
    model = SPPCA(2).fit(X, np.where(labeled, y, -1))
    assert_allclose(result["SPPCA"]["prediction"], np.mean(model.predict(X[~labeled]) != y[~labeled]))
    assert result["LDA"]["dims"] == 2
    assert result["all features"]["prediction"] is None


def test_baselines_see_column_means_where_entries_are_missing_and_it_is_said(wine):
    X, y, labeled = wine
    holes = np.random.default_rng(2).random(X.shape) < 0.15
    X, seen = np.where(holes, np.nan, X), np.where(labeled, y, -1)
    result = compare(X, seen, y_true=y, random_state=0)
    filled = compare(np.where(holes, np.nanmean(X, axis=0), X), seen, y_true=y, random_state=0)
    ours, theirs = by_method(result), by_method(filled)
    for name in ("PCA", "LDA", "PLS", "all features"):
        assert ours[name]["score"] == theirs[name]["score"]
    model = SPPCA(2).fit(X, seen)  # the model itself sees what is missing
    Z = model.transform(X)
    error = 1 - KNeighborsClassifier(1).fit(Z[labeled], y[labeled]).score(Z[~labeled], y[~labeled])
    assert_allclose(ours["SPPCA"]["score"], error)
    assert_allclose(ours["SPPCA"]["prediction"], np.mean(model.predict(X[~labeled]) != y[~labeled]))
    assert ours["SPPCA"]["prediction"] != theirs["SPPCA"]["prediction"]
    said = f"For the baselines {holes.sum()} missing entries of X had to be filled with column means."
    assert (result.n_filled, filled.n_filled) == (holes.sum(), 0)
    assert said in repr(result)
    assert said in result._repr_html_()
    assert "filled" not in repr(filled)


def test_real_targets_and_folds_with_missing_entries(diabetes):
    X, y, labeled = diabetes
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
    result = compare(X, np.where(labeled, y, np.nan), n_splits=5, random_state=0)
    scores = {name: row["score"] for name, row in by_method(result).items() if row["score"] is not None}
    assert set(scores) == {"SPPCA", "PCA", "PLS", "all features"}
    assert all(0.1 < score < 0.6 for score in scores.values()), scores


def test_what_is_refused_in_x(wine):
    X, y, labeled = wine
    seen = np.where(labeled, y, -1)
    with pytest.raises(ValueError, match="column 4 of X is never observed; drop it"):
        compare(np.where(np.arange(13) == 4, np.nan, X), seen)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        compare(np.where(np.arange(13) == 4, np.inf, X), seen)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        compare(sp.csr_array(np.where(np.arange(13) == 4, np.nan, X)), seen)


def test_real_read_out_is_r2(diabetes):
    X, y, labeled = diabetes
    seen = np.where(labeled, y, np.nan)
    result = by_method(compare(X, seen, n_components=3, y_true=y, random_state=0))
    model = SPPCA(3).fit(X, seen)
    assert_allclose(result["SPPCA"]["prediction"], r2_score(y[~labeled], model.predict(X[~labeled])), rtol=1e-6)
    assert result["LDA"]["score"] is None
    assert "classes" in result["LDA"]["note"]
    assert 0.2 < result["PLS"]["score"] < 0.7


def test_several_outputs_with_missing_entries(diabetes):
    X, y, _ = diabetes
    rng = np.random.default_rng(5)
    Y = np.column_stack([y, X[:, 2] * 10 + rng.normal(size=len(y))])
    seen = np.where(rng.random(Y.shape) < 0.3, Y, np.nan)
    truth = by_method(compare(X, seen, n_components=3, y_true=Y, random_state=0))
    held = by_method(compare(X, seen, n_components=3, n_splits=5, random_state=0))
    for method in ("SPPCA", "PCA", "PLS", "all features"):
        assert abs(truth[method]["score"] - held[method]["score"]) < 0.2
        assert truth[method]["score"] > 0.3
    model = SPPCA(3).fit(X, seen)
    hidden = np.isnan(seen)
    r2 = [r2_score(Y[hidden[:, j], j], model.predict(X[hidden[:, j]])[:, j]) for j in range(2)]
    assert min(r2) - 0.05 < truth["SPPCA"]["prediction"] < max(r2) + 0.05


def test_no_split_hides_every_value_of_one_output(diabetes):
    X, y, _ = diabetes
    Y = np.full((len(y), 2), np.nan)
    Y[:40, 0], Y[40:44, 1] = y[:40], y[40:44]
    result = compare(X, Y, n_splits=20, random_state=0)
    assert result.n_scored == 44
    assert by_method(result)["PLS"]["score"] is None  # no row has both outputs


def test_repeating_folds_does_not_shrink_an_interval(wine, diabetes):
    X, y, labeled = wine
    seen = np.where(labeled, y % 2, -1)
    few, many = (
        by_method(compare(X, seen, estimators={"cut": Cut()}, n_splits=n, random_state=0))["cut"] for n in (5, 50)
    )
    assert 0.8 < (many["high"] - many["low"]) / (few["high"] - few["low"]) < 1.2
    X, y, labeled = diabetes
    few, many = (
        by_method(compare(X, np.where(labeled, y, np.nan), estimators={"cut": Cut()}, n_splits=n, random_state=0))
        for n in (20, 200)
    )
    ratio = (many["cut"]["high"] - many["cut"]["low"]) / (few["cut"]["high"] - few["cut"]["low"])
    assert 0.6 < ratio < 1.4


@pytest.mark.parametrize("truth", [True, False])
def test_sparse_rows_score_as_dense_rows(wine, truth):
    X, y, labeled = wine
    X = np.where(X > 0, X, 0.0)
    arguments = {"y": np.where(labeled, y, -1), "y_true": y if truth else None, "n_splits": 5, "random_state": 0}
    dense, sparse = compare(X, **arguments), compare(sp.csr_array(X), **arguments)
    for ours, theirs in zip(dense.rows, sparse.rows):
        assert ours["score"] == pytest.approx(theirs["score"], abs=0.011), ours["method"]


def test_names_frames_and_pipelines(wine):
    X, y, labeled = wine
    named = pd.Series(np.where(labeled, NAMES[y], None))
    estimators = {"scaled": make_pipeline(StandardScaler(), SPPCA(2)), "plain": SPPCA(2)}
    by_name = compare(pd.DataFrame(X), named, estimators=estimators, y_true=NAMES[y], random_state=0)
    by_code = compare(X, np.where(labeled, y, -1), estimators=estimators, y_true=y, random_state=0)
    assert [row["method"] for row in by_name.rows] == ["scaled", "plain", "PCA", "LDA", "PLS", "all features"]
    assert by_method(by_name)["all features"]["score"] == by_method(by_code)["all features"]["score"]
    assert by_method(by_name)["plain"]["score"] == pytest.approx(by_method(by_code)["plain"]["score"], abs=0.02)


def test_another_unlabeled_mark_is_respected(wine):
    X, y, labeled = wine
    marked = np.where(labeled, y + 1, 0)
    result = compare(X, marked, estimators={"SPPCA": SPPCA(2, unlabeled=0)}, y_true=y + 1, random_state=0)
    assert result.n_labeled == labeled.sum()
    assert by_method(result)["SPPCA"]["score"] < 0.15


def test_y_is_read_as_asked_or_as_the_first_model_does(wine):
    X, y, labeled = wine
    marked = np.where(labeled, y + 1, 0)
    asked = compare(X, marked, estimators={"cut": Cut()}, unlabeled=0, y_true=y + 1)
    first = compare(X, marked, estimators={"SPPCA": SPPCA(2, unlabeled=0), "cut": Cut()}, y_true=y + 1)
    assert asked.n_labeled == labeled.sum()
    assert by_method(asked)["cut"]["score"] == by_method(first)["cut"]["score"]
    numbers = np.where(labeled, y, np.nan)
    assert compare(X, numbers, estimators={"cut": Cut()}, target="real", y_true=y).metric == "R2"
    assert compare(X, numbers, estimators={"SPPCA": SPPCA(2, target="real")}, y_true=y).metric == "R2"
    both = compare(X, numbers, estimators={"SPPCA": SPPCA(2, target="real")}, target="classes", y_true=y)
    assert both.metric == "error"


def test_a_table_is_read_as_the_first_model_does(wine):
    X, y, labeled = wine
    flags = np.column_stack([y == 0, y == 1]).astype(int)
    seen = np.where(labeled[:, None], flags, np.nan)
    assert compare(X, seen, y_true=flags.astype(float), random_state=0).metric == "R2"
    as_classes = compare(X, seen, estimators={"DPPCA": DPPCA(2)}, y_true=flags, random_state=0)
    assert as_classes.metric == "error"
    assert len({row["target"] for row in as_classes.rows}) == 2


@pytest.mark.parametrize("sizes, wanted", [((3,), 3), ((1, 3, 2), 3)])
def test_baselines_have_as_many_dimensions_as_the_models(wine, sizes, wanted):
    X, y, labeled = wine
    mine = {f"pca{k}": PCA(k) for k in sizes}
    result = by_method(compare(X, np.where(labeled, y, -1), estimators=mine, y_true=y, random_state=0))
    assert [result[f"pca{k}"]["dims"] for k in sizes] == list(sizes)
    assert (result["PCA"]["dims"], result["PLS"]["dims"], result["LDA"]["dims"]) == (wanted, wanted, 2)
    assert result["PCA"]["score"] == result[f"pca{wanted}"]["score"]  # PCA has no use for labels: it saw all rows, too
    asked = by_method(compare(X, np.where(labeled, y, -1), n_components=4, estimators=mine, y_true=y, random_state=0))
    assert asked["PCA"]["dims"] == 4


@pytest.mark.parametrize("last", [SPPCA(2), GuidedSearch(["ridge LDA"], preprocessing=["rows"], n_splits=1)])
def test_baselines_stand_behind_the_steps_of_the_first_pipeline(wine, last):
    X, y, labeled = wine
    raw, seen = X * np.logspace(0, 4, 13), np.where(labeled, y, -1)
    mine = {"scaled": make_pipeline("passthrough", StandardScaler(), last), "raw": PCA(2)}
    found = by_method(compare(raw, seen, estimators=mine, y_true=y, random_state=0))
    ready = by_method(compare(scale(raw), seen, estimators={"raw": PCA(2)}, y_true=y, random_state=0))
    for name in ("PCA", "LDA", "PLS", "all features"):
        assert_allclose(found[name]["score"], ready[name]["score"])
    assert found["raw"]["score"] > found["PCA"]["score"]


def test_baselines_do_not_stand_behind_a_step_that_learns_from_labels(wine):
    X, y, labeled = wine
    mine = {"behind": make_pipeline(StandardScaler(), SPPCA(2), LogisticRegression())}
    found = by_method(compare(X, np.where(labeled, y, -1), estimators=mine, y_true=y, random_state=0))
    assert found["all features"]["dims"] == 13
    assert found["PCA"]["dims"] == 2  # of nothing that projects


def test_a_class_without_labeled_rows_is_always_wrong(wine):
    X, y, labeled = wine
    seen = np.where(labeled & (y < 2), y, -1)
    result = compare(X, seen, n_components=1, y_true=y, random_state=0)
    never = (y[seen < 0] == 2).mean()
    assert all(row["score"] >= never for row in result.rows)
    assert by_method(result)["all features"]["score"] < never + 0.2


def test_the_same_seed_gives_the_same_comparison(wine):
    X, y, labeled = wine
    first, second = (compare(X, np.where(labeled, y, -1), n_splits=2, random_state=3).to_dict() for _ in range(2))
    for one, other in zip(first["rows"], second["rows"]):
        assert one | {"seconds": 0} == other | {"seconds": 0}


def test_baselines_that_do_not_apply_say_so(wine):
    X, y, _ = wine
    seen = np.full(len(y), -1)
    seen[[0, 1, 60, 61, 140, 141]] = [0, 0, 1, 1, 2, 2]
    result = compare(X, seen, n_components=7, y_true=y, random_state=0)
    pls = by_method(result)["PLS"]
    assert pls["score"] is None
    assert "at most 5" in pls["note"]
    assert "PLS does not apply" in repr(result)


@pytest.mark.filterwarnings("ignore:y marks every row as unlabeled")
@pytest.mark.parametrize(
    "y, y_true, words",
    [
        (lambda y: None, None, "no label"),
        (lambda y: np.full(178, -1), None, "no label"),
        (lambda y: np.where(np.isin(np.arange(178), [0, 70, 150]), y, -1), None, "one labeled row in each class"),
        (lambda y: np.where(np.arange(178) < 2, y + np.arange(178) + 0.5, np.nan), None, "2 labeled rows"),
        (lambda y: y, lambda y: y, "adds nothing"),
    ],
)
def test_errors_name_the_way_out(wine, y, y_true, words):
    X, truth, _ = wine
    with pytest.raises(ValueError, match=words):
        compare(X, y(truth), y_true=y_true and y_true(truth))


def test_constant_hidden_targets_have_no_r2(diabetes):
    X, y, labeled = diabetes
    with pytest.raises(ValueError, match="vary"):
        compare(X, np.where(labeled, y, np.nan), y_true=np.ones(len(y)))


def test_rows_count_by_the_shares_of_the_classes_among_unlabeled_rows():
    """As many labels of either class, and one row in ten is of the class that errs."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [900, 100])
    lost = (y == 1) & (rng.random(1000) < 0.4)  # rows of the small class in the middle of the large one
    X = np.where((y == 1) & ~lost, 6.0, 0.0)[:, None] + rng.normal(size=(1000, 5))
    labeled = np.isin(np.arange(1000), [*range(40), *range(900, 940)])
    seen = np.where(labeled, y, -1)
    found = compare(X, seen, estimators={"DPPCA": DPPCA(2)}, random_state=0)
    truth = compare(X, seen, estimators={"DPPCA": DPPCA(2)}, y_true=y, random_state=0)
    assert 0.03 < found.shares["1"] < 0.12
    assert "(0 9" in found.protocol
    assert truth.shares is None
    ours, true = by_method(found)["DPPCA"], by_method(truth)["DPPCA"]["prediction"]
    assert true < 0.1
    assert ours["prediction_low"] <= true <= ours["prediction_high"]
    alike = compare(X[labeled], y[labeled], estimators={"DPPCA": DPPCA(2)}, random_state=0)
    assert alike.shares is None  # no row is unlabeled
    assert by_method(alike)["DPPCA"]["prediction"] > 0.12


def test_draws_of_what_is_labeled_have_a_mean_and_a_deviation(wine):
    X, y, labeled = wine
    few = np.where(labeled & (np.cumsum(labeled) <= 12), y, -1)
    Spy.seen = ()
    found = compare(X, few, estimators={"spy": Spy(2)}, y_true=y, n_draws=4, random_state=0)
    fits = [np.array([-1 if label is None else label for label in targets]) for _, targets in Spy.seen[:4]]
    assert_array_equal(fits[0], few)
    assert {tuple(np.bincount(fit[fit >= 0], minlength=3)) for fit in fits} == {
        tuple(np.bincount(few[few >= 0], minlength=3))
    }
    assert len({tuple(fit) for fit in fits}) == 4
    errors = []
    for fit in fits:
        hidden = fit < 0
        near = KNeighborsClassifier(1).fit(X[~hidden], y[~hidden])
        errors.append(1 - near.score(X[hidden], y[hidden]))
    row = by_method(found)["all features"]
    assert_allclose([row["score"], row["spread"]], [np.mean(errors), np.std(errors, ddof=1)])
    assert "Means over 4 draws of the labeled rows" in found.protocol
    assert f"{row['score']:.3f} ± {row['spread']:.3f}" in repr(found)


def test_draws_of_numbers_are_scored_on_what_they_leave_hidden(diabetes):
    X, y, _ = diabetes
    Y = np.column_stack([y, y + X[:, 0]])
    seen = np.where((np.arange(len(y)) < 40)[:, None], Y, np.nan)
    seen[:5, 1] = np.nan
    found = compare(X, seen, y_true=Y, n_draws=3, random_state=0)
    assert found.n_draws == 3
    assert 0.2 < by_method(found)["SPPCA"]["score"] < 0.6


def test_comparison_survives_json_and_shows_names_as_text(wine):
    X, y, labeled = wine
    estimators = {"<b>mine</b>": SPPCA(2)}
    result = compare(X, np.where(labeled, y, -1), estimators=estimators, y_true=y, random_state=0)
    stored = Comparison(**json.loads(json.dumps(result.to_dict())))
    assert stored == result
    assert repr(stored) == repr(result)
    page = result._repr_html_()
    assert "<b>mine" not in page
    assert "&lt;b&gt;mine" in page


def test_models_without_read_out_are_welcome(wine):
    X, y, labeled = wine

    result = by_method(compare(X, np.where(labeled, y, -1), estimators={"cut": Cut()}, y_true=y))
    assert result["cut"]["dims"] == 2
    assert result["cut"]["prediction"] is None


def test_a_guided_search_is_repeated_in_every_split(wine):
    X, y, labeled = wine
    search = GuidedSearch(["ridge LDA"], preprocessing=["rows"], n_splits=1)
    result = compare(X, np.where(labeled, y, -1), estimators={"search": search}, y_true=y, random_state=0)
    row = by_method(result)["search"]
    fitted = GuidedSearch(**search.get_params() | {"n_permutations": 0}).fit(X, np.where(labeled, y, -1))
    assert_allclose(row["prediction"], np.mean(fitted.predict(X[~labeled]) != y[~labeled]))
    assert row["dims"] == 2


def test_an_estimator_without_a_projection_is_scored_by_its_predictions(wine):
    X, y, labeled = wine
    seen = np.where(labeled, NAMES[y], None)
    mine = {"nearest": make_pipeline(StandardScaler(), KNeighborsClassifier(1))}
    result = compare(X, seen, estimators=mine, y_true=NAMES[y], random_state=0)
    row = by_method(result)["nearest"]
    error = 1 - mine["nearest"].fit(X[labeled], y[labeled]).score(X[~labeled], y[~labeled])
    assert_allclose(row["prediction"], error)
    assert (row["dims"], row["score"]) == (None, None)
    assert result.verdict.startswith(f"The predictions of nearest err on {100 * error:.1f} % of the rows (95 %: ")
    assert result.labels == [None]


def test_targets_of_several_kinds_are_scored_each_in_its_way(wine):
    X, y, labeled = wine
    price = X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=len(y))
    Y = pd.DataFrame({"wine": np.where(labeled, NAMES[y], None), "price": np.where(labeled, price, np.nan)})
    truth = pd.DataFrame({"wine": NAMES[y], "price": price})
    model = CPPCA(2)
    result = compare(X[:, :6], Y, estimators={"CPPCA": model}, y_true=truth, random_state=0)
    rows = {(row["method"], row["target"]): row for row in result.rows}
    assert result.metric == "mixed"
    assert {row["metric"] for row in result.rows if "wine" in row["target"]} == {"error"}
    hidden = ~labeled
    fitted = CPPCA(2).fit(X[:, :6], Y)
    predicted = np.asarray(fitted.predict(X[hidden, :6]), dtype=object)
    by_class, by_number = (rows["CPPCA", f"column {name!r} of y"] for name in ("wine", "price"))
    assert_allclose(by_class["prediction"], np.mean(predicted[:, 0] != NAMES[y][hidden]))
    assert_allclose(by_number["prediction"], r2_score(price[hidden], predicted[:, 1].astype(float)), rtol=1e-6)
    nearest = KNeighborsClassifier(1).fit(X[labeled, :6], y[labeled])
    score = 1 - nearest.score(X[hidden, :6], y[hidden])
    assert_allclose(rows["all features", "column 'wine' of y"]["score"], score)
    assert rows["LDA", "column 'wine' of y"]["note"] == "it learns from one target of classes, or from numbers alone"
    assert "target" in result.cells()[0]
    assert result.verdict.count("best baseline") == 2
    held = compare(X[:, :6], Y, estimators={"CPPCA": model}, n_splits=2, random_state=0)
    assert held.n_scored == labeled.sum()


def test_processes_give_the_same_comparison(wine):
    X, y, labeled = wine
    seen = np.where(labeled, y, -1)
    models = {"DPPCA": DPPCA(2, n_factors=3, shrinkage=0.1, unlabeled_weight=1.0), "LR": LogisticRegression()}
    here, there = (compare(X, seen, estimators=models, n_splits=5, n_jobs=n, random_state=0) for n in (None, 2))
    untimed = [[{**row, "seconds": 0} for row in found.rows] for found in (here, there)]
    assert untimed[0] == untimed[1]
    assert here.verdict == there.verdict
