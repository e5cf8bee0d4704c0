"""Independent factor analysis: the model without noise or with it, fitted and asked in the same words."""

from typing import Any

import numpy as np

from ..._types import Array, IntArray, Result
from ...rows.contract import Rows
from . import noiseless, noisy
from .likelihood import RowPosterior
from .noiseless import Labels

Fitted = noiseless.Fitted | noisy.Fitted


def fit(
    rows: Rows, labels: Labels, options: noiseless.Options | noisy.Options, generator: np.random.Generator
) -> Result[Any]:
    """Fit to rows; the options say which of the two models is meant."""
    if isinstance(options, noisy.Options):
        return noisy.fit(rows, labels.log_pl, labels.sizes, options, generator)
    return noiseless.fit(rows, labels, options, generator)


def _conditioned(fitted: Fitted, rows: Rows, log_pl: Array | None = None) -> RowPosterior:
    if isinstance(fitted, noisy.Fitted):
        return noisy.posterior(fitted, rows, log_pl)
    return noiseless.posterior(fitted, rows, log_pl)


def posterior(fitted: Fitted, rows: Rows, log_pl: Array | None = None) -> tuple[Array, None]:
    """Latents (n, k) of new rows, or their means, given their labels (b, c, n) too if these are passed."""
    return _conditioned(fitted, rows, log_pl).z, None


def log_density(fitted: Fitted, rows: Rows, log_pl: Array | None = None) -> Array:
    """Log-density (n,) of new rows in nats, jointly with their labels if these are passed."""
    return _conditioned(fitted, rows, log_pl).log_density


def predict(fitted: Fitted, rows: Rows) -> list[Array]:
    """Probabilities (n, K_s) of the components of each class variable."""
    return _conditioned(fitted, rows).proba


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, b) that they come from."""
    if isinstance(fitted, noisy.Fitted):
        return noisy.sample(fitted, n, generator)
    return noiseless.sample(fitted, n, generator)
