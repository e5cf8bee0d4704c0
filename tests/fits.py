"""A fit that other processes can import."""

import numpy as np
from sklearn.base import clone


def answers(model):
    """The bytes of all that a fit of the model says of its rows."""
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(60, 6))), np.where(np.arange(60) < 30, np.arange(60) % 3, -1)
    found = clone(model).fit(X, y)
    names = [name for name in ("transform", "predict", "predict_proba", "score_samples") if hasattr(found, name)]
    return {name: np.asarray(getattr(found, name)(X)).tobytes() for name in names}
