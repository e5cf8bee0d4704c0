"""Supervised exponential family PCA."""

from .data import Data
from .fista import relative_gap
from .model import Fitted, Options, fit, solve
from .reader import Map, Reader, deal_folds, held_out_loss, learn

__all__ = [
    "Data",
    "Fitted",
    "Map",
    "Options",
    "Reader",
    "deal_folds",
    "fit",
    "held_out_loss",
    "learn",
    "relative_gap",
    "solve",
]
