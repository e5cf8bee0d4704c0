"""Targets as a table of one exponential family, which entries of it are observed, and the units of real ones."""

import numpy as np

from ..models.sdr_glm import Outputs

TARGET = {"multinomial": "classes", "bernoulli": "classes", "gaussian": "real", "poisson": "counts"}


def glm_table(targets, family):
    """`Targets` as outputs of a family, `gnomon.SDRGLM.families`; shift and scale of Gaussian ones, standardized."""
    labeled = targets.labeled
    rows, table = np.flatnonzero(labeled), np.zeros((targets.n_samples, 0))
    family = None if targets.kind == "none" else _family(targets, family)
    if family == "multinomial":
        table = np.zeros((targets.n_samples, len(targets.classes)))
        table[rows, targets.index[rows]] = 1.0
        return Outputs(family, table, labeled[:, None].astype(np.float64), rows), 0.0, 1.0
    if family is not None:
        table = targets.table
    shift, scale = _units(table) if family == "gaussian" else (0.0, 1.0)
    missing = np.isnan(table)
    return Outputs(family, np.where(missing, 0.0, (table - shift) / scale), 1.0 - missing, rows), shift, scale


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


def _units(table):
    shift = np.nanmean(table, axis=0)
    size = np.abs(table - shift)
    largest = np.nanmax(size, axis=0)  # squares stay within the range of floats
    return shift, largest * np.sqrt(np.nanmean((size / largest) ** 2, axis=0))
