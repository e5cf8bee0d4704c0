"""What a table holds, column by column, and a command to begin with: nothing is fitted, and nothing refused."""

import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon.selection._table import text_table
from gnomon.tables import Cells, read_cells, stands_for_nothing

MOST_ROWS = 20_000  # that are looked at
MOST_SHOWN = 40  # columns that are listed one by one
MOST_CLASSES = 20  # different cells of a column that may be classes
SENTINELS = (-9.0, -99.0, -999.0, -9999.0, 999.0, 9999.0)
DOMINANT = 100.0  # times the median variance from which the largest decides the projection
PER_ROW = 1e-6  # relative spread up to which rows have one sum
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
TARGETS = re.compile(r"(class|label|target|y|species|group|diagnosis|type|category|cluster|outcome|response)", re.I)
IDS = re.compile(r"(.*[ _.-])?(id|name|sample|row|index|barcode|key|nr|no)|column1", re.I)
YES_NO = ({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"})


@dataclass
class Column:
    """One column as it was found."""

    name: str
    kind: str  # "numbers", "whole numbers", "text", "dates", "yes or no" or "empty"
    n_missing: int
    n_different: int
    shown: str
    role: str = "feature"  # or "target?", "id?", "drop", "encode"
    remarks: list[str] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)
    values: Any = None  # of numbers (n,), NaN where missing


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
        remarks = [f"{one.name}: {remark}" for one in order for remark in one.remarks]
        remarks = [*self.remarks, *remarks[:MOST_SHOWN]]
        lines += ["", *(f"note: {remark}" for remark in remarks)] if remarks else []
        return "\n".join([*lines, "", "To begin with:", f"  {self.command}"])


def look(path: str, layer: str | None = None) -> Look:
    """Look at the first rows of a table; of AnnData at a layer in place of X."""
    cells = read_cells(path, MOST_ROWS, layer)
    columns = [_column(name, values) for name, values in cells.columns.items()]
    _tell_roles(columns, cells.n_rows)
    scale, remarks = _of_all(columns)
    return Look(cells, columns, remarks, _command(path, columns, scale, cells.sparse, layer))


def _share(n_missing: int, n: int) -> str:
    return "" if n_missing == 0 else f"{100.0 * n_missing / n:.1f} %" if n_missing > 0.001 * n else f"{n_missing}"


def _column(name: str, cells: list[Any]) -> Column:
    given = [cell for cell in cells if cell is not None]
    counts = Counter(map(str, given))
    shown = ", ".join(text if len(text) <= 16 else f"{text[:13]}..." for text, _ in counts.most_common(3))
    found = Column(name, "empty", len(cells) - len(given), len(counts), shown)
    if not given:
        return found
    marks = [text for text in counts if stands_for_nothing(text) and _number(text) is None]
    rest = [text for text in counts if text not in marks]
    numbers = {text: _number(text) for text in rest}
    if rest and all(value is not None for value in numbers.values()):
        known = {text: value for text, value in numbers.items() if value is not None}
        found.values = np.array([np.nan if cell is None else known.get(str(cell), np.nan) for cell in cells])
        found.kind = "whole numbers" if all(value == np.floor(value) for value in known.values()) else "numbers"
        found.placeholders = marks
        _tell_numbers(found)
    elif rest and all(DATE.fullmatch(text) for text in rest):
        found.kind = "dates"
    elif {text.casefold() for text in rest} in YES_NO:
        found.kind = "yes or no"
    else:
        found.kind = "text"
    return found


def _number(text: str) -> float | None:
    if text in ("True", "False"):
        return float(text == "True")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _tell_numbers(column: Column) -> None:
    """What is odd about a column of numbers."""
    if column.placeholders:
        marks = ", ".join(map(repr, column.placeholders))
        each = "it" if len(column.placeholders) == 1 else "each"
        column.remarks.append(f"{marks} among numbers; --missing takes {each} for an empty cell")
    values = column.values[~np.isnan(column.values)]
    for mark in SENTINELS:
        rest = values[values != mark]
        if 2 <= len(rest) < len(values) and not rest.min() - np.ptp(rest) <= mark <= rest.max() + np.ptp(rest):
            column.remarks.append(f"{mark:g} lies far from all other numbers; if it means an empty cell, empty it")
    if len(values) and np.ptp(values) == 0.0:
        column.remarks.append("one value in every row; it says nothing")


def _tell_roles(columns: list[Column], n: int) -> None:
    """Guess which columns name the rows, which is the target, and which are of no use as they are."""
    for j, one in enumerate(columns):
        unique = one.n_different == n - one.n_missing and one.n_missing == 0 and n > 2
        counts = one.values is not None and one.kind == "whole numbers" and n > 2 and (np.diff(one.values) == 1).all()
        if counts or (unique and (one.kind == "text" or (IDS.fullmatch(one.name) and one.kind == "whole numbers"))):
            one.role = "id?" if not any(other.role == "id?" for other in columns[:j]) else "drop"
        elif one.kind == "empty":
            one.role = "drop"
        elif one.kind in ("text", "dates", "yes or no"):
            one.role = "encode"
    target = max(columns, key=lambda one: _like_target(one, columns, n))
    if _like_target(target, columns, n) > 0:
        target.role = "target?"
    for one in columns:
        if one.role == "encode":
            words = {"dates": "dates", "yes or no": "yes or no"}.get(one.kind, "text")
            one.remarks.append(f"{words}; make numbers of it, or leave it out")


def _like_target(one: Column, columns: list[Column], n: int) -> float:
    """How much a column looks like a target: by its name, its few classes, and the empty cells of its own."""
    if one.role in ("id?", "drop") or one.n_different < 2 or one.kind == "dates":
        return 0.0
    few = one.n_different <= min(MOST_CLASSES, max(2, (n - one.n_missing) // 2))
    named = bool(TARGETS.fullmatch(one.name))
    usual = float(np.median([other.n_missing for other in columns]))
    alone = one.n_missing > 0.2 * n and one.n_missing > 2 * usual
    classes = few and one.kind in ("text", "yes or no")
    return 3.0 * named + 2.0 * classes + 1.0 * (alone and (few or one.values is not None)) - 0.5 * (not few)


def _of_all(columns: list[Column]) -> tuple[str, list[str]]:
    """The scale that suits all features, and what is odd about them together."""
    remarks, some = [], [one for one in columns if one.role == "feature" and one.values is not None]
    seen: dict[bytes, str] = {}
    for one in some:
        first = seen.setdefault(one.values.tobytes(), one.name)
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


def _command(path: str, columns: list[Column], scale: str, sparse: bool, layer: str | None) -> str:
    def named(role: str) -> list[str]:
        return [one.name for one in columns if one.role == role]

    words = ["gnomon", "fit", path]
    targets, ids, drop = named("target?"), named("id?"), named("drop") + named("encode")
    marks = list(dict.fromkeys(mark for one in columns if one.role == "feature" for mark in one.placeholders))
    words += ["--layer", layer] if layer is not None else []
    words += ["--target", targets[0]] if targets else ["--model", "ppca"]
    words += ["--id", ids[0]] if ids else []
    words += ["--drop", *drop] if drop else []
    words += [word for mark in marks for word in ("--missing", mark)]
    words += ["--scale", scale] if scale != "none" and not sparse else []
    return shlex.join([*words, "--out", "results"])
