"""Choosing and judging models with few labels."""

from gnomon.selection.choice import GuidedChoice
from gnomon.selection.compare import compare
from gnomon.selection.comparison import Comparison
from gnomon.selection.guided import choose_guided

__all__ = ["Comparison", "GuidedChoice", "choose_guided", "compare"]
