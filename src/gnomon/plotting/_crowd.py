"""Many points as an image of their density, in the mean of their colors."""

import numpy as np

MANY = 10_000  # rows from which density says more than points
CELLS = 170  # along either axis
SPREAD = 0.1  # percent of the rows at either end of an axis, which are drawn as points where they are far away
FAINTEST = 0.25  # opacity of a cell with one row


def crowded(points):
    """The box (4,) of x and y that holds nearly all points, with a margin, and a mask of those inside."""
    low, high = np.percentile(points, [SPREAD, 100.0 - SPREAD], axis=0)
    room = np.where(high > low, 0.05 * (high - low), 0.5)
    low, high = low - room, high + room
    return (low[0], high[0], low[1], high[1]), ((points >= low) & (points <= high)).all(axis=1)


def density(points, colors, box):
    """An image (CELLS, CELLS, 4) of points (n, 2) in colors (n, 3) inside a box; its first row is the lowest.

    Opacity grows with the logarithm of the count.
    """
    edges = [np.linspace(*side, CELLS + 1) for side in (box[:2], box[2:])]
    at = [np.clip(np.searchsorted(e, p, side="right") - 1, 0, CELLS - 1) for e, p in zip(edges, points.T, strict=True)]
    cell = at[1] * CELLS + at[0]
    count = np.bincount(cell, minlength=CELLS**2)
    out = np.zeros((CELLS**2, 4))
    for channel in range(3):
        out[:, channel] = np.bincount(cell, weights=colors[:, channel], minlength=CELLS**2) / np.maximum(count, 1)
    share = np.log1p(count) / max(float(np.log1p(count.max())), 1e-300)
    out[:, 3] = np.where(count > 0, FAINTEST + (1.0 - FAINTEST) * share, 0.0)
    return out.reshape(CELLS, CELLS, 4)
