"""Rows that belong together are in one half, and their labels change places together."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import DPPCA, GuidedProjection
from gnomon.selection import GuidedSearch, permutation_test
from gnomon.selection.baselines import PLS, RidgeLDA
from gnomon.selection.partial import fit_partial
from gnomon.selection.stability import ClassHalves, RealHalves
from gnomon.targets import read_groups


def noise(of_classes=True, seed=0):
    """Three rows of each of 60 samples, whose targets features say nothing of; two thirds of the samples labeled."""
    rng = np.random.default_rng(seed)
    sample = np.repeat(np.arange(60), 3)
    X = rng.standard_normal((60, 90))[sample] + 0.01 * rng.standard_normal((180, 90))
    y = (rng.permutation(np.arange(60) % 2) if of_classes else rng.standard_normal(60))[sample].astype(float)
    y[sample % 3 == 2] = np.nan
    return X, y, [f"plant {i}" for i in sample]


@pytest.mark.parametrize("of_classes", [True, False])
def test_a_group_is_in_one_half_as_are_its_labels_when_they_change_places(of_classes):
    X, y, names = noise(of_classes)
    groups, rng = read_groups(names, 180), np.random.default_rng(0)
    order, targets = np.arange(180.0), np.where(np.isnan(y), -1, y).astype(int) if of_classes else y[:, None]
    halves = (ClassHalves if of_classes else RealHalves)(targets, order, 4, rng, groups)
    for one in (halves, halves.permuted(rng, 3)):
        known = np.ravel(one.targets)
        for g in range(60):
            assert len(set(known[groups == g].tolist())) == 1 or np.isnan(known[groups == g]).all()
        for parts in one.splits:
            here = [np.isfinite(part).ravel() & (np.ravel(part) != -1) for part in parts]
            assert not (here[0] & here[1]).any()
            assert_array_equal(here[0] | here[1], ~np.isnan(y))
            for g in range(60):
                assert {here[0][groups == g].sum(), here[1][groups == g].sum()} <= {0, 3}
            assert {len(np.unique(groups[part])) for part in here} <= {19, 20, 21}
    moved = np.ravel(halves.permuted(rng).targets)
    assert (moved != np.ravel(targets))[~np.isnan(y)].any()
    assert sorted(moved[~np.isnan(y)]) == sorted(np.ravel(targets)[~np.isnan(y)])


def test_labels_that_differ_in_a_group_go_to_one_of_as_many_rows():
    groups, rng = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]), np.random.default_rng(1)
    y = np.arange(12.0)
    halves = RealHalves(y[:, None], np.arange(12.0), 1, rng, groups)
    seen = set()
    for _ in range(40):
        moved = halves.permuted(rng).targets.ravel()
        assert sorted(moved) == y.tolist()
        for g in range(5):
            came = np.unique(groups[moved[groups == g].astype(int)])
            assert len(came) == 1
            assert (groups == came[0]).sum() == (groups == g).sum()
            seen.add((g, int(came[0])))
    assert len(seen) == 9 + 4  # each of three pairs, each of two threes


@pytest.mark.parametrize("of_classes", [True, False])
def test_replicates_are_no_sign_that_labels_say_something(of_classes):
    model, found = KNeighborsClassifier(1) if of_classes else PLS(3), []
    options = {"n_splits": 2, "target": "classes" if of_classes else "real"}
    for seed in range(6):
        X, y, names = noise(of_classes, seed)
        assert permutation_test(model, X, y, **options).above_chance
        found.append(permutation_test(model, X, y, groups=names, **options).p_value)
    assert np.mean(found) > 0.25  # of uniform ones it is a half, and deviates by an eighth


def test_a_search_holds_groups_out_together():
    X, y, names = noise()
    options = {
        "candidates": [("1-NN", KNeighborsClassifier(1))],
        "preprocessing": ["rows"],
        "n_splits": 2,
        "target": "classes",
    }
    alone = GuidedSearch(**options).fit(X, y)
    together = GuidedSearch(**options).fit(X, y, groups=names)
    assert alone.results_.chosen_row["error"] < 0.2
    assert together.results_.chosen_row["error"] > 0.3
    assert alone.permutation_test_.above_chance
    assert not together.permutation_test_.above_chance
    best = permutation_test(GuidedSearch(**options), X, y, groups=names, n_permutations=1, target="classes")
    assert best.score < alone.best_score_ - 0.3


def test_groups_of_one_row_change_nothing():
    X, y, _ = noise()
    options = {
        "candidates": [("1-NN", KNeighborsClassifier(1))],
        "preprocessing": ["rows"],
        "n_splits": 2,
        "target": "classes",
    }
    plain, named = (GuidedSearch(**options).fit(X, y, groups=groups) for groups in (None, np.arange(180)))
    assert plain.best_score_ == named.best_score_
    assert plain.permutation_test_ == named.permutation_test_


def test_models_that_take_groups_are_told_them():
    X, y, names = noise()
    groups, complete = read_groups(names, 180), ~np.isnan(y)
    wanted = GuidedProjection(target="classes").fit(X, y, groups=names).predict_proba(X)
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), GuidedProjection(target="classes"))
    for model in (GuidedProjection(target="classes"), piped):
        found = fit_partial(model, X, y, complete, groups).predict_proba(X)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert np.abs(wanted - GuidedProjection(target="classes").fit(X, y).predict_proba(X)).max() > 0.05
    fit_partial(DPPCA(1, target="classes"), X, y, complete, groups)


def test_too_few_groups_are_an_error():
    X, y, _ = noise()
    by_class = np.where(np.isnan(y), np.arange(180), 1000 + np.nan_to_num(y))
    with pytest.raises(ValueError, match="every class of y has one labeled group of rows at most, so nothing can be"):
        GuidedSearch(target="classes").fit(X, y, groups=by_class)
    with pytest.raises(ValueError, match="y has 3 labeled groups of rows; choosing a model takes 4"):
        GuidedSearch(target="real").fit(X, y, groups=np.arange(180) % 3)
    with pytest.raises(ValueError, match="groups has 5 entries and X 180 rows"):
        permutation_test(RidgeLDA(1), X, y, target="classes", groups=range(5))
