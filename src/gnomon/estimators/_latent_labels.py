"""What y and plausibilities say of the class variables of independent latents."""

import warnings

import narwhals as nw
import numpy as np

from ..models.ifa.noiseless import Labels
from ._validation import check_integer

WAY_OUT = "mark rows without a label by -1"


def read_latent_labels(y, plausibilities, n_samples, n_components, *, tied):
    """Read what is known for `fit`.

    Parameters
    ----------
    y : None, (n,) or (n, S) integers, -1 where unlabelled
    plausibilities : None or list of (n, K_s)
    n_components : None, int or sequence of int
    tied : bool

    Returns
    -------
    Labels, and whether there is one column that was given as a vector
    """
    if y is not None and plausibilities is not None:
        raise ValueError("pass y or plausibilities, not both: a label is a plausibility of 1 for one component.")
    if plausibilities is not None:
        tables = [_plausibility_table(table, s, n_samples) for s, table in enumerate(_listed(plausibilities))]
        sizes = _sizes([table.shape[1] for table in tables], n_components, "plausibilities", exact=True)
        return _labels([_log(table.T) for table in tables], sizes, tied), False
    if y is None:
        sizes = (2,) if n_components is None else _given(n_components, None)
        return _labels([np.zeros((size, n_samples)) for size in sizes], sizes, tied), True
    ids, vector = _to_ids(y)
    if len(ids) != n_samples:
        raise ValueError(f"y has {len(ids)} rows, X has {n_samples}; they must agree ({WAY_OUT}).")
    found = [_n_found(column) for column in ids.T]
    if n_components is None:
        _warn_of_gaps(ids)
    sizes = _sizes(found, n_components, "y", exact=False)
    return _labels([_one_hot(column, size) for column, size in zip(ids.T, sizes, strict=True)], sizes, tied), vector


def code_latent_labels(y, n_samples, sizes, *, tied):
    """Log-plausibilities (b, c, n) of labels of new rows, as in `fit`."""
    ids, _ = _to_ids(y)
    b, c = (1 if tied else len(sizes)), max(sizes)
    if ids.shape != (n_samples, b):
        raise ValueError(f"y has shape {ids.shape}; {(n_samples, b)} is wanted, with -1 where unlabelled.")
    out = np.full((b, c, n_samples), -np.inf)
    for s, column in enumerate(ids.T):
        if column.max(initial=-1) >= sizes[s]:
            raise ValueError(
                f"column {s} of y holds component {column.max()}; the fitted model has {sizes[s]}, numbered from 0."
            )
        out[s, : sizes[s]] = _one_hot(column, sizes[s])
    return out


def count_labelled(labels):
    """Number of rows in which some component of some class variable is less plausible than another."""
    informed = np.zeros(labels.log_pl.shape[2], dtype=bool)
    for s, table in enumerate(labels.log_pl):
        informed |= np.any(table[: labels.sizes[s]] != table[0], axis=0)
    return int(informed.sum())


def _labels(tables, sizes, tied):
    if tied and len(tables) != 1:
        raise ValueError(f"tied=True has one class variable for all latents, and {len(tables)} were given.")
    c = max(sizes)
    log_pl = np.full((len(tables), c, tables[0].shape[1]), -np.inf)
    for s, table in enumerate(tables):
        log_pl[s, : sizes[s]] = table
    return Labels(log_pl, (sizes[0],) * (sizes[0] - 1) if tied else tuple(sizes), tied)


def _one_hot(column, size):
    out = np.zeros((size, len(column)))
    seen = np.flatnonzero(column >= 0)
    out[:, seen] = -np.inf
    out[column[seen], seen] = 0.0
    return out


def _log(table):
    with np.errstate(divide="ignore"):
        return np.log(table)


def _n_found(column):
    """Number of components of a column: at least two."""
    return max(int(column.max(initial=-1)) + 1, 2)


def _warn_of_gaps(ids):
    for s, column in enumerate(ids.T):
        seen = np.unique(column[column >= 0])
        gaps = np.setdiff1d(np.arange(seen.max(initial=-1)), seen)
        if len(gaps):
            warnings.warn(
                f"column {s} of y holds the components {seen.tolist()[:10]} and no row of component {gaps[0]}, which "
                "is fitted all the same: components are numbered from 0, and -1 marks rows without a label. Say how "
                "many there are with n_components_per_latent if that is meant.",
                UserWarning,
                stacklevel=4,
            )


def _sizes(found, n_components, name, *, exact):
    if n_components is None:
        return tuple(found)
    sizes = _given(n_components, len(found))
    if len(sizes) != len(found):
        raise ValueError(
            f"n_components_per_latent={n_components!r} is for {len(sizes)} latents; {name} has {len(found)}."
        )
    for s, (size, least) in enumerate(zip(sizes, found, strict=True)):
        if exact and size != least:
            raise ValueError(f"{name}[{s}] has {least} columns, and n_components_per_latent says {size}.")
        if size < least and not exact:
            raise ValueError(
                f"column {s} of y holds component {least - 1}, which must be less than n_components_per_latent={size}; "
                f"components are numbered from 0. {WAY_OUT.capitalize()}, or ask for {least} components."
            )
    return sizes


def _given(n_components, n_latents):
    if np.ndim(n_components) == 0:
        check_integer("n_components_per_latent", n_components, 2)
        return (int(n_components),) * (n_latents or 1)
    for s, size in enumerate(n_components):
        check_integer(f"n_components_per_latent[{s}]", size, 2)
    if len(n_components) == 0:
        raise ValueError("n_components_per_latent is empty; at least one latent is wanted.")
    return tuple(int(size) for size in n_components)


def _listed(plausibilities):
    if isinstance(plausibilities, np.ndarray) and plausibilities.ndim == 2:
        return [plausibilities]
    if not isinstance(plausibilities, (list, tuple)) or len(plausibilities) == 0:
        raise TypeError("plausibilities must be a list of tables (n_samples, K), one for each latent.")
    return plausibilities


def _plausibility_table(table, s, n_samples):
    table = np.asarray(table, dtype=np.float64)
    if table.ndim != 2 or len(table) != n_samples or table.shape[1] < 2:
        raise ValueError(
            f"plausibilities[{s}] has shape {table.shape}; ({n_samples}, K) with K of at least 2 is wanted."
        )
    bad = np.flatnonzero(~((table >= 0) & (table <= 1)).all(axis=1))
    if len(bad):
        raise ValueError(
            f"plausibilities[{s}] holds {table[bad[0]].tolist()} in row {bad[0]}; numbers between 0 and 1 are wanted."
        )
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):
        raise ValueError(
            f"plausibilities[{s}] is zero for every component in row {empty[0]}, which no component can explain; give "
            "ones to every component of a row of which nothing is known."
        )
    return table


def _to_ids(y):
    """Component numbers (n, S), -1 where unlabelled, and whether y was a vector."""
    native = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        values = np.array([*native.to_list(), None], dtype=object)[:-1]
    elif isinstance(native, nw.DataFrame):
        values = np.array([[*row, None] for row in native.iter_rows()], dtype=object)[:, :-1]
    elif hasattr(y, "tocsr"):
        raise TypeError("y is a sparse matrix; give a dense table of component numbers.")
    else:
        values = np.asarray(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] == 0):
        raise ValueError(f"y has shape {values.shape}; (n_samples,) or (n_samples, n_latents) is wanted.")
    vector = values.ndim == 1
    values = values[:, None] if vector else values
    ids = _integers(values)
    if (ids < -1).any():
        row, s = np.argwhere(ids < -1)[0]
        raise ValueError(f"y holds {ids[row, s]} in row {row}; components are numbered from 0, and {WAY_OUT}.")
    return ids, vector


def _integers(values):
    if values.dtype.kind in "bui":
        return values.astype(np.intp)
    if values.dtype.kind == "O":
        flat = [np.nan if _is_missing(v) else v for v in values.ravel()]
        try:
            values = np.array([float(v) for v in flat]).reshape(values.shape)
        except (TypeError, ValueError):
            raise TypeError(_wanted(next(v for v in flat if isinstance(v, str)))) from None
    if values.dtype.kind != "f":
        raise TypeError(_wanted(values.ravel()[0] if values.size else values.dtype))
    known = np.isfinite(values)
    fraction = np.isinf(values) | (known & (values != np.round(np.where(known, values, 0.0))))
    if fraction.any():
        raise ValueError(_wanted(values[fraction][0].item()))
    return np.where(known, values, -1.0).astype(np.intp)


def _is_missing(value):
    return value is None or type(value).__name__ == "NAType" or value != value


def _wanted(value):
    return (
        f"y holds {value!r}; component numbers 0, 1, ... are wanted, -1 where unlabelled. For names of classes use "
        "sklearn.preprocessing.LabelEncoder; for real targets use SPPCA."
    )
