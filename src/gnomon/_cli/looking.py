"""What a table holds, column by column, and a command to begin with: nothing is fitted, and nothing refused."""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon._text import text_table
from gnomon.tables import (
    Cells,
    as_option,
    is_no_class,
    listing,
    number,
    numbers_for_nothing,
    read_cells,
    stands_for_nothing,
)
from gnomon.tables._marks import DATE
from gnomon.tables._summary import LEAVE_OUT, TAKE, candidates, summaries

MOST_ROWS = 20_000  # that are looked at
MOST_SHOWN = 40  # columns that are listed one by one
LONGEST = 16  # letters of a cell that is shown
MOST_TARGETS = 10  # columns that are taken for such
MOST_CLASSES = 20  # different cells of a column that may be classes
MANY_ANSWERS = 0.2  # of the cells, beyond as many as classes, from which different ones are free text
DOMINANT = 100.0  # times the median variance from which the largest decides the projection
PER_ROW = 1e-3  # relative spread up to which rows have one sum: shares are rounded
LEAST_NUMBERS = 5  # times as many rows as those of text, in every column, from which columns may be samples
MANY, FEATURES = 5, 1000  # times as many rows as columns, and rows, from which rows may be the features
TARGETS = re.compile(
    r"(class(es)?|labels?|targets?|y|species|group|diagnosis|(cell[ _.]?)?types?|category|cluster|outcome|response|"
    r"kind|variety|cultivar|phenotype|tumou?r)",
    re.I,
)
IDS = re.compile(r"(.*[ _.-])?(id|name|sample|row|index|barcode|key|nr|no)|column1", re.I)
TURN = "add --form transposed"
YES_NO = ({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"})


@dataclass
class Column:
    """One column as it was found."""

    name: str
    kind: str  # "numbers", "whole numbers", "text", "dates", "yes or no" or "empty"
    n_missing: int
    n_different: int
    shown: str
    role: str = "feature"  # or "target?", "id?", "drop", "encode", "not read"
    remarks: list[str] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)
    values: Any = None  # of numbers (n,), NaN where missing
    cells: list[Any] = field(default_factory=list)  # of anything else
    truth: bool = False  # true and false, which are read as 1 and 0

    @property
    def n_unknown(self) -> int:
        """How many cells are empty, or hold a mark among numbers."""
        return self.n_missing if self.values is None else int(np.isnan(self.values).sum())

    @property
    def is_answers(self) -> bool:
        """Whether it is text that can be read as answers."""
        given = len(self.cells) - self.n_missing
        many = self.n_different > max(MOST_CLASSES, MANY_ANSWERS * given)
        unique = self.n_different == given > 2
        return self.kind in ("text", "yes or no") and not self.truth and not unique and not many


@dataclass
class Look:
    """A table as it was found."""

    cells: Cells
    columns: list[Column]
    remarks: list[str]
    command: str

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        fields = ("name", "kind", "role", "n_missing", "n_different", "remarks", "placeholders")
        return {
            "table": self.cells.path,
            "rows": self.cells.n_rows,
            "all_rows": self.cells.whole,
            "columns": [{name: getattr(one, name) for name in fields} for one in self.columns],
            "remarks": self.remarks,
            "command": self.command,
        }

    def __str__(self) -> str:
        n, p = self.cells.n_rows, len(self.columns)
        rows = f"{n} rows" if self.cells.whole else f"the first {n} rows"
        if not self.cells.whole and self.cells.n_files > 1:
            rows = f"{n} rows, the first of each of {self.cells.n_files} files"
        lines = [f"{self.cells.path}: {rows}, {p} columns" + (f" ({self.cells.assumed})" if self.cells.assumed else "")]
        header = ("column", "is", "role", "missing", "different", "such as")
        order = sorted(self.columns, key=lambda one: one.role == "feature" and not one.remarks)
        body = [
            (one.name, one.kind, one.role, _share(one.n_missing, n), str(one.n_different), one.shown)
            for one in order[:MOST_SHOWN]
        ]
        lines += ["", *text_table(header, body, right=(3, 4))]
        if p > MOST_SHOWN:
            lines.append(f"and {p - MOST_SHOWN} columns more")
        alike: dict[str, list[str]] = {}
        for one in order:
            for remark in one.remarks:
                alike.setdefault(remark, []).append(one.name)
        remarks = [f"{listing(names, 4) if len(names) > 1 else names[0]}: {said}" for said, names in alike.items()]
        remarks = [*self.remarks, *remarks[:MOST_SHOWN]]
        lines += ["", *(f"note: {remark}" for remark in remarks)] if remarks else []
        begin = ["To begin with:", f"  {self.command}"] if self.command else ["No column of numbers is a feature."]
        return "\n".join([*lines, "", *begin])


def look(path: str, layer: str | None = None, form: Sequence[str] = ()) -> Look:
    """Look at the first rows of a table; of AnnData at a layer in place of X, of Excel at a sheet."""
    cells = read_cells(path, MOST_ROWS, layer, form)
    columns = [_column(name, values) for name, values in cells.columns.items()]
    _tell_roles(columns, cells.n_rows)
    for one in columns:
        if one.name in cells.beside and one.role not in ("target?", "id?"):
            one.role, one.remarks = "not read", []
    said = _of_summaries(columns, form)
    scale, remarks = _of_all(columns)
    remarks += [*said, *_of_form(cells, columns)]
    if not any(one.role == "target?" for one in columns):
        remarks.append("no column looks like a target; --target names one, --labels takes labels from a file of text")
    form = [*form, LEAVE_OUT] if said else form
    how = [*([] if layer is None else ["--layer", layer]), *(["--form", *form] if form else [])]
    command = _command(path, columns, scale, how)
    across = _text_across(columns, cells.n_rows) if "transposed" not in form else []
    if across:
        remarks = [f"every column holds numbers, and text in {listing(across, 4)}; if columns are samples, {TURN}"]
    if cells.odd_header or across:
        command = shlex.join(
            ["gnomon", "look", path, *how, "--form", "no-header" if cells.odd_header else "transposed"]
        )
    return Look(cells, columns, remarks, command)


def _share(n_missing: int, n: int) -> str:
    return "" if n_missing == 0 else f"{100.0 * n_missing / n:.1f} %" if n_missing > 0.001 * n else f"{n_missing}"


def _column(name: str, cells: list[Any]) -> Column:
    given = [cell for cell in cells if cell is not None]
    counts = Counter(map(str, given))
    shown = ", ".join(_short(text) for text, _ in counts.most_common(3))
    found = Column(name, "empty", len(cells) - len(given), len(counts), shown)
    if not given:
        return found
    found.placeholders = marks = [text for text in counts if _number(text) is None and _is_mark(text)]
    rest = [text for text in counts if text not in marks]
    if not rest:
        found.remarks.append(f"nothing but {' and '.join(map(repr, marks))}; it says nothing")
        return found
    numbers = {text: _number(text) for text in rest}
    truth = {text.casefold() for text in rest} == {"true", "false"}
    if all(value is not None for value in numbers.values()):
        known = {text: value for text, value in numbers.items() if value is not None}
        found.values = np.array([np.nan if cell is None else known.get(str(cell), np.nan) for cell in cells])
        found.kind = "whole numbers" if all(value == np.floor(value) for value in known.values()) else "numbers"
        found.kind, found.truth = ("yes or no", True) if truth else (found.kind, False)
        _tell_numbers(found)
    elif all(DATE.fullmatch(text) for text in rest):
        found.kind = "dates"
    elif {text.casefold() for text in rest} in YES_NO:
        found.kind, found.truth = "yes or no", truth
    else:
        found.kind, found.placeholders = "text", [text for text in counts if is_no_class(text)]
    found.cells = cells
    return found


def _is_mark(text: str) -> bool:
    """Whether a cell that is no finite number stands for none, or is infinite."""
    return stands_for_nothing(text) or number(text) is not None


def _short(text: str) -> str:
    """A cell in few letters."""
    value = _number(text) if len(text) > LONGEST else None
    text = " ".join(text.split()) if value is None else f"{value:.6g}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _number(text: str) -> float | None:
    value = float(text == "True") if text in ("True", "False") else number(text)
    return value if value is not None and np.isfinite(value) else None


def _tell_numbers(column: Column) -> None:
    """What is odd about a column of numbers."""
    if column.placeholders:
        marks = ", ".join(map(repr, column.placeholders))
        each = "it" if len(column.placeholders) == 1 else "each"
        column.remarks.append(f"{marks} among numbers; --missing takes {each} for an empty cell")
    for mark, n in numbers_for_nothing(column.values).items():
        column.placeholders.append(f"{mark:g}")
        rows = "row" if n == 1 else "rows"
        column.remarks.append(
            f"{mark:g} in {n} {rows} lies far from all other numbers; --missing={mark:g} takes it for an empty cell"
        )
        column.values[column.values == mark] = np.nan
    values = column.values[~np.isnan(column.values)]
    if len(values) and np.ptp(values) == 0.0:
        column.remarks.append("one value in every row; it says nothing")


def _tell_roles(columns: list[Column], n: int) -> None:
    """Guess which columns name the rows, which is the target, and which are of no use as they are."""
    named = False
    for one in columns:
        unique = one.n_different == n - one.n_missing and one.n_missing == 0 and n > 2
        counts = one.values is not None and one.kind == "whole numbers" and n > 2 and (np.diff(one.values) == 1).all()
        if counts or (unique and (one.kind == "text" or (IDS.fullmatch(one.name) and one.kind == "whole numbers"))):
            one.role, named = "drop" if named else "id?", True
        elif one.kind == "empty":
            one.role = "drop"
        elif one.kind in ("text", "dates") or (one.kind == "yes or no" and not one.truth):
            one.role = "encode"
    if not named:
        several = [one for one in columns if one.role == "encode" and not one.is_answers and IDS.fullmatch(one.name)]
        for one in several[:1]:
            one.role = "id?"
            one.remarks.append("a name of several rows; rows of one name are held out together")
    usual = float(np.median([one.n_unknown for one in columns]))
    target = max(columns, key=lambda one: _like_target(one, usual, n))
    if _like_target(target, usual, n) > 0:
        target.role = "target?"
        if target.placeholders and target.values is None:
            marks = ", ".join(map(repr, target.placeholders))
            target.remarks.append(f"{marks} among classes; --missing takes such rows for unlabeled ones")
        _tell_more_targets(columns, target, usual, n)
    for one in columns:
        if one.role == "encode" and one.is_answers:
            one.remarks.append(f"{one.kind}; --categorical makes a column of 0 and 1 of each answer")
        elif one.role == "encode" and one.kind == "text":
            one.remarks.append(f"text of {one.n_different} kinds; leave it out, or make answers of it")
        elif one.role == "encode":
            one.remarks.append(f"{one.kind}; make numbers of it, or leave it out")


def _tell_more_targets(columns: list[Column], target: Column, usual: float, n: int) -> None:
    """Numbers that are known in few rows, as the target is, and all others in most, are targets as well."""
    more = [one for one in columns if one.role == "feature" and one.values is not None and _alone(one, usual, n)]
    more = [one for one in more if 2 * min(one.n_unknown, target.n_unknown) > n]
    for one in more if len(more) < MOST_TARGETS else ():
        one.role = "target?"
        one.remarks.append(f"known in few rows, as {target.name} is; if it is no target, leave it out with --drop")


def _alone(one: Column, usual: float, n: int) -> bool:
    """Whether many more cells of a column are unknown than of others."""
    return one.n_unknown > 0.2 * n and one.n_unknown > 2 * usual


def _like_target(one: Column, usual: float, n: int) -> float:
    """How much a column looks like a target: by its name, its few classes, and the empty cells of its own."""
    if one.role in ("id?", "drop") or one.n_different < 2 or one.kind == "dates":
        return 0.0
    few = one.n_different <= min(MOST_CLASSES, max(2, (n - one.n_missing) // 2))
    named = bool(TARGETS.fullmatch(one.name))
    alone = _alone(one, usual, n)
    classes = few and one.kind in ("text", "yes or no")
    doubted = classes and bool(one.placeholders)
    return (
        3.0 * named
        + 2.0 * classes
        + 1.0 * doubted
        + 1.0 * (alone and (few or one.values is not None))
        - 0.5 * (not few)
    )


def _of_all(columns: list[Column]) -> tuple[str, list[str]]:
    """The scale that suits all features, and what is odd about them together."""
    remarks, some = [], [one for one in columns if one.role == "feature" and one.values is not None]
    seen: dict[bytes, str] = {}
    for one in some:
        given = one.values[~np.isnan(one.values)]
        first = seen.setdefault(one.values.tobytes(), one.name) if len(given) and np.ptp(given) else one.name
        if first != one.name:
            one.remarks.append(f"the same in every row as {first}")
    if len(some) < 2:
        return "none", remarks
    X = np.column_stack([one.values for one in some])
    sums = X.sum(axis=1)
    if not np.isnan(sums).any() and sums[0] > 0 and np.ptp(sums) <= PER_ROW * abs(sums).max():
        remarks.append(f"the features of every row sum to {sums[0]:g}: shares, of which ratios are what varies")
    with np.errstate(invalid="ignore"):
        variances = np.nanvar(X, axis=0)
    positive = variances[variances > 0]
    if len(positive) > 1 and positive.max() > DOMINANT * np.median(positive):
        remarks.append(
            f"{some[int(variances.argmax())].name} varies {positive.max() / np.median(positive):.3g} times as much as "
            "most features: --scale standard gives all the same weight"
        )
        return "standard", remarks
    return "none", remarks


def _of_summaries(columns: list[Column], form: Sequence[str]) -> list[str]:
    """Rows that are summaries of others, which are left out of what else is said of numbers."""
    numbers = [one for one in columns if one.values is not None]
    named = candidates([one.cells for one in columns if one.values is None])
    if not named or not numbers or TAKE in form:
        return []
    found = summaries(np.column_stack([one.values for one in numbers]), named)
    for one in numbers:
        one.values = np.delete(one.values, sorted(found))
    if not found or LEAVE_OUT in form:
        return []
    names = listing([named[i] for i in sorted(found)], 4)
    return [f"{names}: rows that hold sums, means or the like of others; --form {LEAVE_OUT} leaves them out"]


def _of_form(cells: Cells, columns: list[Column]) -> list[str]:
    """What may be wrong about how the table lies."""
    remarks = []
    if cells.odd_header:
        remarks.append("the first line looks like a row; if no line names the columns, add --form no-header")
    first, rest, p = columns[0], columns[1:], len(columns)
    alike = len(rest) > 1 and all(one.values is not None for one in rest)
    if first.values is not None and len(first.values) > 2 and alike and "transposed" not in cells.assumed:
        steps = np.diff(first.values)
        if abs(steps[0]) > 0 and abs(steps[0]) != 1 and np.ptp(steps) <= PER_ROW * abs(steps[0]):
            remarks.append(f"{first.name} goes in equal steps, as wavelengths do; if columns are samples, {TURN}")
    guided = any(one.role == "target?" for one in columns)
    if first.role == "id?" and first.kind == "text" and alike and not guided and cells.n_rows > max(MANY * p, FEATURES):
        remarks.append(f"many more rows than columns; if rows are features (genes, say) and columns samples, {TURN}")
    return remarks


def _text_across(columns: list[Column], n: int) -> list[str]:
    """Names of the few rows that hold all text of columns of numbers, which are then samples; their remarks go."""
    first, rest = columns[0], columns[1:]
    if len(rest) < 2 or any(one.kind != "text" for one in columns):
        return []
    texts = set.union(*({i for i, cell in enumerate(one.cells) if _is_text(cell)} for one in rest))
    if n < LEAST_NUMBERS * len(texts):
        return []
    for one in rest:
        one.remarks = []
    return [str(first.cells[i]) for i in sorted(texts)]


def _is_text(cell: Any) -> bool:
    return cell is not None and _number(str(cell)) is None and not _is_mark(str(cell))


def _command(path: str, columns: list[Column], scale: str, how: list[str]) -> str:
    def named(role: str) -> list[str]:
        return [one.name for one in columns if one.role == role]

    answers = [one.name for one in columns if one.role == "encode" and one.is_answers]
    if not named("feature") and not answers:
        return ""
    targets, ids = named("target?"), named("id?")
    drop = named("drop") + [name for name in named("encode") if name not in answers]
    used = [one for one in columns if one.role in ("feature", "target?") or one.name in answers]
    marks = dict.fromkeys(mark for one in used for mark in one.placeholders)
    words = [shlex.join(["gnomon", "fit", path, *how])]
    words.append(as_option("--target", *targets) if targets else "--model ppca")
    words += [as_option("--id", ids[0])] if ids else []
    words += [as_option("--categorical", *answers)] if answers else []
    words += [as_option("--drop", *drop)] if drop else []
    words += [as_option("--missing", *marks)] if marks else []
    words += [f"--scale {scale}"] if scale != "none" else []
    return " ".join([*words, "--out results"])
