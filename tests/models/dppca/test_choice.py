"""What "auto" compares by, and that it takes the first of the best."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca.anneal import Options, fit_coordinates
from gnomon.models.dppca.choice import TIE, Open, candidates, choose, content_splits, ranks, usual_factors
from gnomon.targets.halves import score_splits
from models.dppca.planted import planted, reduced


def test_splits_follow_the_rows_and_nothing_else(rng):
    X, index = planted(rng)
    order, turn = rng.permutation(len(X)), np.linalg.qr(rng.normal(size=(8, 8)))[0]
    rows = reduced(X, index)
    first = content_splits(rows, index, 3)
    moved = content_splits(rows._replace(T=(rows.T @ turn)[order], outside=rows.outside[order]), index[order], 3)
    renamed = np.where(index < 0, -1, np.array([2, 0, 1])[index])
    named = content_splits(rows, renamed, 3)
    for pair, other, third in zip(first, moved, named, strict=True):
        for half, same, again in zip(pair, other, third, strict=True):
            assert_array_equal(half[order], same)
            assert_array_equal(half >= 0, again >= 0)
    assert any((one != other).any() for one, other in zip(first[0], first[1], strict=True))


def test_ranks_go_by_the_next_key_where_one_is_the_same_but_for_rounding():
    assert_array_equal(ranks(np.array([3.0, 1.0, 1.0 + 1e-13, 2.0]), np.array([0.0, 5.0, 4.0, 0.0])), [3, 1, 0, 2])
    assert_array_equal(ranks(np.array([1.0, 1.0])), [0, 0])


def test_the_first_of_the_best_is_taken_and_its_score_is_that_of_the_halves(rng):
    X, index = planted(rng)
    rows, given = reduced(X, index), Open(3, "auto", "auto")
    best, table = choose(given, rows, index, Options(), 2)
    assert [choice[:3] for choice in table] == candidates(given, len(index), 8, 2, index)
    assert len(table) > 1
    scores = np.array([choice.score for choice in table])
    assert best is table[int(np.flatnonzero(scores >= scores.max() - TIE)[0])]
    for n_factors, shrinkage, weight, *scored in table:
        options = Options(n_factors, shrinkage, weight, tol=1e-2, max_iter=30)

        def fit_predict(train, options=options):
            return fit_coordinates(rows, train, 3, options).value.resp.argmax(axis=1)

        assert_allclose(scored, score_splits(fit_predict, index, content_splits(rows, index, 3)))


def test_without_two_labels_of_a_class_there_is_nothing_to_compare_by(rng):
    X, index = planted(rng)
    single = np.full(len(index), -1)
    for c in range(3):
        single[np.flatnonzero(index == c)[0]] = c
    best, table = choose(Open("usual", "auto", "auto"), reduced(X, single), single, Options(), 2)
    assert table == []
    assert best[:3] == (usual_factors(len(X)), 1e-3, 1.0)
    assert [usual_factors(n) for n in (10, 199, 200, 300, 10_000)] == [20, 20, 20, 30, 40]
