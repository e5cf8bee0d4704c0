"""What each column adds on the way from a middle row to a row."""

import numpy as np

STEPS = 8  # of a way along which a projection is not linear
FEW = 64  # columns up to which they move together, so that a jump is shared among them; of many it would hit one
NEARLY = 1.0 - 1e-6  # share of a way
LINEAR = 1e-4  # of how far a row is moved: a projection that puts the middle of the way off by less is linear along it


def steps_for(ask, rows, start):
    """In how many steps rows (b, p) are best moved to their place from where they start."""
    ends, middle = (np.asarray(ask(one)) for one in (np.vstack([start, rows]), (start + rows) / 2.0))
    before, after = np.split(ends, 2)
    off = np.abs((before + after) / 2.0 - middle).max(initial=0.0)
    return 1 if off <= LINEAR * np.abs(after - before).max(initial=0.0) else STEPS


def along(ask, rows, start, columns, steps, block):
    """What columns (m,) add (b, m, k) as rows (b, p) are moved from where they start to their place, in equal steps.

    All columns move together: in each step one after the other, in their order and in the opposite one, of which the
    mean is taken. So it adds up to what the whole way does, and of a linear projection it is what is lost when the
    column stays at its start. Several steps end just before the place: what a row has for being one of the fit, as
    with neighbors, is of no column. At most `block` numbers are asked at once.
    """
    out, end = 0.0, 1.0 if steps == 1 else NEARLY
    for step in range(steps):
        here, there = (start + (rows - start) * (end * share / steps) for share in (step, step + 1))
        for order in (np.arange(len(columns)), np.arange(len(columns))[::-1]):
            gains = np.diff(_one_by_one(ask, here, there, columns[order], block), axis=1)
            out = out + gains[:, np.argsort(order)] / 2.0
    return out


def alone(ask, row, start, columns, steps, block):
    """The same (m,) of one row (p,), but each column moves alone about the middle of a step.

    What no column does alone is left out, so it need not add up where a projection jumps.
    """
    out, m, size = np.zeros(len(columns)), len(columns), max(1, block // len(row))
    for step in range(steps):
        middle, half = start + (row - start) * ((step + 0.5) / steps), (row - start) / (2 * steps)
        for first in range(0, m, size):
            some = columns[first : first + size]
            each = np.arange(len(some))
            for sign in (1.0, -1.0):
                rows = np.repeat(middle[None], len(some), axis=0)
                rows[each, some] += sign * half[some]
                out[first : first + size] += sign * np.asarray(ask(rows), dtype=float)
    return out


def _one_by_one(ask, here, there, columns, block):
    """The answers (b, m + 1, k) when none, the first, the first two, ... of the columns have moved."""
    b, p = here.shape
    place = np.full(p, len(columns))
    place[columns] = np.arange(len(columns))
    size, parts = max(1, block // (b * p)), []
    for first in range(0, len(columns) + 1, size):
        moved = place < np.arange(first, min(first + size, len(columns) + 1))[:, None]
        rows = np.where(moved, there[:, None], here[:, None])
        parts.append(np.asarray(ask(rows.reshape(-1, p)), dtype=float).reshape(b, len(moved), -1))
    return np.concatenate(parts, axis=1)
