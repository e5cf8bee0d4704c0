"""The scores of a search."""

from dataclasses import dataclass
from typing import Any

from gnomon.plotting._style import NEGATIVE, NEUTRAL, POSITIVE, Display, literal
from gnomon.selection import SearchResults
from gnomon.selection.partial import results_of
from gnomon.selection.results import named


@dataclass(eq=False, repr=False, kw_only=True)
class SelectionDisplay(Display):
    """The candidates of a search by their scores, best on top: the chosen one, the other models and the baselines.

    Made by `from_search`.

    Parameters
    ----------
    names : list of str
        Candidates, best first.
    scores : list of float
        Their scores.
    baseline : list of bool
        Which of them are baselines.
    chosen : int
        Which of them was chosen.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon.plotting import SelectionDisplay
    >>> from gnomon.selection import GuidedSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 15 == 0, y, -1)
    >>> search = GuidedSearch(preprocessing=["rows"], n_splits=1, n_permutations=0).fit(X, seen)
    >>> SelectionDisplay.from_search(search).names[0]
    'DPPCA (shrinkage=0.01, weight=1) on rows'
    """

    names: list
    scores: list
    baseline: list
    chosen: int

    @classmethod
    def from_search(cls, search: Any, *, most: Any = 15, ax: Any = None) -> Any:
        """Draw the scores of a search.

        Parameters
        ----------
        search : GuidedSearch, Pipeline or SearchResults
            A fitted search, a pipeline that ends in one, or its `results_`.
        most : int, default=15
            Candidates to draw, the best ones; the chosen one is always among them.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SelectionDisplay
        """
        results = results_of(SearchResults, search)
        if results is None:
            raise TypeError("search=None; a fitted GuidedSearch or its results_ is wanted.")
        scored = [i for i, row in enumerate(results.rows) if row["score"] is not None]
        order = sorted(scored, key=lambda i: -results.rows[i]["score"])
        order = [i for i in order if i in order[:most] or i == results.chosen]
        rows = [results.rows[i] for i in order]
        display = cls(
            names=[named(row) for row in rows],
            scores=[row["score"] for row in rows],
            baseline=[row["baseline"] for row in rows],
            chosen=order.index(results.chosen),
        )
        return display.plot(ax=ax)

    @property
    def _size(self):
        return 7.2, 0.6 + 0.28 * len(self.names)

    def _draw(self):
        """One dot per candidate."""
        height = range(len(self.names), 0, -1)
        kinds = ["baseline" if base else "model" for base in self.baseline]
        kinds[self.chosen] = "chosen"
        for kind, color, marker in (("chosen", NEGATIVE, "D"), ("model", POSITIVE, "o"), ("baseline", NEUTRAL, "s")):
            points = [(score, y) for score, y, own in zip(self.scores, height, kinds) if own == kind]
            if points:
                self.ax_.scatter(*zip(*points), color=color, marker=marker, label=kind, zorder=3)
        self.ax_.set_yticks(list(height), self.names, fontsize="small")
        literal(self.ax_.get_yticklabels())
        self.ax_.grid(axis="y", color=NEUTRAL, alpha=0.2)
        self.ax_.set_xlabel("agreement of half-label models\nless their error")
        self.ax_.legend(fontsize="small", frameon=False, loc="lower right")
