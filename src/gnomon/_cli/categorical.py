"""Which columns are answers: those that the user names, or all of text."""

from collections.abc import Sequence

from gnomon._cli.commands import InputError
from gnomon._cli.looking import look
from gnomon.tables._sniff import STDIN

ALL = "all"  # stands for every column of text that has no other role


def answer_columns(
    path: str, asked: Sequence[str], others: Sequence[str | None], layer: str | None, form: Sequence[str]
) -> Sequence[str]:
    """The columns that are asked for; `others` have roles of their own."""
    if tuple(asked) != (ALL,):
        return asked
    if path == STDIN:
        raise InputError(
            f"--categorical {ALL} reads the table twice, and standard input can be read but once; name them."
        )
    columns = look(path, layer, form).columns
    if any(one.name == ALL for one in columns):
        return asked
    found = [one.name for one in columns if one.is_answers and one.name not in others]
    if not found:
        raise InputError(f"{path}: no column of text is left for --categorical {ALL}; leave it out.")
    return found
