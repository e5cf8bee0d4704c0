"""What commands print when they have succeeded: for people, as one JSON object, or nothing; and how far they are."""

import functools
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from gnomon._cli.commands import DOING, InputError
from gnomon._progress import watched

EVERY = 60.0  # seconds between two lines of progress where nobody is watching


class Answer(NamedTuple):
    """What a command found, in words and as plain data."""

    text: str
    found: dict[str, Any]
    streamed: bool = False  # the result itself went to standard output, so that words go to stderr
    code: int = 0  # with which the command ends


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
        if answer.code:
            raise SystemExit(answer.code)

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


class Doing:
    """What a command does, since when, and how much of it is done where that is counted."""

    def __init__(self, steps: int) -> None:
        self.steps, self.step, self.what, self.begun = steps, 0, "starting", time.monotonic()
        self.done, self.total, self.since = 0, 0, self.begun
        self.began, self.changed, self.spent = datetime.now(UTC), self.begun, {}

    def times(self) -> dict[str, Any]:
        """When it was begun, and the seconds that each step has taken that is done."""
        seconds = {what: round(spent, 3) for what, spent in self.spent.items() if what != "starting"}
        return {"began": self.began.isoformat(timespec="seconds"), "seconds": seconds}

    def next(self, what: str, advance: int) -> None:
        """Go on with something else."""
        now, step = time.monotonic(), self.what.partition(":")[0]
        self.spent[step], self.changed = self.spent.get(step, 0.0) + now - self.changed, now
        self.what, self.step, self.done, self.total = what, self.step + advance, 0, 0

    def told(self, done: int, total: int) -> None:
        """So many fits of it are done."""
        if done == 0:
            self.since = time.monotonic()
        self.done, self.total = done, total

    @property
    def part(self) -> str:
        """How many fits are done of what is being done, and in what time the rest will be if they go on alike."""
        if self.total < 2:
            return ""
        found = f", {self.done} of {self.total} fits"
        if 0 < self.done < self.total:
            left = (time.monotonic() - self.since) / self.done * (self.total - self.done)
            found += f", about {span(left)} left for them"
        return found


def span(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 100.0:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


@contextmanager
def working(steps: int) -> Iterator[Callable[..., None]]:
    """How far a command is, on stderr: a bar when a person is watching, else a line a minute; none when quiet.

    Fits that are counted are told with the time that the rest will take. Yields the function that names the next step.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from gnomon.tables import TableError

    console, context = Console(stderr=True), click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get("gnomon.quiet", False)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    seen, doing = console.is_terminal and not quiet, Doing(steps)
    if context is not None:
        context.meta[DOING] = doing
    with (
        Progress(*columns, console=console, transient=True, disable=not seen) as progress,
        _lines(doing, silent=quiet or seen),
    ):
        task = progress.add_task(doing.what, total=steps)

        def step(description: str, advance: int = 1) -> None:
            doing.next(description, advance)
            progress.update(task, description=description, advance=advance)

        def told(done: int, total: int) -> None:
            doing.told(done, total)
            progress.update(task, description=doing.what + doing.part)

        try:
            with watched(told):
                yield step
        except TableError as error:
            raise InputError(str(error)) from error


@contextmanager
def _lines(doing: Doing, *, silent: bool) -> Iterator[None]:
    """Say every minute what is being done."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(EVERY):
            spent = (time.monotonic() - doing.begun) / 60.0
            place = f"step {doing.step} of {doing.steps}"
            click.echo(f"gnomon: {doing.what} ({place}){doing.part}, {spent:.0f} min so far", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    if not silent:
        teller.start()
    try:
        yield
    finally:
        ended.set()
        if not silent:
            teller.join()
