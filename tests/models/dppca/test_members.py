"""The models whose probabilities are averaged, and what they say of rows that they have not seen."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca.anneal import Options, fit_coordinates
from gnomon.models.dppca.choice import Open, Trials, candidates
from gnomon.models.dppca.members import MOST_REGRESSED, members, told, with_more_shrinkage
from gnomon.models.dppca.reduction import Limits, reduce_rows
from gnomon.rows import read
from models.dppca.planted import planted, reduced


def test_there_is_one_for_each_weight_and_labels_are_told_by_fits_without_them(rng):
    X, index = planted(rng)
    rows, given = reduced(X, index), Open(3, 1e-3, "auto")
    trials = Trials(rows, index, Options())
    tried = candidates(given, len(index), rows.T.shape[1], 2, index)
    first = tried[0]
    params = fit_coordinates(rows, index, 3, Options(*first)).value.params
    found = members(trials, first, params, tried, rows)
    assert [one.setting[2] for one in found] == [1.0, 0.1, 0.0, 0.0]
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


def everything(X, index, limits, weight="auto"):
    """Reduced rows, trials and members of two classes."""
    one_of_c = np.eye(2)[index] * (index >= 0)[:, None]
    rows = reduce_rows(read(X), one_of_c, limits)
    trials = Trials(rows, index, Options())
    tried = candidates(Open(3, 1e-3, weight), *rows.shape, 2, index)
    params = fit_coordinates(rows, index, 2, Options(*tried[0])).value.params
    return rows, trials, members(trials, tried[0], params, tried, rows)


def test_labels_held_out_are_not_known_by_the_directions_of_a_large_table(rng):
    X = rng.standard_normal((80, 200))
    index = np.where(np.arange(80) < 24, np.arange(80) % 2, -1)
    rows, trials, found = everything(X, index, Limits(exact_side=8, n_leading=5, n_spare=3))
    assert rows.of_labels == 2
    for one in found:
        assert np.mean(one.voice.odds[:24].argmax(axis=1) == index[:24]) < 0.8  # it is noise: they are right by chance
    halves = trials.splits[0][0]
    seen = trials.seen((3, 1e-3, 1.0), halves)
    anew = reduce_rows(read(X), np.eye(2)[halves] * (halves >= 0)[:, None], Limits(8, n_leading=5, n_spare=3))
    assert_allclose(seen.T @ seen.T.T, anew.T @ anew.T.T, atol=1e-6)
    assert_allclose(seen.outside, anew.outside, atol=1e-6)
    assert trials.seen((3, 1e-3, 1.0), trials.index) is trials.seen((3, 1e-3, 1.0))


def test_a_regression_is_beside_the_models_where_their_weight_is_open_and_labels_are_few(rng):
    X = rng.standard_normal((60, 12)) + 2.0 * (np.arange(60) % 2)[:, None]
    index, means = np.where(np.arange(60) < 10, np.arange(60) % 2, -1), []
    for limits in (Limits(), Limits(exact_side=8, n_leading=5, n_spare=3)):
        last = everything(X, index, limits)[2][-1]
        assert last.setting[0] == 0
        odds, distances = told(last.params, last.rows)
        assert_allclose(last.voice.odds[10:], odds[10:])
        assert_allclose(last.voice.distances, distances)
        assert len(last.voice.halves) == 3
        means.append(last.rows.expand(last.params.means.T))
    assert_allclose(*means, atol=1e-6)  # of a large table too whole rows are regressed on
    assert all(one.setting[0] for one in everything(X, index, Limits(), 1.0)[2])
    many = np.arange(MOST_REGRESSED + 30) % 2
    many[-10:] = -1
    X = rng.standard_normal((len(many), 3)) + many[:, None]
    assert all(one.setting[0] for one in everything(X, many, Limits())[2])
