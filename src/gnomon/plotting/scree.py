"""Variances along the components of a fit and behind them, beside the noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.plotting._style import NEGATIVE, NEUTRAL, POSITIVE, Display

LABELS = {
    "rows": "variance",
    "classes": "variance, within a class 1",
    "predictions": "variance of the predictions",
}
ROUNDING = 1e-12  # of the largest variance
NOISE = {"rows": "noise of a direction", "classes": "within a class"}


@dataclass(eq=False, repr=False, kw_only=True)
class ScreeDisplay(Display):
    """Variances along each component, and along the directions behind them as far as the fit has seen them.

    Made by `from_estimator`. They are those of the rows; of models that separate classes, such as `DPPCA` and
    `GuidedProjection`, in units of the variance within a class, which is one; and of `GuidedProjection` of numbers
    those of its predictions. Components above the noise, or above one, are worth having; a direction behind them that
    is far above it asks for one component more.

    Parameters
    ----------
    variances : ndarray of shape (m,)
        Falling, noise included; the first `n_components` are those of the model.
    n_components : int
        Size K of the model.
    noise_variance : float or None, default=None
        Of one direction that holds nothing else.
    of : {"rows", "classes", "predictions"}, default="rows"
        Whose variances: of the rows in squared units of X, of these in units of the variance within a class, or of
        predictions in units of the variance of each target.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from gnomon import PPCA
    >>> from gnomon.plotting import ScreeDisplay
    >>> display = ScreeDisplay.from_estimator(PPCA(2).fit(scale(load_wine().data)))
    >>> [round(float(variance), 1) for variance in display.variances[:3]]
    [4.7, 2.5, 1.4]
    """

    _size = 5.6, 3.8

    variances: Any
    n_components: Any
    noise_variance: Any = None
    of: str = "rows"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Any:
        """Draw what a fitted model knows of variances.

        Parameters
        ----------
        estimator : fitted gnomon model
            PPCA, SPPCA, CPPCA, DPPCA or GuidedProjection; a pipeline or a choice of such a model too.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ScreeDisplay
        """
        said = describe(estimator)
        if said.spectrum is None:
            raise ValueError(f"{said.model} does not say how much variance is along a component; draw a PPCA or SPPCA.")
        own, behind, noise, of = said.spectrum
        variances = np.concatenate([own, behind])
        return cls(variances=variances, n_components=len(own), noise_variance=noise, of=of).plot(ax=ax)

    def _draw(self):
        at, k = np.arange(1, len(self.variances) + 1), self.n_components
        self.ax_.bar(at[:k], self.variances[:k], color=POSITIVE, width=0.72, label="components")
        if len(at) > k:
            self.ax_.bar(at[k:], self.variances[k:], color=NEUTRAL, alpha=0.55, width=0.72, label="behind them")
        if self.noise_variance is not None:
            self.ax_.axhline(self.noise_variance, color=NEGATIVE, lw=1.0, label=NOISE[self.of])
        least = min(one for one in self.variances if one >= ROUNDING * self.variances[0])
        if self.variances[0] > 100.0 * least > 0.0:
            self.ax_.set_yscale("log")
            if least > self.variances[-1]:  # of rounding alone, which would take the axis for itself
                self.ax_.set_ylim(bottom=0.5 * least)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.set(xlabel="direction", ylabel=LABELS[self.of])
        self.ax_.legend(fontsize="x-small", frameon=False, loc="upper right")
