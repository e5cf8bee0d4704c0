"""Averaged probabilities of several models from their log-odds, a row at a time, straight from the recipe."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def soft(odds, distances, middle):
    """Log-odds of each row, divided by one plus its distance over the median one."""
    return np.array([z / (1.0 + d / middle) for z, d in zip(odds, distances, strict=True)])


def sureness(odds, temperature):
    """Mean probability of the class that is named."""
    return np.mean([softmax(z / temperature).max() for z in odds])


def target(named, halves, others, right_share, n_held, n_unlabeled, n_classes):
    """Confidence of a model that names these classes of unlabeled rows."""
    right = (right_share * n_held + 1.0 / n_classes) / (n_held + 1.0)
    by_halves = np.mean([np.mean(half == named) for half in halves])
    by_others = np.mean([np.mean(other == named) for other in others])
    unlabeled = (by_halves + by_others + right) / 3.0
    share = (n_unlabeled * unlabeled + n_held * right) / (n_unlabeled + n_held)
    return min(max(share, 1.0 / n_classes + 0.03), 0.99), right


def mean(odds, distances, middles, temperatures, weights, exponent):
    """Probabilities of rows: the weighted mean of all models, to a power."""
    out = []
    for i in range(len(odds[0])):
        total = 0.0
        for j in range(len(odds)):
            total = total + weights[j] * softmax(odds[j][i] / (1.0 + distances[j][i] / middles[j]) / temperatures[j])
        out.append(softmax(exponent * np.log(np.maximum(total, 1e-12))))
    return np.array(out)
