"""Mixtures of probabilistic PCA."""

from .local_gaussians import Mixture
from .mixture_ppca import Fitted, Options, fit, impute, log_density, n_free, posterior, predict, sample
