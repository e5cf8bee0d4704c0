"""Independent factor analysis: the model without noise or with it, fitted and asked in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import Array, IntArray, Result
from . import noiseless, noisy
from .likelihood import RowPosterior
from .noiseless import Labels

Fitted = noiseless.Fitted | noisy.Fitted

__all__ = ["Fitted", "Labels", "RowPosterior", "fit", "log_density", "posterior", "predict", "sample"]


def fit(
    X: Any, labels: Labels, options: noiseless.Options | noisy.Options, generator: np.random.Generator
) -> Result[Any]:
    """Fit to rows X (n, p), dense or scipy sparse, or `Rows`; the options say which of the two models is meant."""
    if isinstance(options, noisy.Options):
        return noisy.fit(X, labels.log_pl, labels.sizes, options, generator)
    return noiseless.fit(X, labels, options, generator)


def posterior(fitted: Fitted, X: Any, log_pl: Array | None = None) -> RowPosterior:
    """Condition new rows, and their labels (b, c, n) if these are passed."""
    if isinstance(fitted, noisy.Fitted):
        return noisy.posterior(fitted, X, log_pl)
    return noiseless.posterior(fitted, X, log_pl)


def log_density(fitted: Fitted, X: Any, log_pl: Array | None = None) -> Array:
    """Log-density (n,) of new rows in nats, jointly with their labels if these are passed."""
    return posterior(fitted, X, log_pl).log_density


def predict(fitted: Fitted, X: Any) -> IntArray:
    """Most probable component (n, b) of each class variable."""
    return np.column_stack([table.argmax(axis=1) for table in posterior(fitted, X).proba])


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, b) that they come from."""
    if isinstance(fitted, noisy.Fitted):
        return noisy.sample(fitted, n, generator)
    return noiseless.sample(fitted, n, generator)
