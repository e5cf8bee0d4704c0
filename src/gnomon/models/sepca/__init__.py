"""Supervised exponential family PCA."""

from .fista import relative_gap
from .model import TIGHT, Data, Fitted, Options, deal_folds, fit, held_out_loss, standard_classifier

__all__ = [
    "TIGHT",
    "Data",
    "Fitted",
    "Options",
    "deal_folds",
    "fit",
    "held_out_loss",
    "relative_gap",
    "standard_classifier",
]
