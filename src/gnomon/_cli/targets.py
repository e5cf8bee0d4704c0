"""Targets of a table: what `gnomon.targets` makes of their cells, and its words in those of the command line."""

import re
from typing import Any

import numpy as np

from gnomon._cli.commands import InputError, one_line
from gnomon.describe import Target
from gnomon.tables import Table, TableError, as_option, is_no_class, listing, number, numbers_for_nothing
from gnomon.targets import Targets, read

IN_HOLES = "leave --model out, or fill the cells first by gnomon impute and a model of --model ppca"


def read_targets(
    table: Table, *, kind: str | None = None, unlabeled: str | None = None, several: str = "real"
) -> Targets:
    """Read the targets of a table by the rules of `gnomon.targets.read`, or all as of one kind.

    `unlabeled` is a cell that means so besides the empty one; "" says that only the empty one does.
    """
    columns = list(table.targets.values())
    if unlabeled is None:
        _ask_of_marks(table)
    if unlabeled:
        columns = [np.where([_is_mark(cell, unlabeled) for cell in cells], None, cells) for cells in columns]
    y = columns[0] if len(columns) == 1 else np.column_stack(columns)
    mark = "auto" if unlabeled is None else None
    return read(y, len(y), target=kind or "auto", unlabeled=mark, several=several)


def _is_mark(cell: Any, unlabeled: str) -> bool:
    return str(cell) == unlabeled or (isinstance(cell, int | float) and cell == number(unlabeled))


def _ask_of_marks(table: Table) -> None:
    """Refuse what people write where a value is not known, until it is said what it means."""
    for name, cells in table.targets.items():
        given = [cell for cell in cells if cell is not None]
        marks = {cell: given.count(cell) for cell in given if isinstance(cell, str) and is_no_class(cell)}
        if given and all(isinstance(cell, int | float) for cell in given):
            found = numbers_for_nothing(np.array(given, dtype=float))
            marks = {f"{mark:g}": n for mark, n in found.items()}
        if len(marks) > 1:
            raise InputError(
                f"{table.path}, column {name!r}: {listing(marks)} in {sum(marks.values())} rows; add "
                f"{as_option('--missing', *marks)} if they have no label, or --unlabeled '' if they are classes."
            )
        for mark, n in marks.items():
            known = "a class" if any(isinstance(cell, str) for cell in given) else "a number that was measured"
            raise InputError(
                f"{table.path}, column {name!r}: {mark!r} in {n} rows; add {as_option('--unlabeled', mark)} "
                f"if they have no label, or --unlabeled '' if it is {known}."
            )


def read_like(table: Table, known: dict[str, Target], unlabeled: str | None) -> np.ndarray | None:
    """The targets of another table as a fitted model names them, by their columns; None where it has none of them."""
    if not table.targets:
        return None
    columns = [_column_like(table, name, target, unlabeled) for name, target in known.items()]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _column_like(table: Table, name: str, target: Target, unlabeled: str | None) -> np.ndarray:
    cells = table.targets.get(name, np.full(table.X.shape[0], None))
    values = np.full(len(cells), None)
    classes = None if target.classes is None else {_written(label): label for label in target.classes.tolist()}
    for i, cell in enumerate(cells):
        if cell is None or str(cell) == unlabeled:
            continue
        if classes is None and isinstance(cell, int | float):
            values[i] = float(cell)
        elif classes is None:
            i, cell = next(((j, one) for j, one in enumerate(cells) if is_no_class(str(one))), (i, cell))
            raise TableError(
                f"{table.where(i, name)}: {cell!r} is not a number; add {as_option('--unlabeled', str(cell))} if it "
                "means that the row has none."
            )
        elif _written(cell) in classes:
            values[i] = classes[_written(cell)]
        elif _written(cell) != "-1":
            raise TableError(
                f"{table.where(i, name)}: {cell} is none of the model's classes {', '.join(classes)}; add "
                f"{as_option('--unlabeled', str(cell))} if it means that the row has none."
            )
    return values.astype(float) if classes is None else values


def _written(label: Any) -> str:
    """A label as a table would have it: whole numbers without a point."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def check_guides(table: Table, targets: Targets) -> None:
    """Refuse targets without a value, and one that is the same wherever it is known."""
    if not targets.n_labeled:
        names = ", ".join(map(repr, table.targets))
        raise InputError(f"{table.path}: no row has a value in {names}; without labels use --model ppca.")
    for name, column in zip(table.targets, targets.columns, strict=True):
        known = column.given(column.values)[column.labeled]
        if len(set(known.tolist())) < 2:
            rows = "1 labeled row" if len(known) == 1 else f"{len(known)} labeled rows"
            what = f"only the value {known[0]} in {rows}" if len(known) else "no value at all"
            raise InputError(f"{table.path}, column {name!r}: {what}, which guides nothing; label more rows.")


def classes_alike(table: Table, targets: Targets | None) -> list[str]:
    """What to say where classes differ by the case of their letters alone."""
    notes = []
    for name, column in zip(table.targets, () if targets is None else targets.columns):
        seen: dict[str, str] = {}
        for label in () if column.classes is None else map(str, column.classes.tolist()):
            first = seen.setdefault(label.casefold(), label)
            if first != label:
                notes.append(f"{first!r} and {label!r} of {name!r} are two classes; write them alike if they are one.")
    return notes


def with_names(table: Table, text: str) -> str:
    """A text with the names of targets in place of their numbers."""
    for j, name in enumerate(table.targets):
        text = text.replace(f"column {j} of y", f"column {name!r}")
    return text


def in_words(table: Table, message: BaseException) -> str:
    """A message about y on one line: columns and rows as the table names them, parameters as options."""
    text, names = with_names(table, one_line(message)), list(table.targets)
    if len(names) == 1:
        text = re.sub(r"\by (?=(holds|is|has|mixes) )", f"column {names[0]!r} ", text)
    text = re.sub(r"\bin row (\d+)", lambda found: f"in {table.row(int(found[1]))}", text)
    text = re.sub(r"\btarget='(\w+)'", r"--target-kind \1", text)
    text = re.sub(r"fill missing ones in first, .* gnomon impute", IN_HOLES, text)
    text = text.replace("or fit without groups", "or leave --id out")
    text = re.sub(r"for example by make_pipeline\(.*\)\)", "by --scale standard", text)
    text = re.sub(r"\bn_components=(?=\d)", "--components ", text)
    text = text.replace("raise max_iter or take a larger tol", "raise --set max_iter=N or loosen --set tol=X")
    text = text.replace("unlabeled=None", "--unlabeled=").replace("unlabeled=-1", "--unlabeled=-1")
    return re.sub(r"\bunlabeled='([^']*)'", r"--unlabeled=\1", text)
