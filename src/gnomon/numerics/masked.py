"""Conditioning of rows that each observe their own set of features, in batches."""

from dataclasses import dataclass

import numpy as np

from .._types import Array, BoolArray
from ..rows.contract import Kept, Rows, Step, View
from .linalg import batch_inverse
from .linear_gaussian import Params, RowPosterior, apply_by_row, output_precisions
from .moments import OutputSets


def triangle_of_outer(Z: Array) -> Array:
    """Upper triangles of z z' for every row of Z (m, k): (m, k (k + 1) / 2)."""
    i, j = np.triu_indices(Z.shape[1])
    return np.asarray(Z[:, i] * Z[:, j])


def from_triangle(rows: Array, k: int) -> Array:
    """Symmetric matrices (m, k, k) from their upper triangles."""
    i, j = np.triu_indices(k)
    out = np.empty((len(rows), k, k))
    out[:, i, j] = rows
    out[:, j, i] = rows
    return out


def bordered_triangle(S: Array) -> Array:
    """Upper triangles of symmetric matrices (m, k, k) with a row and a column of zeros added at the end."""
    k = S.shape[-1]
    i, j = np.triu_indices(k + 1)
    out = np.zeros((len(S), len(j)))
    out[:, j < k] = S[:, i[j < k], j[j < k]]
    return out


def masked_precisions(triangles: Array, k: int) -> Array:
    """Posterior precisions I + W_o' W_o / noise_var (m, k, k), W_o the rows of W (p, k) whose feature is observed.

    `triangles` (m, k (k + 1) / 2) are those of W_o' W_o / noise_var: the mask times `triangle_of_outer`.
    """
    out = from_triangle(triangles, k)
    out[:, np.arange(k), np.arange(k)] += 1.0
    return out


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
