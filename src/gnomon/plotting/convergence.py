"""The objective, iteration by iteration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._style import POSITIVE, Display


@dataclass(eq=False, repr=False, kw_only=True)
class ConvergenceDisplay(Display):
    """The path of the log-likelihood in nats, or of whatever else a model maximizes.

    Made by `from_estimator`.

    Parameters
    ----------
    path : ndarray of shape (n_iter,)
        Objective after each iteration, in nats.
    title : str, default=""
        How the path was made.
    label : str, default="log-likelihood in nats"
        What the objective is.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.plotting import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> ConvergenceDisplay.from_estimator(SPPCA(2).fit(X, y)).ax_.get_ylabel()
    'log-likelihood in nats'
    """

    _size = 5.6, 3.2

    path: Any
    title: str = ""
    label: str = "log-likelihood in nats"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Any:
        """Draw the path of a fitted model.

        Parameters
        ----------
        estimator : fitted gnomon model
            One that iterates; a pipeline or a choice of such a model too.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ConvergenceDisplay
        """
        fit = describe(estimator).fit
        if fit.path is None:
            raise ValueError(f"{describe(estimator).model} has no path to draw: it is fitted in one step.")
        title = "converged" if fit.converged else "not converged"
        if fit.solver is not None:
            title = f'solver "{fit.solver}", {title}'
        if fit.n_reads is not None:
            title += f", {fit.n_reads:.3g} {'pass' if fit.n_reads == 1 else 'passes'} over the data"
        return cls(path=np.asarray(fit.path, dtype=float), title=title, label=f"{fit.objective} in nats").plot(ax=ax)

    def _say_the_one(self):
        """One value is no path: its number says more than a dot."""
        self.ax_.set_xlim(0, 2)
        self.ax_.set_xticks([1])
        said = f"{self.path[0]:,.1f} after the one step that there was"
        self.ax_.annotate(said, (1, self.path[0]), (0, 8), textcoords="offset points", ha="center", fontsize="small")

    def _draw(self):
        steps = np.arange(1, len(self.path) + 1)
        self.ax_.plot(steps, self.path, color=POSITIVE, lw=1.4, marker="o", ms=3 if len(steps) < 80 else 0)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        if len(steps) == 1:
            self._say_the_one()
        if np.ptp(self.path) < 1:  # less than a nat is no visible rise
            self.ax_.set_ylim(self.path.mean() - 1, self.path.mean() + 1)
        self.ax_.ticklabel_format(axis="y", useOffset=False)
        self.ax_.set(xlabel="iteration", ylabel=self.label)
        self.ax_.set_title(self.title, fontsize="small")
