"""Rows that enter a model only through their kernel values with reference rows of the fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from ..numerics import gram
from ..numerics.linalg import symmetrize
from ..numerics.scramble import random_rows
from ..rows import read
from ..rows.kind import is_sparse
from ..rows.products import project
from ._estimator import Transformer, check_choice

NAMES = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian")
EXACT = 2000  # rows up to which "auto" uses the whole kernel matrix
LANDMARKS = 300  # how many it uses beyond
MANY = 1000  # rows from which coordinates by elimination save time worth having
WIDE = 2000  # features up to which a linear kernel works with the columns of X
FAR = 1e3  # deviations from zero beyond which kernel values would lose the digits of what tells rows apart


@dataclass(eq=False, repr=False, kw_only=True)
class KernelTransformer(Transformer):
    """Rows and their kernel values with references, for estimators with `kernel` and its parameters."""

    kernel: Any = "linear"
    gamma: Any = None
    degree: Any = 3
    coef0: Any = 1
    kernel_params: Any = None

    _in_memory = True

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, (*NAMES, "precomputed"))
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError(
                f"kernel_params={self.kernel_params!r} is for a function as kernel; for kernel={self.kernel!r} pass "
                "gamma, degree or coef0."
            )

    def _take(self, rows, kept):
        if not self._precomputed:
            return super()._take(rows, kept)
        return read(rows.gather()[np.ix_(kept, kept)], rows.weights[kept])

    def _renumber(self, kept):
        self.references_, self.landmarks_ = (
            None if rows is None else kept[rows] for rows in (self.references_, self.landmarks_)
        )

    # -- feature space -------------------------------------------------------------------------------------------

    def _feature_map(self, X, rows, landmarks=None, weights=None, principal=True):
        """Map from kernel values to coordinates of feature space, and the coordinates of `rows`, which it rests on.

        With `landmarks`, numbers of rows, everything happens in their span; then kernel values come third. Coordinates
        that need not be `principal` are not where that saves time.
        """
        if landmarks is None:
            K, error = self._reference_gram(X, rows)
            quick = None if principal or len(K) < MANY else gram.eliminated_map(K, error, weights)
            return *(quick or gram.exact_map(K, error, weights)), None
        among, error = self._reference_gram(X, landmarks)
        cross = self._cross(X if len(rows) == X.shape[0] else X[rows])
        return *gram.nystrom_map(cross, among, error, weights), (cross, among, error)

    def _drawn_landmarks(self, X, rows, most, rng):
        """`n_landmarks` of these rows, in their order; None where that is None. Errors call their number `most`."""
        m = self.n_landmarks
        if m is None:
            return None
        if m > len(rows):
            raise ValueError(f"n_landmarks={m} must be at most {most}; use None for all.")
        return rows[random_rows(m, self._mean_squares(X)[rows], rng)]

    def _mean_squares(self, X):
        """A number (n,) for each row that is its own in any order and any units: what is drawn by it is, too."""
        if self._precomputed:
            squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
            return squares / max(float(squares.mean()), np.finfo(float).tiny)
        rows = read(X)
        return rows.standard(rows.summarize()).lengths() / X.shape[1]

    def _reference_gram(self, X, rows):
        """Make `rows` of X the references; return their kernel matrix, checked, and the rounding error of entries."""
        self.references_, self.gamma_, self.X_fit_, self._by_rows, self._origin = rows, None, None, False, None
        if self._precomputed:
            K = gram.checked_gram(X, "X")
            among = K if len(rows) == len(K) else K[np.ix_(rows, rows)]
            return among, gram.entry_error(X) * float(np.abs(K).max())
        self.gamma_ = self._default_gamma(X) if self.gamma is None else float(self.gamma)
        self.X_fit_ = X[rows]
        if self.kernel in ("linear", "rbf"):  # centered, their values are the same about any origin
            self._origin = far_mean(self.X_fit_)
        if callable(self.kernel):
            self._by_rows = not takes_tables(self.kernel, X, self.kernel_params or {})
        return gram.checked_gram(self._cross(self.X_fit_), "the kernel matrix"), 0.0

    def _squared_lengths(self, X):
        """Kernel values (n,) of rows with themselves."""
        if self._precomputed:
            return np.diagonal(X).astype(np.float64)
        n = X.shape[0]
        parts = [np.diagonal(self._values(X[some], X[some])) for some in np.array_split(np.arange(n), max(1, n // 16))]
        return np.concatenate(parts)

    def _default_gamma(self, X):
        return 1.0 / X.shape[1]

    def _cross(self, X):
        """Kernel values of validated rows with the references (n, m), in double precision."""
        if self._precomputed:
            return X[:, self.references_].astype(np.float64)
        return self._values(X, self.X_fit_)

    def _about_origin(self, X):
        origin = vars(self).get("_origin")
        if origin is None:
            return X
        return (X.toarray() if is_sparse(X) else X) - origin

    def _values(self, X, references):
        X, references = self._about_origin(X), self._about_origin(references)
        if callable(self.kernel):
            params = self.kernel_params or {}
        else:
            params = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        return kernel_values(X, references, self.kernel, params=params, by_rows=self._by_rows)


class KernelCoordinates(KernelTransformer):
    """Rows as points of at most `max_rank` dimensions whose inner products are kernel values about the mean."""

    def _fit_coordinates(self, X, rng, weights=None):
        """Return the coordinates T (n, r) of the rows, and those of the base (m, r): all rows, or landmarks.

        Means and the mean squared length are weighted, and T' diag(weights) T is diagonal.
        """
        n = X.shape[0]
        m = self.n_landmarks
        if isinstance(m, str):
            m = None if n <= EXACT else LANDMARKS
        self.landmarks_ = None if m is None or m >= n else random_rows(m, self._mean_squares(X), rng)
        if self._linear and X.shape[1] <= min(n, WIDE):
            T = self._by_columns(X, weights)
        else:
            space, T, _ = self._feature_map(X, np.arange(n), self.landmarks_, weights)
            self._basis, self._shift = space.basis, space.shift
            if self._linear:  # sums of kernel values with the references are one product with X
                self._basis = np.asarray(self._about_origin(self.X_fit_).T.astype(np.float64) @ self._basis)
                self._shift = read(X, weights).summarize().mean
        w = np.ones(n) if weights is None else weights
        size = np.sqrt((w @ T**2).sum() / w.sum())
        if not size > 0:
            raise ValueError(f"all {n} rows of X are the same to the kernel; there is nothing to project.")
        kept = T[:, : self.max_rank]
        self.kernel_share_ = float((w @ kept**2).sum() / (w.sum() * size**2))
        self.kernel_scale_ = float(size**2)
        self.rank_ = kept.shape[1]
        self._basis = self._basis[:, : self.rank_] / size
        T = kept / size
        return T, (T if self.landmarks_ is None else T[self.landmarks_])

    def _coordinates(self, rows):
        """Coordinates (l, r) of validated rows, in double precision."""
        X = rows.gather()
        if self._linear:
            return np.asarray(project(X, self._shift, self._basis), dtype=np.float64)
        return (self._cross(X) - self._shift) @ self._basis

    def _by_columns(self, X, weights):
        """Principal components: the linear kernel without a kernel matrix."""
        self.references_, self.gamma_, self.X_fit_, self._origin = None, None, None, None
        summary = read(X, weights).summarize(second=True)
        self._shift, self._basis = summary.mean, gram.spectrum(symmetrize(summary.groups[0].xx))[1]
        return np.asarray(project(X.astype(np.float64), self._shift, self._basis))


def far_mean(X):
    """Mean (p,) of dense rows that lie far from zero, beside how they vary; else None."""
    if is_sparse(X):
        return None
    summary = read(X).summarize()
    deviation = np.sqrt(summary.squares.sum() / summary.counts.sum()) * summary.unit
    return summary.mean if np.abs(summary.mean).max() > FAR * deviation else None


def takes_tables(kernel, X, params):
    """Whether a function takes two tables and returns a matrix, rather than two rows and returns a number."""
    few, more = X[np.zeros(2, dtype=int)], X[np.zeros(X.shape[1] + 3, dtype=int)]  # sizes no product mixes up
    wanted = (few.shape[0], more.shape[0])
    cause, came = None, None
    try:
        came = np.shape(kernel(few, more, **params))
    except (ValueError, TypeError, IndexError) as error:
        cause = error
    if came == wanted:
        return True
    if not is_sparse(X):
        try:
            if np.shape(kernel(X[0], X[0], **params)) == ():
                return False
        except (ValueError, TypeError, IndexError) as error:
            cause = cause or error
    raise ValueError(
        f"kernel returned {'an error' if came is None else f'shape {came}'} for tables of {wanted[0]} and {wanted[1]} "
        f"rows; a kernel function takes two tables and returns a matrix of shape {wanted}, or takes two rows and "
        "returns a number."
    ) from cause


def kernel_values(A, B, kernel, *, params, by_rows):
    """Kernel matrix (n_a, n_b) in double precision, all finite.

    Parameters
    ----------
    kernel : name or callable
    params : dict       passed on to the kernel; names take what they know of it
    by_rows : bool      a callable of two rows
    """
    A, B = A.astype(np.float64), B.astype(np.float64)
    if callable(kernel) and not by_rows:
        values = kernel(A, B, **params)
        values = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(f"kernel returned shape {values.shape}; {(A.shape[0], B.shape[0])} is wanted.")
    elif kernel == "linear":
        values = A @ B.T
        values = values.toarray() if is_sparse(values) else values
    else:
        if kernel == "cosine":  # scikit-learn takes rows shorter than 2e-15 for zeros
            A, B = (table * (1.0 / (float(abs(table).max()) or 1.0)) for table in (A, B))
        if kernel == "laplacian":  # scikit-learn has it for short indices only
            A, B = (_with_short_indices(table) if is_sparse(table) else table for table in (A, B))
        with np.errstate(over="ignore", invalid="ignore"):
            values = pairwise_kernels(A, B, metric=kernel, filter_params=True, **params)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        i, j = bad[0]
        raise ValueError(
            f"kernel gives {values[i, j]} for rows {i} and {j}; it must be finite. Scale X, or choose other kernel "
            "parameters."
        )
    return values


def _with_short_indices(table):
    parts = table.data, table.indices.astype(np.int32, copy=False), table.indptr.astype(np.int32, copy=False)
    return type(table)(parts, shape=table.shape)
