"""Targets of a table: what `gnomon.targets` makes of their cells, and its words in those of the command line."""

from __future__ import annotations

import re

import numpy as np

from gnomon._cli.commands import Refusal, one_line
from gnomon.tables import Table
from gnomon.targets import Targets, read


def read_targets(
    table: Table, *, kind: str | None = None, unlabeled: str | None = None, several: str = "real"
) -> Targets:
    """Read the targets of a table.

    Parameters
    ----------
    table : Table
        With at least one target.
    kind : str or None, default=None
        The kind of all targets, where the rules of `gnomon.targets.read` are not what is meant.
    unlabeled : str or None, default=None
        A cell that means unlabeled, beside the empty one; "" says that only the empty one does. None reads -1 as there.
    several : str, default="real"
        What several targets are, as there.
    """
    columns = list(table.targets.values())
    if unlabeled:
        columns = [np.where(cells.astype(str) == unlabeled, None, cells) for cells in columns]
    y = columns[0] if len(columns) == 1 else np.column_stack(columns)
    mark = "auto" if unlabeled is None else None
    return read(y, len(y), target=kind or "auto", unlabeled=mark, several=several)


def refuse_what_cannot_guide(table: Table, targets: Targets) -> None:
    """Refuse targets without a value, and one that is the same wherever it is known."""
    if not targets.n_labeled:
        names = ", ".join(map(repr, table.targets))
        raise Refusal(f"{table.path}: no row has a value in {names}; without labels use --model ppca.")
    for name, column in zip(table.targets, targets.columns, strict=True):
        known = column.given(column.values)[column.labeled]
        if len(set(known.tolist())) < 2:
            what = f"only the value {known[0]} in {len(known)} labeled rows" if len(known) else "no value at all"
            raise Refusal(f"{table.path}, column {name!r}: {what}, which guides nothing; label more rows.")


def in_words(table: Table, message: BaseException) -> str:
    """A message about y on one line: columns and rows as the table names them, parameters as options."""
    text, names = one_line(message), list(table.targets)
    for j, name in enumerate(names):
        text = text.replace(f"column {j} of y", f"column {name!r}")
    if len(names) == 1:
        text = re.sub(r"\by (?=(holds|is|has|mixes) )", f"column {names[0]!r} ", text)
    text = re.sub(r"\bin row (\d+)", lambda found: f"in {table.row(int(found[1]))}", text)
    text = re.sub(r"\btarget='(\w+)'", r"--target-kind \1", text)
    return text.replace("unlabeled=None", "--unlabeled=").replace("unlabeled=-1", "--unlabeled=-1")
