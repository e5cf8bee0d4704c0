"""Predictions beside what was measured: numbers with their intervals, classes by confusion, and how sure is right."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from gnomon.describe import check_lengths, describe
from gnomon.plotting._style import NEGATIVE, NEUTRAL, POSITIVE, Display, literal, shortened

HALF = 1.959964  # deviations on either side of a 95 % interval
MANY = 300  # rows from which intervals are faint
MOST_WRITTEN = 15  # classes up to which each cell has its number
BINS = 10
KINDS = ("auto", "numbers", "confusion", "reliability")


@dataclass(eq=False, repr=False, kw_only=True)
class PredictionDisplay(Display):
    """Predictions of rows against their true targets, which the fit should not have seen.

    Made by `from_estimator`. Numbers are drawn against their measurement with 95 % intervals where the model has them;
    classes as a confusion matrix, or by how often they are right at each level of confidence.

    Parameters
    ----------
    kind : {"numbers", "confusion", "reliability"}
        What is drawn.
    truth : ndarray of shape (n,)
        Measured numbers, or codes of classes.
    values : ndarray of shape (n,)
        Predicted ones.
    std : ndarray of shape (n,) or None, default=None
        Standard deviations of predicted numbers.
    proba : ndarray of shape (n, C) or None, default=None
        Probabilities of the classes.
    class_names : list of str or None, default=None
        Names of the codes.
    target_name : str, default='y'
        Name of the target.

    Attributes
    ----------
    figures : dict
        What the picture says in numbers. Of numbers "rmse", "r2" and "covered", the share of rows within their
        interval; of classes "accuracy", "confidence" (mean probability of the named class) and "calibration_error",
        the mean distance of both over ten levels of confidence.
    figure_, ax_ : Figure, Axes
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from gnomon import GuidedProjection
    >>> from gnomon.plotting import PredictionDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> hidden = np.arange(178) % 10 != 0
    >>> model = GuidedProjection().fit(X, np.where(hidden, -1, y))
    >>> display = PredictionDisplay.from_estimator(model, X[hidden], y[hidden])
    >>> display.figures["accuracy"] > 0.9
    True
    """

    _size = 4.8, 4.6

    kind: str
    truth: Any
    values: Any
    std: Any = None
    proba: Any = None
    class_names: Any = None
    target_name: str = "y"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, kind: Any = "auto", output: Any = 0, target_name: Any = "y",
        ax: Any = None,
    ) -> Any:  # fmt: skip
        """Predict rows with a fitted model and draw that beside the truth.

        Parameters
        ----------
        estimator : fitted gnomon model
            A pipeline or a choice of such a model too; one that predicts.
        X : array-like of shape (n, p)
            Rows that took no part in the fit, or whose targets did not.
        y : array-like of shape (n,) or (n, n_outputs)
            Their targets, as in `fit`. Rows without one are left out.
        kind : {"auto", "numbers", "confusion", "reliability"}, default="auto"
            "auto" is "numbers" or "confusion".
        output : int, default=0
            Which of several targets.
        target_name : str, default='y'
            Name of the target.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        PredictionDisplay
        """
        said = describe(estimator)
        if said.predict is None or not said.targets:
            raise ValueError(f"{said.model} predicts no target; draw a model that was fitted to one.")
        target = said.targets[output]
        kind = _chosen(kind, target)
        told = said.predict(X)[output]
        check_lengths(len(told.values), y=y)
        truth = target.values(y)
        known = np.isfinite(truth)
        if not known.any():
            raise ValueError("y has no row with a target that the model knows; true targets of the rows are wanted.")
        names = None if target.classes is None else [str(name) for name in target.classes.tolist()]
        return cls(
            kind=kind,
            truth=truth[known],
            values=target.values(told.values)[known],
            std=None if told.std is None else np.asarray(told.std)[known],
            proba=None if told.proba is None else np.asarray(told.proba)[known],
            class_names=names,
            target_name=target_name,
        ).plot(ax=ax)

    @property
    def figures(self) -> dict[str, float]:
        """What the picture says in numbers."""
        if self.kind == "numbers":
            error = self.values - self.truth
            spread = float(((self.truth - self.truth.mean()) ** 2).mean())
            found = {"rmse": float(np.sqrt((error**2).mean()))}
            found["r2"] = 1.0 - found["rmse"] ** 2 / spread if spread > 0 else float("nan")
            if self.std is not None:
                found["covered"] = float((np.abs(error) <= HALF * self.std).mean())
            return found
        right = self.values == self.truth
        found = {"accuracy": float(right.mean())}
        if self.proba is not None:
            sure = self.proba.max(axis=1)
            gaps = np.bincount(self._levels(), right - sure, BINS)
            found |= {"confidence": float(sure.mean()), "calibration_error": float(np.abs(gaps).sum() / len(sure))}
        return found

    def _levels(self):
        return np.minimum((BINS * self.proba.max(axis=1)).astype(int), BINS - 1)

    def _draw(self):
        {"numbers": self._draw_numbers, "confusion": self._draw_confusion, "reliability": self._draw_reliability}[
            self.kind
        ]()

    def _draw_numbers(self):
        ends = np.concatenate([self.truth, self.values])
        self.ax_.axline((float(ends.min()),) * 2, slope=1.0, color="black", lw=0.8)
        if self.std is None:
            self.ax_.scatter(self.truth, self.values, s=16, color=POSITIVE, alpha=0.7, lw=0)
        else:
            inside = np.abs(self.values - self.truth) <= HALF * self.std
            faint = 0.2 if len(self.truth) > MANY else 0.6
            for rows, color, label in ((inside, POSITIVE, "within"), (~inside, NEGATIVE, "outside")):
                self.ax_.errorbar(
                    self.truth[rows], self.values[rows], yerr=HALF * self.std[rows], fmt="o", ms=3.5, color=color,
                    ecolor=(color, faint), elinewidth=0.9, mew=0, label=f"{label} its 95 % interval: {rows.sum()}",
                )  # fmt: skip
            self.ax_.legend(fontsize="x-small", frameon=False, loc="upper left")
        said = self.figures
        self.ax_.set_title(f"RMSE {said['rmse']:.3g}, R2 {said['r2']:.2f}", fontsize="medium")
        literal([self.ax_.set_xlabel(f"{self.target_name}, measured"), self.ax_.set_ylabel("predicted")])

    def _draw_confusion(self):
        n = len(self.class_names)
        counts = np.zeros((n, n), dtype=int)
        np.add.at(counts, (self.truth.astype(int), self.values.astype(int)), 1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        self.ax_.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        if n <= MOST_WRITTEN:
            for i, j in zip(*np.nonzero(counts), strict=True):
                color = "white" if shares[i, j] > 0.6 else "black"
                self.ax_.text(j, i, str(counts[i, j]), ha="center", va="center", color=color, fontsize="small")
            names = [shortened(name) for name in self.class_names]
            longest = max(map(len, names))
            self.ax_.set_xticks(range(n), names, rotation=90 if n * longest > 30 else 0)
            self.ax_.set_yticks(range(n), names)
            literal([*self.ax_.get_xticklabels(), *self.ax_.get_yticklabels()])
        self.ax_.set_title(f"{self.figures['accuracy']:.1%} of {len(self.truth)} rows right", fontsize="medium")
        literal([self.ax_.set_xlabel("predicted"), self.ax_.set_ylabel(f"{self.target_name}, true")])

    def _draw_reliability(self):
        if self.proba is None:
            raise ValueError("The model gives no probabilities; draw kind='confusion'.")
        levels, sure, right = self._levels(), self.proba.max(axis=1), self.values == self.truth
        n = np.bincount(levels, minlength=BINS)
        some = np.flatnonzero(n)
        k, n = np.bincount(levels, right, BINS)[some], n[some]
        x, share = np.bincount(levels, sure, BINS)[some] / n, k / n
        low = np.where(k > 0, stats.beta.ppf(0.025, k, n - k + 1), 0.0)
        high = np.where(k < n, stats.beta.ppf(0.975, k + 1, n - k), 1.0)
        self.ax_.plot([0, 1], [0, 1], color="black", lw=0.8)
        self.ax_.errorbar(x, share, yerr=[share - low, high - share], fmt="none", ecolor=NEUTRAL, elinewidth=1.0)
        self.ax_.scatter(x, share, s=20 + 180 * n / n.sum(), color=POSITIVE, lw=0, zorder=3)
        said = self.figures
        self.ax_.set_title(
            f"right {said['accuracy']:.1%}, sure {said['confidence']:.1%}, apart {said['calibration_error']:.1%}",
            fontsize="medium",
        )
        self.ax_.set(xlabel="probability of the named class", ylabel="share of rows that are of it, with 95 % interval")
        self.ax_.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")


def _chosen(kind, target):
    """The kind of picture for a target; ValueError where it has no such one."""
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, KINDS))}.")
    usual = "numbers" if target.kind == "real" else "confusion"
    if kind == "auto":
        return usual
    if (kind == "numbers") != (usual == "numbers"):
        raise ValueError(f"kind={kind!r} is not of a target that is {'numbers' if usual == 'numbers' else 'classes'}.")
    return kind
