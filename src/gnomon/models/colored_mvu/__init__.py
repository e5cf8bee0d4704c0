"""Colored maximum variance unfolding."""

from .model import Fitted, Options, class_kernel, fit, real_kernel, ridge_map
from .sdp import conic_solver

__all__ = ["Fitted", "Options", "class_kernel", "conic_solver", "fit", "real_kernel", "ridge_map"]
