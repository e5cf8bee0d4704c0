"""Sparse matrices for solvers that take nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array


def upper_triangle(P: Array) -> Any:
    """The upper triangle of a matrix by compressed columns."""
    return sp.csc_matrix(np.triu(P))


def identity(n: int, value: float) -> Any:
    """`value` times the identity by compressed columns."""
    return sp.csc_matrix(value * sp.identity(n))
