"""Whether labels guide a model: its score with the labels as they are, and after they changed places."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PermutationTest:
    """Scores with true and with permuted labels.

    Attributes
    ----------
    score : float
        With the labels as they are, on one split.
    permuted : list of float
        After the labels of the labelled rows have changed places.
    """

    score: float
    permuted: list

    @property
    def p_value(self):
        """Share of scores, the true one among them, that are at least as high as the true one."""
        return (1 + sum(value >= self.score for value in self.permuted)) / (1 + len(self.permuted))

    @property
    def labels_helped(self):
        """Whether at most one in twenty scores is as high."""
        return self.p_value <= 0.05


def permutation_scores(halves, fit_predict, n_permutations, rng):
    """Return the score on one fresh split with the true labels, and the scores with permuted ones."""
    fresh = type(halves)(halves.targets, 1, rng)
    permuted = [halves.permuted(rng).score(fit_predict).score for _ in range(n_permutations)]
    return fresh.score(fit_predict).score, [float(np.float64(value)) for value in permuted]
