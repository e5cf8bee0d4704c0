"""What the `describe` of several estimators shares."""

import numpy as np

from ..describe import Prediction, Projection, Target


def identity(estimator):
    """The fields of a description that every estimator fills alike."""
    names = vars(estimator).get("feature_names_in_")
    return {
        "model": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else tuple(map(str, names)),
    }


def posterior_of(estimator):
    """The projection with its posterior covariance."""
    return lambda X: Projection(*estimator.transform(X, return_cov=True))


def mean_of(estimator):
    """The projection of a model without a posterior."""
    return lambda X: Projection(np.asarray(estimator.transform(X)))


def guided_by(estimator, noise=None, *, n_outputs=1, with_std=True):
    """The targets of a model of one target of classes or of numbers, and how they are predicted."""
    labeled = int(estimator.n_labeled_)
    if not labeled:
        return {}
    if estimator.target_kind_ == "classes":
        return {"n_labeled": labeled} | class_target(estimator, noise)
    noises = [None] * n_outputs if noise is None else np.broadcast_to(noise, n_outputs).tolist()
    return {"n_labeled": labeled} | number_targets(estimator, noises, with_std)


def class_target(estimator, noise=None):
    """The only target, of classes, and how it is predicted."""

    def predict(X):
        return (Prediction(estimator.predict(X), estimator.predict_proba(X)),)

    return {"targets": (Target("classes", estimator.classes_, noise_variance=noise),), "predict": predict}


def number_targets(estimator, noise_variances, with_std=True):
    """Targets that are all numbers, and how they are predicted."""
    q = len(noise_variances)

    def predict(X):
        found = estimator.predict(X, return_std=True) if with_std else (estimator.predict(X), None)
        mean, std = (None if values is None else np.reshape(np.asarray(values), (-1, q)) for values in found)
        return tuple(Prediction(mean[:, j], std=None if std is None else std[:, j]) for j in range(q))

    targets = tuple(Target("real", column=j, noise_variance=v) for j, v in enumerate(noise_variances))
    return {"targets": targets, "predict": predict}


def columns_of(values, q):
    """The columns of what `predict` gave for one target or several."""
    values = np.asarray(values)
    return [values] if values.ndim == 1 and q == 1 else list(values.T)
