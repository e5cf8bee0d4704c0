"""Where the table is in rows of text: below its title, above its ends, without what is empty."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import isfinite
from typing import NamedTuple

from gnomon.tables._marks import stands_for_nothing
from gnomon.tables._table import MISSING, TableError, like_an_axis, listing, number, row_of
from gnomon.tables._written import COMMA, PERCENT, POINT, TRUTH, as_written, decimal_mark, has_groups, kind_of_cells

SAMPLE, FEW = 200, 20  # rows by which it is told


class Row(NamedTuple):
    """The cells of a row and the line on which it starts; a column that was turned into a row has none."""

    line: int | None
    cells: list[str]


class Body:
    """A header, and the rows below it, as wide as it is.

    Lines before the header, a row of units below it, empty rows at the end, and empty cells beyond the last name are
    left out.
    `said` has what was assumed, all of it once the rows have been read.
    """

    def __init__(self, path: str, rows: Iterator[Row], separator: str = ",", form: Sequence[str] = ()) -> None:
        self.path, self.said, self.kinds = path, [], {}
        first = list(islice(rows, SAMPLE))
        at = 0 if "no-header" in form else _header_at(first)
        at_top = bool(first) and first[0].line == 1
        if at:
            self.said.append(f"from line {first[at].line} on")
        first = first[at:]
        self.decimal = _asked(form) or decimal_mark((cell for row in first[1:] for cell in row.cells), separator)
        if "transposed" in form:
            rows = _turned(path, [*first, *rows])
            first = list(islice(rows, SAMPLE))
            self.said.append("with columns as rows")
        if "no-header" in form:
            self.header = [unnamed(j) for j in range(max((len(row.cells) for row in first), default=0))]
        else:
            self.header = _header(first)
            first = first[1:]
        units = None if "transposed" in form else _units_at(first)
        if units is not None:
            self.said.append(f"without line {first[units].line}, which has units")
            del first[units]
        some = [row.cells for row in first if extent(row.cells)]
        columns = [[cells[j] for cells in some if j < len(cells)] for j in range(self.width)]
        self.odd_header = "no-header" not in form and self._looks_like_a_row(some, columns)
        self.said += ["with a first line that looks like a row as names"] if self.odd_header else []
        self.plain = not self.said and self.decimal == POINT and all(self.header) and at_top
        self.kinds = {j: kind for j, cells in enumerate(columns) if (kind := kind_of_cells(cells))}
        self.grouped = {j for j, cells in enumerate(columns) if has_groups(cells, self.decimal)}
        self.said += ["with decimal commas"] if self.decimal == COMMA else []
        self._rows = chain(first, rows)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.header)

    def __iter__(self) -> Iterator[Row]:
        n, empty = 0, []
        for row in self._rows:
            empty.append(row)
            if self.width == 1 or extent(row.cells):
                yield from (self._fitted(one, n + i) for i, one in enumerate(empty))
                n, empty = n + len(empty), []
        if empty:
            self.said.append(f"without {len(empty)} empty {'row' if len(empty) == 1 else 'rows'} at its end")

    def written(self, cell: str, j: int) -> str | None:
        """A number in column `j` as Python writes it, or None."""
        return as_written(cell, self.decimal, self.kinds.get(j, ""))

    def number(self, cell: str, j: int) -> float | None:
        """A number in column `j`, or None."""
        found = self.written(cell, j)
        return None if found is None else number(found)

    def written_target(self, cell: str, j: int) -> str | None:
        """The same of a target, of which true and false are classes."""
        kind = self.kinds.get(j, "")
        return as_written(cell, self.decimal, "" if kind == TRUTH else kind)

    def odd(self, cells: Sequence[str], j: int, missing: Sequence[str]) -> list[str]:
        """The different cells of column `j` that are no numbers, and not empty."""
        texts = dict.fromkeys(map(str.strip, cells))
        return [text for text in texts if text not in MISSING and text not in missing and self.written(text, j) is None]

    def say_kinds(self, features: Sequence[int]) -> None:
        """Say what is not as it is written in these columns."""
        grouped = [self.header[j] for j in features if j in self.grouped]
        self.said += [f"with groups of thousands in {listing(grouped, 4)}"] if grouped else []
        for kind, how in (PERCENT, "without percent signs in"), (TRUTH, "with 1 for true and 0 for false in"):
            names = [self.header[j] for j in features if self.kinds.get(j) == kind]
            self.said += [f"{how} {listing(names, 4)}"] if names else []

    def _looks_like_a_row(self, rows: list[list[str]], columns: list[list[str]]) -> bool:
        """Whether half of the names or more are numbers such as those below them, and go no other way than those."""
        values = {j: value for j, name in enumerate(self.header) if (value := self.number(name, j)) is not None}
        if 2 * len(values) < len(list(filter(None, self.header))) or not values:
            return False
        if like_an_axis(list(values.values())) and not (rows and _is_axis(rows[0])):
            return False
        for j, value in values.items():
            below = [found for cell in columns[j] if (found := self.number(cell, j)) is not None and isfinite(found)]
            spread = max(below, default=0.0) - min(below, default=0.0)
            if not below or not min(below) - spread <= value <= max(below) + spread:
                return False
        return True

    def _fitted(self, row: Row, i: int) -> Row:
        """The row with as many cells as the header; what is beyond must be empty."""
        cells = row.cells
        if len(cells) > self.width and extent(cells) <= self.width:
            cells = cells[: self.width]
        if len(cells) != self.width:
            n = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise TableError(f"{self.path}, {row_of(i, row.line)}: {n}, and the header has {self.width}.")
        return Row(row.line, cells)


def extent(cells: Sequence[str]) -> int:
    """How many cells there are up to the last that is not blank."""
    return next((j + 1 for j in range(len(cells) - 1, -1, -1) if cells[j].strip()), 0)


def unnamed(j: int) -> str:
    """How a column without a name can be called in --id and --drop."""
    return f"column{j + 1}"


def _asked(form: Sequence[str]) -> str:
    return COMMA if "decimal-comma" in form else POINT if "decimal-point" in form else ""


def _header_at(rows: list[Row]) -> int:
    """Which row is the header: the first that has as many cells as most rows, and names in them; else the first of all.

    One cell less is enough, for names of rows seldom have a name, and a first row with as many is it in any case.
    """
    used: set[int] = set()
    width = _usual_width(rows)
    for row in rows if width > 1 else ():
        used |= {j for j, cell in enumerate(row.cells[:width]) if cell.strip()}
        if len(used) == width:
            break
    enough = max(2, len(used) - 1)
    fits = [i for i, row in enumerate(rows) if sum(map(bool, map(str.strip, row.cells))) >= enough]
    if not fits or fits[0] == 0:
        return 0
    return next((i for i in fits[:-1] if holds_names(rows[i].cells) and not _is_axis(rows[i + 1].cells)), 0)


def _is_axis(cells: Sequence[str]) -> bool:
    """Whether the numbers of a row go as those of wavelengths do, as no two rows in a table should."""
    return like_an_axis([value for value in map(number, cells) if value is not None])


def _usual_width(rows: list[Row]) -> int:
    """The number of cells of most rows; the larger of two that as many have."""
    sizes = Counter(len(row.cells) for row in rows if extent(row.cells))
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def holds_names(cells: Sequence[str]) -> bool:
    """Whether cells may be names of columns: text, or numbers as those of wavelengths."""
    values = [value for value in map(number, cells) if value is not None]
    return not values or like_an_axis(values)


def _header(rows: list[Row]) -> list[str]:
    """Names of columns on one line, "" where there is none: as many as most rows have cells, if none is cut."""
    if not rows:
        return []
    header = [" ".join(cell.split()) if "\n" in cell or "\r" in cell else cell.strip() for cell in rows[0].cells]
    below = [row.cells for row in rows[1:] if extent(row.cells)]
    if below and all(len(cells) == len(header) + 1 for cells in below) and any(cells[-1].strip() for cells in below):
        return ["", *header]  # of R, which gives names of rows no name
    width = _usual_width(rows[1:])
    return header[: max(width, extent(header))] if width else header


def _units_at(rows: list[Row]) -> int | None:
    """Which row has units: the first, if where the rows below have numbers it has none but text, and nothing else."""
    some = [i for i, row in enumerate(rows) if extent(row.cells)]
    if len(some) < 3 or any(map(_is_number, rows[some[0]].cells)):
        return None
    below = [rows[i].cells for i in some[1:FEW]]
    texts, others = [], []
    for j, cell in enumerate(rows[some[0]].cells):
        given = [cells[j].strip() for cells in below if j < len(cells) and cells[j].strip()]
        numeric = sum(map(_is_number, given))
        (texts if given and 2 * numeric > len(given) else others).append(cell.strip())
    empty = all(map(_is_nothing, others))
    units = [text for text in texts if not _is_nothing(text)]
    alone = len(others) > 0 or len(texts) > 1
    return some[0] if empty and units and alone else None


def _is_nothing(text: str) -> bool:
    return text in MISSING or stands_for_nothing(text)


def _is_number(text: str) -> bool:
    text = text.strip("% ")
    return number(text) is not None or any(as_written(text, mark) is not None for mark in (POINT, COMMA))


def _turned(path: str, rows: list[Row]) -> Iterator[Row]:
    """Columns as rows; every row must have as many cells."""
    rows = [row for row in rows if extent(row.cells)]
    width = max((len(row.cells) for row in rows), default=0)
    odd = next((row for row in rows if len(row.cells) != width), None)
    if odd is not None:
        raise TableError(f"{path}, line {odd.line}: {len(odd.cells)} cells, and other lines have {width}.")
    return (Row(None, list(cells)) for cells in zip(*(row.cells for row in rows)))
