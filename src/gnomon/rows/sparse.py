"""Rows of a scipy sparse matrix or array; the centring is algebra, never a dense copy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array, IntArray
from .source import RowSource, Step
from .threads import sparse_product

CHUNK = 1 << 18  # stored entries handled at once where each needs its row and column


class SparseRows(RowSource):
    """A (n, p) scipy sparse matrix or array in csr or csc form; other forms are converted to csr.

    Memory beyond X: T and U of a sweep, each n x r; a subset of rows is sliced while it is read; a copy of X when
    it holds the same entry twice.
    """

    own_threads = True

    def __init__(self, X: Any, weights: Array | None = None) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights)
        self.X = X if X.format in ("csr", "csc") else X.tocsr()
        if not self.X.has_canonical_format:
            self.X = self.X.copy()
            self.X.sum_duplicates()

    def _sums(self, U: Array) -> tuple[Array, float]:
        largest = float(np.abs(self.X.data).max(initial=0.0)) if self.X.nnz else 0.0
        out = np.empty((self.shape[1], U.shape[1]))
        out[:, 0] = self.X.T @ U[:, 0]
        some = np.flatnonzero(U[:, 1:].any(axis=1))
        out[:, 1:] = self.X[some].T @ U[some, 1:] if len(some) < self.shape[0] else self.X.T @ U[:, 1:]
        return out, largest

    def _sweep(self, V: Array | None, step: Step, rows: IntArray | None) -> tuple[Array, Any]:
        X = self.X if rows is None else self.X[rows]
        index = np.arange(self.shape[0]) if rows is None else rows
        T = np.empty((len(index), 0)) if V is None else sparse_product(X, V)
        if V is not None:
            T -= self.mean @ V
            T /= self.scale
        U, stats = step(T, index)
        U = self._apply_weights(U, index)
        out = sparse_product(X.T, U)
        for column, total in zip(
            out.T, U.sum(axis=0), strict=True
        ):  # in place: out is as large as a block of the basis
            column -= self.mean * total
        return out, stats

    def _raw_energy(self) -> float:
        # sum over stored entries of (x - m)^2, plus m^2 for the entries that are zero: no cancellation of large sums
        by_rows = self.X.format == "csr"
        mean = self.mean / self.scale
        w = np.ones(self.shape[0]) if self.weights is None else self.weights
        seen, total, indptr = np.zeros(self.shape[1]), 0.0, self.X.indptr
        n_major = len(indptr) - 1
        cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], CHUNK), side="left")
        edges = np.unique(np.concatenate([[0], cuts, [n_major]]))
        for start, stop in pairwise(edges):
            entries = slice(indptr[start], indptr[stop])
            major = np.repeat(np.arange(start, stop), np.diff(indptr[start : stop + 1]))
            minor = self.X.indices[entries]
            row, column = (major, minor) if by_rows else (minor, major)
            stored = w[row]
            seen += np.bincount(column, weights=stored, minlength=self.shape[1])
            total += float(stored @ (self.X.data[entries].astype(np.float64) / self.scale - mean[column]) ** 2)
        return total + float(np.maximum(self.count - seen, 0.0) @ mean**2)

    def _raw_second_moment(self, rows: IntArray | None) -> Array:
        index = np.arange(self.shape[0]) if rows is None else rows
        X = (self.X if rows is None else self.X[rows]).astype(np.float64) * (1.0 / self.scale)
        mean = self.mean / self.scale
        w = np.ones(len(index)) if self.weights is None else self.weights[index]
        sums = X.T @ w
        out = (X.T @ sp.diags_array(w) @ X).toarray()
        cross = np.outer(sums, mean)
        return np.asarray(out - cross - cross.T + w.sum() * np.outer(mean, mean))

    def _raw_gram(self) -> Array:
        X = self.X.astype(np.float64) * (1.0 / self.scale)
        mean = self.mean / self.scale
        along = np.asarray(X @ mean)
        out = (X @ X.T).toarray()
        return np.asarray(out - along[:, None] - along[None, :] + mean @ mean)
