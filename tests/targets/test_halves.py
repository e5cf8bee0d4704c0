"""The agreement score against counts by hand."""

import numpy as np
import pytest

from gnomon.targets.halves import can_split, score_splits
from gnomon.targets.halves import half_splits as of_labeled


def half_splits(index, n_splits, rng):
    """Labels of either half, -1 for the rows of the other."""
    rows, splits = np.flatnonzero(index >= 0), []
    for halves in of_labeled(index[rows], n_splits, rng):
        parts = [np.full(len(index), -1) for _ in halves]
        for part, half in zip(parts, halves, strict=True):
            part[rows[half]] = index[rows[half]]
        splits.append(tuple(parts))
    return splits


def test_halves_share_the_rows_of_each_class(rng):
    index = rng.permutation(np.repeat([-1, 0, 1, 2, 3], [7, 4, 5, 2, 1]))
    for first, second in half_splits(index, 20, rng):
        for c, (low, high) in enumerate([(2, 2), (2, 3), (1, 1), (1, 1)]):
            counts = (first == c).sum(), (second == c).sum()
            assert min(counts) == low
            assert max(counts) == high
            both = (first == c) & (second == c)
            assert both.any() == (c == 3)
            assert ((first == c) | (second == c) == (index == c)).all()
        assert (first[index < 0] == -1).all()
        assert (second[index < 0] == -1).all()


def test_splits_differ_and_the_odd_row_goes_to_either_half(rng):
    index = np.repeat([-1, 0], [3, 5])
    splits = half_splits(index, 40, rng)
    assert {int((first == 0).sum()) for first, _ in splits} == {2, 3}
    assert len({tuple(first) for first, _ in splits}) > 3


def test_score_counts_votes_and_errors():
    index = np.array([0, 0, 1, 1, -1, -1, -1, -1])
    first, second = np.array([0, -1, 1, -1, -1, -1, -1, -1]), np.array([-1, 0, -1, 1, -1, -1, -1, -1])
    named = {first.tobytes(): np.array([0, 1, 1, 1, 0, 0, 1, 1]), second.tobytes(): np.array([0, 0, 1, 1, 0, 1, 1, 1])}
    score = score_splits(lambda train: named[train.tobytes()], index, [(first, second)])
    assert score.agreement == 0.75  # three of the four unlabeled rows
    assert score.error == 0.25  # row 1 of the four that were held out once
    assert score.score == 0.5


def test_a_perfect_model_scores_one_and_a_constant_one_pays_for_its_error(rng):
    truth = rng.integers(0, 3, size=90)
    index = np.where(np.arange(90) < 30, truth, -1)
    assert score_splits(lambda train: truth, index, half_splits(index, 3, rng)).score == 1.0
    constant = score_splits(lambda train: np.zeros(90, dtype=int), index, half_splits(index, 3, rng))
    assert constant.agreement == 1.0
    assert constant.error == pytest.approx((truth[:30] != 0).mean())


def test_without_unlabeled_rows_the_score_is_the_error(rng):
    index = np.repeat([0, 1], 4)
    assert score_splits(lambda train: index, index, half_splits(index, 2, rng)) == (0.0, 0.0, 0.0)


def test_one_row_a_class_cannot_be_split(rng):
    index = np.array([0, 1, 2, -1, -1])
    assert not can_split(index)
    assert not can_split(np.array([-1]))
    assert can_split(np.array([0, 0, -1]))
    with pytest.raises(ValueError, match="two labeled rows"):
        score_splits(lambda train: index, index, half_splits(index, 2, rng))
