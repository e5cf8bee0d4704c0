"""The models whose probabilities are averaged, and what they say of rows that they have not seen."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca.anneal import Options, fit_coordinates
from gnomon.models.dppca.choice import Open, Trials, candidates
from gnomon.models.dppca.members import members, told, with_more_shrinkage
from models.dppca.planted import planted, reduced


def test_there_is_one_for_each_weight_and_labels_are_told_by_fits_without_them(rng):
    X, index = planted(rng)
    rows, given = reduced(X, index), Open(3, 1e-3, "auto")
    trials = Trials(rows, index, Options())
    tried = candidates(given, len(index), rows.T.shape[1], 2, index)
    first = tried[0]
    params = fit_coordinates(rows, index, 3, Options(*first)).value.params
    found = members(trials, first, params, tried, rows)
    assert [one.setting[2] for one in found] == [1.0, 0.1, 0.0]
    odds, distances = told(params, rows)
    voice, unlabeled = found[0].voice, index < 0
    assert_allclose(voice.odds[unlabeled], odds[unlabeled])
    assert_allclose(voice.distances[unlabeled], distances[unlabeled])
    assert len(voice.halves) == 3
    out = trials.folds == 0
    without = trials.fit(first, np.where(out, -1, index)).params
    assert_allclose(voice.odds[out], told(without, rows)[0][out])
    assert_array_equal(np.isnan(voice.odds[:, 0]), (index >= 0) & (trials.folds < 0))


def test_more_shrinkage_is_tried_where_it_is_open_and_labels_are_alone():
    tried = [(3, 1e-3, 1.0), (8, 1e-3, 0.0)]
    assert with_more_shrinkage(tried, Open("auto", "auto", "auto"))[2:] == [(8, 0.5, 0.0), (8, 0.9, 0.0)]
    assert with_more_shrinkage(tried, Open("auto", 0.1, "auto")) == tried
