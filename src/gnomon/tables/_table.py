"""What every reader returns, which columns the caller wants, and how problems are worded."""

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnomon.rows.kind import is_sparse
from gnomon.tables._marks import DATE, stands_for_nothing

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
EMPTY, MARKED = "they mean empty cells", re.compile(r"[+-]?\d[\d.,]*[.,]\d+")
FEW = 8  # names that are repeated in a message
LARGEST = np.float64(1e150)  # squares of larger numbers, and sums of them, would overflow


class TableError(ValueError):
    """A table that cannot be used; the message is one line."""


@dataclass(frozen=True)
class Table:
    """What one file holds, by role."""

    path: str  # as the user named it
    X: Any  # (n, p) with NaN where a cell is empty, or csr, which has none; float32 when every feature column was
    feature_names: list[str]
    targets: dict[str, np.ndarray]  # (n,) objects, None where a cell is empty; of text numbers where all cells are
    ids: np.ndarray | None = None  # (n,) cells of the id column
    id_name: str | None = None
    lines: np.ndarray | None = None  # (n,) line of the file on which each row starts, where files have lines
    first: int = 0  # rows before these, where they are part of a larger table
    assumed: str = ""  # how the file was read, where its name does not say so
    sha256: str = ""  # of what can be read but once
    answers: dict[str, np.ndarray] = field(default_factory=dict)  # (n,) cells of columns of answers, None if empty
    rest: dict[str, np.ndarray] = field(default_factory=dict)  # (n,) cells of columns without a role, as they are
    order: Sequence[str] = ()  # all columns of the file, where the rest is kept
    unseen: dict[str, list[str]] = field(default_factory=dict)  # answers by column that are none of the known ones

    @property
    def n_missing(self) -> int:
        """How many feature cells are empty."""
        return count_missing(self.X)

    def parts(self) -> Iterator["Table"]:
        """Its rows, as many at a time as are in memory: all."""
        yield self

    def where(self, i: int, column: str) -> str:
        """Name the cell in row `i` (from 0) for a message."""
        return cell_name(self.path, self.first + i, None if self.lines is None else self.lines[i], column)

    def row(self, i: int) -> str:
        """Name row `i` (from 0) for a message."""
        return row_of(self.first + i, None if self.lines is None else self.lines[i])


def count_missing(X: Any) -> int:
    """How many entries of a matrix are NaN; a sparse one has none."""
    return 0 if is_sparse(X) else int(np.isnan(X).sum())


class Wanted(NamedTuple):
    """Columns by role; `features` None means all that have no other role, the likely ones may be absent."""

    targets: Sequence[str] = ()
    id: str | None = None
    likely_id: str | None = None
    drop: Sequence[str] = ()
    ignore: Sequence[str] = ()
    features: Sequence[str] | None = None
    likely_targets: Sequence[str] = ()
    missing: Sequence[str] = ()  # cells of text that mean an empty one, besides `MISSING`
    layer: str | None = None  # of AnnData, in place of X; or sheet of Excel, in place of the first
    form: Sequence[str] = ()  # how text is written, where it does not tell; see `_begin`
    categorical: Sequence[str] = ()  # columns of answers, whose cells are kept beside the features
    whole: bool = False  # whether cells of columns without a role are kept as well
    unlabeled: str | None = None  # cell of text, of a target, that means an empty one
    of_model: bool = False  # whether the features are those of a model, which can be neither left out nor anything else

    def settled(self, names: Sequence[str]) -> "Wanted":
        """Take the likely id where there is one and no other was asked for, and the likely targets that there are."""
        targets = [*self.targets, *(name for name in self.likely_targets if name in names)]
        id = self.likely_id if self.id is None and self.likely_id in names else self.id
        return self._replace(id=id, targets=targets)


def cell_name(path: str, i: int, line: int | None, column: str) -> str:
    """File, row and column, as messages name a cell."""
    return f"{path}, {row_of(i, line)}, column {column!r}"


def row_of(i: int, line: int | None) -> str:
    """Row (counted from 1 without the header) and line of the file where there are lines."""
    return f"row {i + 1}" + ("" if line is None else f" (line {line})")


def choose_features(path: str, names: Sequence[str], wanted: Wanted) -> list[str]:
    """Check the columns of the file, and the wanted roles against them; return the feature columns, in order."""
    check_unique(path, names)
    taken = _taken(path, names, wanted)
    rest = [column for column in names if column not in taken and column not in wanted.ignore]
    if wanted.features is None:
        if not rest and not wanted.categorical:
            raise TableError(f"{path}: no feature columns are left beside {listing(taken)}.")
        return rest
    known, present = set(wanted.features), set(names)
    missing = [column for column in wanted.features if column not in present]
    extra = [column for column in rest if column not in known]
    parts = [f"the model needs {listing(missing)}, which the table lacks"] if missing else []
    way = "leave out with --drop"
    if wanted.likely_id is not None and wanted.id is None:
        way += f", or say with --id which column names the rows, as {wanted.likely_id!r} did in the fit"
    parts += [f"the model does not know {listing(extra)}: {way}"] if extra else []
    if parts:
        raise TableError(f"{path}: {'; '.join(parts)}.")
    return list(wanted.features)


def without_role(names: Sequence[str], features: Sequence[str], wanted: Wanted) -> list[str]:
    """Columns that are kept as they are, where that is wanted: all but those that have a role, or were left out now."""
    used = {*features, *wanted.targets, wanted.id, *wanted.drop, *wanted.categorical}
    return [name for name in names if name not in used] if wanted.whole else []


def _taken(path: str, names: Sequence[str], wanted: Wanted) -> dict[str, str]:
    """Columns with a role of their own, each with the option that gave it."""
    asked = [(column, "--target") for column in wanted.targets]
    asked += [(column, "--categorical") for column in wanted.categorical]
    asked += [(wanted.id, "--id")] if wanted.id is not None else []
    asked += [(column, "--drop") for column in wanted.drop]
    taken: dict[str, str] = {}
    for column, option in asked:
        if column not in names:
            raise TableError(f"{path}: no column {column!r} for {option}. {_suggestion(column, names)}")
        if column in taken:
            again = "twice" if taken[column] == option else f"and for {option}"
            raise TableError(f"{path}: column {column!r} is named for {taken[column]} {again}; name it once.")
        taken[column] = option
    return taken


def _suggestion(column: str, names: Sequence[str]) -> str:
    values = [value for value in map(number, names) if value is not None]
    said, place = close_names(column, names, "columns"), int(column) if column.isdecimal() else 0
    if 1 <= place <= len(names):
        said = f"The columns go by name, and number {place} is {names[place - 1]!r}."
    if 2 * len(values) >= len(names) and not like_an_axis(values) and said.startswith("The"):
        said += " Is the header line missing? Then add --form no-header; columns are column1, column2, ..."
    return said


def close_names(name: str, names: Sequence[str], what: str) -> str:
    """The name that may be meant where there is no such one, or all that there are."""
    close = difflib.get_close_matches(name, [str(other) for other in names], n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"The {what} are {listing(names)}." if names else f"It has no {what}."


def listing(names: Iterable[str], most: int = 8) -> str:
    """Quoted names with commas, the first few when there are many."""
    quoted = [repr(name) for name in names]
    shown = ", ".join(quoted[:most])
    return shown if len(quoted) <= most else f"{shown}, ... ({len(quoted)} in all)"


def check_unique(path: str, names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) == len(names):
        return
    twice = next(name for name in names if names.count(name) > 1)
    places = ", ".join(str(j + 1) for j, name in enumerate(names) if name == twice)
    raise TableError(f"{path}: several columns are called {twice!r} (columns {places}); rename all but one.")


def check_features(
    path: str,
    bad: Mapping[str, tuple[int, Any]],
    lines: Sequence[Any] | None = None,
    odd: Mapping[str, Sequence[str]] | None = None,
    *,
    of_model: bool = False,
) -> None:
    """Raise for features with cells that are no usable numbers.

    `bad` has row and content of the first one of each, `odd` all cells of text in it that are no numbers. A model needs
    those of its features, which can be neither left out nor be anything else.
    """
    if not bad:
        return
    column, (i, value) = next(iter(bad.items()))
    cell, text = cell_name(path, i, None if lines is None else lines[i], column), str(value).strip()
    shown, found = text if len(text) <= 40 else text[:37] + "...", number(text)
    if found is None or (odd is not None and odd.get(column)):
        texts = odd or {name: [str(other)] for name, (_, other) in bad.items() if number(str(other)) is None}
        others = [name for name in texts if texts[name] and name != column]
        more = f", and neither are cells of {listing(others)}" if others else ""
        way = _ways_out(texts, in_text=odd is not None, of_model=of_model)
        raise TableError(f"{cell}: {shown!r} is not a number{more}; {way}.")
    if usable(found):
        raise TableError(f"{cell}: {shown!r} is text; store the column as numbers, or {drop_hint(column)}.")
    raise TableError(f"{cell}: {shown} {out_of_range(found)}; correct it, or {drop_hint(column)}.")


def _ways_out(odd: Mapping[str, Sequence[str]], *, in_text: bool, of_model: bool) -> str:
    """What to do about columns with cells that are no numbers: all that is wrong at once."""
    marked = {name: cells for name, cells in odd.items() if in_text and cells and all(map(stands_for_nothing, cells))}
    texts = [name for name, cells in odd.items() if cells and name not in marked]
    marks = list(dict.fromkeys(cell for cells in marked.values() for cell in cells))
    left = texts or list(marked)
    ways = []
    if marks:
        ways.append(f"add {as_option('--missing', *marks)} if {'it means an empty cell' if not marks[1:] else EMPTY}")
    if texts and all(MARKED.fullmatch(cell) for name in texts for cell in odd[name]):
        ways.append("add --form decimal-comma or decimal-point to say what is before decimals")
    joint = " and " if marks and texts else ", "
    if of_model:
        correct = "or correct such cells" if ways else "correct or empty such cells"
        return joint.join([*ways, f"{correct}: the model takes numbers there"])
    texts = [name for name in texts if not all(map(DATE.fullmatch, odd[name]))]  # no two rows have one answer
    which = f"take {'them' if texts[1:] else 'it'}" if texts == left else f"take {listing(texts)}"
    answers = f", {which} for answers with {_option_of_answers(texts)}" if texts else ""
    return joint.join(
        [*ways, f"{drop_hint(*left)}{answers}, or name {'them' if left[1:] else 'it'} for --target or --id"]
    )


def _option_of_answers(columns: Sequence[str]) -> str:
    return as_option("--categorical", *(columns if len(columns) <= FEW else ["all"]))


def as_option(option: str, *values: str) -> str:
    """An option with values, as the shell takes them; each that begins with a dash beside an option of its own."""
    plain = [value for value in values if not value.startswith("-")]
    words = [option, *plain] if plain else []
    return shlex.join([*words, *(f"{option}={value}" for value in values if value.startswith("-"))])


def drop_hint(*columns: str) -> str:
    """How to do without columns."""
    return f"leave the column{'s' if len(columns) > 1 else ''} out with {as_option('--drop', *columns)}"


def number(cell: Any) -> float | None:
    """The number that a cell holds, or None; 1_000, which Python would read, is more likely a code."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return None if isinstance(cell, str) and "_" in cell else value


def like_an_axis(values: Sequence[float]) -> bool:
    """Whether numbers are as those of wavelengths: three or more that only rise or only fall, not by chance."""
    if len(values) < 3 or not np.isfinite(values).all() or min(values) < 0:
        return False
    steps = np.diff(values)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return False
    return len(values) > 7 or all(value == int(value) for value in values) or bool(np.ptp(steps) <= 1e-6 * max(values))


def in_range(values: Any) -> Any:
    """Whether numbers can be computed with: not NaN, not infinite, not so large that squares overflow."""
    return np.abs(values) <= LARGEST


def usable(values: Any) -> Any:
    """Whether cells of a feature column can be taken: numbers `in_range`, and NaN, which is an empty cell."""
    return in_range(values) | np.isnan(values)


def out_of_range(value: float) -> str:
    """What is wrong with a number for which `in_range` says no."""
    return f"is larger than {LARGEST:.0e} in size" if np.isfinite(value) else "is not a finite number"
