"""Colored maximum variance unfolding."""

from ...numerics.ridge_map import ridge_map
from .model import RIDGES, Fitted, Options, class_kernel, fit, real_kernel
from .sdp import conic_solver

__all__ = ["RIDGES", "Fitted", "Options", "class_kernel", "conic_solver", "fit", "real_kernel", "ridge_map"]
