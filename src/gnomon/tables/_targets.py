"""What target columns mean: classes, real numbers or both, and which rows are labeled."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from gnomon.tables._table import Table, TableError, in_range, number, objects, out_of_range
from gnomon.targets.read import MOST_CLASSES, read


class Target(NamedTuple):
    """Targets as an estimator takes them.

    Attributes
    ----------
    kind : {"classes", "real", "mixed"}
        What the columns were read as.
    y : ndarray of shape (n,) or (n, q)
        Classes with -1 or None where unlabeled, floats with NaN, or, where they are mixed, objects with None.
    names : list of str
        The q target columns.
    labeled : bool ndarray of shape (n,)
        Rows with at least one target.
    reason : str
        Why this kind, in words for the user.
    classes : list of (list or None), or None
        The classes of each column in order, where every column is a target of its own kind; None in it for numbers.
    asked : str or None
        The kind that the user asked for.
    """

    kind: str
    y: np.ndarray
    names: list[str]
    labeled: np.ndarray
    reason: str
    classes: list[list | None] | None = None
    asked: str | None = None

    @property
    def kinds(self) -> str | list[str]:
        """What the parameter `target` of an estimator is to be."""
        if self.asked is None:
            return "auto"
        if self.kind == "mixed":
            return ["real" if known is None else "classes" for known in self.classes or ()]
        return self.asked

    @property
    def n_classes(self) -> int:
        """How many classes occur; 0 for real targets, and for several of their own kinds."""
        if self.classes is not None:
            return 0
        return len(set(self.y[self.labeled].tolist())) if self.kind == "classes" else 0

    @property
    def real_table(self) -> np.ndarray | None:
        """`y` (n, q) where it holds several real targets."""
        return self.y if self.kind == "real" and self.y.ndim == 2 else None


def resolve_target(table: Table, kind: str | None = None, unlabeled: str | None = None) -> Target:
    """Decide what the targets of a table mean.

    As `gnomon.targets.read` does with what the cells hold: text and booleans are classes, whole numbers are classes
    when there are at most 20 different ones or they are exactly 0..C-1 or 1..C, and all other numbers are real. Among
    other classes -1 means unlabeled. Several targets are real.

    Parameters
    ----------
    table : Table
        A table with at least one target.
    kind : {"classes", "real"} or None, default=None
        The kind, when the rules above are not what is meant.
    unlabeled : str or None, default=None
        A cell that means unlabeled, beside the empty one; "" says that only the empty one does.

    Returns
    -------
    Target
    """
    names = list(table.targets)
    given = {name: _without(values, unlabeled) for name, values in table.targets.items()}
    if len(names) > 1:
        if kind == "classes":
            raise TableError(
                f"{table.path}: {len(names)} targets, and only one can be classes; name one --target, or use --model "
                "cppca."
            )
        y = np.column_stack([_real(table, name, given[name]) for name in names])
        return _checked(table, Target("real", y, names, ~np.isnan(y).all(axis=1), "several are always real"))
    (name,) = names
    chosen, reason = _kind_of(given[name]) if kind is None else (kind, "as asked")
    if chosen == "real":
        y = _real(table, name, given[name])
        return _checked(table, Target("real", y, names, ~np.isnan(y), reason))
    y = _classes(table, name, given[name], unlabeled)
    labeled = y != -1 if y.dtype.kind == "i" else np.array([value is not None for value in given[name]])
    return _checked(table, Target("classes", y, names, labeled, reason))


def resolve_class_variables(table: Table, kind: str | None = None, unlabeled: str | None = None) -> Target:
    """Read every target as a class variable of its own: numbers (n, S) of its classes in order, -1 where unlabeled.

    Parameters
    ----------
    table, kind, unlabeled
        As in `resolve_target`; numbers that it would take for real ones are refused, unless `kind` is "classes".

    Returns
    -------
    Target
    """
    codes, classes = [], []
    for name, values in table.targets.items():
        given = _without(values, unlabeled)
        found, reason = _kind_of(given) if kind is None else (kind, "as asked")
        if found == "real":
            raise TableError(f"{table.path}, column {name!r}: classes are wanted here, and this is real ({reason}).")
        labels, known = _labels(table, name, given, unlabeled)
        place = {label: code for code, label in enumerate(known)}
        codes.append([place.get(label, -1) for label in labels])
        classes.append(known)
    y = np.array(codes, dtype=np.intp).T
    target = Target("classes", y, list(table.targets), (y >= 0).any(axis=1), "each on its own", classes)
    return _checked(table, target)


def resolve_outputs(table: Table, kind: str | None = None, unlabeled: str | None = None) -> Target:
    """Read every target by the rules of `resolve_target`, each on its own: classes or real numbers.

    Parameters
    ----------
    table, kind, unlabeled
        As in `resolve_target`; `kind` is that of all of them.

    Returns
    -------
    Target
        "mixed", or "real" where all are.
    """
    columns, classes = [], []
    for name, values in table.targets.items():
        given = _without(values, unlabeled)
        found = _kind_of(given)[0] if kind is None else kind
        if found == "real":
            values, known = _real(table, name, given), None
            values = np.where(np.isnan(values), None, values)
        else:
            values, known = _labels(table, name, given, unlabeled)
        columns.append(values)
        classes.append(known)
    if all(known is None for known in classes):
        return resolve_target(table, "real", unlabeled)
    y = np.column_stack(columns)
    reason = "each on its own" if kind is None else "as asked"
    target = Target("mixed", y, list(table.targets), np.not_equal(y, None).any(axis=1), reason, classes)
    return _checked(table, target)


def _labels(table: Table, name: str, given: np.ndarray, unlabeled: str | None) -> tuple[np.ndarray, list]:
    """Classes as objects, None where unlabeled, and the distinct ones in order."""
    found = _classes(table, name, given, unlabeled).astype(object)
    labels = objects([None if label is None or (type(label) is int and label == -1) else label for label in found])
    return labels, sorted({label for label in labels if label is not None})


def _checked(table: Table, target: Target) -> Target:
    if not target.labeled.any():
        columns = ", ".join(repr(name) for name in target.names)
        raise TableError(f"{table.path}: no row has a value in {columns}; without labels use --model ppca.")
    return target


def _without(values: np.ndarray, unlabeled: str | None) -> np.ndarray:
    if not unlabeled:
        return values
    return objects([None if value is None or str(value) == unlabeled else value for value in values])


def _kind_of(values: np.ndarray) -> tuple[str, str]:
    """Kind of cells by the rules of `gnomon.targets.read`, to which cells of text that are numbers are numbers."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, bool) or number(value) is None for value in present):
        return "classes", "not all cells are numbers"
    known = np.array([number(value) for value in present])
    if any(not value.is_integer() for value in known.tolist()):
        return "real", "the cells are numbers with fractions"
    known = known[known != -1.0] if len(set(known.tolist())) > 1 else known  # a mark, or one class of several
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was decided is printed
        kind = read(known, len(known), unlabeled=None).kind
    distinct = len(set(known.tolist()))
    if kind == "real":
        return kind, f"more than {MOST_CLASSES} different whole numbers; else --target-kind classes"
    return "classes", f"{distinct} different whole numbers; else --target-kind real"


def _real(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    y = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if value is None:
            continue
        target = number(value)
        if target is None:
            more = " (several targets must all be numbers, or use --model cppca)" if len(table.targets) > 1 else ""
            raise TableError(f"{table.where(i, name)}: {str(value)[:40]!r} is not a number{more}.")
        if not in_range(target):
            raise TableError(f"{table.where(i, name)}: {value} {out_of_range(target)}.")
        y[i] = target
    return y


def _classes(table: Table, name: str, values: np.ndarray, unlabeled: str | None) -> np.ndarray:
    """Whole numbers as integers, all else as given; the unlabeled marker is the one of each."""
    present = [value for value in values if value is not None]
    numbers = [None if isinstance(value, bool) else number(value) for value in present]
    if any(value is None or not value.is_integer() for value in numbers):
        texts = {type(value) for value in present} != {bool}
        return objects([str(v) if texts and v is not None else v for v in values])
    others = set(numbers) - {-1.0}
    if -1.0 not in numbers or (unlabeled is None and others != {1.0} and min(others, default=-1.0) >= 0.0):
        return np.array([-1 if value is None else int(number(value)) for value in values])
    if unlabeled is None:
        raise TableError(
            f"{table.where(list(numbers).index(-1.0), name)}: -1 can be a class or mean unlabeled; "
            "add --unlabeled=-1 if it means unlabeled, --unlabeled= if it is a class."
        )
    return objects([None if value is None else str(int(number(value))) for value in values])
