"""Average and teach: class probabilities of several teachers are averaged, and two pupils learn from their mean.

With a handful of labels no evidence tells good candidates from bad ones, so none is chosen. Every teacher's
probabilities are brought to the same confidence and weighted by how well it agrees with all.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from ..likelihoods.calibration import MOST_FACTOR, beyond_chance, by_named, moved
from ..models import dppca
from ..numerics.folds import SAME
from ..numerics.normalize import normalized
from ._preparations import MOST

CONFIDENCE = 0.8  # mean top probability to which probabilities are brought
EXPONENTS, HALVINGS = (-40.0, 20.0), 36  # range of the logarithm to base 2 of exponents, and how often it is halved
FEW_COORDINATES = 150  # of teachers with few factors
SHRINKAGE, TOL, STEPS = 1e-3, 1e-2, 30
STRENGTH = 100.0  # C of logistic regression on rows of mean squared length one
GRAPH_FACTORS = 5
LEAST_KAPPA = 0.02
FACTORS, MORE_FACTORS, RICH = 20, 40, 4  # of pupils; more where every class has so many labels
UNION_STEPS, ROWS_STEPS = 3, 20
SURENESS = (-0.6, 0.6, -0.4)  # log of the exponent: base, by log-odds of agreement, by one over labels of a class
AGREED = (0.01, 0.92)  # range of the agreement above chance: teachers that agree more are not surer for it
BY_SHARE = 0.5  # power of the share of a class, over that of equal ones, in the exponent of rows that name it
UNLIKE, UNLIKE_SHARE = (-1.0, 3.0), 6.0  # range of the distance of a row, in quartiles, and what it is divided by
LEAST_APART = 1e-6  # of a log-density: rows that differ by less, as where each is a class of its own, are as like
TRUST = 4  # power of kappa that weighs a pupil
N_FOLDS, FEWEST_LABELS = 3, 2  # in which labels are held out, where the median class has so many
ENOUGH = 500  # labels held out
MANY_LABELS = 10.0  # of the median class, at which labels held out count in full
POWERS = np.linspace(-2.5, 2.5, 101)  # of the exponent, tried: its logarithm
LEAST_TOLD = 1e-3  # probability of a label held out at least
DOUBT = 0.25  # of a label, beside all of them: what they cannot rule out


class Voice(NamedTuple):
    """What says how probable classes are, from coordinates of a preparation: a `Params` of DPPCA or linear scores."""

    params: Any  # the parts of `Params`, those of `Within` last, or (coefficients (r, c), intercepts (c,))
    size: int  # leading coordinates it reads
    exponent: float  # that brings its probabilities to `CONFIDENCE`


def log_odds(voice, seen):
    """Log-probabilities (n, c) up to what the classes share, of rows in the coordinates of its preparation."""
    T = seen.T[:, : voice.size]
    if len(voice.params) == 2:
        coef, intercept = voice.params
        return T @ coef + intercept
    slopes, offsets = dppca.log_odds(params_of(voice))
    return T @ slopes.T + offsets


def params_of(voice):
    """The `Params` of a voice that is DPPCA."""
    prior, means, within = voice.params
    return dppca.Params(prior, means, dppca.Within(*within))


def log_densities(voice, seen):
    """Log-density (n,) of rows under a voice that is DPPCA."""
    T = seen.T
    squares = np.einsum("ij,ij->i", T, T) + seen.outside
    return normalized(dppca.log_joint(params_of(voice), T[:, : voice.size], squares, seen.n_features))[1]


def speak(voice, seen):
    """Probabilities (n, c) at its confidence."""
    return _tempered(log_odds(voice, seen), voice.exponent)


def _tempered(odds, exponent):
    return normalized((odds - odds.max(axis=1, keepdims=True)) * exponent)[0]


def with_exponent(params, size, seen):
    """A voice whose mean confidence on these rows is `CONFIDENCE`."""
    voice = Voice(params, size, 1.0)
    odds = np.ascontiguousarray(log_odds(voice, seen).T)  # numbers of one class beside each other: sums of few are slow
    behind = odds - odds.max(axis=0)
    low, high = EXPONENTS
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        sure = float((1.0 / np.exp(behind * 2.0**middle).sum(axis=0)).mean())
        low, high = (middle, high) if sure < CONFIDENCE else (low, middle)
    return voice._replace(exponent=2.0 ** (0.5 * (low + high)))


# -- teachers --------------------------------------------------------------------------------------------------------


def teachers(preparations, index, n_classes):
    """(Number of the preparation, name, voice) of every teacher."""
    found = []
    for i, (preparation, reduced) in enumerate(preparations):
        graph = "graph" in preparation.parts
        few = dppca.leading(reduced, FEW_COORDINATES)
        n_factors = GRAPH_FACTORS if graph else dppca.usual_factors(len(index))
        if preparation.name != "neighbors":
            found.append((i, "DPPCA", _dppca(few, index, n_classes, n_factors, 1.0)))
        if not graph:
            found.append((i, "DPPCA, unlabeled rows at 0.1", _dppca(few, index, n_classes, n_factors, 0.1)))
        found.append((i, "ridge LDA", _dppca(reduced, index, n_classes, MOST, 0.0)))
        found.append((i, "logistic regression", _logistic(reduced, index)))
    return found


def _dppca(reduced, index, n_classes, n_factors, weight):
    options = dppca.Options(
        n_factors=n_factors, shrinkage=SHRINKAGE, unlabeled_weight=weight, tol=TOL, max_iter=STEPS
    )  # fmt: skip
    near = dppca.near_rows(reduced, index, n_factors) if weight else None
    found = dppca.fit_coordinates(reduced, index, n_classes, options, near)
    return with_exponent(_plain(found.value.params), reduced.T.shape[1], reduced)


def _plain(params):
    return (params.prior, params.means, tuple(params.within))


def _logistic(reduced, index):
    """In the span of the labeled rows, which is all that their labels reach."""
    unit = np.sqrt(np.einsum("ij,ij->", reduced.T, reduced.T) / len(reduced.T)) or 1.0
    labeled = np.flatnonzero(index >= 0)
    rows = reduced.T[labeled] / unit
    _, sizes, Vt = np.linalg.svd(rows, full_matrices=False)
    B = Vt[sizes > 1e-9 * sizes[0]].T
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # many classes of few labels are classes
        model = LogisticRegression(C=STRENGTH, max_iter=200, tol=1e-3).fit(rows @ B, index[labeled])
    coef, intercept = B @ model.coef_.T / unit, model.intercept_
    if coef.shape[1] == 1:
        coef, intercept = coef * [-0.5, 0.5], intercept * [-0.5, 0.5]
    return with_exponent((coef, intercept), coef.shape[0], reduced)


def agreement(proba, others):
    """Cohen's kappa of the classes named by `proba` (n, c) and by `others` (n, c)."""
    c, a, b = proba.shape[1], proba.argmax(axis=1), others.argmax(axis=1)
    chance = np.bincount(a, minlength=c) @ np.bincount(b, minlength=c) / len(a) ** 2
    return float(((a == b).mean() - chance) / max(1.0 - chance, LEAST_KAPPA))


def judged(index):
    """The rows by which teachers and projections are judged: those without a label, or all where every row has one."""
    return np.flatnonzero(index < 0) if (index < 0).any() else np.arange(len(index))


def weigh(probas, index, skills=1.0):
    """Weights of teachers, and their kappa with the plain mean, from probabilities (m, n, c) of unlabeled rows.

    `skills` (m,) are how well they tell labels that they do not know.
    """
    some = judged(index)
    mean = probas.mean(axis=0)[some]
    kappas = np.array([agreement(one[some], mean) for one in probas])
    weights = (np.maximum(kappas, LEAST_KAPPA) * skills) ** 2
    return weights / weights.sum(), kappas


def skills_of(told, index):
    """Kappa of the classes that teachers name (m, n, c) with labels (n,) that they do not know; alike without any."""
    if not len(index):
        return np.ones(len(told))
    right = np.eye(told.shape[2])[index]
    return np.maximum([agreement(one, right) for one in told], LEAST_KAPPA)


# -- pupils ----------------------------------------------------------------------------------------------------------


def prior_of(proba, index):
    """Shares of the classes: of the labels and of the probabilities, the more of these the fewer labels there are."""
    counts = np.bincount(index[index >= 0], minlength=proba.shape[1])
    share = 1.0 / max(float(np.median(counts)), 1.0)
    prior = ((counts + 1.0) / (counts + 1.0).sum()) ** share * proba.mean(axis=0) ** (1.0 - share)
    return prior / prior.sum(), MORE_FACTORS if counts.min() >= RICH else FACTORS


def pupil(reduced, proba, index, prior, n_factors, n_steps):
    """Parameters of DPPCA taught by these probabilities."""
    options = dppca.Options(n_factors=n_factors, shrinkage=SHRINKAGE, class_prior=prior)
    return dppca.taught(reduced, index, proba, options, n_steps)


def trust(proba, index):
    """Weight of a pupil beside the teachers' mean: how well its own densities tell the labeled rows.

    It was taught their labels, so that it misses them only where its classes are other than those of the labels.
    """
    labeled = np.flatnonzero(index >= 0)
    return max(agreement(proba[labeled], np.eye(proba.shape[1])[index[labeled]]), 0.0) ** TRUST


def labels_of_a_class(index, n_classes):
    """Labels of the median class, one at least."""
    return max(float(np.median(np.bincount(index[index >= 0], minlength=n_classes))), 1.0)


# -- how sure the mean may be ----------------------------------------------------------------------------------------


class Calibration(NamedTuple):
    """How probabilities of the mean are made as sure as they are right."""

    middle: float  # median of minus the log-density of rows, under the pupil of the rows
    upper: float  # its third quartile
    exponent: Any  # (c,) of rows, by the class they name
    doubt: float = 0.0  # share of what is said that all classes have alike; files of 0.1.0.dev0 have none


def held_out(rows, index, n_classes, groups=None):
    """Labels (n,) without those of one fold after another, -1 in their place; folds follow from the rows.

    None where the median class has one label; a few hundred of them held out are enough. Rows of one of the `groups`
    (n,) are in one fold.
    """
    found = []
    n_labels = labels_of_a_class(index, n_classes)
    if n_labels >= FEWEST_LABELS:
        n_folds = min(N_FOLDS, int(n_labels))
        folds = dppca.content_folds(rows, index, n_folds, groups)
        for fold in range(n_folds):
            if sum(np.count_nonzero((known < 0) & (index >= 0)) for known in found) < ENOUGH:
                found.append(np.where(folds == fold, -1, index))
    return found


def sureness(proba, probas, weights, index):
    """The exponent of the mean (n, c), before labels held out are asked, by what teachers say of the rows (m, n, c)."""
    some = judged(index)
    n_classes, named = proba.shape[1], proba[some].argmax(axis=1)
    share = float(weights @ (probas[:, some].argmax(axis=2) == named).mean(axis=1))
    above_chance = np.clip((share - 1.0 / n_classes) / (1.0 - 1.0 / n_classes), *AGREED)
    base, slope, of_few = SURENESS
    log_odds = np.log(above_chance / (1.0 - above_chance))
    return float(np.exp(base + slope * log_odds + of_few / labels_of_a_class(index, n_classes)))


def calibrate(proba, densities, probas, weights, index, held=None):
    """From the mean (n, c) and log-densities (n,) of the rows, and what every teacher says of them (m, n, c).

    Where teachers agree, and where there are many labels, the mean is surer of what it says; and of a frequent class
    than of a rare one, as far as chance cannot have made the numbers of their labels so unequal. How likely labels are
    by fits without them, `held` (n, c), to the power that the same rule gives these, has a say. A few labels that are
    all told rightly do not show that none will be told wrongly, so that no class has nearly no probability.
    """
    some, n_classes = judged(index), proba.shape[1]
    exponent = sureness(proba, probas, weights, index)
    asked = np.flatnonzero(~np.isnan(held[:, 0])) if held is not None else []
    if len(asked):
        counted = min(labels_of_a_class(index, n_classes) / MANY_LABELS, 1.0)
        exponent *= moved(1.0, POWERS, held[asked], index[asked], counted, LEAST_TOLD)
    counts = np.bincount(index[index >= 0], minlength=n_classes)
    excess = 1.0 + beyond_chance(counts) * (n_classes * counts / counts.sum() - 1.0)
    by_class = np.clip(excess**BY_SHARE, 1.0 / MOST_FACTOR, MOST_FACTOR)
    middle, upper = np.quantile(-densities[some], (0.5, 0.75)).tolist()
    return Calibration(middle, upper, exponent * by_class, DOUBT / (1.0 + float(counts.sum())))


def calibrated(proba, densities, calibration):
    """The same probabilities, less sure of rows that are unlike the others, and of rare classes."""
    middle, upper, exponent, doubt = Calibration(*calibration)
    apart = max(upper - middle, LEAST_APART * max(abs(middle), 1.0)) + 1e-9
    unlike = np.clip((-densities - middle) / apart, *UNLIKE) / UNLIKE_SHARE
    logs = np.log(np.maximum(proba, 1e-12))
    sure = normalized(logs * by_named(exponent, logs) / (1.0 + unlike)[:, None])[0]
    return (1.0 - doubt) * sure + doubt / sure.shape[1]


def shares_of_nearest(Z, index, n_classes):
    """Shares (n, c) of the classes among the labeled rows that are nearest in a projection, one or several alike."""
    labeled = np.flatnonzero(index >= 0)
    squares = np.einsum("ij,ij->i", Z, Z)
    distances = squares[labeled] - 2.0 * Z @ Z[labeled].T
    rounding = SAME * float(squares.max(initial=0.0))
    nearest = distances <= distances.min(axis=1, keepdims=True) + rounding
    shares = nearest @ np.eye(n_classes)[index[labeled]]
    return shares / shares.sum(axis=1, keepdims=True)
