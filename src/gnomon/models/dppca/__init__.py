"""Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors."""

from ...likelihoods.calibration import Calibration
from .anneal import Annealing, Options, fit_coordinates
from .choice import Open, content_folds, near_rows, some_rows, usual_factors
from .directions import directions, separations
from .mixture import NoiseFree, Params, Within, log_joint, log_odds, noise_free, odds_and_distances
from .model import (
    Labels,
    Model,
    back,
    fit,
    in_units,
    loadings,
    log_density,
    posterior,
    predict,
    predict_mean,
    reader,
    sample,
    separation,
)
from .pupil import taught
from .reduction import leading, principal_rows
from .stream import LABELED, End, fit_moments, keep_batch
