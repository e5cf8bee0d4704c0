"""Real outputs: precisions of the sets that rows observe."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.likelihoods.exact import precisions
from gnomon.numerics.linalg import MANY


@pytest.mark.parametrize("n_sets", [5, MANY + 5])
@pytest.mark.parametrize("apart", [0.3, -1e-9])
def test_precisions_are_those_of_what_is_observed(rng, n_sets, apart):
    """Also where rounding has left a covariance that is not positive definite."""
    cov = 1e3 * np.array([[1.0, 1.0 - apart, 0.2], [1.0 - apart, 1.0, 0.2], [0.2, 0.2, 1.0]])
    noise, observed = np.full(3, 1e-9), rng.random((n_sets, 3)) < 0.7
    observed[0] = True
    found, log_det = precisions(cov, noise, observed)
    for seen, precision, log in zip(observed, found, log_det, strict=True):
        own = (cov + np.diag(noise))[np.ix_(seen, seen)]
        assert_allclose(precision[np.ix_(seen, seen)], np.linalg.inv(own), rtol=1e-5, atol=1e-12)
        assert_allclose(log, np.linalg.slogdet(own)[1] if seen.any() else 0.0, rtol=1e-6, atol=1e-12)
        assert not precision[~seen].any()
        assert not precision[:, ~seen].any()
