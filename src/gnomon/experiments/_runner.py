"""Running the cells of a table: each once, on several processes, from where an interrupted run was left.

What is finished is a line of JSON in a file that always holds whole lines: it is written anew and takes its name in one
step, at most once a second. A line is known by task, method, k, seed and the versions of what made it; a failure is a
line too. Whatever stops a run, the same command goes on with what is left, to the same table.
"""

import json
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from time import monotonic, perf_counter

from joblib import Parallel, delayed

from gnomon._files import new_file
from gnomon.experiments._cells import Cell
from gnomon.rows.threads import alone

EVERY = 1.0  # seconds between two writes of the file
SAID = 10.0  # and between two lines of progress
MADE_BY = ("gnomon", "numpy", "scipy", "scikit-learn")


class WrongFile(ValueError):
    """A file does not hold cells of this table; the message says so."""


def made_by():
    """Versions of what a number depends on."""
    return ", ".join(f"{name} {version(name)}" for name in MADE_BY)


def run_cells(name, cells, file=None, n_jobs=1, stopped=None):
    """Records of cells of the table of that name, those of the file first; the file gets the others as they come.

    Where a signal or an error ends the run, `stopped` is called with the records so far, which the file has by then.
    """
    made = made_by()
    held = {} if file is None else {_key(one): one for one in read(name, file)}
    left = [cell for cell in cells if (*cell, made) not in held]
    watch = _Progress(len(cells), left)
    tasks = (delayed(_finished)(name, cell, made) for cell in left)
    written = monotonic()

    def finished():
        if file is not None and left:
            _write(name, held, file)
        return [held[key] for cell in cells if (key := (*cell, made)) in held]

    try:
        with told_if_stopped(lambda: stopped and stopped(finished())):
            for one in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
                held[_key(one)] = one
                watch.tell(one)
                if file is not None and monotonic() - written > EVERY:
                    written = _write(name, held, file)
    except BaseException:
        if (found := finished()) and stopped:
            stopped(found)
        raise
    return finished()


@contextmanager
def told_if_stopped(tell):
    """For this time a handler of SIGINT or SIGTERM that raises nothing, as that of the command, is called after `tell`.

    An exception could be swallowed by whatever runs.
    """
    here = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if here else ()
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: old for number, old in before.items() if callable(old) and old is not signal.default_int_handler}

    def stop(number, frame):
        for other in before:
            signal.signal(other, before[other])  # the next one ends the process at once
        tell()
        before[number](number, frame)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def read(name, file):
    """The records of a file that `run_cells` wrote; none where there is no file yet."""
    if not file.exists():
        return []
    try:
        head, *lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if head == {"table": name}:
            return lines
    except ValueError:
        pass
    raise WrongFile(f"{file} does not hold cells of {name}; name another file.")


def _key(one):
    return (*(one[field] for field in Cell._fields), one["made_by"])


def _write(name, held, file):
    with new_file(file) as stream:
        lines = ({"table": name}, *held.values())
        stream.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    return monotonic()


def _finished(name, cell, made):
    """The record of a cell, which is one of a failure where it fails."""
    table, start = import_module(f"gnomon.experiments.{name.replace('-', '_')}").TABLE, perf_counter()
    record = {**cell._asdict(), "made_by": made}
    try:
        with alone(), warnings.catch_warnings(action="ignore"):
            record["scores"] = table.scores(cell)
    except FileNotFoundError:  # the data are not here: no cell of the task can be made
        raise
    except Exception as error:  # one cell is not the table
        record["error"] = f"{type(error).__name__}: {error}"
    return {**record, "seconds": round(perf_counter() - start, 3)}


class _Progress:
    """What is done and how long the rest takes, on standard error."""

    def __init__(self, n_cells, left):
        self.n_cells, self.left, self.failed = n_cells, {}, set()
        for cell in left:
            self.left[cell[:3]] = self.left.get(cell[:3], 0) + 1
        self.seconds, self.begun, self.said = {}, monotonic(), monotonic()

    def tell(self, one):
        """One more is done."""
        kind = (one["task"], one["method"], one["k"])
        self.left[kind] -= 1
        self.seconds.setdefault(kind, []).append(one["seconds"])
        if "error" in one and kind not in self.failed:  # its other draws fail likewise; the table counts them
            self.failed.add(kind)
            print(f"failed: {' '.join(map(str, kind))}, seed {one['seed']}: {one['error']}", file=sys.stderr)
        if monotonic() - self.said > SAID or not any(self.left.values()):
            self.said = monotonic()
            n_left = sum(self.left.values())
            print(f"{self.n_cells - n_left} of {self.n_cells} cells, {self._time()} left", file=sys.stderr, flush=True)

    def _time(self):
        """As long as draws of the same kind took, or all on average, by the pace of the processes so far."""
        known = {kind: sum(found) / len(found) for kind, found in self.seconds.items()}
        usual, work = sum(known.values()) / len(known), sum(map(sum, self.seconds.values()))
        rest = sum(n * known.get(kind, usual) for kind, n in self.left.items())
        seconds = int(rest * (monotonic() - self.begun) / max(work, 1e-9))
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
