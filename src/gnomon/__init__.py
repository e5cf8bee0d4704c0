"""Probabilistic projections of partially labelled tables, with uncertainty."""

from .estimators.kernel_sppca import KernelSPPCA
from .estimators.mixture_ppca import MixturePPCA
from .estimators.ppca import PPCA
from .estimators.scl import SCL
from .estimators.sppca import SPPCA

__version__ = "0.1.0.dev0"

__all__ = ["PPCA", "MixturePPCA", "SPPCA", "KernelSPPCA", "SCL", "__version__"]
