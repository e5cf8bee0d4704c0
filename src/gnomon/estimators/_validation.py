"""Checks of constructor parameters and weights, with errors that say what to do."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from ..rows.summary import LARGEST

TINY = float(np.finfo(np.float64).tiny)  # smaller variances have lost their digits, or are zero


def check_integer(name, value, low):
    """Raise unless `value` is a whole number of at least `low`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be an integer of at least {low}.")
    if value < low:
        raise ValueError(f"{name}={value!r} must be at least {low}.")


def check_real(name, value, low, *, included=False):
    """Raise unless `value` is a finite number above `low`, or at least `low` when it is included."""
    wanted = f"at least {low}" if included else f"above {low}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number {wanted}.")
    try:
        finite = np.isfinite(float(value))
    except OverflowError:  # an int that no float can hold
        finite = False
    if not finite or value < low or (value == low and not included):
        raise ValueError(f"{name}={value!r} must be finite and {wanted}.")


def check_choice(name, value, choices):
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}.")


def check_names(X):
    """Raise when two columns of a frame have one name."""
    names = [str(name) for name in getattr(X, "columns", ())]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(
            f"X has several columns named {', '.join(map(repr, twice[:5]))}; rename or drop them, so that every column "
            "has a name of its own."
        )


def refuse_missing(estimator, missing, why="needs every entry"):
    """Raise when entries of X are missing, for a model that needs them all."""
    if missing:
        raise ValueError(
            f"Input X contains NaN; {type(estimator).__name__} {why}: fill missing ones in first, for "
            "example by the impute method of gnomon.PPCA or by the command gnomon impute."
        )


def check_size(name, values):
    """Raise when a finite value is too large to be squared; NaN is let through."""
    high, low = np.fmax.reduce(values, axis=None, initial=0.0), np.fmin.reduce(values, axis=None, initial=0.0)
    largest = max(float(high), -float(low))
    if largest > LARGEST:
        raise ValueError(
            f"{name} holds {largest:.3g} in absolute value; at most {LARGEST:.0e} can be computed with: rescale it."
        )


def check_variance(name, variance):
    """Raise when a fitted variance is too small for a float."""
    if np.min(variance) < TINY:
        raise ValueError(
            f"{name} varies too little to compute with: a noise variance of {np.min(variance):.1e} is below the "
            f"smallest float, {TINY:.1e}; rescale it."
        )


def name_column(X, error):
    """Return `error`, or one that names the column and the value of X where that is what is not a number."""
    found = next(_values_without_number(X), None)
    if found is None:
        return error
    column, row, value = found
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(
        f"column {column!r} of X holds {value!r} in row {row}, which is not a number; encode the column as numbers or "
        "leave it out."
    )


def _values_without_number(X):
    """Yield (column, row, value) for text and dates in a frame or in an array of objects or text."""
    names = list(X.columns) if hasattr(X, "columns") else None
    if names is None and (not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUS"):
        return
    for j, name in enumerate(range(X.shape[1]) if names is None else names):
        cells = np.asarray(X[:, j] if names is None else X[name])
        if cells.dtype.kind in "Mm":
            yield name, 0, cells[0]
        for i, value in enumerate(cells.tolist() if cells.dtype.kind in "OUS" else ()):
            if isinstance(value, (str, bytes)) and not _is_number(value):
                yield name, i, value


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_weights(sample_weight, n_samples):
    """Return float64 weights (n_samples,) or None; they are finite, not negative, and not all zero."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; X has {n_samples} rows, so ({n_samples},) is wanted."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={weights[bad[0]]} must be finite and not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least two rows must count.")
    return weights


def resolve_n_components(n_components, n_private, n_samples, n_features):
    """Return the size of the latent space; raise when it cannot be smaller than the rank of X."""
    bound = min(n_samples - 1, n_features)
    k = min(2, max(bound - 1 - n_private, 1)) if n_components is None else int(n_components)
    if k + n_private >= bound:
        what = f"n_components={k}" if n_private == 0 else f"n_components={k} plus n_private={n_private}"
        raise ValueError(
            f"{what} must be less than the rank of X, which is at most {bound} "
            f"(n_samples={n_samples}, n_features={n_features}), or no noise is left to estimate."
        )
    return k
