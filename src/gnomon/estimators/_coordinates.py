"""Coordinates of rows in feature space, scaled to a mean squared length of one."""

import numpy as np

from ..numerics import gram
from ..numerics.linalg import symmetrise
from ..rows.products import project
from ._kernel_rows import KernelRows

EXACT = 2000  # rows up to which "auto" uses the whole kernel matrix
LANDMARKS = 300  # how many it uses beyond
WIDE = 2000  # features up to which a linear kernel works with the columns of X


def column_means(X, weights=None):
    """Means (p,) of the columns of a dense or sparse X, in double precision."""
    if weights is None:
        return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return np.asarray(weights @ X).ravel() / weights.sum()


class KernelCoordinates(KernelRows):
    """Rows as points of at most `max_rank` dimensions whose inner products are kernel values about the mean."""

    def _fit_coordinates(self, X, rng, weights=None):
        """Return the coordinates T (n, r) of the rows, and those of the base (m, r): all rows, or landmarks.

        Means and the mean squared length are weighted, and T' diag(weights) T is diagonal.
        """
        n = X.shape[0]
        m = self.n_landmarks
        if isinstance(m, str):
            m = None if n <= EXACT else LANDMARKS
        self.landmarks_ = None if m is None or m >= n else np.sort(rng.choice(n, m, replace=False))
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        if linear and X.shape[1] <= min(n, WIDE):
            T = self._by_columns(X, weights)
        else:
            T = self._by_kernel(X, weights)
            if linear:  # sums of kernel values with the references are one product with X
                self._basis = np.asarray(self.X_fit_.T.astype(np.float64) @ self._basis)
                self._shift = column_means(X, weights)
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

    def _coordinates(self, X):
        """Coordinates (l, r) of validated rows, in double precision."""
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return np.asarray(project(X, self._shift, self._basis), dtype=np.float64)
        return (self._cross(X) - self._shift) @ self._basis

    def _by_columns(self, X, weights):
        """Principal components: the linear kernel without a kernel matrix."""
        self.references_, self.gamma_, self.X_fit_ = None, None, None
        w = np.ones(X.shape[0]) if weights is None else weights
        self._shift = column_means(X, weights)
        unit = float(abs(X).max()) or 1.0
        if hasattr(X, "tocsr"):
            scaled, centre = X.astype(np.float64).multiply(np.sqrt(w)[:, None] / unit).tocsr(), self._shift / unit
            scatter = (scaled.T @ scaled).toarray() - w.sum() * np.outer(centre, centre)
        else:
            scaled = np.sqrt(w)[:, None] * ((X - self._shift) / unit)
            scatter = scaled.T @ scaled
        self._basis = gram.spectrum(symmetrise(scatter)).vectors
        return np.asarray(project(X.astype(np.float64), self._shift, self._basis))

    def _by_kernel(self, X, weights):
        """Eigenvectors of the kernel matrix, or of that of the landmarks."""
        every = self.landmarks_ is None
        rows = np.arange(X.shape[0]) if every else self.landmarks_
        among, error = self._reference_gram(X, rows)
        if every:
            space, T = gram.exact_map(among, error, weights)
        else:
            space, T = gram.nystrom_map(self._cross(X), among, error, weights)
        self._basis, self._shift = space.basis, space.shift
        return T
