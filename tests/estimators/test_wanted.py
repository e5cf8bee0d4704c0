"""Which rows are best labeled next: few, spread out, in doubt, and whatever their order."""

import numpy as np
import pytest

from gnomon import GuidedProjection
from gnomon.estimators._wanted import MOST, Pool, pool_of, wanted


def clusters(seed=0, sizes=(40, 40, 40)):
    """Rows of far clusters, and which cluster each is in."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(len(sizes)), sizes)
    return 20.0 * np.eye(len(sizes))[which] + rng.standard_normal((len(which), len(sizes))), which


def by_hand(T, doubt, labeled, n_labeled, n):
    """The rule of `suggest_labels` as its notes state it, sum by sum."""
    everything = [*T, *labeled]
    neighbor = min(len(everything) - 1, max(1, len(everything) // (n_labeled + n)))
    reach = np.median([sorted(np.sum((t - u) ** 2) for u in everything)[neighbor] for t in T])

    def near(i, u):
        return np.exp(-np.sum((T[i] - u) ** 2) / reach)

    chosen = []
    for _ in range(n):
        covered = [max(near(j, u) for u in [*labeled, *(T[i] for i in chosen)]) for j in range(len(T))]
        gains = [
            -1.0 if i in chosen else doubt[i] * sum(max(near(i, T[j]) - covered[j], 0.0) for j in range(len(T)))
            for i in range(len(T))
        ]
        chosen.append(int(np.argmax(gains)))
    return chosen


def test_gains_are_those_of_the_definition():
    rng = np.random.default_rng(3)
    T = clusters(3, sizes=(7, 8, 10))[0] / 10.0
    labeled, doubt = rng.standard_normal((4, 3)), rng.uniform(0.5, 1.0, size=25)
    pool = Pool(np.arange(100, 125), T, doubt, labeled, 4)
    assert (wanted(pool, 6) - 100).tolist() == by_hand(T, doubt, labeled, 4, 6)


def test_a_cluster_without_a_label_comes_first():
    T, which = clusters()
    labeled = np.isin(np.arange(len(T)), [0, 40])
    rows = wanted(pool_of(T, np.full(len(T), 0.5), labeled), 1)
    assert which[rows].tolist() == [2]


def test_rows_in_doubt_come_first_where_all_else_is_equal():
    T, which = clusters()
    labeled = np.isin(np.arange(len(T)), [0, 40, 80])
    rows = wanted(pool_of(T, np.where(which == 1, 0.9, 0.1), labeled), 3)
    assert (which[rows] == 1).all()


def test_of_numbers_it_is_the_row_farthest_from_every_labeled_one():
    T = np.array([[0.0], [1.0], [2.0], [10.0], [9.5], [4.0]])
    labeled = np.array([True, False, False, False, False, False])
    assert wanted(pool_of(T, None, labeled), 3).tolist() == [3, 5, 2]


def test_no_more_than_there_are_and_none_twice():
    T, _ = clusters(sizes=(4, 4))
    labeled = np.isin(np.arange(8), [0, 4])
    for doubt in (None, np.full(8, 0.5), np.zeros(8)):
        assert sorted(wanted(pool_of(T, doubt, labeled), 50).tolist()) == [1, 2, 3, 5, 6, 7]
        assert wanted(pool_of(T, doubt, np.ones(8, dtype=bool)), 5).tolist() == []


def test_of_many_rows_some_are_kept_along_their_doubt():
    T = np.random.default_rng(0).standard_normal((3000, 2))
    doubt, labeled = np.linspace(0, 1, 3000), np.arange(3000) % 3 == 0
    pool = pool_of(T, doubt, labeled)
    assert len(pool.rows) == MOST == len(pool.labeled)
    assert pool.n_labeled == 1000
    assert np.ptp(pool.doubt) > 0.99
    assert not labeled[pool.rows].any()


@pytest.mark.parametrize("kind", ["classes", "real"])
def test_order_of_rows_is_nothing(kind):
    X, which = clusters(1)
    y = np.where(np.arange(len(X)) % 9 == 0, which, -1)
    if kind == "real":
        y = np.where(y >= 0, X[:, 0] + X[:, 1], np.nan)
    order = np.random.default_rng(5).permutation(len(X))
    one = GuidedProjection(target=kind).fit(X, y).describe().suggest(6, None)
    other = GuidedProjection(target=kind).fit(X[order], y[order]).describe().suggest(6, None)
    assert order[other].tolist() == one.tolist()
