"""Supervised dimension reduction with generalized linear models."""

from .factors import FAMILIES, Loadings
from .model import Options
from .reader import Outputs, Reader, fit, posterior, predict
