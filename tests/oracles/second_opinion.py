"""The mean of what a model and densities of labeled points say of classes, a row at a time, from the definition."""

import numpy as np
from scipy.optimize import brentq

from oracles.class_densities import probabilities


def tempered(p, temperature):
    """Probabilities of one row whose odds are divided by a temperature."""
    scaled = np.array(p) ** (1.0 / temperature)
    return scaled / scaled.sum()


def sure(proba, temperature):
    """Mean probability of the class that is named."""
    return np.mean([tempered(p, temperature).max() for p in proba])


def of_points(Z, proba, index, n_classes, alike=3.0, as_sure=30.0):
    """Probabilities of points Z (n, k) that are all rows, of which those with a class `index` >= 0 are labeled."""
    Z = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    white = Z @ vectors / np.sqrt(values)
    labeled, k = index >= 0, Z.shape[1]
    other = probabilities(white, np.eye(k), np.eye(k), white[labeled], index[labeled], n_classes)
    n_labels = np.median([(index == c).sum() for c in range(n_classes)])
    share, weight = as_sure / (as_sure + n_labels), alike / (alike + n_labels)
    wanted = share * other.max(axis=1).mean() + (1 - share) * proba.max(axis=1).mean()
    temperature = np.exp(brentq(lambda t: sure(proba, np.exp(t)) - wanted, -4.0, 4.0, xtol=1e-12))
    own = np.array([tempered(p, temperature) for p in proba])
    return (1 - weight) * own + weight * other, temperature
