"""Choosing and judging models with few labels."""

from gnomon.selection.candidates import Candidate
from gnomon.selection.compare import compare
from gnomon.selection.comparison import Comparison
from gnomon.selection.permutation import PermutationTest, permutation_test
from gnomon.selection.results import SearchResults
from gnomon.selection.search import GuidedSearch
from gnomon.selection.settings import choose_components, choose_supervision
from gnomon.selection.splitters import PartialLabelKFold, labeled_scorer
from gnomon.selection.suggest import suggest_labels

__all__ = [
    "GuidedSearch",
    "SearchResults",
    "Candidate",
    "choose_components",
    "choose_supervision",
    "permutation_test",
    "PermutationTest",
    "compare",
    "Comparison",
    "PartialLabelKFold",
    "labeled_scorer",
    "suggest_labels",
]
