"""Columns of answers as numbers: a column of 0 and 1 for each answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gnomon.rows.kind import is_sparse
from gnomon.tables._table import MISSING, Table, TableError, as_option, drop_hint, listing, number

TRUTHS = ("true", "false")


def answer_of(cell: Any) -> str | None:
    """The answer in a cell as text, whatever it was read by: 1, 1.0, "1" and "01" are one; None where it is empty."""
    if cell is None or cell != cell:
        return None
    text = str(cell).strip()
    if text.casefold() in TRUTHS:
        return text.casefold()
    value = number(text)
    if value is None or not np.isfinite(value):
        return None if text in MISSING else text
    return str(int(value)) if value.is_integer() else repr(value)


def answers_of(cells: Iterable[Any]) -> list[str]:
    """The different answers in cells: numbers by size, then text by the alphabet."""
    found = {answer for cell in cells if (answer := answer_of(cell)) is not None}
    return sorted(found, key=lambda answer: (np.inf if (value := number(answer)) is None else value, answer))


def names_of_answers(column: str, answers: Iterable[str]) -> list[str]:
    """What the columns of the answers of a column are called."""
    return [f"{column}={answer}" for answer in answers]


def indicators(cells: Sequence[Any], answers: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """1 in the column of the answer, 0 in those of all others: (n, c) for c answers; and answers that are none of them.

    A row without one of these answers is NaN in all columns.
    """
    place = {answer: j for j, answer in enumerate(answers)}
    known = np.array([place.get(answer_of(cell), -1) for cell in cells], dtype=np.intp)
    X = np.zeros((len(known), len(place)))
    X[known < 0] = np.nan
    given = np.flatnonzero(known >= 0)
    X[given, known[given]] = 1.0
    return X, answers_of(cells[i] for i in np.flatnonzero(known < 0))


def said_of_unseen(column: str, unseen: Sequence[str]) -> str:
    """What becomes of answers that the fit did not have."""
    are, count = ("is", "counts") if len(unseen) == 1 else ("are", "count")
    return f"{listing(unseen, 4)} in {column!r} {are} no answer of the fit, and {count} as empty"


def with_answers(table: Table, columns: Sequence[str] | Mapping[str, Sequence[str]]) -> Table:
    """The table with the columns of answers, which lie beside its features, as features behind the others.

    The answers are those in the cells; of a mapping those that it has for each column.
    """
    if not columns:
        return table
    names, blocks, unseen = list(table.feature_names), [table.X], {}
    for column in columns:
        cells = table.answers[column]
        answers = columns[column] if isinstance(columns, Mapping) else _answers_in(table, column)
        block, other = indicators(cells, answers)
        if is_sparse(table.X) and np.isnan(block).any():
            where = table.where(int(np.isnan(block[:, 0]).argmax()), column)
            raise TableError(
                f"{where}: no answer of the fit, and a sparse table has no empty cells; name one in its place."
            )
        names += names_of_answers(column, answers)
        blocks.append(block.astype(table.X.dtype))
        unseen |= {column: other} if other else {}
    counts = Counter(names)
    twice = next((name for name in names[table.X.shape[1] :] if counts[name] > 1), None)
    if twice is not None:
        raise TableError(f"{table.path}: --categorical makes a second column {twice!r}; rename one of them.")
    X = sparse.hstack(blocks, format="csr") if is_sparse(table.X) else np.hstack(blocks)
    return replace(table, X=X, feature_names=names, unseen=unseen)


def without_marks(cells: np.ndarray, missing: Sequence[str]) -> np.ndarray:
    """Cells of answers, None in place of those that mean an empty one."""
    marks = {answer_of(mark) for mark in missing}
    return np.where([answer_of(cell) in marks for cell in cells], None, cells) if marks else cells


def _answers_in(table: Table, column: str) -> list[str]:
    cells = table.answers[column]
    return worth_it(table.path, column, answers_of(cells), sum(answer_of(cell) is not None for cell in cells))


def worth_it(path: str, column: str, answers: list[str], n: int) -> list[str]:
    """The answers in a column, if the rows that gave one, so many, can have one in common."""
    if not answers:
        raise TableError(f"{path}, column {column!r}: no row has a value; {drop_hint(column)}.")
    if len(answers) == n > 2:
        raise TableError(
            f"{path}, column {column!r}: no two rows have the same of its {n} answers, so --categorical learns "
            f"nothing from it; {drop_hint(column)}, or name it with {as_option('--id', column)}."
        )
    return answers
