"""Mixtures of probabilistic PCA."""

from .local_gaussians import Mixture
from .mixture_ppca import (
    Fitted,
    Options,
    RowPosterior,
    fit,
    gated_moments,
    impute,
    log_density,
    n_free,
    posterior,
    predict,
    sample,
)

__all__ = [
    "Fitted",
    "Mixture",
    "Options",
    "RowPosterior",
    "fit",
    "gated_moments",
    "impute",
    "log_density",
    "n_free",
    "posterior",
    "predict",
    "sample",
]
