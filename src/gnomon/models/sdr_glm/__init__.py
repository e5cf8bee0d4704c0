"""Supervised dimension reduction with generalized linear models."""

from .factors import Loadings, View, project
from .families import FAMILIES
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
