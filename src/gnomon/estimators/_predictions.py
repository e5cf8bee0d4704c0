"""Predictions of targets: classes by what is most probable, numbers by what is expected, of one column or several."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..rows.by_chunk import by_chunk
from ._guided import GuidedPredictor


def with_classes(estimator):
    """Whether the estimator has classes, or may have: for `available_if`."""
    kind = vars(estimator).get("target_kind_", estimator.target)
    if kind in ("real", "counts") or (kind == "mixed" and "classes_" not in vars(estimator)):
        raise AttributeError(
            f"predict_proba is for classes; this {type(estimator).__name__} is for numbers (target_kind_={kind!r}), "
            "use predict."
        )
    return True


def _join(columns):
    """Predictions of several targets side by side: a table of numbers, or of objects where one is not a number."""
    if all(column.dtype.kind in "biuf" for column in columns):
        return np.column_stack(columns)
    out = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


class Predictor(GuidedPredictor):
    """`predict` and `predict_proba`, from what `_predicted` finds for each target of validated rows.

    That is a list with an array for each: probabilities (n, C) of its classes, or expected numbers (n,).
    """

    def _require_predictions(self, method):
        self._require_targets(method)

    @by_chunk
    def predict(self, X: Any) -> Any:
        """Predict the targets: the most probable class, or the expected number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            A vector where y was one in `fit`.
        """
        rows = self._check_rows(X)
        self._require_predictions("predict")
        return self._named(self._predicted(rows), rows)

    @available_if(with_classes)
    @by_chunk
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class given x.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or list
            Rows sum to one; columns in the order of `classes_`. With a table of targets a list with one array for each,
            None for numbers.
        """
        rows = self._check_rows(X)
        self._require_predictions("predict_proba")
        tables = [None if found.ndim == 1 else rows.like(found) for found in self._predicted(rows)]
        return tables[0] if self._vector else tables

    def _named(self, found, rows):
        """Labels and numbers of the targets, side by side; numbers alone are in the type of X and where it is."""
        out = self._decoded([values if values.ndim == 1 else values.argmax(axis=1) for values in found])
        return out if any(classes is not None for _, classes, _ in self._form) else rows.like(out)

    def _decoded(self, columns):
        """Targets as in fit, of one column of class numbers, or of numbers, for each."""
        pairs = zip(columns, self._form, strict=True)
        out = [values if classes is None else classes[values.astype(np.intp)] for values, (_, classes, _) in pairs]
        return out[0] if self._vector else _join(out)


class DeviationPredictor(Predictor):
    """The same with standard deviations of numbers, from `_predicted_with_std`: a list as above, and a table (n, q)."""

    _with_std = True

    def _predicted(self, rows):
        return self._predicted_with_std(rows)[0]

    @by_chunk
    def predict(self, X: Any, return_std: Any = False) -> Any:
        """Predict the targets, integrating over the uncertainty of the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Return predictive standard deviations of numbers too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The most probable class, the expected count or the expected real number of each.
        std : ndarray of the shape of y
            In units of y, the noise of real outputs and the chance of counts included; NaN for classes. Only with
            `return_std=True`.
        """
        return self._answered(X, return_std, self._predicted_with_std)

    def _answered(self, X, return_std, found_with_std):
        """What `predict` returns; `found_with_std(rows)` gives both, as `_predicted_with_std` does."""
        rows = self._check_rows(X)
        self._require_targets("predict")
        if return_std and self.target_kind_ == "classes":
            raise ValueError("return_std=True is for real outputs and counts; for classes use predict_proba.")
        if not return_std:
            return self._named(self._predicted(rows), rows)
        found, std = found_with_std(rows)
        return self._named(found, rows), rows.like(std[:, 0] if self._vector else std)
