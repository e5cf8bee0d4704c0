"""Supervised dimension reduction with generalized linear models."""

from .factors import FAMILIES, Loadings, View, project
from .model import Options, Params, Regression, fit, make_view, regress

__all__ = [
    "FAMILIES",
    "Loadings",
    "Options",
    "Params",
    "Regression",
    "View",
    "fit",
    "make_view",
    "project",
    "regress",
]
