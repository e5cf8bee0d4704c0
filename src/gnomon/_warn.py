"""Warnings that point at the line of the user's program."""

import sys
import warnings

INSIDE = ("gnomon.", "sklearn.", "joblib.")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn on behalf of the first caller outside this package, scikit-learn and joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
