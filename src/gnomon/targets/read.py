"""What y means: one table of rules for every estimator, for selection and for the command line.

A column of y is read once the rows without a label are set aside.

=====================================  ======================================================================
the known cells are                    the column is
=====================================  ======================================================================
none                                   nothing: the unsupervised model, with a warning
text, bool, categories                 classes
numbers with fractions                 real
whole numbers, int or float            classes when at most 20 are different, or when they are exactly 0..C-1 or
                                       1..C; of the others floats are real, and ints are classes, with a warning
                                       when there are more than one per three labeled rows (ages, prices), or where
                                       at most 20 lie far apart and most come once
numbers in a table of several columns  real for the models of numbers (SPPCA, KernelSPPCA, ColoredMVU); for the
                                       others every column is read by the rows above
anything else, or several types        an error
=====================================  ======================================================================

Text that Python makes of a missing cell, such as "nan", is a class, with a warning, unless ``unlabeled=`` is given.

Whole numbers held as floats, as a table with empty cells makes of integers, are read with one warning, which says how
they were read and names ``target=``. That parameter overrides the table, for all columns or one by one: "classes",
"real", or "counts" (whole numbers of at least 0).

A row is unlabeled where y is None, NaN, NaT, pd.NA or equal to ``unlabeled=``; and, with ``unlabeled="auto"``, where
it is -1 or -1.0 in a column of numbers read as classes. There -1 beside 1 only, or beside other negative numbers, may
be a class as well: that is an error, which names the way out. ``unlabeled=None`` takes no number for a mark.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .._warn import warn
from ..rows.frames import is_number
from .columns import Column, Targets
from .forms import Raw, columns_of, objects

KINDS = ("classes", "real", "counts")
TARGETS = ("auto", *KINDS)
NO_TEXT = frozenset({"", "nan", "NaN", "NaT", "None", "<NA>", "-1"})  # what str makes of a cell without a label
MOST_CLASSES = 20  # different whole numbers that are classes whatever they are
ROWS_PER_CLASS = 3  # with fewer labeled rows for each of many different integers, numbers are likely meant


def check_target(target: Any) -> None:
    """Raise unless `target` is one of `TARGETS`, or a list of them."""
    given = [target] if isinstance(target, str) or not isinstance(target, list | tuple) else target
    for one in given:
        if not isinstance(one, str) or one not in TARGETS:
            names = ", ".join(map(repr, TARGETS))
            raise ValueError(f"target={target!r} must be one of {names}, or a list with one per column of y.")


def read(
    y: Any,
    n_samples: int,
    *,
    target: Any = "auto",
    unlabeled: Any = "auto",
    kinds: Sequence[str] = KINDS,
    several: str = "columns",
    model: str = "the model",
    rows: IntArray | None = None,
) -> Targets:
    """Read y as the module says: `rows` (m,) of it or all, for a model of that name that takes these `kinds`.

    `several` is what a table is under "auto": "columns" of their own, all "real", or refused ("one").
    """
    check_target(target)
    if y is None:
        return Targets((), n_samples if rows is None else len(rows), True)
    given, vector = columns_of(y, n_samples, _mark(unlabeled))
    if rows is not None:
        given = [raw._replace(values=raw.values[rows], missing=raw.missing[rows]) for raw in given]
        given = [raw._replace(form="none") if raw.missing.all() else raw for raw in given]
    if not vector and several == "one":
        raise ValueError(f"class labels must be one column for {model}; y has {len(given)} columns.")
    asked = [target] * len(given) if isinstance(target, str) else list(target)
    if len(asked) != len(given):
        raise ValueError(f"target has {len(asked)} entries, y has {len(given)} columns; one for each is wanted.")
    as_numbers = several == "real" and not vector
    columns, remarks = [], []
    for raw, wanted in zip(given, asked, strict=True):
        column, remark = _read_column(raw, wanted, unlabeled, kinds, as_numbers, model)
        columns.append(column)
        remarks += [remark] if remark else []
    if remarks:
        rest = len(remarks) - 1
        more = f" (and {rest} more column{'s' if rest > 1 else ''} alike)" if rest else ""
        warn(remarks[0] + more)
    return Targets(tuple(columns), len(given[0].values), vector)


def read_like(
    y: Any, n_samples: int, form: Sequence[tuple[str, Any, str]], *, unlabeled: Any = "auto", strict: bool = True
) -> Array:
    """Read targets of new rows as those of `fit` were (n, q): class numbers or numbers, NaN where missing.

    `form` is `Targets.form`. A class that was not in fit is an error, or has the number C if not `strict`.
    """
    if not form or all(kind == "none" for kind, _, _ in form):
        raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
    given, _ = columns_of(y, n_samples, _mark(unlabeled))
    if len(given) != len(form):
        raise ValueError(f"y has {len(given)} columns, but the model was fitted with {len(form)}.")
    out = np.full((n_samples, len(form)), np.nan)
    for j, (raw, (kind, classes, name)) in enumerate(zip(given, form, strict=True)):
        raw = raw._replace(name=name)
        if kind == "classes":
            raw = _without_minus_one(raw, unlabeled, classes)
            known = np.flatnonzero(~raw.missing)
            out[known, j] = number_like(raw.values[known], classes, name, strict=strict)
        elif kind != "none":
            out[:, j] = _numbers(raw, kind)
    return out


def _mark(unlabeled: Any) -> Any:
    """The label that the caller says means unlabeled, or None."""
    return None if isinstance(unlabeled, str) and unlabeled == "auto" else unlabeled


def _read_column(
    raw: Raw, wanted: str, unlabeled: Any, kinds: Sequence[str], as_numbers: bool, model: str
) -> tuple[Column, str]:
    """The column, and what the user should know of the decision."""
    remark = ""
    if wanted != "auto":
        kind, reason = wanted, "as asked"
    elif as_numbers:
        _check_unmarked(raw, unlabeled)
        kind, reason = "real", "a table of several columns"
    else:
        kind, reason, remark = _decide(_strip(raw, unlabeled) if _is_whole(raw) else raw)
    if kind == "classes":
        raw = _without_minus_one(raw, unlabeled, None)
    values = np.full(len(raw.values), np.nan)
    if raw.form == "none":
        return Column("none", values, None, raw.name, "no row is labeled"), ""
    _check_kind(raw.name, kind, kinds, model)
    if kind != "classes":
        return Column(kind, _numbers(raw, kind), None, raw.name, reason), remark
    known = np.flatnonzero(~raw.missing)
    classes, values[known] = number(raw.values[known])
    if _mark(unlabeled) is None and unlabeled is not None:
        remark = _emptied(raw) or remark
    return Column(kind, values, classes, raw.name, reason), remark


def _is_whole(raw: Raw) -> bool:
    """Whether the known cells are numbers without fractions."""
    if raw.form == "int":
        return True
    known = raw.values[~raw.missing] if raw.form == "float" else np.zeros(0)
    return raw.form == "float" and bool((np.isfinite(known) & (known == np.floor(known))).all())


def _decide(raw: Raw) -> tuple[str, str, str]:
    """Kind, reason and remark of a column that nothing was said of."""
    if raw.form not in ("int", "float"):
        reason = {"text": "text", "bool": "true and false", "categorical": "categories"}.get(raw.form, "")
        return "classes", reason, ""
    if not _is_whole(raw):
        return "real", "numbers with fractions", ""
    known = raw.values[~raw.missing]
    different = sorted({int(value) for value in known.tolist()})
    c = len(different)
    few = c <= MOST_CLASSES or different in (list(range(c)), list(range(1, c + 1)))
    reason = f"{c} different whole numbers"
    if raw.form == "float":
        kind = "classes" if few else "real"
        read = "classes" if few else "real numbers"
        other = "real" if few else "classes"
        return kind, reason, (
            f"{raw.name} holds whole numbers as floats, which are read as {read}. Say "
            f"target={kind!r} if that is meant, else target={other!r}."
        )  # fmt: skip
    scattered = 2 < c <= MOST_CLASSES and 2 * c > len(known) and different[-1] - different[0] >= MOST_CLASSES
    if scattered or (not few and c * ROWS_PER_CLASS > len(known)):
        return "classes", reason, (
            f"{raw.name} holds {c} different integers in {len(known)} labeled rows, read as classes. Say "
            "target='classes' if that is meant, target='real' for numbers such as ages or prices."
        )  # fmt: skip
    return "classes", reason, ""


def _emptied(raw: Raw) -> str:
    """What to say of text that most likely stood for no label before it became text."""
    labels = [label for label in raw.values[~raw.missing].tolist() if isinstance(label, str)]
    found = sorted(NO_TEXT & set(labels))
    if not found:
        return ""
    return (
        f"{raw.name} holds the text {found[0]!r} in {labels.count(found[0])} of {len(labels)} labeled rows, which is a "
        f"class. If it means that there is no label, say unlabeled={found[0]!r}; if not, unlabeled=None."
    )


def _check_kind(name: str, kind: str, kinds: Sequence[str], model: str) -> None:
    if kind in kinds:
        return
    if kind == "real":
        raise ValueError(
            f"Unknown label type: {name} holds real numbers; {model} takes class labels (text, whole numbers, bool; "
            "target='classes' reads any numbers so). For real targets use SPPCA."
        )
    raise ValueError(f"{name} is of target={kind!r}, which {model} does not take; it takes {' and '.join(kinds)}.")


def _without_minus_one(raw: Raw, unlabeled: Any, classes: Any) -> Raw:
    """The column with -1 as a mark, where it is one; `classes` are those of fit."""
    stripped = _strip(raw, unlabeled)
    if stripped is raw or (classes is not None and -1 not in classes.tolist()):
        return stripped
    different = set(raw.values[~raw.missing].tolist())
    lower = sorted(value for value in different if value < -1)
    if different == {-1, 1} or lower:
        beside = f"{lower[0]:g} and -1" if lower else "-1 and 1 only"
        raise ValueError(
            f"{raw.name} holds the numbers {beside}, which is ambiguous: pass unlabeled=None if -1 is a class, "
            "unlabeled=-1 if it marks unlabeled rows, or target='real' for numbers."
        )
    return stripped


def _strip(raw: Raw, unlabeled: Any) -> Raw:
    """The column with every -1 missing, if that is a mark for this caller."""
    auto = isinstance(unlabeled, str) and unlabeled == "auto"
    if not auto or raw.form not in ("int", "float") or not (raw.values == -1).any():
        return raw
    missing = raw.missing | (raw.values == -1)
    return raw._replace(missing=missing, form="none" if missing.all() else raw.form)


def _check_unmarked(raw: Raw, unlabeled: Any) -> None:
    if raw.form == "int" and isinstance(unlabeled, str) and unlabeled == "auto" and (raw.values == -1).any():
        raise ValueError(
            f"{raw.name} is a column of integers that holds -1, which is ambiguous: say target='real' if it is a "
            "number, or give floats with NaN where a value is missing."
        )


def _numbers(raw: Raw, kind: str) -> Array:
    """The cells as float64, NaN where missing; raise for what is no number, and no count for "counts"."""
    try:
        out = np.where(raw.missing, np.nan, raw.values).astype(np.float64)
    except (TypeError, ValueError):
        i = next(i for i in np.flatnonzero(~raw.missing) if not is_number(raw.values[i]))
        raise TypeError(
            f"{raw.name} holds {raw.values[i]!r}, which is not a number, in row {i}; numbers are wanted here "
            f"(target={kind!r}). Labels and numbers in one table are for CPPCA."
        ) from None
    infinite = np.flatnonzero(np.isinf(out))
    if len(infinite):
        raise ValueError(f"{raw.name} is infinite in row {infinite[0]}; use NaN for a value that is not known.")
    if kind == "counts":
        wrong = np.flatnonzero((out < 0) | (out != np.floor(out)) & ~np.isnan(out))
        if len(wrong):
            raise ValueError(
                f"{raw.name} is {out[wrong[0]]:g} in row {wrong[0]}; target='counts' wants whole numbers of at least 0 "
                "(NaN where missing)."
            )
    return out


def number(known: Any) -> tuple[Any, IntArray]:
    """Return the sorted classes of labels (m,), and the number of each label's class (m,)."""
    if known.dtype.kind in "biuf":
        found, index = np.unique(known, return_inverse=True)
        labels = found.tolist()
        if known.dtype.kind == "f" and all(label.is_integer() for label in labels):
            labels = [int(label) for label in labels]  # as a column of integers without empty cells would have them
        classes = np.array(labels)
        huge = known.dtype.kind == "u" and classes.dtype.kind == "f"  # NumPy knows no other type for 0 and 2^63
        return found if huge else classes, index.astype(np.intp)
    labels = sorted(set(known.tolist()))
    position = {label: i for i, label in enumerate(labels)}
    return _label_array(labels), np.array([position[label] for label in known.tolist()], dtype=np.intp)


class NewClasses(ValueError):
    """Labels of classes that the first rows did not have."""


def number_like(known: Any, classes: Any, name: str = "y", *, strict: bool = True) -> IntArray:
    """Return the number of each label's class (m,) as in `fit`.

    A class that `fit` did not see is an error, or has the number C if not `strict`.
    """
    position = {label: i for i, label in enumerate(classes.tolist())}
    labels = known.tolist()
    if not strict:
        return np.array([position.get(label, len(position)) for label in labels], dtype=np.intp)
    unknown = sorted({str(label) for label in set(labels) if label not in position})
    if unknown:
        some = ", ".join(unknown[:5])
        raise NewClasses(
            f"{name} holds classes that were not in fit: {some}. Known: {list(position)[:10]}. Mark such rows as "
            "unlabeled."
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def _label_array(labels: list[Any]) -> Any:
    """An array of labels that gives every one of them back: bytes and text may end in NUL, integers may be huge."""
    found = np.array(labels)
    if found.ndim == 1 and found.dtype.kind in "biUSO" and found.tolist() == labels:
        return found
    return objects(labels)
