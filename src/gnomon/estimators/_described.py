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


def guided_by(estimator, noise=None, *, with_std=True):
    """The targets of a supervised model, and how each of them is predicted."""
    if estimator.target_kind_ == "none":
        return {}
    form, vector = estimator._form, estimator._vector
    noises = [None] * len(form) if noise is None else np.broadcast_to(noise, len(form)).tolist()
    targets = tuple(
        Target("real" if classes is None else "classes", classes, None if vector else j, noises[j])
        for j, (_, classes, _) in enumerate(form)
    )
    numbers, classes = ([one for _, one, _ in form if (one is None) == wanted] for wanted in (True, False))

    def predict(X):
        std = [None] * len(form)
        if with_std and numbers:
            values, std = (columns_of(part, len(form)) for part in estimator.predict(X, return_std=True))
        else:
            values = columns_of(estimator.predict(X), len(form))
        proba = estimator.predict_proba(X) if classes else [None] * len(form)
        proba = [proba] if classes and vector else proba
        return tuple(
            Prediction(values[j].astype(float), None, std[j]) if one is None else Prediction(values[j], proba[j])
            for j, (_, one, _) in enumerate(form)
        )

    return {"n_labeled": int(estimator.n_labeled_), "targets": targets, "predict": predict}


def columns_of(values, q):
    """The columns of what `predict` gave for one target or several."""
    values = np.asarray(values)
    return [values] if values.ndim == 1 and q == 1 else list(values.T)
