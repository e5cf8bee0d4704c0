"""Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors."""

from .anneal import Annealing, Options
from .choice import Open
from .model import Labels, Model, back, fit, log_density, posterior, predict, sample
