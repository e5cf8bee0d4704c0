"""Colored maximum variance unfolding: an embedding and a map to it; x has no density, and labels are not predicted."""

from ...numerics.ridge_map import ridge_map
from .model import RIDGES, Fitted, Map, Options, class_kernel, fit, posterior, real_kernel
from .sdp import conic_solver
