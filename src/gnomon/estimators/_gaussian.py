"""What PPCA and SPPCA share between the checks of their parameters and their own attributes."""

import numpy as np
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import validate_data

from ..models.linear import sppca as model
from ..rows.contract import NotFinite
from ..rows.kind import is_foreign, is_sparse
from ..rows.masked import column_range
from ..rows.namespace import as_floats, first_not_finite, host_dtype, take_rows, to_host
from ..rows.read import read
from ..targets.code import code
from ._dual import fit_dual
from ._validation import (
    check_choice,
    check_integer,
    check_names,
    check_real,
    check_size,
    check_weights,
    name_column,
    refuse_missing,
    resolve_n_components,
)

RISES = 3  # how often BIC may rise in a row before the search for k ends


def check_common(estimator, solvers):
    """Check the parameters that both estimators have."""
    k = estimator.n_components
    if isinstance(k, str):
        check_choice("n_components", k, ("auto",))
    elif k is not None:
        check_integer("n_components", k, 1)
    check_choice("solver", estimator.solver, solvers)
    check_real("tol", estimator.tol, 0)
    check_integer("max_iter", estimator.max_iter, 1)


def check_table(estimator, X, *, reset, min_samples, anywhere=False, kernel=False):
    """Validate the form of rows: dense or csr, csc; float32 or float64. `check_values` looks at the entries.

    With `anywhere`, an array of another library than NumPy stays one and stays on its device. Entries that a sparse X
    stores several times are summed, in a copy. A `kernel` matrix is dense, and its entries are looked at first.
    """
    check_names(X)
    if anywhere and is_foreign(X):
        return _check_foreign_table(estimator, X, reset, min_samples)
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
        X = X.astype(X.dtype if X.dtype.kind == "f" else np.float64).filled(np.nan)
    try:
        found = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=False if kernel else ("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_min_samples=min_samples,
            ensure_all_finite=kernel,
        )
    except OverflowError as error:
        raise ValueError(f"X holds an integer that no float can hold ({error}); rescale it.") from error
    except (TypeError, ValueError) as error:
        refuse_missing(estimator, "contains NaN" in str(error))
        raise name_column(X, error) from error
    if is_sparse(found) and not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found


def _check_foreign_table(estimator, X, reset, min_samples):
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array: X has shape {tuple(X.shape)}; (n_samples, n_features) is wanted.")
    validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of features only
    for found, least, what in zip(X.shape, (min_samples, 1), ("sample", "feature"), strict=True):
        if found < least:
            raise ValueError(f"Found array with {found} {what}(s): X must have at least {least}.")
    return as_floats(X)


def check_values(X):
    """Return whether entries are missing; raise for infinity, for what cannot be squared, and for NaN in a sparse X.

    One sum over the entries where all is well.
    """
    if is_foreign(X):
        found = first_not_finite(X)
        if found == "infinity":
            raise ValueError("Input X contains infinity.")
        return found == "NaN"
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.einsum(values, range(values.ndim), values, range(values.ndim), []))
    if finite:
        return False
    assert_all_finite(values, allow_nan=True, input_name="X")
    check_size("X", values)
    missing = bool(np.isnan(values).any())
    if missing and is_sparse(X):
        raise ValueError(
            "Input X contains NaN among its stored entries; missing entries need a dense X, since an entry that a "
            "sparse X does not store is a zero."
        )
    return missing


def check_rows(estimator, X, *, reset, min_samples):
    """Validate the form and the entries of rows."""
    X = check_table(estimator, X, reset=reset, min_samples=min_samples)
    check_values(X)
    return X


def fit_gaussian(estimator, X, y, sample_weight, options, *, supervised):
    """Validate the data, fit the two-view Gaussian model, set the common attributes; return the model's result."""
    X = check_table(estimator, X, reset=True, min_samples=2, anywhere=True)
    weights = check_weights(to_host(sample_weight), X.shape[0])
    kept = None if weights is None or weights.all() else np.flatnonzero(weights)
    # what is not finite shows in the first sums of the rows, so that no look of its own is needed
    look_later = isinstance(X, np.ndarray) and kept is None and options.solver == "auto"
    missing = False if look_later else check_values(X)
    if supervised:
        targets = estimator._read_y(y, X.shape[0], kept)
        coded = code(targets)
        _check_outputs(options, coded)
        options = options._replace(one_target=coded.one_target(targets.kind))
    if kept is not None:
        X, weights = take_rows(X, kept), weights[kept]
    Y = coded.table if supervised else np.zeros((X.shape[0], 0))
    estimator.n_samples_ = X.shape[0]
    if supervised and estimator.label_weight != 1.0:
        weights = np.where(targets.labeled, estimator.label_weight, 1.0) * (1.0 if weights is None else weights)
    seed = check_random_state(estimator.random_state).randint(2**31)
    try:
        result = _fit(estimator, X, Y, weights, options, missing, seed)
    except NotFinite:
        result = _fit(estimator, X, Y, weights, options, check_values(X), seed)
    estimator._store(result, host_dtype(X))
    if supervised:
        estimator._record_y(targets)
        estimator._store_targets(result, host_dtype(X), coded)
    return result


def _fit(estimator, X, Y, weights, options, missing, seed):
    def fit_one(k):
        if options.solver == "dual":
            return fit_dual(X, Y, weights, options._replace(n_components=k), np.random.default_rng(seed))
        source = _source(X, weights, missing)
        return model.fit(source, Y, options._replace(n_components=k), np.random.default_rng(seed))

    estimator.bic_path_ = None
    if options.n_components != "auto":
        estimator.n_components_ = resolve_n_components(options.n_components, options.n_private, *X.shape)
        return fit_one(estimator.n_components_)
    largest = min(X.shape[0] - 1, X.shape[1]) - 1 - options.n_private
    resolve_n_components(1, options.n_private, *X.shape)
    best, criteria = None, []
    for k in range(1, largest + 1):
        result = fit_one(k)
        n = float(X.shape[0] if weights is None else weights.sum())
        criteria.append(model.bic(result.value, n, options.output_noise))
        if best is None or criteria[-1] < min(criteria[:-1]):
            best, estimator.n_components_ = result, k
        if k > RISES and (np.diff(criteria[-RISES - 1 :]) > 0).all():
            break
    estimator.bic_path_ = np.array(criteria)
    return best


def _source(X, weights, missing):
    if not missing:
        return read(X, weights)
    check_observed(X)
    return read(X, weights, masked=True)


def check_observed(X):
    """Raise when a column of an incomplete X is never observed, and when every column is constant."""
    lowest, highest = column_range(X)
    check_size("X", np.concatenate([lowest, highest]))
    never = np.flatnonzero(np.isnan(highest))
    if len(never):
        raise ValueError(f"column {never[0]} of X is never observed; drop it.")
    if (highest == lowest).all():
        raise ValueError("X is constant: every column has one value wherever it is observed; there is nothing to fit.")


def _check_outputs(options, coded):
    if options.output_noise == "per_output" and coded.basis is not None:
        raise ValueError(
            "output_noise='per_output' needs linearly independent outputs; the columns of y obey an exact relation. "
            "Drop one of them, give class labels, or use output_noise='ml'."
        )
