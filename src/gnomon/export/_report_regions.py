"""The part of a report that says how far a row may lie from where it is drawn: covariances for scatter.js."""

import numpy as np

MOST_KEPT = 150_000  # numbers, of about six bytes: 10,000 rows in five components
DIGITS = 3


def regions_of(cov, n_axes, rows):
    """Return the covariances of the drawn rows in the first components, and a sentence on what is absent of them.

    Of each different one there is its lower triangle, line by line; `of` says which of them each row has, None that all
    have the only one. Where they are too many numbers there are fewer components, and with fewer than two, or the only
    one, none.
    """
    if cov is None:
        return None, "This model does not say how far a row may lie from where it is drawn."
    own = cov[None] if cov.ndim == 2 else cov[rows]
    for k in range(n_axes, min(n_axes, 2) - 1, -1):
        kept, of = _different(own[:, *np.tril_indices(k)])
        if kept.size <= MOST_KEPT:
            said = "" if k == n_axes else f"Regions are kept for the first {k} components only."
            return {"components": k, "covariances": _short(kept), "of": of}, said
    return None, f"The regions of so many rows ({len(rows):,}) are left out."


def _different(triangles):
    """Return the different ones and which of them each row has; None where there is only one."""
    with np.errstate(divide="ignore"):
        place = np.where(triangles == 0, 0, DIGITS - 1 - np.floor(np.log10(np.abs(triangles))))
    kept, of = np.unique(np.round(triangles * 10.0**place) / 10.0**place, axis=0, return_inverse=True)
    return kept, (of.ravel().tolist() if len(kept) > 1 else None)


def _short(kept):
    return [float(f"{value:.{DIGITS - 1}e}") for value in kept.ravel().tolist()]
