"""Average and teach, step by step from its definitions: confidence, agreement, the prior, and one pupil."""

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

from oracles.dppca import within_scatter


def tempered(odds, confidence):
    """Probabilities to the power at which the mean top one is `confidence`."""

    def too_sure(log2):
        return softmax(odds * 2.0**log2, axis=1).max(axis=1).mean() - confidence

    return softmax(odds * 2.0 ** brentq(too_sure, -60.0, 60.0, xtol=1e-12), axis=1)


def kappa(a, b, n_classes):
    """Cohen's kappa of two namings, with chance from their own shares."""
    observed = np.mean([x == y for x, y in zip(a, b, strict=True)])
    chance = sum(np.mean(a == c) * np.mean(b == c) for c in range(n_classes))
    return (observed - chance) / (1.0 - chance)


def average(probas, unlabeled):
    """The mean of teachers (m, n, c), weighted by the square of kappa with their plain mean."""
    named = probas.mean(axis=0)[unlabeled].argmax(axis=1)
    n_classes = probas.shape[2]
    kappas = np.array([kappa(one[unlabeled].argmax(axis=1), named, n_classes) for one in probas])
    weights = np.maximum(kappas, 0.02) ** 2
    return np.tensordot(weights / weights.sum(), probas, axes=1), kappas


def prior(proba, index):
    """s^t q^(1 - t) with the shares s of labels, those q of the probabilities, and t one over the median count."""
    counts = np.array([np.sum(index == c) for c in range(proba.shape[1])])
    t = 1.0 / np.median(counts)
    found = ((counts + 1) / (counts + 1).sum()) ** t * proba.mean(axis=0) ** (1 - t)
    return found / found.sum()


def calibrated(mean, log_density, named, weights, index, unlabeled, power=None):
    """The mean (n, c) to powers of rows: by agreement of those who `named` (m, n), by labels, class and density."""
    n_classes = mean.shape[1]
    middle, upper = np.quantile(-log_density[unlabeled], [0.5, 0.75])
    agree = [np.mean(one[unlabeled] == mean[unlabeled].argmax(axis=1)) for one in named]
    share = np.clip((np.dot(weights, agree) - 1 / n_classes) / (1 - 1 / n_classes), 0.01, 0.92)
    counts = np.array([np.sum(index == c) for c in range(n_classes)])
    power = power or np.exp(-0.6 + 0.6 * np.log(share / (1 - share)) - 0.4 / np.median(counts))
    equal = counts.sum() / n_classes
    chi_square = np.sum((counts - equal) ** 2 / equal)
    surely = max(1 - (n_classes - 1) / chi_square, 0) if chi_square > 0 else 0
    out = np.empty_like(mean)
    for i, row in enumerate(mean):
        unlike = min(max((-log_density[i] - middle) / (upper - middle), -1.0), 3.0)
        times = min(max(np.sqrt(1 + surely * (counts[row.argmax()] / equal - 1)), 0.5), 2.0)
        out[i] = row ** (power * times / (1.0 + unlike / 6.0))
        out[i] /= out[i].sum()
    doubt = 0.25 / (1 + counts.sum())
    return (1 - doubt) * out + doubt / n_classes


def likely_power(held, index, n_labels):
    """The power (a number) at which labels `index` are likely by probabilities (n, c) that do not know them."""

    def loss(log):
        told = softmax(np.exp(log) * np.log(held), axis=1)[np.arange(len(index)), index]
        return -min(n_labels / 10, 1) * np.log(np.maximum(told, 1e-3)).sum() + log**2 / (2 * 0.5**2)

    return np.exp(minimize_scalar(loss, bounds=(-2.5, 2.5), method="bounded").x)


def pupil(X, index, proba, prior, n_factors, shrinkage, n_steps):
    """Means and within-class covariance of DPPCA after an M-step from `proba` and so many steps of EM."""
    n_classes, p = proba.shape[1], X.shape[1]
    resp, means, S = proba.copy(), np.zeros((n_classes, p)), np.eye(p)
    for step in range(n_steps + 1):
        if step:
            joint = np.column_stack(
                [np.log(prior[c]) + multivariate_normal(means[c], S).logpdf(X) for c in range(n_classes)]
            )
            resp = np.exp(joint - logsumexp(joint, axis=1)[:, None])
        resp[index >= 0] = np.eye(n_classes)[index[index >= 0]]
        _, means, W = within_scatter(X, resp, np.ones(len(X)))
        W = (1 - shrinkage) * W + shrinkage * np.trace(W) / p * np.eye(p)
        values, vectors = np.linalg.eigh(W)
        noise = values[-n_factors]
        S = (vectors * np.maximum(values, noise)) @ vectors.T
    return means, S
