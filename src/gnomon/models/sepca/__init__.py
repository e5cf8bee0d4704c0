"""Supervised exponential family PCA."""

from .classifier import Classifier, Map, deal_folds, held_out_loss, learn
from .data import Data
from .fista import relative_gap
from .model import Fitted, Options, fit, solve

__all__ = [
    "Data",
    "Fitted",
    "Map",
    "Options",
    "Classifier",
    "deal_folds",
    "fit",
    "held_out_loss",
    "learn",
    "relative_gap",
    "solve",
]
