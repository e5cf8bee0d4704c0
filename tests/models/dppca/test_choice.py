"""What "auto" compares by, and that it takes the first of the best."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca.anneal import Options, fit_coordinates
from gnomon.models.dppca.choice import TIE, Open, candidates, choose, content_splits, usual_factors
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
    best, table = choose(given, rows, index, Options(), 2)
    assert [choice[:3] for choice in table] == candidates(given, len(index), 8, 2, index)
    assert len(table) > 1
    splits, found = content_splits(rows, index, 3), []
    for n_factors, shrinkage, weight, *scored in table:
        options = Options(n_factors, shrinkage, weight, tol=1e-2, max_iter=30)

        def fit_predict(train, options=options):
            return fit_coordinates(rows, train, 3, options).value.resp.argmax(axis=1)

        found.append((scored, *(score_splits(fit_predict, index, splits[:some]) for some in (2, 3))))
    most = max(early.score for _, early, _ in found)
    behind = [early.score < most - 0.15 for _, early, _ in found]
    assert 0 < sum(behind) < len(behind)
    for (scored, early, all_three), left in zip(found, behind, strict=True):
        assert_allclose(scored, early if left else all_three)
    scores = np.where(behind, -np.inf, [choice.score for choice in table])
    assert best is table[int(np.flatnonzero(scores >= scores.max() - TIE)[0])]


def test_without_two_labels_of_a_class_there_is_nothing_to_compare_by(rng):
    X, index = planted(rng)
    single = np.full(len(index), -1)
    for c in range(3):
        single[np.flatnonzero(index == c)[0]] = c
    best, table = choose(Open("usual", "auto", "auto"), reduced(X, single), single, Options(), 2)
    assert table == []
    assert best[:3] == (usual_factors(len(X)), 1e-3, 1.0)
    assert [usual_factors(n) for n in (10, 199, 200, 300, 10_000)] == [20, 20, 20, 30, 40]
