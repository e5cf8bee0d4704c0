"""What "auto" compares by, and that it takes the first of the best."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from gnomon.models.dppca.anneal import Options, class_probabilities, fit_coordinates
from gnomon.models.dppca.choice import (
    SCORE_TOL,
    TIE,
    Open,
    Trials,
    candidates,
    choose,
    content_splits,
    still_open,
    usual_factors,
)
from gnomon.targets.halves import score_splits
from models.dppca.planted import planted, reduced


def test_splits_follow_the_rows_and_nothing_else(rng):
    X, index = planted(rng)
    order, turn = rng.permutation(len(X)), np.linalg.qr(rng.normal(size=(8, 8)))[0]
    rows = reduced(X, index)
    first = content_splits(rows, index, 3)
    moved = content_splits(replace(rows, T=(rows.T @ turn)[order], outside=rows.outside[order]), index[order], 3)
    renamed = np.where(index < 0, -1, np.array([2, 0, 1])[index])
    named = content_splits(rows, renamed, 3)
    for pair, other, third in zip(first, moved, named, strict=True):
        for half, same, again in zip(pair, other, third, strict=True):
            assert_array_equal(half[order], same)
            assert_array_equal(half >= 0, again >= 0)
    assert any((one != other).any() for one, other in zip(first[0], first[1], strict=True))


def test_the_first_of_the_best_is_taken_and_its_score_is_that_of_the_halves(rng):
    X, index = planted(rng, spread=1.0)
    X[index < 0] += 6.0 * rng.integers(0, 2, size=((index < 0).sum(), 1)) * rng.normal(size=8)  # these rows mislead
    rows, given = reduced(X, index), Open(3, "auto", "auto")
    best, table = choose(given, len(index), rows.T.shape[1], 2, Trials(rows, index, Options()))
    tried, splits = candidates(given, len(index), 8, 2, index), content_splits(rows, index, 3)
    assert [choice[:3] for choice in table] == tried
    scores = []
    for n_factors, shrinkage, weight in tried:
        options = Options(n_factors, shrinkage, weight, tol=SCORE_TOL, max_iter=0)

        def fit_predict(train, options=options):
            params = fit_coordinates(rows, train, 3, options).value.params
            return class_probabilities(rows, train, params).argmax(axis=1)

        scores.append([score_splits(fit_predict, index, [split]) for split in splits])
    scores = np.array(scores)
    n_seen = [
        next(some for some in (1, 2, 3) if np.allclose(choice[3:], of[:some].mean(axis=0)))
        for choice, of in zip(table, scores, strict=True)
    ]
    assert n_seen[0] == 3 > min(n_seen)
    final = scores[:, :, 2].mean(axis=1)
    assert best is table[int(np.flatnonzero(final >= final.max() - TIE)[0])]


def test_candidates_are_scored_as_long_as_they_could_be_taken():
    scores = np.array([[0.5, 0.4, 0.6], [0.5, -0.2, np.nan], [0.7, 0.9, np.nan], [0.1, 0.1, np.nan]])
    assert_array_equal(still_open(scores, 0), [1, 2, 3])
    assert_array_equal(still_open(scores, 1), [1, 2, 3])
    assert_array_equal(still_open(scores, 2), [2])  # the others are more than 0.3 behind
    scores[0] = [1.0, 0.94, 0.94]
    assert_array_equal(still_open(scores, 0), [])  # 0.96 and the tie are one
    scores[0] = [0.8, 0.8, 0.8]
    assert_array_equal(still_open(scores, 2), [2])  # 0.87 at most
    scores[0] = [0.83, 0.83, 0.83]
    assert_array_equal(still_open(scores, 2), [])


def test_without_two_labels_of_a_class_there_is_nothing_to_compare_by(rng):
    X, index = planted(rng)
    single = np.full(len(index), -1)
    for c in range(3):
        single[np.flatnonzero(index == c)[0]] = c
    rows = reduced(X, single)
    trials = Trials(rows, single, Options())
    best, table = choose(Open("usual", "auto", "auto"), len(single), rows.T.shape[1], 2, trials)
    assert table == []
    assert best[:3] == (usual_factors(len(X)), 1e-3, 1.0)
    assert [usual_factors(n) for n in (10, 199, 200, 300, 10_000)] == [20, 20, 20, 30, 40]


def test_classes_of_the_same_rows_are_still_two(rng):
    X = rng.normal(size=(30, 4))
    X[1] = X[0]
    index = np.zeros(30, dtype=int)
    index[:2] = 1, 2
    for halves in content_splits(reduced(X, index), index, 4):
        for half in halves:
            assert_array_equal(np.unique(half[half >= 0]), [0, 1, 2])
