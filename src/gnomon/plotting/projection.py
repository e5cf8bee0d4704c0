"""Scatter plot of a projection with the uncertainty of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import check_lengths, describe, target_of
from gnomon.plotting._crowd import MANY, crowded, density
from gnomon.plotting._names import may_be_named, name_classes
from gnomon.plotting._style import NEUTRAL, VALUE_MAP, Display, class_style, far_points, literal, shortened
from gnomon.plotting.outliers import unlike

MAX_LEGEND = 28
MOST_SOLID = 2_000  # labeled rows with a point of their own where there are many rows
MOST_MARKED = 20  # rows with a ring
BAND, NOTHING = 0.25, 1e-3  # spreads, in parts of that of the other component: a thin band, and none to be seen
RADIUS_95 = {1: 1.959964, 2: 2.447747}  # square roots of the 95 % points of chi-squared


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectionDisplay(Display):
    """Rows in the latent space: labeled ones solid, unlabeled ones faint in the color of their prediction.

    Made by `from_estimator`. Two components have one scale; where that would leave a thin band one is stretched, as its
    axis says. Names of up to 12 classes stand beside their rows. Of more than 10,000 rows the unlabeled ones are an
    image of their density in the mean of their colors. One component is drawn as lanes by class, or against a real
    target.

    Parameters
    ----------
    projection : ndarray of shape (n, 1) or (n, 2)
        Posterior means in the drawn dimensions.
    covariance : ndarray of shape (d, d) or (n, d, d), or None
        Posterior covariance, shared or row by row; None where the model has no posterior.
    labeled : ndarray of shape (n,)
        Mask of the labeled rows.
    values : ndarray of shape (n,)
        Class code or real target of a labeled row, prediction of an unlabeled one; NaN where there is none.
    class_names : sequence of str or None, default=None
        Names of the class codes; None when `values` are real.
    dims : tuple of int, default=(0, 1)
        Index of each drawn component.
    target_name : str, default='y'
        Name of the real target.
    n_ellipses : int, default=12
        Draw the 95 % region of the posterior of at most so many rows: labeled ones before others, far apart before
        near.
    unlike : ndarray of shape (n,) or None, default=None
        How far a row is from those of the fit, in limits that one new row in a hundred passes: the 20 farthest beyond
        1 have a ring. None draws no rings.
    direct : bool, default=True
        Whether names of classes may stand in the picture; else they are in the legend.

    Attributes
    ----------
    marked : ndarray
        Numbers of the rows that have a ring, the farthest first.
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.plotting import ProjectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> display = ProjectionDisplay.from_estimator(SPPCA(2).fit(X, seen), X, seen)
    >>> display.ax_.get_xlabel()
    'component 1'
    """

    _size = 7.2, 5.2

    projection: Any
    covariance: Any
    labeled: Any
    values: Any
    class_names: Any = None
    dims: Any = (0, 1)
    target_name: str = "y"
    n_ellipses: int = 12
    unlike: Any = None
    direct: bool = True

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        dims: Any = None,
        n_ellipses: Any = 12,
        output: Any = 0,
        target_name: Any = "y",
        ax: Any = None,
    ) -> Any:
        """Project rows with a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted gnomon model
            A pipeline or a choice of such a model too. What it has beside a projection is used: a posterior, targets,
            predictions.
        X : array-like of shape (n, p)
            Rows to draw.
        y : array-like, default=None
            Their labels as in `fit`, unlabeled rows included; None draws all rows as unlabeled. A model
            without targets is drawn with them too.
        dims : tuple of one or two int, default=None
            Components to draw, counted from 0; None takes the first two, or the only one.
        n_ellipses : int, default=12
            Rows whose region is drawn.
        output : int, default=0
            Which of several targets gives the color.
        target_name : str, default='y'
            Name of the real target.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ProjectionDisplay
        """
        found = undrawn(
            describe(estimator), X, y, dims=dims, n_ellipses=n_ellipses, output=output, target_name=target_name
        )
        return found.plot(ax=ax)

    def _draw(self):
        points = self._points()
        regions = self.n_ellipses > 0 and self.covariance is not None
        self._draw_points(points)
        if regions:
            self._draw_regions(points)
        self._mark_unlike(points)
        self._name_axes()
        classes = len(self.dims) == 2 and self.class_names is not None
        named = classes and self.direct and may_be_named(self.class_names)
        self._draw_legend(self._legend_handles(regions, named), beside=classes and not named)
        if named:
            name_classes(self.ax_, points, self.values, self.labeled, self.class_names)

    def _draw_legend(self, handles, beside):
        """Outside the axes: of a figure of its own, or below them where others have legends too."""
        if not handles:
            return
        look = {"handles": handles, "frameon": False, "fontsize": "small"}
        if len([ax for ax in self.figure_.axes if ax.get_label() != "<colorbar>"]) > 1:
            legend = self.ax_.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, **look)
        elif beside:
            legend = self.figure_.legend(loc="outside right upper", ncols=1 + (len(handles) > 17), **look)
        else:
            legend = self.figure_.legend(loc="outside lower center", ncols=3, **look)
        literal(legend.get_texts())

    def _points(self):
        """Return positions on the plane; one component gets a second axis from the target."""
        if len(self.dims) == 2:
            return self.projection
        if self.class_names is None and np.isfinite(self.values).any():
            return np.column_stack([self.projection, self.values])
        lane = np.where(np.isfinite(self.values), self.values, 0)
        shift = 0.6 * (np.arange(len(lane)) * 0.618034 % 1 - 0.5)  # golden-ratio steps fill a lane evenly
        return np.column_stack([self.projection, lane + shift])

    def _draw_points(self, points):
        rasterized = {"rasterized": len(points) > 2000}
        faint = {"s": 18, "alpha": float(np.clip(300 / len(points), 0.15, 0.5)), "linewidths": 0} | rasterized
        size = float(np.clip(44 * np.sqrt(200 / max(1, self.labeled.sum())), 14, 44))
        solid = {"s": size, "linewidths": 0.8, "edgecolors": "black", "zorder": 3} | rasterized
        known, left = np.isfinite(self.values), np.ones(len(points), dtype=bool)
        if len(points) > MANY:
            left = self._draw_crowd(points)
        self.ax_.scatter(*points[~known & left].T, color=NEUTRAL, **faint)
        for mask, look in ((~self.labeled & known & left, faint), (self.labeled & left, solid)):
            if self.class_names is None:
                self.ax_.scatter(*points[mask].T, c=self.values[mask], cmap=VALUE_MAP, norm=self._norm(), **look)
                continue
            for code in np.unique(self.values[mask]).astype(int):
                rows = mask & (self.values == code)
                color, marker = class_style(code)
                self.ax_.scatter(*points[rows].T, color=color, marker=marker, **look)
        if len(self.dims) == 2:
            across, up = self.stretch
            self.ax_.set_aspect(up / across, adjustable="datalim")
            if self.class_names is None and known.any():
                bar = self.figure_.colorbar(self._scale(), ax=self.ax_, label=self.target_name, fraction=0.04)
                literal([bar.ax.yaxis.label])

    def _draw_crowd(self, points):
        """Draw an image of the rows that need no point of their own; return a mask of the others."""
        rows = ~self.labeled if self.labeled.sum() <= MOST_SOLID else np.ones(len(points), dtype=bool)
        box, inside = crowded(points[rows])
        some = np.flatnonzero(rows)[inside]
        image = density(points[some], self._rgb(some), box)
        self.ax_.imshow(image, extent=box, origin="lower", interpolation="nearest", aspect="auto", zorder=1)
        left = np.ones(len(points), dtype=bool)
        left[some] = False
        return left

    def _rgb(self, rows):
        """Colors (m, 3) of some rows."""
        from matplotlib.colors import to_rgb

        values, out = self.values[rows], np.tile(to_rgb(NEUTRAL), (len(rows), 1))
        known = np.isfinite(values)
        if self.class_names is None:
            out[known] = self._scale().to_rgba(values[known])[:, :3]
            return out
        styles = np.array([to_rgb(class_style(code)[0]) for code in range(len(self.class_names))])
        out[known] = styles[values[known].astype(int)]
        return out

    def _scale(self):
        from matplotlib.cm import ScalarMappable

        return ScalarMappable(self._norm(), VALUE_MAP)

    def _mark_unlike(self, points):
        rows = self.marked
        if len(rows):
            self.ax_.plot(*points[rows].T, ls="", marker="o", mfc="none", mec="black", ms=11, mew=1.1, zorder=5)

    @property
    def marked(self) -> Any:
        """Rows that have a ring, the farthest first."""
        if self.unlike is None:
            return np.zeros(0, dtype=int)
        odd = np.flatnonzero(self.unlike > 1.0)
        return odd[np.argsort(-self.unlike[odd], kind="stable")][:MOST_MARKED]

    @property
    def stretch(self) -> Any:
        """How many times as large each of two components is drawn as the other would have it, across and up."""
        spread = np.ptp(self.projection, axis=0)
        share = spread.min() / spread.max() if spread.max() > 0.0 else 1.0
        times = int(np.ceil(BAND / share)) if NOTHING < share < BAND else 1
        return tuple(times if one == spread.min() else 1 for one in spread)

    def _norm(self):
        from matplotlib.colors import Normalize

        known = self.values[np.isfinite(self.values)]
        return Normalize(known.min(), known.max()) if len(known) else Normalize()

    def _draw_regions(self, points):
        """Draw the 95 % region of some rows: an ellipse, or a bar for one component."""
        rows = np.flatnonzero(self.labeled) if self.labeled.any() else np.arange(len(points))
        rows = rows[far_points(points[rows], self.n_ellipses)]
        for row in rows:
            known = self.class_names is not None and np.isfinite(self.values[row])
            color = class_style(int(self.values[row]))[0] if known else NEUTRAL
            cov = self.covariance if self.covariance.ndim == 2 else self.covariance[row]
            if len(self.dims) == 1:
                half = RADIUS_95[1] * np.sqrt(cov[0, 0])
                self.ax_.errorbar(*points[row], xerr=half, color=color, alpha=0.5, lw=0.9, zorder=2)
            else:
                self.ax_.add_patch(_ellipse(points[row], cov, color))
        self.ax_.autoscale_view()

    def _name_axes(self):
        times = self.stretch if len(self.dims) == 2 else (1,)
        names = [f"component {j + 1}" + (f", stretched {n} times" if n > 1 else "") for j, n in zip(self.dims, times)]
        self.ax_.set_xlabel(names[0])
        if len(self.dims) == 2:
            self.ax_.set_ylabel(names[1])
        elif self.class_names is not None:
            self.ax_.set_yticks(range(len(self.class_names)), [*map(shortened, self.class_names)])
            literal(self.ax_.get_yticklabels())
        elif np.isfinite(self.values).any():
            literal([self.ax_.set_ylabel(self.target_name)])
        else:
            self.ax_.set_yticks([])

    def _legend_handles(self, regions, named):
        from matplotlib.lines import Line2D

        def dot(label, color, marker="o", **look):
            return Line2D([], [], ls="", color=color, marker=marker, label=label, **look)

        handles = []
        classes = self.class_names is not None and len(self.dims) == 2 and not named
        if classes and len(self.class_names) <= MAX_LEGEND:
            handles = [dot(shortened(name), *class_style(code)) for code, name in enumerate(self.class_names)]
        if self.labeled.any() and not self.labeled.all():
            handles.append(dot("labeled", NEUTRAL, markeredgecolor="black", ms=7))
            predicted = np.isfinite(self.values[~self.labeled]).any()
            name = "unlabeled (prediction)" if predicted else "unlabeled"
            handles.append(dot(name, NEUTRAL, alpha=0.5, ms=4.5, mew=0))
        if regions:
            handles.append(Line2D([], [], color=NEUTRAL, lw=0.9, label="95 % region of a row"))
        if len(self.marked):
            handles.append(dot("beyond a 99 % limit", "black", mfc="none", ms=9))
        return handles


def undrawn(said, X, y, *, dims, n_ellipses, output, target_name):
    """The display, not drawn yet, from what a model says of itself; the rest is as in `from_estimator`."""
    Z, cov = (None if part is None else np.asarray(part) for part in said.project(X))
    check_lengths(len(Z), y=y)
    dims = _chosen_dims(dims, Z.shape[1])
    target, values, labeled = _colors(said, X, y, len(Z), output)
    names = None
    if target is not None and target.kind == "classes":
        names = [str(name) for name in target.classes.tolist()]
    return ProjectionDisplay(
        projection=Z[:, dims],
        covariance=None if cov is None else cov[..., dims, :][..., :, dims],
        labeled=labeled,
        values=values,
        class_names=names,
        dims=dims,
        target_name=target_name,
        n_ellipses=n_ellipses,
        unlike=None if said.monitor is None else unlike(said, X),
    )


def _chosen_dims(dims, k):
    chosen = list(range(min(k, 2))) if dims is None else [int(d) for d in dims]
    if len(chosen) not in (1, 2) or not all(0 <= d < k for d in chosen):
        raise ValueError(f"dims={dims!r} must be one or two components counted from 0, below {k}.")
    return chosen


def _colors(said, X, y, n, output):
    """Return the target that gives the color, its values, given or predicted, and a mask of those given."""
    nothing, nowhere = np.full(n, np.nan), np.zeros(n, dtype=bool)
    if not said.targets:
        if y is None:
            return None, nothing, nowhere
        target = target_of(y)
    else:
        target = said.targets[output]
    given = nothing if y is None else target.values(y)
    labeled = np.isfinite(given)
    predicted = nothing if said.predict is None else target.values(said.predict(X)[output].values)
    return target, np.where(labeled, given, predicted), labeled


def _ellipse(center, cov, color):
    from matplotlib.patches import Ellipse

    variances, axes = np.linalg.eigh(cov)
    width, height = 2 * RADIUS_95[2] * np.sqrt(variances[::-1].clip(0))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse(center, width, height, angle=angle, fc=(color, 0.05), ec=(color, 0.75), lw=0.9, zorder=2)
