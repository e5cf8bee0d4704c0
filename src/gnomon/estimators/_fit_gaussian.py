"""Fitting the Gaussian model of features and targets: what PPCA and SPPCA do with rows that are not read yet."""

import numpy as np
from sklearn.utils import check_random_state

from ..models.linear import sppca as model
from ..rows.contract import NotFinite
from ..targets.code import code
from ._estimator import check_observed, check_table, check_values, check_weights, resolve_n_components

RISES = 3  # how often BIC may rise in a row before the search for k ends


def fit_gaussian(estimator, X, y, sample_weight, options, *, supervised):
    """Validate the data, fit the two-view Gaussian model, set the attributes."""
    rows = check_table(estimator, X, reset=True)
    weights = check_weights(sample_weight, rows)
    kept = None if weights is None or weights.all() else np.flatnonzero(weights)
    # what is not finite shows in the first sums of the rows, so that no look of its own is needed
    look_later = kept is None and options.solver == "auto"
    missing = False if look_later else check_values(rows)
    if supervised:
        targets = estimator._read_y(y, rows.shape[0], kept)
        coded = code(targets, weights if kept is None else weights[kept])
        if options.output_noise == "per_output" and coded.basis is not None:
            raise ValueError(
                "output_noise='per_output' needs linearly independent outputs; the columns of y satisfy an exact "
                "relation. Drop one of them, give class labels, or use output_noise='ml'."
            )
        options = options._replace(one_target=coded.one_target(targets.kind))
    if kept is not None:
        rows, weights = rows.take(kept), weights[kept]
    Y = coded.table if supervised else np.zeros((rows.shape[0], 0))
    estimator.n_samples_ = rows.shape[0]
    if supervised and estimator.label_weight != 1.0:
        weights = np.where(targets.labeled, estimator.label_weight, 1.0) * (1.0 if weights is None else weights)
    seed = check_random_state(estimator.random_state).randint(2**31)
    try:
        result = _fit(estimator, rows.anew(weights=weights, masked=missing), Y, options, seed)
    except NotFinite:
        result = _fit(estimator, rows.anew(weights=weights, masked=check_values(rows)), Y, options, seed)
    fitted, dtype = result.value, rows.dtype
    p = fitted.params
    estimator._store_features(p.W_x, p.m_x, p.x_noise_var, fitted.log_likelihood, dtype)
    if supervised:
        estimator._record_y(targets)
        estimator._store_targets(result, dtype, coded)
    estimator._record(result)


def _fit(estimator, rows, Y, options, seed):
    def fit_one(k):
        return model.fit(rows.anew(), Y, options._replace(n_components=k), np.random.default_rng(seed))

    if rows.masked:
        check_observed(rows)
    estimator.bic_path_ = None
    if options.n_components != "auto":
        estimator.n_components_ = resolve_n_components(options.n_components, options.n_private, *rows.shape)
        return fit_one(estimator.n_components_)
    largest = min(rows.shape[0] - 1, rows.shape[1]) - 1 - options.n_private
    resolve_n_components(1, options.n_private, *rows.shape)
    best, criteria = None, []
    for k in range(1, largest + 1):
        result = fit_one(k)
        criteria.append(model.bic(result.value, rows.weight, options.output_noise))
        if best is None or criteria[-1] < min(criteria[:-1]):
            best, estimator.n_components_ = result, k
        if k > RISES and (np.diff(criteria[-RISES - 1 :]) > 0).all():
            break
    estimator.bic_path_ = np.array(criteria)
    return best
