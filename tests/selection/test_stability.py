"""The score is its definition, gives nothing for naming the majority, and does not know where a row stands."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import cohen_kappa_score

from gnomon.selection.stability import ClassHalves, RealHalves, Score, cohen_kappa, halves_of, row_order
from gnomon.targets import read

INDEX = np.array([0, 0, 0, 0, 1, 1, 1, 2, -1, -1, -1, -1, -1])
ORDER = np.arange(13.0)


def test_halves_share_the_labels_of_each_class(rng):
    for first, second in ClassHalves(INDEX, ORDER, 5, rng).splits:
        assert_array_equal(np.maximum(first, second), INDEX)
        for c, count in ((0, 4), (1, 3)):
            assert not ((first == c) & (second == c)).any()
            assert {int((half == c).sum()) for half in (first, second)} == {count // 2, count - count // 2}
        assert first[7] == second[7] == 2  # the only row of its class goes to both


def test_the_score_of_classes_is_its_definition(rng):
    halves = ClassHalves(INDEX, ORDER, 2, rng)
    made = [rng.integers(0, 3, size=13) for _ in range(4)]
    given = iter(made)
    score = halves.score(lambda half: next(given))
    kappas, errors = [], []
    for s, (first, second) in enumerate(halves.splits):
        a, b = made[2 * s], made[2 * s + 1]
        kappas.append(cohen_kappa_score(a[8:], b[8:]))
        truth = np.concatenate([INDEX[(INDEX >= 0) & (first < 0)], INDEX[(INDEX >= 0) & (second < 0)]])
        named = np.concatenate([a[(INDEX >= 0) & (first < 0)], b[(INDEX >= 0) & (second < 0)]])
        errors.append(1 - np.mean([(named[truth == c] == c).mean() for c in np.unique(truth)]))
    assert_allclose(score[:3], (np.mean(kappas), np.mean(errors), np.mean(kappas) - np.mean(errors) / (2 / 3)))
    assert_allclose(score.each, np.subtract(kappas, np.divide(errors, 2 / 3)))


def test_naming_the_majority_is_worth_nothing(rng):
    index = np.append(np.repeat([0, 1], [18, 2]), np.full(80, -1))
    halves = ClassHalves(index, np.arange(100.0), 3, rng)
    majority = halves.score(lambda half: np.zeros(100, dtype=int))
    assert (majority.agreement, majority.error, majority.score) == (0.0, 0.5, -1.0)
    truth = np.arange(100) % 10 == 0
    useful = halves.score(lambda half: np.where(index >= 0, index, truth).astype(int))
    assert useful.score == 1.0 == halves.best


def test_balanced_classes_are_ranked_by_plain_agreement_less_plain_error(rng):
    index = np.append(np.repeat([0, 1, 2], 4), np.full(30, -1))
    halves = ClassHalves(index, np.arange(42.0), 1, rng)
    scores, plain = [], []
    for _ in range(6):
        a, b = (rng.permutation(np.repeat([0, 1, 2], 14)) for _ in range(2))
        a[12:], b[12:] = (rng.permutation(np.repeat([0, 1, 2], 10)) for _ in range(2))
        given = iter((a, b))
        scores.append(halves.score(lambda half, given=given: next(given)).score)
        first, second = halves.splits[0]
        wrong = [*(a != index)[(index >= 0) & (first < 0)], *(b != index)[(index >= 0) & (second < 0)]]
        plain.append((a[12:] == b[12:]).mean() - np.mean(wrong))
    assert_allclose(np.diff(scores), 1.5 * np.diff(plain), atol=1e-12)


def test_kappa_is_that_of_scikit_learn(rng):
    for _ in range(5):
        a, b = rng.integers(0, 4, size=(2, 30))
        assert_allclose(cohen_kappa(a, b), cohen_kappa_score(a, b))


def test_where_every_row_is_labeled_the_error_decides(rng):
    halves = ClassHalves(INDEX[:8], ORDER[:8], 2, rng)
    score = halves.score(lambda half: INDEX[:8])
    assert (score.agreement, score.error, score.score) == (None, 0.0, 0.0)
    assert halves.best == 0.0
    Y = rng.normal(size=(8, 1))
    assert RealHalves(Y, ORDER[:8], 2, rng).score(lambda half: Y).agreement is None


def test_the_score_of_real_targets_is_its_definition(rng):
    n, q = 40, 2
    Y = rng.normal(size=(n, q))
    Y[10:] = np.nan
    Y[3, 1] = np.nan
    halves = RealHalves(Y, np.arange(n), 2, rng)
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
    assert_allclose(score[:3], (np.mean(agreements), np.mean(errors), np.mean(agreements) - np.mean(errors)))
    assert_allclose(score.each, np.subtract(agreements, errors))


def test_constant_predictions_agree_on_nothing(rng):
    Y = np.append(np.arange(6.0), [np.nan] * 3)[:, None]
    score = RealHalves(Y, np.arange(9), 1, rng).score(lambda half: np.full(9, 2.5))
    assert score.agreement == 0.0
    assert_allclose(score.error, 1.0)


def test_permuted_labels_stay_on_the_labeled_rows(rng):
    moved = ClassHalves(INDEX, ORDER, 3, rng).permuted(rng).targets
    assert_array_equal(moved < 0, INDEX < 0)
    assert_array_equal(np.sort(moved), np.sort(INDEX))
    assert (moved != INDEX).any()
    Y = np.append(np.arange(8.0), np.nan)[:, None]
    moved = RealHalves(Y, np.arange(9), 1, rng).permuted(rng).targets
    assert np.isnan(moved[8]).all()
    assert_allclose(np.sort(moved[:8, 0]), np.arange(8.0))


@pytest.mark.parametrize("sparse", [False, True])
def test_halves_stay_with_their_rows_when_rows_columns_and_names_change_places(rng, sparse):
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.7)
    index = np.where(np.arange(40) < 21, np.arange(40) % 3, -1)
    rows, columns, names = rng.permutation(40), rng.permutation(6), np.array([2, 0, 1, -1])
    as_given = sp.csr_array if sparse else np.asarray
    plain = ClassHalves(index, row_order(as_given(X)), 4, np.random.default_rng(3))
    moved = ClassHalves(names[index][rows], row_order(as_given(X[rows][:, columns])), 4, np.random.default_rng(3))
    for (first, second), (a, b) in zip(plain.splits, moved.splits):
        assert_array_equal(names[first][rows], a)
        assert_array_equal(names[second][rows], b)
    draws = np.random.default_rng(5), np.random.default_rng(5)
    assert_array_equal(names[plain.permuted(draws[0]).targets][rows], moved.permuted(draws[1]).targets)
    values = np.where(index >= 0, X[:, 0] + index, np.nan)[:, None]
    order = row_order(as_given(X))
    plain = RealHalves(values, order, 2, np.random.default_rng(3))
    moved = RealHalves(values[rows], order[rows], 2, np.random.default_rng(3))
    for halves, others in zip(plain.splits, moved.splits):
        assert_allclose(halves[0][rows], others[0])


def test_the_order_of_rows_leaves_missing_entries_out():
    X = np.array([[0.0, 2.0], [4.0, np.nan], [2.0, 0.0]])
    assert_allclose(row_order(X), [5.0, 4.0, 1.0])


@pytest.mark.parametrize(
    "y, words",
    [
        ([-1, -1, -1], "y has no label"),
        ([0, 0, -1], "single class 0"),
        ([0, 1, -1], "every class of y has one labeled row at most"),
        ([0.5, 1.5, np.nan], "2 labeled rows; choosing a model takes 4"),
    ],
)
def test_what_cannot_be_split_is_refused(y, words, rng):
    with pytest.raises(ValueError, match=words):
        halves_of(read(y, 3), np.arange(3.0), 1, rng)


def test_one_target_of_classes_at_a_time(rng):
    with pytest.raises(ValueError, match="Choose for each column by itself"):
        halves_of(read(np.array([["a", "x"], ["b", "y"], [None, "x"]], dtype=object), 3), np.arange(3.0), 1, rng)


def test_a_gain_has_the_standard_error_of_splits_that_share_rows():
    one, other = Score(0.9, 0.1, 0.8, (0.7, 0.9, 0.8)), Score(0.8, 0.1, 0.7, (0.7, 0.6, 0.8))
    gain, error = one.gain(other)
    assert gain == pytest.approx(0.1)
    assert error == pytest.approx(np.sqrt((1 / 3 + 1) * np.var([0.0, 0.3, 0.0], ddof=1)))
    assert Score(0.9, 0.1, 0.8, (0.8,)).gain(Score(0.9, 0.1, 0.7, (0.7,)))[1] is None
