"""Class variables of independent latents: how plausible each component is, and what components are called."""

import numpy as np

from ..models.ifa.noiseless import Labels
from ..targets.code import log_plausibilities
from ._estimator import check_integer


def components_of(targets, n_components):
    """What the components of each latent are called: the classes of its column, and names for those without a label.

    Whole numbers from 0 are component numbers where `n_components` has a place for all of them.
    """
    if not targets.columns:
        return [np.arange(size) for size in ((2,) if n_components is None else _given(n_components))]
    found = [np.array([], dtype=np.intp) if c.classes is None else c.classes for c in targets.columns]
    sizes = [max(len(classes), 2) for classes in found]
    if n_components is not None:
        sizes = _given(n_components, len(found), "y")
    return [_named(column, *pair) for column, *pair in zip(targets.columns, found, sizes, strict=True)]


def _named(column, classes, size):
    if len(classes) > size:
        raise ValueError(
            f"{column.name} holds {len(classes)} classes, more than n_components_per_latent={size}; ask for "
            f"{len(classes)} components, or mark rows as unlabeled."
        )
    numbers = classes.dtype.kind in "iu"
    if not len(classes) or (numbers and classes.min() >= 0 and classes.max() < size):
        return np.arange(size)
    if numbers:
        free = np.setdiff1d(np.arange(size + len(classes), dtype=classes.dtype), classes)
        return np.concatenate([classes, free[: size - len(classes)]])
    more = [f"component {j}" for j in range(len(classes), size)]
    return np.array([*classes.tolist(), *more, None], dtype=object)[:-1] if more else classes


def known_components(targets, components):
    """Log-plausibility (K_s, n) of the components of each latent; zeros where nothing is known."""
    if not targets.columns:
        return [np.zeros((len(names), targets.n_samples)) for names in components]
    tables = []
    for column, names in zip(targets.columns, components, strict=True):
        place = {label: i for i, label in enumerate(names.tolist())}
        numbers = np.array(
            [place[label] for label in ([] if column.classes is None else column.classes.tolist())] + [-1]
        )
        tables.append(log_plausibilities(numbers[column.numbers], len(names)))
    return tables


def read_plausibilities(plausibilities, n_samples, n_components):
    """Log-plausibility (K_s, n) of the components of each latent, from tables (n, K_s) of plausibilities."""
    tables = [_plausibility_table(table, s, n_samples) for s, table in enumerate(_listed(plausibilities))]
    if n_components is not None:
        sizes = _given(n_components, len(tables), "plausibilities")
        for s, (size, table) in enumerate(zip(sizes, tables, strict=True)):
            if size != table.shape[1]:
                raise ValueError(
                    f"plausibilities[{s}] has {table.shape[1]} columns, and n_components_per_latent says {size}."
                )
    with np.errstate(divide="ignore"):
        return [np.log(table.T) for table in tables]


def as_labels(tables, *, tied):
    """Padded log-plausibilities of all latents, as the model takes them."""
    if tied and len(tables) != 1:
        raise ValueError(f"tied=True has one class variable for all latents, and {len(tables)} were given.")
    sizes = [len(table) for table in tables]
    log_pl = np.full((len(tables), max(sizes), tables[0].shape[1]), -np.inf)
    for s, table in enumerate(tables):
        log_pl[s, : sizes[s]] = table
    return Labels(log_pl, (sizes[0],) * (sizes[0] - 1) if tied else tuple(sizes), tied)


def count_labeled(tables):
    """Number of rows in which some component of some class variable is less plausible than another."""
    return int(np.any([np.any(table != table[0], axis=0) for table in tables], axis=0).sum())


def _given(n_components, n_latents=None, name=""):
    """The number of components of each latent, of which `name` has so many."""
    if np.ndim(n_components) == 0:
        check_integer("n_components_per_latent", n_components, 2)
        return (int(n_components),) * (n_latents or 1)
    for s, size in enumerate(n_components):
        check_integer(f"n_components_per_latent[{s}]", size, 2)
    if len(n_components) == 0:
        raise ValueError("n_components_per_latent is empty; at least one latent is wanted.")
    if n_latents not in (None, len(n_components)):
        raise ValueError(
            f"n_components_per_latent={n_components!r} is for {len(n_components)} latents; {name} has {n_latents}."
        )
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
