"""Tables of papers, cell by cell: what a cell is, what is printed of it, and what the draws say beside that."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import ranksums

BEST = 0.01  # level at which the best method of a row of the table is better than each other one
APART = 2.0  # standard errors from which two numbers differ
LEAST_COUNT = 2.0  # whole numbers from which one is a count, not a share


class Cell(NamedTuple):
    """One number of a table: by a method on a task, in k dimensions or in none of its own, of one draw."""

    task: str
    method: str
    k: int | None
    seed: int


class Printed(NamedTuple):
    """What the paper prints; its deviation over draws is None where it gives none."""

    mean: float
    sd: float | None
    n_draws: int

    @property
    def se(self):
        """Standard error of the mean, zero where nothing is said."""
        return 0.0 if self.sd is None else self.sd / self.n_draws**0.5


class Table(NamedTuple):
    """A table of a paper, as a module holds it under the name `TABLE`."""

    paper: str
    cells: Callable  # of the number of draws or None, and `quick`: all cells, those of one draw before the next
    scores: Callable  # of a cell: {name: number}
    printed: Callable  # of task, method, k and the name of a score: `Printed` or None
    better: str = "smaller"  # or "larger"
    remarks: Callable = lambda task, method, k: ""
    more: Callable = lambda records: []


class Row(NamedTuple):
    """A cell over all its draws beside what is printed."""

    task: str
    method: str
    k: int | None
    score: str
    mean: float
    sd: float
    n_draws: int
    n_failed: int
    printed: Printed | None
    best: bool  # better than each other method of the task and k, by rank sums

    @property
    def se(self):
        """Standard error of the mean; NaN of one draw."""
        return self.sd / self.n_draws**0.5 if self.n_draws else np.nan

    @property
    def z(self):
        """Ours minus printed in standard errors of that, of one draw by the printed deviation; None where none is."""
        if self.printed is None or not self.n_draws:
            return None
        sd = self.sd if self.n_draws > 1 else self.printed.sd or 0.0
        size = np.hypot(sd / self.n_draws**0.5, self.printed.se)
        return float((self.mean - self.printed.mean) / size) if size > 0 else None


def rows_of(records, table):
    """The rows of finished cells, in the order in which their first draws come."""
    values, failed = {}, {}
    for one in [*records, *table.more(records)]:
        key = (one["task"], one["method"], one["k"])
        failed[key] = failed.get(key, 0) + ("error" in one)
        of_key = values.setdefault(key, {})
        for name, value in one.get("scores", {}).items():
            of_key.setdefault(name, []).append(value)
    names = list(dict.fromkeys(name for found in values.values() for name in found))
    best = {name: _best({key: found[name] for key, found in values.items() if name in found}, table) for name in names}
    return [
        _row(key, name, values[key].get(name, []), failed[key], table, key in best.get(name, ()))
        for key in values
        for name in ([one for one in names if one in values[key]] or names[:1] or [""])
    ]


def _row(key, score, values, n_failed, table, best):
    mean = float(np.mean(values)) if values else np.nan
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return Row(*key, score, mean, sd, len(values), n_failed, table.printed(*key, score), best)


def _best(values, table):
    """Of {(task, method, k): draws} the keys that are better than every other of their task and k."""
    sign, found = 1.0 if table.better == "smaller" else -1.0, set()
    for task, k in {(task, k) for task, _, k in values}:
        own = {key: sign * np.array(draws) for key, draws in values.items() if key[0] == task and key[2] in (k, None)}
        first = min(own, key=lambda key: own[key].mean())
        others = [draws for key, draws in own.items() if key != first]
        if others and all(ranksums(own[first], draws, "less").pvalue < BEST for draws in others):
            found.add(first)
    return found


def as_text(rows):
    """The rows as text, a line each: ours, the number of draws, printed, and z; * marks the best."""
    if not rows:
        return "no cell is finished"
    wide = max(len(row.task) for row in rows) + 2
    long = max(len(row.method) for row in rows) + 2
    scored = max(len(row.score) for row in rows) + 2
    head = (
        f"{'task':{wide}}{'method':{long}}{'K':>3}  {'score':{scored}}{'ours':18}{'draws':>6}  {'printed':18}{'z':>6}"
    )
    return "\n".join([head, *(_line(row, wide, long, scored) for row in rows)])


def _line(row, wide, long, scored):
    failed = f"  {row.n_failed} failed" if row.n_failed else ""
    ours = pair(row.mean, row.sd) + ("*" if row.best else "")
    printed = "" if row.printed is None else pair(row.printed.mean, row.printed.sd)
    z = "" if row.z is None else f"{row.z:+.1f}"
    start = f"{row.task:{wide}}{row.method:{long}}{'' if row.k is None else row.k:>3}  {row.score:{scored}}"
    return f"{start}{ours:18}{row.n_draws:>6}  {printed:18}{z:>6}{failed}".rstrip()


def pair(mean, sd):
    """A mean and its deviation; what is counted has none, and no decimals."""
    if sd is not None and not np.isnan(sd):
        return f"{mean:.4f} ± {sd:.4f}"
    return f"{mean:.0f}" if mean >= LEAST_COUNT and float(mean).is_integer() else f"{mean:.4f}"


def draws_of(cells: Iterable[tuple], n_draws: Callable) -> list[Cell]:
    """Cells of all draws, the first draw of each before the second, for (task, method, k) with `n_draws` of them."""
    counted = [(one, n_draws(*one)) for one in cells]
    most = max((n for _, n in counted), default=0)
    return [Cell(*one, seed) for seed in range(most) for one, n in counted if seed < n]
