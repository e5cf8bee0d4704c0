"""What a fitted model says of itself: the one thing that plots, reports and the command line read of it."""

from gnomon.describe._read import describe, models, settled, traits_of
from gnomon.describe._slopes import slopes
from gnomon.describe.records import (
    UNUSUAL,
    Description,
    Fit,
    Prediction,
    Projection,
    Spectrum,
    Target,
    Traits,
    check_lengths,
    target_of,
    unusual,
)

__all__ = [
    "UNUSUAL",
    "Description",
    "Fit",
    "Prediction",
    "Projection",
    "Spectrum",
    "Target",
    "Traits",
    "check_lengths",
    "describe",
    "models",
    "settled",
    "slopes",
    "target_of",
    "traits_of",
    "unusual",
]
