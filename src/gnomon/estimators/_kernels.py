"""Kernel values between tables: scikit-learn's kernels by name, functions of two tables, functions of two rows."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from ._validation import check_choice, check_real

NAMES = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian")


def check_kernel(kernel, gamma, degree, coef0, kernel_params):
    """Check the parameters that choose a kernel."""
    if not callable(kernel):
        check_choice("kernel", kernel, (*NAMES, "precomputed"))
    if gamma is not None:
        check_real("gamma", gamma, 0)
    check_real("degree", degree, 0)
    check_real("coef0", coef0, -np.inf)
    if kernel_params is not None and not callable(kernel):
        raise ValueError(
            f"kernel_params={kernel_params!r} is for a function as kernel; for kernel={kernel!r} pass gamma, degree or "
            "coef0."
        )


def takes_tables(kernel, X, params):
    """Whether a function takes two tables and returns a matrix, rather than two rows and returns a number."""
    few, more = X[np.zeros(2, dtype=int)], X[np.zeros(X.shape[1] + 3, dtype=int)]  # sizes no product mixes up
    wanted = (few.shape[0], more.shape[0])
    cause, came = None, None
    try:
        came = np.shape(kernel(few, more, **params))
    except (ValueError, TypeError, IndexError) as error:
        cause = error
    if came == wanted:
        return True
    if not hasattr(X, "tocsr"):
        try:
            if np.shape(kernel(X[0], X[0], **params)) == ():
                return False
        except (ValueError, TypeError, IndexError) as error:
            cause = cause or error
    raise ValueError(
        f"kernel returned {'an error' if came is None else f'shape {came}'} for tables of {wanted[0]} and {wanted[1]} "
        f"rows; a kernel function takes two tables and returns a matrix of shape {wanted}, or takes two rows and "
        "returns a number."
    ) from cause


def kernel_values(A, B, kernel, *, params, by_rows):
    """Kernel matrix (n_a, n_b) in double precision, all finite.

    Parameters
    ----------
    kernel : name or callable
    params : dict       passed on to the kernel; names take what they know of it
    by_rows : bool      a callable of two rows
    """
    A, B = A.astype(np.float64), B.astype(np.float64)
    if callable(kernel) and not by_rows:
        values = kernel(A, B, **params)
        values = np.asarray(values.toarray() if hasattr(values, "tocsr") else values, dtype=np.float64)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(f"kernel returned shape {values.shape}; {(A.shape[0], B.shape[0])} is wanted.")
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            values = pairwise_kernels(A, B, metric=kernel, filter_params=True, **params)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        i, j = bad[0]
        raise ValueError(
            f"kernel gives {values[i, j]} for rows {i} and {j}; it must be finite. Scale X, or choose other kernel "
            "parameters."
        )
    return values
