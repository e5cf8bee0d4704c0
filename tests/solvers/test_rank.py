"""A latent space as large as the data is refused."""

import numpy as np
import pytest

from gnomon import PPCA
from gnomon.solvers.rank import check_rank, check_rank_of_rows
from rows.copied import copied_rows


def standard_rows(X):
    rows = copied_rows(X)
    return rows.standard(rows.summarize())


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("rank", [1, 3])
def test_rows_are_refused_from_their_rank_on(rng, rank, scale):
    X = scale * (rng.normal(size=(40, rank)) @ rng.normal(size=(rank, 9)) + 5.0)
    with pytest.raises(ValueError, match=f"n_components={rank} must be less than the rank of X, {rank}"):
        check_rank_of_rows(standard_rows(X), rank, rng)
    noisy = X + 1e-3 * scale * rng.normal(size=X.shape)
    check_rank_of_rows(standard_rows(noisy), rank, rng)


def test_as_many_dimensions_as_columns_are_refused(rng):
    with pytest.raises(ValueError, match="Ask for at most 3"):
        check_rank_of_rows(standard_rows(rng.normal(size=(40, 4))), 4, rng)


def test_a_column_beside_which_all_others_vanish_is_named_as_the_cause(rng):
    X = rng.normal(size=(40, 4)) * [1e7, 1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match=r"less than the rank of X, 1: .* if that is a column of large numbers, bring"):
        PPCA(2).fit(X)
    assert PPCA(2).fit(X / X.std(axis=0)).noise_variance_ > 0.5


def test_a_direction_that_a_basis_sees_most_of_counts():
    seen = np.array([0.6, 0.4, 0.95e-12])  # of 1.01e-12, which `spare_rank` counts
    check_rank(np.diag(seen), seen.sum() + 0.06e-12, 2)
    with pytest.raises(ValueError, match="less than the rank of X, 3"):
        check_rank(np.diag(seen), seen.sum() + 0.06e-12, 3)
