"""What commands print when they have succeeded: for people, as one JSON object, or nothing; and how far they are."""

import functools
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from gnomon._cli.commands import InputError

EVERY = 60.0  # seconds between two lines of progress where nobody is watching


class Answer(NamedTuple):
    """What a command found, in words and as plain data."""

    text: str
    found: dict[str, Any]
    streamed: bool = False  # the result itself went to standard output, so that words go to stderr


def answering(command: Callable[..., Answer]) -> Callable[..., None]:
    """Give a command that returns an `Answer` the options --json and --quiet, and print what is asked for."""

    @click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON object.")
    @click.option("--quiet", is_flag=True, help="Print nothing but errors, and the result where that is printed.")
    @functools.wraps(command)
    def run(as_json: bool, quiet: bool, **asked: Any) -> None:
        from gnomon._files import is_stream

        if as_json and asked.get("out") is not None and is_stream(asked["out"]):
            raise InputError(f"--json prints to standard output, and so does --out {asked['out']}; name a file.")
        meta = click.get_current_context().meta
        meta["gnomon.json"], meta["gnomon.quiet"] = as_json, quiet
        answer = command(**asked)
        if as_json:
            name = click.get_current_context().info_name
            click.echo(json.dumps({"command": name} | plain(answer.found), indent=1, allow_nan=False))
        elif not quiet:
            click.echo(answer.text, err=answer.streamed)

    return run


def wants_json() -> bool:
    """Whether the running command prints JSON."""
    return bool(click.get_current_context().meta["gnomon.json"])


def plain(value: Any) -> Any:
    """Values as JSON has them; a number that is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.tolist())
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return (value if math.isfinite(value) else None) if isinstance(value, float) else str(value)


@contextmanager
def working(steps: int) -> Iterator[Callable[..., None]]:
    """How far a command is, on stderr: a bar when a person is watching, else a line a minute; none when quiet.

    Yields the function that names the next step.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from gnomon.tables import TableError

    console, context = Console(stderr=True), click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get("gnomon.quiet", False)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    watched = console.is_terminal and not quiet
    with (
        Progress(*columns, console=console, transient=True, disable=not watched) as progress,
        _lines(steps, silent=quiet or watched) as note,
    ):
        task = progress.add_task("starting", total=steps)

        def step(description: str, advance: int = 1) -> None:
            progress.update(task, description=description, advance=advance)
            note(description, advance)

        try:
            yield step
        except TableError as error:
            raise InputError(str(error)) from error


@contextmanager
def _lines(steps: int, *, silent: bool) -> Iterator[Callable[[str, int], None]]:
    """Say every minute what is being done; yields the function that is told."""
    begun, done, doing = time.monotonic(), threading.Event(), ["starting", 0]

    def note(description: str, advance: int) -> None:
        doing[:] = description, doing[1] + advance

    def tell() -> None:
        while not done.wait(EVERY):
            spent = time.monotonic() - begun
            click.echo(f"gnomon: {doing[0]} (step {doing[1]} of {steps}), {spent / 60.0:.0f} min so far", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    if not silent:
        teller.start()
    try:
        yield note
    finally:
        done.set()
        if not silent:
            teller.join()
