"""How far rows may lie from where a report draws them: the covariances in the page are those of the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import SPPCA
from gnomon.export import _report_regions as regions
from gnomon.export._report_regions import regions_of


@pytest.fixture(scope="module")
def cov():
    """Posterior covariances (178, 3, 3) of rows of which some lack entries."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    X[::4, 3] = np.nan
    return SPPCA(3).fit(X, y).posterior(X)[1]


def squared(kept, row):
    """The covariance of a row, from the lower triangle that is kept of it."""
    k = kept["components"]
    size, which = k * (k + 1) // 2, 0 if kept["of"] is None else kept["of"][row]
    found = np.zeros((k, k))
    found[np.tril_indices(k)] = kept["covariances"][which * size : (which + 1) * size]
    return found + np.tril(found, -1).T


def test_every_row_has_its_covariance_and_the_same_one_is_kept_once(cov):
    rows = np.arange(0, 178, 3)
    kept, absent = regions_of(cov, 3, rows)
    for place, row in enumerate(rows):
        assert_allclose(squared(kept, place), cov[row], rtol=5.1e-3)
    assert absent == ""
    kept, _ = regions_of(cov[0], 3, rows)
    assert kept["of"] is None
    assert len(kept["covariances"]) == 6
    assert_allclose(squared(kept, 17), cov[0], rtol=5.1e-3)
    twice, _ = regions_of(np.repeat(cov[:2], 20, axis=0), 3, np.arange(40))
    assert len(twice["covariances"]) == 12
    assert twice["of"][:20] == twice["of"][:1] * 20 != twice["of"][20:]


def test_of_too_many_there_are_fewer_components_and_then_none(monkeypatch):
    rows = np.arange(178)
    cov = np.eye(3) * (1 + 0.01 * rows)[:, None, None]  # they differ in their first three digits
    monkeypatch.setattr(regions, "MOST_KEPT", 3 * 178)
    kept, absent = regions_of(cov, 3, rows)
    assert kept["components"] == 2
    assert absent == "Regions are kept for the first 2 components only."
    monkeypatch.setattr(regions, "MOST_KEPT", 3 * 178 - 1)
    assert regions_of(cov, 3, rows) == (None, "The regions of so many rows (178) are left out.")
    assert regions_of(cov[0], 3, rows)[0]["components"] == 3
    assert regions_of(cov[:, :1, :1], 1, rows)[0]["components"] == 1


def test_it_is_said_where_a_model_knows_none():
    assert regions_of(None, 3, np.arange(5)) == (
        None,
        "This model does not say how far a row may lie from where it is drawn.",
    )
