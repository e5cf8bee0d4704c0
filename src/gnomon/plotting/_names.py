"""Names of classes beside their points, where they cover few of them and not one another."""

import numpy as np

from gnomon.plotting._style import class_style, literal

MOST = 12  # names on a picture
LONGEST = 24  # letters
ROUNDS = 60
GAP = 3.0  # pixels between two names
REACH = (0.0, 0.7, 1.2, 1.8, 2.6)  # heights and half widths of a name that it may stand from the middle of its class
LABELED = 6.0  # points of unlabeled rows that one of a labeled row counts for
FARTHER = 1.5  # points that a step outward counts for
MOST_SEEN = 5_000  # rows that are looked at
NOWHERE = np.empty((0, 2))


def may_be_named(names):
    """Whether so many names of such lengths can stand in a picture."""
    return 1 < len(names) <= MOST and max(len(name) for name in names) <= LONGEST


def name_classes(ax, points, values, labeled, names):
    """Write every class at the median of its rows, the labeled ones where there are any, apart from other names."""
    texts = []
    for code, name in enumerate(names):
        rows = values == code
        rows = rows & labeled if (rows & labeled).any() else rows
        if not rows.any():
            continue
        color, _ = class_style(code)
        look = {"boxstyle": "round,pad=0.25", "fc": (1, 1, 1, 0.82), "ec": color, "lw": 1.3}
        leader = {"arrowstyle": "-", "color": color, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
        text = ax.annotate(
            name, np.median(points[rows], axis=0), xytext=(0, 0), textcoords="offset points", ha="center", va="center",
            fontsize="small", color="#16202a", zorder=6, bbox=look, arrowprops=leader,
        )  # fmt: skip
        texts.append(text)
    literal(texts)
    if texts:
        spread(ax, texts, points, np.where(labeled, LABELED, 1.0))
    return texts


def spread(ax, texts, points, weights, away=None):
    """Move texts, annotations in offset points, from one another, other texts and weighted points (n, 2).

    `away` (m, 2) are directions to which each stands beside its place rather than on it.
    """
    ax.figure.draw_without_rendering()  # until then nothing has its place
    boxes = [_box(text) for text in texts]
    sizes = np.array([[box.width, box.height] for box in boxes])
    middles = ax.transData.transform([text.xy for text in texts])
    some = slice(None, None, max(1, len(points) // MOST_SEEN))
    wanted = middles if away is None else middles + np.sign(away) * (sizes / 2.0 + GAP) * [1.0, 0.5]
    seen = ax.transData.transform(points[some])
    there = [_box(text) for text in ax.texts if text.get_text() and text not in texts]
    taken = [np.reshape([getattr(box, of) for box in there], (-1, 2)) for of in ("min", "max")]
    kept, all_sizes = np.mean(taken, axis=0), np.vstack([taken[1] - taken[0], sizes])
    found = uncovered(wanted, all_sizes, seen, weights[some], ax.bbox.extents, kept)
    found = apart(np.vstack([kept, found]), all_sizes, len(kept))[len(kept) :]
    for text, shift, moved in zip(texts, found - middles, np.abs(found - wanted) > 0.5 * sizes, strict=True):
        text.set_position(tuple(shift * 72.0 / ax.figure.dpi))  # as far apart whatever the resolution of a file
        text.arrow_patch.set_visible(bool(moved.any()))


def _box(text):
    """Where a text stands, and its frame."""
    return (text.get_bbox_patch() or text).get_window_extent()


def uncovered(middles, sizes, points, weights, bounds, taken=NOWHERE):
    """Centers (m, 2) near the middles where boxes of given sizes cover little of weighted points (n, 2), in bounds.

    A box avoids those before it, of which the first sizes belong to centers (t, 2) that are taken.
    """
    turns = np.pi / 4.0 * np.arange(8)
    ways = np.vstack([[[0.0, 0.0]], *(reach * np.column_stack([np.cos(turns), np.sin(turns)]) for reach in REACH[1:])])
    far = np.concatenate([[0.0], np.repeat(np.arange(1, len(REACH)), 8)])
    out = np.array(taken, dtype=float)
    for i, middle in enumerate(middles, len(taken)):
        size = sizes[i]
        centers = middle + ways * size * [0.5, 1.0] + ways * 8.0
        over = (np.abs(points - centers[:, None]) < size / 2.0 + 2.0).all(axis=2)
        cost = over @ weights + FARTHER * far
        outside = ((centers - size / 2.0 < bounds[:2]) | (centers + size / 2.0 > bounds[2:])).any(axis=1)
        others = (np.abs(out - centers[:, None]) < (sizes[:i] + size) / 2.0 + GAP).all(axis=2).any(axis=1)
        out = np.vstack([out, centers[np.argmin(cost + 1e6 * outside + 1e5 * others)]])
    return out[len(taken) :]


def apart(centers, sizes, n_kept=0):
    """Centers (m, 2) of boxes of given sizes (m, 2), moved as little as it takes that no two overlap.

    The first `n_kept` stay where they are.

    Examples
    --------
    >>> apart(np.array([[0.0, 0.0], [1.0, 2.0]]), np.full((2, 2), 10.0)).round(1).tolist()
    [[0.0, -5.5], [1.0, 7.5]]
    """
    centers = np.array(centers, dtype=float)
    for _ in range(ROUNDS):
        moved = False
        for i in range(n_kept, len(centers)):
            for j in range(i):
                away = centers[i] - centers[j]
                over = (sizes[i] + sizes[j]) / 2.0 + GAP - np.abs(away)
                if (over <= 1e-9).any():
                    continue
                axis = int(over[0] < over[1]) ^ 1  # the shorter way out
                share = 0.5 if j >= n_kept else 1.0
                step = over[axis] * (1.0 if away[axis] >= 0.0 else -1.0)
                centers[i, axis] += share * step
                centers[j, axis] -= (1.0 - share) * step
                moved = True
        if not moved:
            break
    return centers
