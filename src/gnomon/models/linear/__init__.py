"""Latent variables that explain x linearly, with outputs of any kind: PPCA, SPPCA, CPPCA and the dual form."""

from typing import Any

import numpy as np

from ..._types import Array, Result
from ...likelihoods.layout import Layout
from ...rows.contract import Rows
from . import cppca, sppca
from .conditioning import Model, log_density, opinions_of, posterior, predict, sample

__all__ = ["Model", "fit", "log_density", "opinions_of", "posterior", "predict", "sample"]


def fit(
    rows: Rows, Y: Array, options: sppca.Options | cppca.Options, generator: np.random.Generator,
    layout: Layout | None = None,
) -> Result[Any]:  # fmt: skip
    """Fit to rows and outputs Y (n, q), NaN where missing; `cppca.Options` go with the layout of the outputs.

    `params` of the value are what the other functions take.
    """
    if isinstance(options, sppca.Options):
        return sppca.fit(rows, Y, options, generator)
    layout = layout or Layout((), ())
    labeled = np.flatnonzero(~np.isnan(Y).all(axis=1))
    return cppca.fit(rows, labeled, Y[labeled], layout, options, generator)
