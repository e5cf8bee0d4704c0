"""Targets as a table of one exponential family, which entries of it are observed, and the units of real ones."""

from typing import NamedTuple

import numpy as np

TARGET = {"multinomial": "classes", "bernoulli": "classes", "gaussian": "real", "poisson": "counts"}


class GlmTable(NamedTuple):
    """Outputs as the model sees them.

    Attributes
    ----------
    family : str or None          None where nothing is labeled
    values : (n, q) float64       zero where not observed
    observed : (n, q) or (n, 1)   1 where observed, else 0
    shift, scale : (q,)           of Gaussian outputs, which are standardized
    """

    family: str | None
    values: np.ndarray
    observed: np.ndarray
    shift: np.ndarray
    scale: np.ndarray


def glm_table(targets, family):
    """The table of `Targets`; `family` is that of `gnomon.SDRGLM.families`."""
    if targets.kind == "none":
        return _plain(None, np.zeros((targets.n_samples, 0)))
    family = _family(targets, family)
    if family == "multinomial":
        return _one_of_c(targets)
    table = targets.table
    if family == "gaussian":
        return _standardized(table)
    return _plain(family, table)


def _family(targets, family):
    if targets.kind == "mixed":
        raise ValueError(
            f"y holds columns of several kinds ({', '.join(column.kind for column in targets.columns)}), and SDRGLM "
            "has one family for all of them; CPPCA takes them as they are."
        )
    wanted = {"real": ("gaussian",), "counts": ("poisson",), "classes": ("multinomial", "bernoulli")}[targets.kind]
    if family not in (None, *wanted):
        raise ValueError(f"families={family!r} is not for targets that are {targets.kind} (target={targets.kind!r}).")
    if targets.kind != "classes":
        return wanted[0]
    sizes = [len(column.classes) for column in targets.columns]
    if targets.vector and (family != "bernoulli" or sizes[0] < 2):
        return "multinomial"
    most = int(np.argmax(sizes))
    if sizes[most] > 2 or family == "multinomial":
        raise ValueError(
            f"{targets.columns[most].name} holds {sizes[most]} classes; families='bernoulli', and a table of several "
            "columns, want two classes in each. Give one column, with families='multinomial', or use CPPCA."
        )
    return "bernoulli"


def _one_of_c(targets):
    labeled = targets.labeled
    table = np.zeros((targets.n_samples, len(targets.classes)))
    table[labeled, targets.index[labeled]] = 1.0
    return _plain("multinomial", table)._replace(observed=labeled[:, None].astype(np.float64))


def _plain(family, table):
    missing, q = np.isnan(table), table.shape[1]
    return GlmTable(family, np.where(missing, 0.0, table), 1.0 - missing, np.zeros(q), np.ones(q))


def _standardized(table):
    shift = np.nanmean(table, axis=0)
    size = np.abs(table - shift)
    largest = np.nanmax(size, axis=0)  # squares stay within the range of floats
    scale = largest * np.sqrt(np.nanmean((size / largest) ** 2, axis=0))
    return _plain("gaussian", (table - shift) / scale)._replace(shift=shift, scale=scale)
