"""The features that make up each component."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe, slopes
from gnomon.plotting._columns import names_of, own_columns, table_of
from gnomon.plotting._style import NEGATIVE, POSITIVE, Display, literal, plain_axes, pyplot

KINDS = ("auto", "bars", "curve", "image")
FEWEST_OF_A_CURVE = 10  # columns
MOST_STEPS = 0.9  # of the numbers in names that are an axis
LAST_OF_A_COUNT = 10  # at which numbers of columns may begin: V2, V3, ...
NUMBER = r"\d+(?:\.\d+)?"


@dataclass(eq=False, repr=False, kw_only=True)
class LoadingsDisplay(Display):
    """Loadings of each component: bars of the largest by name, a curve over wavelengths, or an image of pixels.

    Made by `from_estimator`.

    Parameters
    ----------
    loadings : ndarray of shape (k, p)
        What a unit of each component adds to the columns in the mean, in units of X.
    feature_names : sequence of str
        Names of the p features.
    dims : sequence of int
        Which components the rows are, counted from 0.
    n_top : int, default=15
        Features shown a component as bars, largest in size first.
    kind : {"auto", "bars", "curve", "image"}, default="auto"
        Bars with the names of features, words of texts for instance; a curve over the numbers in their names; an
        image. "auto" draws an image when `shape` is given, a curve when all names of at least 10 columns are different
        numbers that do not just count the columns, or hold such in even steps between the same words, as 1100 nm and
        X1100 do, and bars otherwise.
    shape : tuple of two int, default=None
        Height and width of the images that rows of X are, line by line.

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
    kind: str = "auto"
    shape: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, X: Any = None, n_top: Any = 15, dims: Any = None, feature_names: Any = None,
        kind: Any = "auto", shape: Any = None, ax: Any = None,
    ) -> Any:  # fmt: skip
        """Draw the loadings of a fitted model.

        Parameters
        ----------
        estimator : fitted gnomon model
            A pipeline or a choice of such a model too.
        X : {array-like, sparse matrix, frame} of shape (n, p), default=None
            Rows whose columns are regressed on their projections. None takes the loadings that the model knows, which
            those that are not linear in the columns of the table have none of.
        n_top : int, default=15
            Features shown a component as bars.
        dims : sequence of int, default=None
            Components to draw, counted from 0; None takes the first three.
        feature_names : sequence of str, default=None
            None takes `feature_names_in_`, or x0, x1, ...
        kind : {"auto", "bars", "curve", "image"}, default="auto"
            How loadings are drawn, see above.
        shape : tuple of two int, default=None
            Height and width of the images that rows of X are.
        ax : Axes or sequence of Axes, default=None
            One a component; None makes a figure.

        Returns
        -------
        LoadingsDisplay
        """
        said = describe(estimator)
        found = said.loadings if X is None else regressed(said, X)
        if found is None:
            raise ValueError(
                f"{said.model} does not know what a component adds to the columns of the table; give rows to regress "
                "them on it: LoadingsDisplay.from_estimator(model, X=X)."
            )
        k, p = found.shape
        dims = list(range(min(k, 3))) if dims is None else [int(d) for d in dims]
        if not dims or not all(0 <= d < k for d in dims):
            raise ValueError(f"dims={dims!r} must be components counted from 0, below {k}.")
        if X is not None:
            feature_names = names_of(own_columns(X, said), said, feature_names)
        names = [str(name) for name in (said.column_names() if feature_names is None else feature_names)]
        if len(names) != p:
            raise ValueError(f"feature_names has {len(names)} names; the model has {p} features.")
        return cls(
            loadings=found[dims], feature_names=names, dims=dims, n_top=n_top, kind=kind, shape=shape
        ).plot(ax=ax)  # fmt: skip

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
        kind, places = picture_of(self)
        if ax is None:
            ax = self._panels(kind)
        self.ax_ = np.atleast_1d(ax)
        if len(self.ax_) != len(self.dims):
            raise ValueError(f"ax has {len(self.ax_)} axes; {len(self.dims)} components need one each.")
        self.figure_ = self.ax_[0].figure
        for row, panel in enumerate(self.ax_):
            panel.set_title(f"component {self.dims[row] + 1}", fontsize="medium")
            if kind == "image":
                self._draw_image(panel, row)
                continue
            if kind == "curve":
                self._draw_curve(panel, row, places)
            else:
                self._draw_bars(panel, row)
            plain_axes(panel)
        return self

    def _panels(self, kind):
        n, wide = len(self.dims), 0.6 + 3.6 * len(self.dims)
        shown = min(self.n_top, self.loadings.shape[1])
        look: dict[str, Any] = {"figsize": (wide, 1.1 + 0.25 * shown), "ncols": n}
        if kind == "curve":  # one above the other, so that peaks are compared
            look = {"figsize": (7.2, 0.7 + 1.5 * n), "nrows": n, "sharex": True}
        elif kind == "image":
            look["figsize"] = (wide, 0.6 + 3.0 * min(2.0, self.shape[0] / self.shape[1]))
        return pyplot().subplots(squeeze=False, layout="constrained", **look)[1].ravel()

    def _draw_bars(self, panel, row):
        order = self.top(row)[::-1]  # barh fills from below
        sizes = self.loadings[row, order]
        panel.barh(range(len(order)), sizes, color=np.where(sizes >= 0, POSITIVE, NEGATIVE), height=0.72)
        names = [self.feature_names[j] for j in order]
        panel.set_yticks(range(len(order)), [name if len(name) <= 28 else f"{name[:27]}…" for name in names])
        literal(panel.get_yticklabels())
        panel.axvline(0, color="black", lw=0.8)
        panel.set_xlabel("loading")

    def _draw_curve(self, panel, row, places):
        order = np.argsort(places)
        panel.axhline(0, color="black", lw=0.8)
        panel.plot(places[order], self.loadings[row, order], color=POSITIVE, lw=1.3)
        panel.margins(x=0)
        panel.set_ylabel("loading")
        if row == len(self.dims) - 1:
            panel.set_xlabel("column")

    def _draw_image(self, panel, row):
        far = float(np.abs(self.loadings[row]).max()) or 1.0
        shown = panel.imshow(self.loadings[row].reshape(self.shape), cmap="RdBu", vmin=-far, vmax=far)
        panel.set_xticks([])
        panel.set_yticks([])
        self.figure_.colorbar(shown, ax=panel, label="loading", fraction=0.046)


def picture_of(display):
    """The kind of picture, and where the columns lie on a curve, or None."""
    if display.kind not in KINDS:
        raise ValueError(f"kind={display.kind!r} must be one of {', '.join(map(repr, KINDS))}.")
    names, p = [str(name) for name in display.feature_names], display.loadings.shape[1]
    places, kind = _numbers(names), display.kind
    bare = places is not None
    places = places if bare else _between_words(names)
    spectrum = places is not None and p >= FEWEST_OF_A_CURVE
    if spectrum and bare:
        spectrum = not any(np.array_equal(np.sort(places), np.arange(p) + first) for first in (0, 1))
    elif spectrum:
        spectrum = _is_axis(places)
    if kind == "auto":
        kind = "image" if display.shape is not None else "curve" if spectrum else "bars"
    if kind == "image" and (display.shape is None or len(display.shape) != 2 or np.prod(display.shape) != p):
        raise ValueError(f"shape={display.shape!r} must be the height and width of an image of {p} columns.")
    if kind == "curve" and places is None:
        raise ValueError(
            "kind='curve' needs names of columns that are, or hold, different numbers; give feature_names."
        )
    return kind, places


def regressed(said, X):
    """What a unit of each component adds to the columns of X (k, p), by least squares over its rows."""
    return slopes(table_of(own_columns(X, said)), np.asarray(said.project(X).mean, dtype=np.float64))


def _numbers(names):
    """The different numbers (p,) that names of columns are, or None."""
    try:
        found = np.array([float(name) for name in names])
    except ValueError:
        return None
    return found if np.isfinite(found).all() and len(np.unique(found)) == len(found) else None


def _between_words(names):
    """The different numbers (p,) that names hold between words which all share, as X1100 and 1100 nm do, or None."""
    for number in re.finditer(NUMBER, names[0]):
        start, end = map(re.escape, (names[0][: number.start()], names[0][number.end() :]))
        found = [re.fullmatch(f"{start}({NUMBER}){end}", name) for name in names]
        if all(found):
            return _numbers([one[1] for one in found])
    return None


def _is_axis(places):
    """Whether numbers go one way in steps most of which are alike, as wavelengths do, and do not count columns."""
    steps = np.diff(places)
    sizes = np.abs(steps)
    alike = (sizes >= np.median(sizes) / 2.0) & (sizes <= 2.0 * np.median(sizes))
    counts = (sizes == 1.0).all() and np.abs(places).min() <= LAST_OF_A_COUNT
    return bool(len(set(np.sign(steps))) == 1 and alike.mean() >= MOST_STEPS and not counts)
