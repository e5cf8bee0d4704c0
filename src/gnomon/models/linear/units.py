"""The units in which models are fitted, and the way back to those of the data."""

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, Result
from ...numerics.linalg import canonical_rotation, guided_rotation
from ...numerics.linear_gaussian import Params
from ...rows.products import rows_with_some
from .sites_em import X_FLOOR, Y_FLOOR, Rules


class Units(NamedTuple):
    """Means and scales of x and of the outputs, and how much of both was observed, by weight."""

    x_mean: Array  # (p,)
    x_scale: float
    n_entries: float
    y_mean: Array  # (q,)   zero for outputs without a noise variance
    y_scale: Array  # (q,)   and one
    n_outputs: Array  # (q,)


class Fitted(NamedTuple):
    """Maximum likelihood parameters in the units of the data, rotated and signed canonically."""

    params: Any  # `Params` of real outputs, or a `Model`; in coordinates of rows where these were given
    log_likelihood: float  # nats, training rows, without priors


def standard_outputs(Y: Array, weights: Array, *, together: bool) -> tuple[Array, Array, Array]:
    """Outputs (n, q) in standard units, and the mean and scale of each (q,) over the rows that observe it.

    The scale is the root of the variance, or with `together` that of the mean variance of all, one for all: the
    columns that code a class are one target.
    """
    labeled = rows_with_some(~np.isnan(Y))
    standard = np.full(Y.shape, np.nan)
    Y, weights = np.asfortranarray(Y.take(labeled, axis=0)), weights[labeled]
    observed = ~np.isnan(Y)
    filled = np.where(observed, Y, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    largest = np.full(len(largest), largest.max(initial=0.0)) if together else largest
    largest[largest == 0.0] = 1.0
    filled /= largest
    counts = weights @ observed
    mean = weights @ filled / counts
    variance = weights @ np.where(observed, filled - mean, 0.0) ** 2 / counts
    if together and len(variance):
        variance = np.full(len(variance), variance.mean())
    std = np.sqrt(variance)
    std[std == 0.0] = 1.0
    mean, std = mean * largest, std * largest
    standard[labeled] = (Y - mean) / std
    return standard, mean, std


def rotation_of(params: Params, n_guided: int, W_sign: Array) -> Array:
    """Canonical rotation of the latent space of a model of real outputs.

    Dimensions are ordered by the variance of (x, y) they explain, each relative to its noise. With private dimensions,
    the guided ones come first, ordered by how much of y they explain, then by x where they explain no y.
    """
    x = params.W_x / np.sqrt(params.x_noise_var)
    y = params.W_y / np.sqrt(params.y_noise_var)[:, None]
    if n_guided == x.shape[1]:
        return canonical_rotation(np.vstack([x, y]), W_sign)
    return guided_rotation(x, y, n_guided, W_sign)


class BesideLatent(NamedTuple):
    """Sums (q, k + 2, k + 2) of products of (1, z, y) over the rows that observe y, less its mean and in its scale."""

    moments: Array
    y_mean: Array  # (q,)
    y_scale: Array  # (q,)


def beside_latent_turned(moments: Array | None, R: Array, units: Units) -> BesideLatent | None:
    """The sums of a fit, z turned by R."""
    if moments is None:
        return None
    turn = np.eye(moments.shape[1])
    turn[1:-1, 1:-1] = R.T
    return BesideLatent(turn @ moments @ turn.T, units.y_mean, units.y_scale)


def in_data_units(result: Result[Params], R: Array, rules: Rules, units: Units) -> Result[Fitted]:
    """Parameters turned by R, path, "optima" and "floors" in the units of the data."""
    params, s = result.value, units.x_scale
    mean, scale = units.y_mean[rules.layout.owners], units.y_scale[rules.layout.owners]
    W_y = params.W_y @ R * scale[:, None]
    W_y[:, rules.n_guided :] = 0.0  # but for rounding
    found = Params(
        params.W_x @ R * s,
        units.x_mean + params.m_x * s,
        params.x_noise_var * s**2,
        W_y,
        mean + params.m_y * scale,
        params.y_noise_var * units.y_scale**2,
    )
    to_nats = -units.n_entries * float(np.log(s)) - float(units.n_outputs @ np.log(units.y_scale))
    path = result.path + to_nats
    floors = ["x"] if params.x_noise_var <= X_FLOOR * (1 + 1e-9) else []
    if (params.y_noise_var[rules.free_noise] <= Y_FLOOR * (1 + 1e-9)).any():
        floors.append("y")
    optima = [float(value + to_nats) for value in result.stats.get("optima", [])]
    stats = {**result.stats, "floors": floors, "optima": optima}
    return Result(Fitted(found, float(path[-1]) + rules.penalty_of(params)), result.status, path, stats)
