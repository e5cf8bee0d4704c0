"""Choosing and judging models with few labels."""

from gnomon.selection.compare import compare
from gnomon.selection.comparison import Comparison

__all__ = ["Comparison", "compare"]
