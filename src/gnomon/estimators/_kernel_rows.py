"""Rows that enter a model only through their kernel values with reference rows of the fit."""

import numpy as np
from sklearn.utils.validation import validate_data

from ..numerics import gram
from ._kernels import check_kernel, kernel_values, takes_tables
from ._validation import check_size


class KernelRows:
    """Validation of rows and their kernel values with references, for estimators with `kernel` and its parameters."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_kernel(self):
        check_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)

    def _validated(self, X, *, reset):
        try:
            X = validate_data(
                self, X, reset=reset, accept_sparse=False if self._precomputed else ("csr", "csc"),
                dtype=(np.float64, np.float32), ensure_min_samples=2 if reset else 1,
            )  # fmt: skip
        except ValueError as error:
            if "contains NaN" not in str(error):
                raise
            raise ValueError(
                f"Input X contains NaN; {type(self).__name__} needs every entry. Fill missing ones in first: the "
                "impute method of gnomon.PPCA, or the command gnomon impute."
            ) from None
        check_size("X", X.data if hasattr(X, "tocsr") else X)
        return X

    def _reference_gram(self, X, rows):
        """Make `rows` of X the references; return their kernel matrix, checked, and the rounding error of entries."""
        self.references_, self.gamma_, self.X_fit_, self._by_rows = rows, None, None, False
        if self._precomputed:
            K = gram.checked_gram(X, "X")
            return K[np.ix_(rows, rows)], gram.entry_error(X) * float(np.abs(K).max())
        self.gamma_ = self._default_gamma(X) if self.gamma is None else float(self.gamma)
        self.X_fit_ = X[rows]
        if callable(self.kernel):
            self._by_rows = not takes_tables(self.kernel, X, self.kernel_params or {})
        return gram.checked_gram(self._cross(self.X_fit_), "the kernel matrix"), 0.0

    def _default_gamma(self, X):
        return 1.0 / X.shape[1]

    def _cross(self, X):
        """Kernel values of validated rows with the references (n, m), in double precision."""
        if self._precomputed:
            return X[:, self.references_].astype(np.float64)
        if callable(self.kernel):
            params = self.kernel_params or {}
        else:
            params = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        return kernel_values(X, self.X_fit_, self.kernel, params=params, by_rows=self._by_rows)
