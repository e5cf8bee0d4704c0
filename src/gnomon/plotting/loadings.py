"""The features that make up each component."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._style import NEGATIVE, POSITIVE, Display, literal, plain_axes, pyplot


@dataclass(eq=False, repr=False, kw_only=True)
class LoadingsDisplay(Display):
    """Bars of the largest loadings of each component, by feature name.

    Made by `from_estimator`.

    Parameters
    ----------
    loadings : ndarray of shape (k, p)
        What a unit of each component adds to the columns, in units of X.
    feature_names : sequence of str
        Names of the p features.
    dims : sequence of int
        Which components the rows are, counted from 0.
    n_top : int, default=15
        Features shown a component, largest in size first.

    Attributes
    ----------
    figure_ : Figure
    ax_ : ndarray of Axes
        One a component; set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.plotting import LoadingsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> LoadingsDisplay.from_estimator(SPPCA(2).fit(X, y), n_top=3).ax_.shape
    (2,)
    """

    loadings: Any
    feature_names: Any
    dims: Any
    n_top: int = 15

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_top: Any = 15, dims: Any = None, feature_names: Any = None, ax: Any = None
    ) -> Any:
        """Draw the loadings of a fitted model.

        Parameters
        ----------
        estimator : fitted gnomon model
            Whose projection is linear in the columns; a pipeline or a choice of such a model too.
        n_top : int, default=15
            Features shown a component.
        dims : sequence of int, default=None
            Components to draw, counted from 0; None takes the first three.
        feature_names : sequence of str, default=None
            None takes `feature_names_in_`, or x0, x1, ...
        ax : Axes or sequence of Axes, default=None
            One a component; None makes a figure.

        Returns
        -------
        LoadingsDisplay
        """
        said = describe(estimator)
        if said.loadings is None:
            raise ValueError(f"{said.model} has no loadings: it does not say what a component adds to the columns.")
        k, p = said.loadings.shape
        dims = list(range(min(k, 3))) if dims is None else [int(d) for d in dims]
        if not dims or not all(0 <= d < k for d in dims):
            raise ValueError(f"dims={dims!r} must be components counted from 0, below {k}.")
        names = [str(name) for name in (said.column_names() if feature_names is None else feature_names)]
        if len(names) != p:
            raise ValueError(f"feature_names has {len(names)} names; the model has {p} features.")
        return cls(loadings=said.loadings[dims], feature_names=names, dims=dims, n_top=n_top).plot(ax=ax)

    def top(self, row: Any) -> Any:
        """Return which features have the largest loadings, largest in size first.

        Parameters
        ----------
        row : int
            Row of `loadings`.

        Returns
        -------
        ndarray of int
        """
        return np.argsort(-np.abs(self.loadings[row]), kind="stable")[: self.n_top]

    def plot(self, ax: Any = None) -> Any:
        if ax is None:
            shown = min(self.n_top, self.loadings.shape[1])
            size = (0.6 + 3.6 * len(self.dims), 1.1 + 0.25 * shown)
            ax = pyplot().subplots(1, len(self.dims), figsize=size, squeeze=False, layout="constrained")[1][0]
        self.ax_ = np.atleast_1d(ax)
        if len(self.ax_) != len(self.dims):
            raise ValueError(f"ax has {len(self.ax_)} axes; {len(self.dims)} components need one each.")
        self.figure_ = self.ax_[0].figure
        for row, panel in enumerate(self.ax_):
            self._draw(panel, row)
        return self

    def _draw(self, panel, row):
        order = self.top(row)[::-1]  # barh fills from below
        sizes = self.loadings[row, order]
        panel.barh(range(len(order)), sizes, color=np.where(sizes >= 0, POSITIVE, NEGATIVE), height=0.72)
        names = [self.feature_names[j] for j in order]
        panel.set_yticks(range(len(order)), [name if len(name) <= 28 else f"{name[:27]}…" for name in names])
        literal(panel.get_yticklabels())
        panel.axvline(0, color="black", lw=0.8)
        panel.set_title(f"component {self.dims[row] + 1}", fontsize="medium")
        panel.set_xlabel("loading")
        plain_axes(panel)
