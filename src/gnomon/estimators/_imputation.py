"""Missing entries of X filled in: `impute`."""

from typing import Any

from ..rows.by_chunk import by_chunk
from ._estimator import as_given


class Imputer:
    """From `_imputed(rows, y)`: the same rows, complete."""

    @by_chunk
    def impute(self, X: Any, y: Any = None) -> Any:
        """Fill missing entries with their expectation given what is observed in the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing entries.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`, conditioned on as well by `SPPCA` and `CPPCA`. Other models ignore them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            A copy without missing entries; observed ones are unchanged. Of `Rows`, new ones that stay where they are.
        """
        rows = self._check_rows(X)
        if rows.sparse:
            raise TypeError("impute needs a dense X: an entry that a sparse X does not store is a zero, not missing.")
        return as_given(self._imputed(rows, y), X)

    def _said(self):
        return super()._said() | {"impute": self.impute}
