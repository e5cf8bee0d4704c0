"""What PPCA and SPPCA share between the checks of their parameters and their own attributes."""

import warnings

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..models import sppca as model
from ..rows import row_source
from ._targets import read_targets
from ._validation import check_choice, check_integer, check_real, check_weights, resolve_n_components


def check_common(estimator, solvers):
    """Check the parameters that both estimators have."""
    if estimator.n_components is not None:
        check_integer("n_components", estimator.n_components, 1)
    check_choice("solver", estimator.solver, solvers)
    check_real("tol", estimator.tol, 0)
    check_integer("max_iter", estimator.max_iter, 1)


def fit_gaussian(estimator, X, y, sample_weight, options, *, supervised, unlabeled="auto"):
    """Validate the data, fit the two-view Gaussian model, set the common attributes; return the model's result."""
    X = validate_data(estimator, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_min_samples=2)
    targets = read_targets(y, X.shape[0], unlabeled)
    weights = check_weights(sample_weight, X.shape[0])
    Y = targets.coded
    labelled = targets.index >= 0 if targets.kind == "classes" else (~np.isnan(Y)).any(axis=1)
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, Y, weights, labelled = X[kept], Y[kept], weights[kept], labelled[kept]
    k = resolve_n_components(options.n_components, *X.shape)
    estimator.n_components_ = k
    estimator.n_samples_ = X.shape[0]
    if supervised:
        estimator.n_labelled_ = int(labelled.sum())
        _set_classes(estimator, targets)
    generator = np.random.default_rng(check_random_state(estimator.random_state).randint(2**31))
    result = model.fit(row_source(X, weights), Y, options._replace(n_components=k), generator)
    estimator._store(result, X.dtype)
    if supervised:
        estimator._store_targets(result, X.dtype, targets)
    return result


def _set_classes(estimator, targets):
    if hasattr(estimator, "classes_"):
        del estimator.classes_
    if targets.kind == "none":
        return
    if targets.kind == "classes":
        estimator.classes_ = targets.classes
    if estimator.n_labelled_ == 0:
        warnings.warn("y marks every row as unlabelled; the unsupervised model is fitted.", UserWarning, stacklevel=4)
    elif targets.kind == "classes" and len(targets.classes) == 1:
        warnings.warn(
            f"y holds the single class {targets.classes.tolist()[0]!r}; it cannot guide the projection, "
            "and predict returns it for every row.",
            UserWarning,
            stacklevel=4,
        )
