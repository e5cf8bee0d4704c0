"""Coordinates of rows in feature space, scaled to a mean squared length of one."""

import numpy as np

from ..numerics import gram
from ..numerics.linalg import symmetrise
from ..rows.products import project
from ._kernel_rows import KernelRows

EXACT = 2000  # rows up to which "auto" uses the whole kernel matrix
LANDMARKS = 300  # how many it uses beyond
WIDE = 2000  # features up to which a linear kernel works with the columns of X


def column_means(X):
    """Means (p,) of the columns of a dense or sparse X, in double precision."""
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


class KernelCoordinates(KernelRows):
    """Rows as points of at most `max_rank` dimensions whose inner products are kernel values about the mean."""

    def _fit_coordinates(self, X, rng):
        """Return the coordinates T (n, r) of the rows, and those of the base (m, r): all rows, or landmarks."""
        n = X.shape[0]
        m = self.n_landmarks
        if isinstance(m, str):
            m = None if n <= EXACT else LANDMARKS
        self.landmarks_ = None if m is None or m >= n else np.sort(rng.choice(n, m, replace=False))
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        if linear and X.shape[1] <= min(n, WIDE):
            T = self._by_columns(X)
        else:
            T = self._by_kernel(X)
            if linear:  # sums of kernel values with the references are one product with X
                self._basis = np.asarray(self.X_fit_.T.astype(np.float64) @ self._basis)
                self._shift = column_means(X)
        size = np.sqrt(np.einsum("ij,ij->", T, T) / n)
        if not size > 0:
            raise ValueError(f"all {n} rows of X are the same to the kernel; there is nothing to project.")
        kept = T[:, : self.max_rank]
        self.kernel_share_ = float(np.einsum("ij,ij->", kept, kept) / (n * size**2))
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

    def _by_columns(self, X):
        """Principal components: the linear kernel without a kernel matrix."""
        self.references_, self.gamma_, self.X_fit_ = None, None, None
        n = X.shape[0]
        self._shift = column_means(X)
        unit = float(abs(X).max()) or 1.0
        if hasattr(X, "tocsr"):
            scaled, centre = X.astype(np.float64) * (1.0 / unit), self._shift / unit
            scatter = (scaled.T @ scaled).toarray() - n * np.outer(centre, centre)
        else:
            scaled = (X - self._shift) / unit
            scatter = scaled.T @ scaled
        self._basis = gram.spectrum(symmetrise(scatter)).vectors
        return np.asarray(project(X.astype(np.float64), self._shift, self._basis))

    def _by_kernel(self, X):
        """Eigenvectors of the kernel matrix, or of that of the landmarks."""
        every = self.landmarks_ is None
        rows = np.arange(X.shape[0]) if every else self.landmarks_
        among, error = self._reference_gram(X, rows)
        space, T = gram.exact_map(among, error) if every else gram.nystrom_map(self._cross(X), among, error)
        self._basis, self._shift = space.basis, space.shift
        return T
