"""The linear pupil of `GuidedProjection`: a plain DPPCA of the rows, or of standardized columns, in features."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..likelihoods.calibration import softened, temperature
from ..models import dppca
from ..numerics.linalg import sign_of_columns
from ..numerics.normalize import normalized
from ._preparations import PLAIN, in_columns
from ._teaching import SHRINKAGE, agreement, judged, prior_of, pupil
from .dppca import DPPCA

N_STEPS = 0  # of EM after the first M-step: more leave what the guide says for the clusters of the rows


class LinearPupil(NamedTuple):
    """Parameters of a DPPCA that was taught, in plain arrays, how sure it is, and how well it learned."""

    columns: Any  # None of the rows as they are; else (numbers, mean or None, deviation) of those that vary
    components: Any  # (k, m)
    parts: Any  # of `dppca.Model`, in the m columns
    sure: tuple[float, float, float]  # temperature, distance, and mean confidence
    same: float  # share of the rows for which it names the class that the guide names


def linear_pupil(preparations, taught, index, k):
    """The one of two that agrees better with what the guide says of unlabeled rows."""
    found, kappas = [], []
    n_factors = prior_of(taught.proba, index)[1]
    for preparation, rows in preparations:
        if preparation.name in PLAIN and rows.T.shape[1] >= k:
            params = pupil(rows, taught.proba, index, taught.guide.prior, n_factors, N_STEPS)
            one, kappa = _as_sure(preparation, rows, params, taught.calibrated, index, k)
            found.append(one)
            kappas.append(kappa)
    return found[int(np.argmax(kappas))]


def _as_sure(preparation, rows, params, calibrated, index, k):
    """A pupil that is as sure of unlabeled rows as the guide, and its kappa with it."""
    some, T = judged(index), rows.T
    squares = np.einsum("ij,ij->i", T, T) + rows.outside
    odds, distances = dppca.odds_and_distances(
        params, dppca.log_joint(params, T, squares, rows.n_features), rows.n_features
    )
    middle, confidence = float(np.median(distances[some])), float(calibrated[some].max(axis=1).mean())
    soft = softened(odds[some], distances[some], middle)
    hot = temperature(soft, confidence)
    kappa = agreement(normalized(soft / hot)[0], calibrated[some])
    same = float((odds.argmax(axis=1) == calibrated.argmax(axis=1)).mean())
    D = dppca.directions([params], k)[0]
    D = preparation.basis @ (D * sign_of_columns(T @ D)) / preparation.scale
    columns = preparation.parts
    where = (columns["columns"], columns["mean"], columns["std"]) if columns else None
    sure = (hot, middle, confidence)
    return LinearPupil(where, D.T, tuple(dppca.in_units(rows, params)), sure, same), kappa


class Line(NamedTuple):
    """Predictions of numbers as far as they are linear in the columns."""

    slopes: Any  # (p, m)
    mean: Any  # (p,) of the rows
    middle: Any  # (m,) predictions there


def line_of(preparation, slopes, told, units):
    """From slopes in the coordinates of a preparation, for predictions (n, m) in these units."""
    rows, mean = in_columns(preparation, slopes * units)
    return Line(rows.T, mean, told.mean(axis=0) * units)


def as_estimator(pupil, guide):
    """The pupil as `DPPCA`, behind a `StandardScaler` where its columns are standardized, fitted as the guide is."""
    known = vars(guide)
    of_rows = {name: known[name] for name in ("n_features_in_", "feature_names_in_") if name in known}
    names = ("classes_", "target_kind_", "n_labeled_", "n_samples_", "n_components_", "_form", "_vector")
    of_labels = {name: known[name] for name in names}
    p, columns = guide.n_features_in_, pupil.columns
    prior, class_means, factors, noise = pupil.parts
    model = dppca.Model(prior, _widened(class_means, columns, p), _widened(factors, columns, p), noise)
    components = _widened(pupil.components, columns, p)
    student = DPPCA(len(components), n_factors=len(factors), shrinkage=SHRINKAGE, unlabeled_weight=1.0)
    vars(student).update(_of_model(student, model, components, pupil.sure) | of_labels)
    if columns is None:
        vars(student).update(of_rows)
        return student
    student.n_features_in_ = p
    scaler = _scaler(columns, p, guide.n_samples_)
    vars(scaler).update(of_rows)
    return Pipeline([("standardscaler", scaler), ("dppca", student)])


def _of_model(student, model, components, sure):
    """The fitted attributes that say what a DPPCA predicts and projects."""
    hot, middle, confidence = sure
    settings = {name: getattr(student, name) for name in ("n_factors", "shrinkage", "unlabeled_weight")}
    record = {name: [value] for name, value in settings.items()} | {
        "weight": np.ones(1),
        "confidence": np.array([confidence]),
        "temperature": np.array([hot]),
        "distance": np.array([middle]),
        "exponent": 1.0,
        "n_held_out": None,
    }
    return {f"{name}_": value for name, value in settings.items()} | {
        "components_": components,
        "mean_": model.mean,
        "n_class_components_": min(len(model.prior) - 1, len(components)),
        "class_prior_": model.prior,
        "class_means_": model.class_means,
        "factors_": model.factors,
        "noise_variance_": model.noise_var,
        "calibration_": record,
        "_others": [],
    }


def _widened(rows, columns, p):
    """Rows (m, columns) in all p columns, zero in those that do not vary."""
    if columns is None:
        return rows
    out = np.zeros((len(rows), p))
    out[:, columns[0]] = rows
    return out


def _scaler(columns, p, n):
    numbers, mean, std = columns
    scaler = StandardScaler(with_mean=mean is not None)
    scaler.scale_ = np.ones(p)
    scaler.scale_[numbers] = std
    scaler.var_, scaler.mean_, scaler.n_samples_seen_ = scaler.scale_**2, np.zeros(p), n
    if mean is not None:
        scaler.mean_[numbers] = mean
    return scaler
