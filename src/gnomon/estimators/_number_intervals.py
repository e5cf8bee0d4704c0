"""Predicted numbers with deviations that count how well the read-out of y from the projection is known."""

from typing import Any

import numpy as np

from ..models.linear.output_intervals import (
    Known,
    Labels,
    deviations,
    learn,
    learn_from_moments,
    taken_over,
    variances,
)
from ..numerics.folds import ranks
from ..numerics.linear_gaussian import given_x
from ..rows.by_chunk import by_chunk
from ..rows.products import rows_with_some
from ._posterior import check_uncertainty
from ._predictions import DeviationPredictor

BATCH = 1 << 21  # numbers held at once for rows with missing entries
ENOUGH = 5000  # labeled rows that tell residual variances to a hundredth; of more, so many are asked


class NumberPredictor(DeviationPredictor):
    """From `_readings()`: loadings (q, k), intercepts (q,) and noise variances (q,) of real outputs, in units of y."""

    @by_chunk
    def predict(self, X: Any, return_std: Any = False, uncertainty: Any = "full") -> Any:
        """Predict the targets, integrating over the uncertainty of the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Return predictive standard deviations of numbers too.
        uncertainty : {"full", "plug-in"}, default="full"
            What deviations of real numbers count, besides the noise and that the projection is uncertain. "full" adds
            that loadings, intercept and residual variance are estimates from few labels; "plug-in" takes them for
            known. Predictions are the same.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The most probable class, the expected count or the expected real number of each.
        std : ndarray of the shape of y
            In units of y, the noise of real outputs and the chance of counts included; NaN for classes. The prediction
            plus or minus 1.96 of them is the 95 % interval: by "full" the t-interval of a regression of y on the
            projection of the labeled rows (5,000 of them where there are more), with n_labeled - n_components - 1
            degrees of freedom. Only with `return_std=True`.
        """
        check_uncertainty(uncertainty)
        return self._answered(X, return_std, lambda rows: self._found_with_deviations(rows, uncertainty == "full"))

    def _found_with_deviations(self, rows, full):
        """What is predicted of each target, and deviations (n, q)."""
        parts = [self._with_deviations(batch, full) for batch in self._batches(rows)]
        columns = zip(*(found for found, _ in parts), strict=True)
        return [np.concatenate(column) for column in columns], np.concatenate([std for _, std in parts])

    def _with_deviations(self, rows, full):
        """The same of some rows."""
        found, std = self._predicted_with_std(rows)
        W, _, noise = self._readings()
        if full and len(W):
            std = std.copy()
            mean, cov = self._condition(rows)
            std[:, self._read()] = deviations(Known(*self._known_numbers), self._guided(mean), variances(cov, W, noise))
        return found, std

    def _read(self):
        """Which targets are real numbers."""
        return slice(None)

    def _guided(self, mean):
        return mean[:, : self.n_components_]

    def _batches(self, rows):
        """The rows as they are, or some at a time when each has a predictive covariance of its own."""
        if not rows.masked:
            return [rows]
        size = max(1, BATCH // max(self.y_loadings_.shape[0], self.components_.shape[0]) ** 2)
        n = rows.shape[0]
        return [rows.take(np.arange(start, min(start + size, n))) for start in range(0, n, size)]

    def _learn_numbers(self, rows, Y, weights, n_columns):
        """Learn how well outputs Y (n, q) are known, once the parameters are stored; a row of weight two is two rows.

        `rows` have weights as they are given; `weights` (n,) or None are those of the fit, where labels may count as
        more; `n_columns` is the dimension of what is noise.
        """
        W, intercept, noise = self._readings()
        if not len(W):
            return
        labeled = _some(rows, Y, rows_with_some(~np.isnan(Y)))
        weights = np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=np.float64)
        counted = np.ones(len(labeled)) if rows.weights is None else np.asarray(rows.weights, dtype=float)[labeled]
        pull = weights[labeled] / counted * max(n_columns - W.shape[1], 0.0) / weights.sum()
        parts, start = [], 0
        for mean, cov in map(self._condition, self._batches(rows.take(labeled))):
            stop = start + len(mean)
            var, own = variances(cov, W, noise), pull[start:stop]
            alike = cov.ndim == 2 and (own == own[0]).all()
            share = taken_over(cov, W, var, own[:1] if alike else own)
            size = (len(mean), len(W))
            found = (
                self._guided(mean),
                intercept + mean @ W.T,
                np.broadcast_to(var, size),
                np.broadcast_to(share, size),
            )
            parts.append(found)
            start = stop
        Z, mean, var, share = (np.concatenate(part) for part in zip(*parts, strict=True))
        self._known_numbers = tuple(learn(Labels(Z, Y[labeled], mean, var, share, counted)))

    def _learn_numbers_from_moments(self, beside, share_of_rows, n_columns):
        """The same of complete rows, by sums of products of (1, z, y) as given; a label is that share of all rows."""
        W, intercept, noise = self._readings()
        W, intercept = W / beside.y_scale[:, None], (intercept - beside.y_mean) / beside.y_scale
        g, cov = self.n_components_, given_x(self._params()).cov
        var = variances(cov, W, noise / beside.y_scale**2)
        share = taken_over(cov, W, var, np.array([share_of_rows * max(n_columns - W.shape[1], 0.0)]))
        guided = np.r_[: g + 1, -1]
        known = learn_from_moments(beside.moments[:, guided[:, None], guided], W[:, :g], intercept, var[0], share[0])
        self._known_numbers = tuple(known._replace(inverse=known.inverse * beside.y_scale[:, None, None] ** 2))


def _some(rows, Y, labeled):
    """Labeled rows, or enough of them from the smallest output to the largest, the same whatever their order."""
    if len(labeled) <= ENOUGH:
        return labeled
    lengths = rows.take(labeled).in_units(np.zeros(rows.shape[1]), 1.0).lengths()  # where outputs are the same
    by_size = labeled[np.lexsort((ranks(lengths), *Y[labeled].T[::-1]))]
    return np.sort(by_size[np.linspace(0, len(labeled) - 1, ENOUGH).round().astype(np.intp)])
