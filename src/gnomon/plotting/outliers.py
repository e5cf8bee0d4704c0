"""Rows against the limits of process monitoring."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._names import spread
from gnomon.plotting._style import NEGATIVE, NEUTRAL, POSITIVE, Display, literal

ALPHAS = (0.05, 0.01)
MOST_NAMED, MANY = 10, 2000  # rows with names, and those from which points are one image


@dataclass(eq=False, repr=False, kw_only=True)
class OutlierDisplay(Display):
    """Hotelling's T2 of rows against their squared prediction error, both in parts of their 95 % limits.

    Made by `from_estimator`.

    Parameters
    ----------
    t2, spe : ndarray of shape (n_samples,)
        In parts of the limit that one new row in twenty passes.
    limits : ndarray of shape (2,)
        The limits that one new row in a hundred passes, of T2 and SPE, in the same parts.
    names : list of str
        What the rows are called.

    Attributes
    ----------
    beyond : ndarray
        Numbers of the rows beyond one of `limits`, the farthest first.
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.plotting import OutlierDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = OutlierDisplay.from_estimator(SPPCA(2).fit(X, y), X)
    >>> display.beyond.tolist()
    [106]
    """

    _size = 5.6, 4.2

    t2: Any
    spe: Any
    limits: Any
    names: Any

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, row_ids: Any = None, ax: Any = None) -> Any:
        """Draw rows.

        Parameters
        ----------
        estimator : fitted gnomon model
            One with `hotelling_t2` and `spe`; a pipeline or a choice of such a model too.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        row_ids : sequence, default=None
            What rows are called; None numbers them from 0.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        OutlierDisplay
        """
        said = describe(estimator)
        if said.monitor is None:
            raise ValueError(f"{said.model} has no limits of T2 and SPE to draw rows against.")
        t2, spe, usual, far = _beside_limits(said, X)
        names = [str(name) for name in (range(len(t2)) if row_ids is None else row_ids)]
        return cls(t2=t2 / usual[0], spe=spe / usual[1], limits=far / usual, names=names).plot(ax=ax)

    @property
    def beyond(self) -> Any:
        """Numbers of the rows beyond one of `limits`, the farthest first."""
        return _farthest(np.maximum(self.t2 / self.limits[0], self.spe / self.limits[1]))

    def _draw(self):
        odd = self.beyond
        rest = np.setdiff1d(np.arange(len(self.t2)), odd)
        self.ax_.scatter(
            self.t2[rest],
            self.spe[rest],
            s=14,
            color=NEUTRAL,
            alpha=0.6,
            lw=0,
            label="within",
            rasterized=len(rest) > MANY,
        )
        self.ax_.scatter(self.t2[odd], self.spe[odd], s=26, color=NEGATIVE, marker="D", lw=0, label="beyond 99 %")
        for (line, style), label in zip([(1.0, ":"), (None, "-")], ["95 % limit", "99 % limit"], strict=True):
            across, up = (line, line) if line else self.limits
            self.ax_.axvline(across, color=POSITIVE, ls=style, lw=1.0, label=label)
            self.ax_.axhline(up, color=POSITIVE, ls=style, lw=1.0)
        for axis, values in ((self.ax_.set_xscale, self.t2), (self.ax_.set_yscale, self.spe)):
            if len(values) and values.max() > 20.0:  # the limits would be lost in a corner
                axis("symlog", linthresh=2.0)
        self.ax_.set(xlabel="T2 within the plane, in 95 % limits", ylabel="SPE off the plane, in 95 % limits")
        self.ax_.set_xlim(left=0.0)
        self.ax_.set_ylim(bottom=0.0)
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "ncols": 4, "borderaxespad": 0.0}
        self.ax_.legend(fontsize="x-small", frameon=False, columnspacing=1.2, handletextpad=0.4, **above)
        look = {"xytext": (0, 0), "textcoords": "offset points", "ha": "center", "va": "center", "fontsize": "x-small"}
        look["bbox"] = {"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0.5}
        look["arrowprops"] = {"arrowstyle": "-", "color": NEUTRAL, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
        points = np.column_stack([self.t2, self.spe])
        texts = [self.ax_.annotate(self.names[i], points[i], **look) for i in odd[:MOST_NAMED]]
        literal(texts)
        if texts:
            spread(self.ax_, texts, points, np.ones(len(points)), np.tile([1.0, 0.0], (len(texts), 1)))


def unlike(said, X):
    """How far each row (n,) of X is from those of the fit: T2 or SPE in its 99 % limit, whichever is more."""
    t2, spe, _, far = _beside_limits(said, X)
    return np.maximum(t2 / far[0], spe / far[1])


def beyond_limits(said, X):
    """Numbers of the rows beyond one of the 99 % limits, the farthest first."""
    return _farthest(unlike(said, X))


def _farthest(far):
    odd = np.flatnonzero(far > 1.0)
    return odd[np.argsort(-far[odd], kind="stable")]


def _beside_limits(said, X):
    """T2 and SPE (n,), and their limits at both `ALPHAS` (2,), one where a limit is zero."""
    usual, far = (np.array(said.limits(alpha)) for alpha in ALPHAS)
    t2, spe = said.monitor(X)
    return t2, spe, *(np.where(limit > 0.0, limit, 1.0) for limit in (usual, far))
