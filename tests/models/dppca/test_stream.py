"""Rows that have gone count by their moments and the classes they were taken for."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models import dppca
from gnomon.models.dppca import anneal
from gnomon.models.dppca.expected import Here, Known, Odds
from gnomon.models.dppca.stream import Carried, Gone, keep
from gnomon.rows import read

OPTIONS = dppca.Options(n_factors=2, shrinkage=1e-3)


def test_what_has_gone_counts_by_its_bound(rng):
    T, none = rng.normal(size=(40, 3)), np.zeros(0, dtype=np.intp)
    odds = Odds(rng.normal(size=(2, 3)), rng.normal(size=2), 1.0)
    whole = Here(T, Known(none, none), 1.0)
    resp, density = whole.expect(odds)
    past = resp[:, :25]
    entropy = -float((past * np.log(past)).sum())
    gone = Gone(past.sum(axis=1), past @ T[:25], T[:25].T @ T[:25], entropy)
    carried = Carried(Here(T[25:], Known(none, none), 1.0), gone)
    found, bound = carried.expect(odds)
    assert_allclose(found, resp[:, 25:])
    assert_allclose(bound, density)  # the bound is reached by the responsibilities of the same parameters
    for one, two in zip(carried.moments(found), whole.moments(resp), strict=True):
        assert_allclose(one, two)
    other = Odds(odds.slopes + 0.5 * rng.normal(size=(2, 3)), odds.offsets, 1.0)
    assert carried.expect(other)[1] < whole.expect(other)[1]


def test_factors_of_labeled_rows_are_those_of_all_directions(rng, monkeypatch):
    X = rng.normal(size=(400, 80)) * np.linspace(1.0, 2.0, 80) ** 2
    index = rng.integers(0, 3, size=400)
    X[:, :3] += 3.0 * np.eye(3)[index]
    one = dppca.Labels(index, 3)
    given = dppca.Open(2, 1e-3, 1.0)
    found = dppca.fit(read(X), [one], 2, given, OPTIONS).targets[0]
    monkeypatch.setattr(anneal, "WHOLE", 10.0)
    want = dppca.fit(read(X), [one], 2, given, OPTIONS).targets[0]
    assert_allclose(found.log_likelihood, want.log_likelihood, rtol=1e-9)
    assert_allclose(found.model.noise_var, want.model.noise_var, rtol=1e-9)
    kept = keep(read(X), np.eye(3)[index], True)
    streamed = dppca.fit_moments(kept, 3, 2, OPTIONS, dppca.End()).targets[0]
    assert_allclose(streamed.log_likelihood, want.log_likelihood, rtol=1e-9)
