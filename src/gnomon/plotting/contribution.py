"""Why a row is where it is: what each of its columns adds to the projection, to T2 or to SPE."""

from dataclasses import dataclass
from numbers import Integral
from reprlib import repr as short
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._columns import column_deviations, column_means, names_of, own_columns, table_of
from gnomon.plotting._contributions import FEW, alone, along, steps_for
from gnomon.plotting._style import NEGATIVE, POSITIVE, Display, literal
from gnomon.rows.frames import framed
from gnomon.rows.kind import is_sparse

BLOCK = 1 << 22  # numbers in rows that are asked at once
MOST = 1 << 27  # and in all, where several steps are taken
LITTLE = 0.01  # of the largest contribution
KINDS = ("component", "t2", "spe")


@dataclass(eq=False, repr=False, kw_only=True)
class ContributionDisplay(Display):
    """Bars of what the columns of one row add to where it lies.

    Made by `from_estimator`. To a component a column adds what the coordinate gains by it as the row is moved from the
    means of the columns, of sparse rows from zeros, to its place, all columns together in small steps; where entries
    are missing they are missing all the way. These add up to the coordinate less that of the row of means, which need
    not be zero. Of a linear model it is what is lost when the row has the mean of the column in its place; of any other
    it is the discrete form of the values of Aumann and Shapley. Of more than 64 columns that a model is not linear in
    each moves alone in a step, and what only several do together, the title says. To T2 and SPE it adds what is
    lost when it takes the value that suits the other columns of the row best (Alcala and Qin, Automatica 45, 2009), so
    that of SPE one column that alone is far off has the most. These do not add up.

    Parameters
    ----------
    contributions : ndarray of shape (p,)
        What each column adds.
    total : float
        What the row has, less what the row of means has.
    feature_names : sequence of str
        Names of the p columns.
    row_name, what : str
        What the row, and what it is placed by, are called.
    n_top : int, default=15
        Columns drawn, largest in size first.
    reference : str, default="the means of the columns"
        What the row is compared with.

    Attributes
    ----------
    top : ndarray of int
        The columns drawn, largest in size first.
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import PPCA
    >>> from gnomon.plotting import ContributionDisplay
    >>> iris = load_iris()
    >>> model = PPCA(2).fit(iris.data)
    >>> display = ContributionDisplay.from_estimator(model, iris.data, 41, feature_names=iris.feature_names, of="t2")
    >>> display.feature_names[display.top[0]]
    'sepal length (cm)'
    """

    _size = 5.4, 4.4

    contributions: Any
    total: float
    feature_names: Any
    row_name: str
    what: str
    n_top: int = 15
    reference: str = "the means of the columns"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, row: Any, *, of: Any = "component", dim: Any = 0, n_top: Any = 15,
        feature_names: Any = None, row_name: Any = None, ax: Any = None,
    ) -> Any:  # fmt: skip
        """Draw what the columns of a row add.

        Parameters
        ----------
        estimator : fitted gnomon model
            A pipeline or a choice of such a model too; it is asked for as many rows as there are columns, or twice
            as many.
        X : {array-like, sparse matrix, frame} of shape (n, p)
            Rows, of which the means of the columns are taken, and their deviations.
        row : int
            Which of them.
        of : {"component", "t2", "spe"}, default="component"
            A coordinate, or Hotelling's T2 or the squared prediction error, of models that have them.
        dim : int, default=0
            Which component, counted from 0.
        n_top : int, default=15
            Columns drawn.
        feature_names : sequence of str, default=None
            Names of the columns of X; None takes those of a frame or of the fit.
        row_name : str, default=None
            What the row is called; None takes its number.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ContributionDisplay
        """
        said = describe(estimator)
        X = own_columns(X, said)
        names, table = names_of(X, said, feature_names), table_of(X)
        ask, what = _asked(said, of, dim)
        if not isinstance(row, Integral) or not 0 <= row < table.shape[0]:
            raise ValueError(f"row={short(row)} must be the number of a row of X, from 0 to {table.shape[0] - 1}.")
        found, total = _contributions(lambda rows: ask(framed(rows, X)), table, int(row), of == "component")
        name = str(row) if row_name is None else str(row_name)
        reference = "a row of zeros" if is_sparse(table) else cls.reference
        return cls(
            contributions=found, total=total, feature_names=names, row_name=name, what=what, n_top=n_top,
            reference=reference,
        ).plot(ax=ax)  # fmt: skip

    @property
    def top(self) -> Any:
        """The columns drawn, largest in size first."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[: self.n_top]
        return order[self.contributions[order] != 0]

    def _together(self):
        """What of a coordinate is of no column alone, zero where that is little."""
        rest = float(self.total - np.sum(self.contributions)) if self.what.startswith("component") else 0.0
        return rest if abs(rest) > LITTLE * np.abs(self.contributions).max(initial=0.0) else 0.0

    def _draw(self):
        order = self.top[::-1]  # barh fills from below
        sizes = self.contributions[order]
        self.ax_.barh(range(len(order)), sizes, color=np.where(sizes >= 0, POSITIVE, NEGATIVE), height=0.72)
        names = [self.feature_names[j] for j in order]
        self.ax_.set_yticks(range(len(order)), [name if len(name) <= 28 else f"{name[:27]}…" for name in names])
        self.ax_.axvline(0, color="black", lw=0.8)
        said, rest = f"row {self.row_name}: {self.total:+.3g} against {self.reference}", self._together()
        said += f"\n{rest:+.3g} of it only by columns together" if rest else ""
        title = self.ax_.set_title(said, fontsize="medium")
        literal([title, *self.ax_.get_yticklabels()])
        self.ax_.set_xlabel(f"added to {self.what}")


def _asked(said, of, dim):
    """The function from rows to numbers (n,), and what it is called."""
    if of not in KINDS:
        raise ValueError(f"of={of!r} must be one of {', '.join(map(repr, KINDS))}.")
    if of == "component":
        if not 0 <= dim < said.n_components:
            raise ValueError(f"dim={dim!r} must be a component counted from 0, below {said.n_components}.")
        return lambda rows: np.asarray(said.project(rows).mean)[:, dim], f"component {dim + 1}"
    if said.monitor is None:
        raise ValueError(f"{said.model} has no T2 and SPE; of='component' is there.")
    return lambda rows: said.monitor(rows)[KINDS.index(of) - 1], of.upper()


def _contributions(ask, X, row, linear):
    """What each column adds (p,), and what all do."""
    mean = column_means(X)
    own = X[[row]].toarray().ravel() if is_sparse(X) else X[row]
    step = mean - own if linear else column_deviations(X, mean)
    if is_sparse(X):  # a word that is absent in a row is not asked: it would be a row for each of all words
        mean, step = np.zeros_like(mean), np.where(own == 0, 0.0, -own if linear else step)
    found, asked = np.zeros(len(mean)), np.flatnonzero(np.isfinite(own) & (step != 0))
    if linear:
        mean = np.where(np.isnan(own), np.nan, mean)
    whole, middle = ask(np.stack([own, mean]))
    if linear:
        found[asked] = _on_the_way(ask, own, mean, asked)
        return found, float(whole - middle)
    size = max(1, BLOCK // len(mean))
    for start in range(0, len(asked), size):
        some = asked[start : start + size]
        up, down = (ask(_moved(own, some, own[some] + sign * step[some])) for sign in (1.0, -1.0))
        found[some] = _descent(whole, up, down)
    return found, float(whole - middle)


def _on_the_way(ask, own, start, columns):
    """What columns add on the way of a row from its start."""
    steps = steps_for(ask, own[None], start[None])
    if steps == 1 or len(columns) <= FEW:
        return along(ask, own[None], start[None], columns, steps, BLOCK)[0, :, 0]
    return alone(ask, own, start, columns, min(steps, max(1, MOST // (2 * len(own) * len(columns)))), BLOCK)


def _moved(own, some, values):
    """The row once for each of some columns, with another value there."""
    rows = np.repeat(own[None], len(some), axis=0)
    rows[np.arange(len(some)), some] = values
    return rows


def _descent(here, up, down):
    """How far the lowest point of a parabola lies below its value between two others, equally far from it."""
    bend = up + down - 2 * here
    return np.where(bend > 0, (up - down) ** 2 / (8 * np.where(bend > 0, bend, 1.0)), 0.0)
