"""Rows of a planted mixture, for the tests of the mixture of PPCA."""

import numpy as np

from gnomon.models.mixture import local_gaussians as local
from oracles import mixture as oracle

SIZES = (2, 1, 3)


def params_of(truth):
    """The oracle's parameters in the form of the model: loadings padded with zero columns."""
    W = np.zeros((len(truth.W), len(truth.means[0]), max(w.shape[1] for w in truth.W)))
    for c, w in enumerate(truth.W):
        W[c, :, : w.shape[1]] = w
    return local.Mixture(truth.weights, truth.means, W, truth.s2)


def planted(rng, n=300, p=7, sizes=SIZES, spread=3.0):
    truth = oracle.random_model(rng, p, sizes, spread)
    return truth, *oracle.draw(rng, truth, n)
