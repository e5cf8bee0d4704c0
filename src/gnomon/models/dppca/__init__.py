"""Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors."""

from .anneal import Options, Params, Problem, Within, directions, fit, joint_of, noise_free, posterior, usual_factors
from .choice import Choice, Open, choose

__all__ = [
    "Choice",
    "Open",
    "Options",
    "Params",
    "Problem",
    "Within",
    "choose",
    "directions",
    "fit",
    "joint_of",
    "noise_free",
    "posterior",
    "usual_factors",
]
