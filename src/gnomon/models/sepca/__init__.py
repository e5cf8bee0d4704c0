"""Supervised exponential family PCA."""

from ...numerics.ridge_map import RidgeMap
from .classifier import Classifier, Map, held_out_loss, learn, posterior, predict
from .data import Data
from .fista import relative_gap
from .model import Options, fit
