"""Options of a command from a TOML file, and names of columns for the shell."""

import tomllib
from typing import Any

import click

from gnomon._cli.commands import InputError, one_line


def configured(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Take the options in a file for what was not said on the command line."""
    if path is None or context.resilient_parsing:
        return
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise InputError(f"--config {path}: it cannot be read ({one_line(error)}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path} is no TOML: {one_line(error)}.") from None
    known = {
        opt.removeprefix("--"): option
        for option in context.command.params
        if isinstance(option, click.Option) and option.name not in ("config", "help")
        for opt in option.opts
        if opt.startswith("--")
    }
    unknown = [key for key in found if key not in known]
    if unknown:
        raise InputError(
            f"--config {path}: {context.info_name} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}."
        )
    values = {known[key].name: _value(f"--config {path}: {key}", known[key], value) for key, value in found.items()}
    context.default_map = {**(context.default_map or {}), **values}


def _value(where: str, option: click.Option, value: Any) -> Any:
    """A value of a file as the option takes it."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{where} is {value!r}; true or false is wanted.")
        return value
    values = value if isinstance(value, list) else [value]
    if not option.multiple and isinstance(value, list):
        raise InputError(f"{where} is a list; one value is wanted.")
    for one in values:
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            raise InputError(f"{where} holds {one!r}; text or a number is wanted.")
    words = [str(one) for one in values]
    return words if option.multiple else words[0]


def columns_of(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Names of columns of the table that was named, which begin so."""
    from gnomon.tables import TableError, read_cells

    table = context.params.get("table")
    if not table or table == "-":
        return []
    try:
        return [name for name in read_cells(table, 1).columns if name.startswith(begun)]
    except (TableError, OSError):
        return []
