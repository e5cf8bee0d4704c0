"""Conditioning of rows that each observe their own set of features, in batches."""

from dataclasses import dataclass

import numpy as np

from .._types import Array, BoolArray
from ..rows.contract import Kept, Rows, Step, View
from .batches import masked_precisions, triangle_of_outer
from .linalg import batch_inverse
from .linear_gaussian import Params, RowPosterior, apply_by_row, output_precisions
from .moments import OutputSets


@dataclass(frozen=True)
class ConditionRows:
    """Condition z on what some rows observe of features, in units of the noise of x, and of outputs."""

    params: Params
    of_sets: Array  # (s, k, k)   what every set of observed outputs adds to the precision

    def __call__(self, view: View) -> Step:
        params, mask, k = self.params, view.mask, self.params.W_x.shape[1]
        assert mask is not None
        precision = masked_precisions(mask.T, k) + self.of_sets[view.aligned["set"][mask.first]]
        post, first = batch_inverse(precision), view.at[mask.first]
        dy = np.where(view.aligned["observed"], view.aligned["y"] - params.m_y, 0.0)
        b = view.T + (dy / params.y_noise_var) @ params.W_y
        mean = apply_by_row(post.inverse, mask.of_row, b)
        fit = np.einsum("ma,ma->m", b, mean)
        keep = Kept.of(view, mean, fit, view.aligned["length"], view.aligned["seen"], first[mask.of_row])
        return Step(sums=Kept(((first, tuple(post)),)), keep=keep)


def masked_posterior(
    params: Params, rows: Rows, Y: Array, observed: BoolArray, groups: OutputSets
) -> tuple[RowPosterior, Array, Array]:
    """Condition z on the features that rows with missing entries observe, and on the observed outputs.

    Rows are in the units of `params`; Y, `observed` and `groups` are aligned with them. Rows of a block that observe
    the same share a covariance. Beside the posterior comes |x_o - m_o|^2 / x_noise_var and how many features each row
    observes.
    """
    root = float(np.sqrt(params.x_noise_var))
    scaled = params.W_x / root
    known = rows.in_units(params.m_x, root).with_columns(y=Y, observed=observed, set=groups.of_row)
    step = ConditionRows(params, output_precisions(params, groups.sets))
    found = known.sweep(scaled, step, V_mask=triangle_of_outer(scaled), split="set")
    mean, fit, energy, seen, first = found.kept.of_rows()
    covs, log_det = found.sums.of_rows()
    of_row = np.unique(first, return_inverse=True)[1]
    return RowPosterior(mean, covs, of_row, log_det[of_row], fit), energy, seen
