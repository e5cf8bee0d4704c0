"""Folds of labeled rows that follow from what rows hold: neither their order nor the names of classes matter."""

from typing import Any

import numpy as np

from .._types import Array, IntArray

SAME = 1e-9  # of the largest: numbers of rows or columns that differ by less are the same


def ranks(*keys: Array, unit: float = 0.0) -> IntArray:
    """Rank of each entry by the first key; where that is the same but for rounding, by the next, else the same rank.

    `unit` is of the size of the keys: where the largest entry of one is less, that much is rounding.
    """
    found = np.zeros(len(keys[0]), dtype=np.intp)
    for key in keys:
        order = np.lexsort((key, found))
        apart = np.diff(key[order]) > SAME * max(float(np.abs(key).max(initial=0.0)), unit)
        apart |= np.diff(found[order]) > 0
        found[order] = np.concatenate([[0], np.cumsum(apart)])
    return found


def ranks_of_rows(T: Any, classes: IntArray) -> IntArray:
    """Rank of each labeled row (m, p), dense or sparse, by how far it lies from the mean of all and of its class."""
    m, one_hot = len(classes), np.eye(int(classes.max(initial=0)) + 1)[classes]
    means = np.asarray((T.T @ one_hot).T) / np.maximum(one_hot.sum(axis=0), 1.0)[:, None]
    mean = np.asarray(T.T @ np.full(m, 1.0 / max(m, 1)))
    squares = np.asarray((T * T if isinstance(T, np.ndarray) else T.multiply(T)).sum(axis=1)).ravel()
    of_all, of_class = np.asarray(T @ mean), (np.asarray(T @ means.T) * one_hot).sum(axis=1)
    return ranks(squares - 2.0 * of_all, of_class - of_all, unit=float(squares.max(initial=0.0)))


def deal_folds(T: Any, classes: IntArray, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Fold of each labeled row (m,), stratified by class; -1 for the only row of a class, which is never held out.

    Rows (m, p), dense or sparse, are put in an order of their own before they are dealt at random.
    """
    rank, drawn, folds = ranks_of_rows(T, classes), generator.random(len(classes)), np.full(len(classes), -1)
    for c in range(int(classes.max(initial=0)) + 1):
        rows = np.flatnonzero(classes == c)
        if len(rows) > 1:
            rows = rows[np.argsort(rank[rows], kind="stable")]
            folds[rows[np.argsort(drawn[: len(rows)])]] = np.arange(len(rows)) % n_folds
    return folds
