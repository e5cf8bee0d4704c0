"""Colors, markers and axes shared by the displays."""

from dataclasses import dataclass

import numpy as np

# Okabe and Ito's colors, told apart with any common color vision; their yellow is too pale on white.
CLASS_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
VALUE_MAP = "viridis"
NEUTRAL = "#4c5866"
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
LONGEST = 40  # letters of a name in a legend or beside an axis


def class_style(code):
    """Return the color and marker of a class: 49 classes differ, the first seven by both."""
    n = len(CLASS_COLORS)
    return CLASS_COLORS[code % n], CLASS_MARKERS[(code + code // n) % len(CLASS_MARKERS)]


@dataclass(eq=False, repr=False, kw_only=True)
class Display:
    """A picture; in one panel a display sets its size in inches and draws into `ax_`."""

    def plot(self, ax=None):
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, or one for each panel, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        Display
            This one.
        """
        if ax is None:
            ax = pyplot().subplots(layout="constrained", figsize=self._size)[1]
        self.figure_, self.ax_ = ax.figure, ax
        self._draw()
        plain_axes(self.ax_)
        return self


def pyplot():
    """Import matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install 'gnomon[plot]'.") from None
    return plt


def literal(texts):
    """Show the user's own names as they are: a dollar sign starts no formula."""
    for text in texts:
        text.set_parse_math(False)


def shortened(name):
    """A name that leaves room for the picture: its beginning and its end, where it is long."""
    name = str(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}...{name[3 - LONGEST // 2 :]}"


def plain_axes(ax):
    """Leave out what carries no data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=3, color=NEUTRAL)


def far_points(points, n_wanted):
    """Return indices of up to `n_wanted` points that lie far apart, each farthest from those before it.

    Examples
    --------
    >>> far_points(np.array([[0.0], [0.1], [9.0], [5.0]]), 3).tolist()
    [2, 0, 3]
    """
    if len(points) <= n_wanted:
        return np.arange(len(points))
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    gap = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_wanted:
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)
