import numpy as np
import pytest
import scipy.sparse as sp

from gnomon.rows.spare import spare_rank


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rank", [1, 4, 30])
def test_it_is_the_rank_of_centered_rows_less_one_up_to_the_most_wanted(rng, rank, form, scale):
    X = scale * (rng.normal(size=(80, rank)) @ rng.normal(size=(rank, 50)) + 3.0)
    for most in (2, 10, 63):
        assert spare_rank(form(X), most) == min(rank - 1, most)


def test_columns_of_rounding_and_missing_entries_do_not_count(rng):
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 50))
    constant = np.repeat(rng.normal(size=(1, 5)), 80, axis=0) * (1.0 + 1e-16 * rng.normal(size=(80, 5)))
    assert spare_rank(np.hstack([X, constant])) == 3
    assert spare_rank(np.full((80, 5), 0.1)) == 0
    X[rng.random(X.shape) < 0.1] = np.nan
    assert spare_rank(X, 20) == 20  # a gap is at its mean
