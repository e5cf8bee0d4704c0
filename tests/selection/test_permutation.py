"""Labels that help are told from labels of noise; a search is repeated as a whole, and what is left out is said."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

from gnomon import GuidedProjection
from gnomon.selection import GuidedSearch, PermutationTest, permutation_test
from gnomon.selection.baselines import PLS, RidgeLDA
from gnomon.selection.partial import run_jobs
from selection.drawn import blobs, few_labels


def test_p_values_count_the_true_score():
    test = PermutationTest(0.5, [0.1] * 18 + [0.5])
    assert_allclose(test.p_value, 0.1)
    assert not test.above_chance
    assert test.verdict.startswith("No sign that the labels say more of the rows than chance would: 1 of 19 fits")
    assert PermutationTest(0.5, [0.1] * 19).above_chance
    assert PermutationTest(0.5, [0.1] * 19).verdict.startswith(
        "The labels say more of the rows than chance would: 0 of 19 fits"
    )


def test_few_permutations_cannot_tell():
    test = PermutationTest(0.5, [0.1] * 5)
    assert not test.above_chance
    assert test.verdict.startswith("Too few permutations to tell")


@pytest.mark.parametrize("fitted", [False, True])
def test_labels_help_any_model_fitted_or_not(fitted):
    X, y = blobs()
    seen = few_labels(y, 10)
    for model in (RidgeLDA(2), LogisticRegression()):
        if fitted:
            model.fit(X[seen >= 0], seen[seen >= 0])
        test = permutation_test(model, X, seen)
        assert test.above_chance
        assert test.repeats_choice
        assert len(test.permuted) == 19


def test_labels_of_noise_do_not_help():
    X, y = blobs(distance=0.0)
    assert not permutation_test(RidgeLDA(2), X, few_labels(y, 5)).above_chance


def test_real_targets_are_permuted_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    seen = np.where(np.arange(80) < 24, X[:, 0] + 0.1 * rng.normal(size=80), np.nan)
    assert permutation_test(PLS(1), X, seen, n_splits=2).above_chance
    noise = np.where(np.arange(80) < 24, rng.normal(size=80), np.nan)
    assert not permutation_test(PLS(1), X, noise, n_splits=2).above_chance


class Counted(GuidedSearch):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y):
        Counted.fits += 1
        return super().fit(X, y)


def test_a_search_is_repeated_and_the_search_itself_says_what_it_leaves_out():
    X, y = blobs()
    seen = few_labels(y, 5)
    search = Counted(["ridge LDA"], preprocessing=["rows"], n_splits=1, n_permutations=3)
    Counted.fits = 0
    test = permutation_test(search, X, seen, n_permutations=3)
    assert (Counted.fits, test.repeats_choice) == (4, True)
    assert_allclose(test.score, search.fit(X, seen).best_score_)
    assert "the choice was not repeated" not in test.verdict
    assert not search.permutation_test_.repeats_choice
    assert len(search.permutation_test_.permuted) == 3
    assert "the choice was not repeated" in search.results_.verdict


def test_a_search_of_one_candidate_leaves_nothing_out():
    X, y = blobs()
    only = Counted(["ridge LDA"], preprocessing=["rows"], n_splits=1, n_permutations=3, baselines=False)
    assert only.fit(X, few_labels(y, 3)).permutation_test_.repeats_choice


def test_a_grid_search_is_repeated_on_the_labeled_rows():
    X, y = blobs()
    grid = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    test = permutation_test(grid, X, few_labels(y, 5), n_permutations=3)
    assert test.repeats_choice
    assert test.score > max(test.permuted)


@pytest.mark.parametrize("model", [RidgeLDA(), GuidedSearch(["ridge LDA"], preprocessing=["rows"], n_splits=1)])
def test_processes_give_the_same_test(model):
    X, y = blobs()
    seen = few_labels(y, 5)
    here, there = (permutation_test(model, X, seen, n_permutations=3, n_jobs=n) for n in (None, 2))
    assert here == there


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_jobs_have_one_thread_of_linear_algebra_each(n_jobs):
    found = run_jobs(blas_threads, [(1,), (2,)], n_jobs)
    assert [number for number, _ in found] == [1, 2]
    assert {threads for _, pools in found for threads in pools} == {1}


def blas_threads(number):
    """Threads of the pools that NumPy's linear algebra has."""
    np.linalg.eigh(np.eye(8))
    return number, [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.slow
def test_p_values_of_random_labels_are_uniform():
    """Of the whole of `GuidedProjection`, which averages instead of choosing; half of the tables have two clusters."""
    values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((36, 5)) * rng.uniform(0.5, 3.0, 5)
        X[: 18 * (seed % 2)] += 2.0
        y = np.full(36, -1)
        y[rng.permutation(36)[:14]] = rng.permutation(np.repeat([0, 1], 7))
        p = permutation_test(GuidedProjection(2), X, y, random_state=seed).p_value
        values.append(p - rng.uniform() / 20.0)  # they are multiples of 1 / 20
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) <= 0.12


@pytest.mark.slow
def test_p_values_of_random_labels_are_uniform_over_many_tables():
    """The fastest model on 400 tables; `above_chance`, which needs p at most 0.05, is then as rare as that says."""
    values, helped = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((36, 5)) * rng.uniform(0.5, 3.0, 5)
        X[: 18 * (seed % 2)] += 2.0
        y = np.full(36, -1)
        y[rng.permutation(36)[:14]] = rng.permutation(np.repeat([0, 1], 7))
        test = permutation_test(RidgeLDA(2), X, y, random_state=seed)
        values.append(test.p_value - rng.uniform() / 20.0)  # they are multiples of 1 / 20
        helped.append(test.above_chance)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(helped) <= 0.07
