"""Supervised dimension reduction with generalised linear models."""

from .factors import Loadings, View, project
from .model import Options, Params, Projection, choose_projection, fit, make_view, ridge_grid

__all__ = [
    "Loadings",
    "Options",
    "Params",
    "Projection",
    "View",
    "choose_projection",
    "fit",
    "make_view",
    "project",
    "ridge_grid",
]
