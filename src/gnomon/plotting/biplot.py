"""A projection with arrows for the columns that go with it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._columns import correlations, names_of, own_columns
from gnomon.plotting._names import spread
from gnomon.plotting._style import NEGATIVE, Display, far_points, literal
from gnomon.plotting.projection import undrawn

ARROW = 5.0  # points that a piece of an arrow counts for where a name would cover it
REACH = 0.9  # of the longest arrow, in half-widths of the points


@dataclass(eq=False, repr=False, kw_only=True)
class BiplotDisplay(Display):
    """Rows in two components, and the correlations of columns with these as arrows.

    Made by `from_estimator`. An arrow points to where its column is large; its length is how closely the two components
    follow the column. It says nothing of the other components.

    Parameters
    ----------
    rows : ProjectionDisplay
        The rows.
    correlations : ndarray of shape (p, 2)
        Of every column with the two components over the rows; zero for a constant column.
    feature_names : sequence of str
        Names of the p columns.
    n_top : int, default=10
        Arrows drawn: those of the largest correlation with the plane.

    Attributes
    ----------
    top : ndarray of int
        The columns that have an arrow, longest first.
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.plotting import BiplotDisplay
    >>> iris = load_iris()
    >>> model = SPPCA(2).fit(iris.data, iris.target)
    >>> display = BiplotDisplay.from_estimator(model, iris.data, feature_names=iris.feature_names)
    >>> display.feature_names[display.top[0]]
    'petal length (cm)'
    """

    _size = 7.2, 5.2

    rows: Any
    correlations: Any
    feature_names: Any
    n_top: int = 10

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, n_top: Any = 10, dims: Any = (0, 1), feature_names: Any = None,
        output: Any = 0, target_name: Any = "y", ax: Any = None,
    ) -> Any:  # fmt: skip
        """Project rows with a fitted model and draw them with the columns.

        Parameters
        ----------
        estimator : fitted gnomon model
            A pipeline or a choice of such a model too; it need not be linear.
        X : {array-like, sparse matrix, frame} of shape (n, p)
            Rows, complete or with NaN.
        y : array-like, default=None
            Their labels as in `fit`, unlabeled rows included; None draws all rows as unlabeled.
        n_top : int, default=10
            Arrows drawn.
        dims : tuple of two int, default=(0, 1)
            Components, counted from 0.
        feature_names : sequence of str, default=None
            Names of the columns of X; None takes those of a frame or of the fit.
        output : int, default=0
            Which of several targets gives the color.
        target_name : str, default='y'
            Name of the real target.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        BiplotDisplay
        """
        said = describe(estimator)
        if len(dims) != 2:
            raise ValueError(f"dims={dims!r} must be two components counted from 0.")
        rows = undrawn(
            said, X, y, dims=dims, n_ellipses=0, output=output, target_name=target_name
        )  # fmt: skip
        own = own_columns(X, said)
        found, names = correlations(own, rows.projection), names_of(own, said, feature_names)
        return cls(rows=rows, correlations=found, feature_names=names, n_top=n_top).plot(ax=ax)

    @property
    def top(self) -> Any:
        """The columns that have an arrow, longest first."""
        lengths = (self.correlations**2).sum(axis=1)
        order = np.argsort(-lengths, kind="stable")[: self.n_top]
        return order[lengths[order] > 0]

    def _draw(self):
        self.rows.plot(ax=self.ax_)
        points = self.rows.projection
        center, half = points.mean(axis=0), np.ptp(points, axis=0) / 2.0
        arrows = self.correlations[self.top]
        longest = float(np.abs(arrows).max(initial=0.0))
        if longest == 0.0:
            return
        ends = center + arrows / longest * REACH * half
        self.ax_.axhline(center[1], color="black", lw=0.4, alpha=0.4)
        self.ax_.axvline(center[0], color="black", lw=0.4, alpha=0.4)
        look = {"color": NEGATIVE, "lw": 1.2, "arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
        for end in ends:
            self.ax_.annotate("", end, center, arrowprops=look, zorder=4)
        self.ax_.margins(x=0.16, y=0.1)  # room for names
        self.ax_.autoscale_view()
        named = far_points(arrows, 12)
        texts = [self._name(self.top[i], ends[i]) for i in named]
        literal(texts)
        arms = (center + np.linspace(0.2, 1.0, 9)[:, None, None] * (ends - center)).reshape(-1, 2)
        weights = np.repeat([1.0, ARROW], [len(points), len(arms)])
        spread(self.ax_, texts, np.vstack([points, arms]), weights, ends[named] - center)

    def _name(self, column, end):
        name = self.feature_names[column]
        return self.ax_.annotate(
            name if len(name) <= 28 else f"{name[:27]}…", end, xytext=(0, 0), textcoords="offset points", ha="center",
            va="center", fontsize="small", color="black", zorder=5,
            bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": NEGATIVE, "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
