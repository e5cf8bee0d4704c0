"""Choosing and judging models with few labels."""

from gnomon.selection.candidates import Candidate
from gnomon.selection.compare import compare
from gnomon.selection.comparison import Comparison
from gnomon.selection.permutation import PermutationTest, permutation_test
from gnomon.selection.results import SearchResults
from gnomon.selection.search import GuidedSearch

__all__ = ["Candidate", "Comparison", "GuidedSearch", "PermutationTest", "SearchResults", "compare", "permutation_test"]
