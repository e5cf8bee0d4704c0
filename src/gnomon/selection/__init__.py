"""Choosing and judging models with few labels."""

from gnomon.selection.compare import compare
from gnomon.selection.comparison import Comparison
from gnomon.selection.results import GuidedChoice
from gnomon.selection.search import choose_guided

__all__ = ["Comparison", "GuidedChoice", "choose_guided", "compare"]
