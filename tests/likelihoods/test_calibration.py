"""Calibrated probabilities of several models: the recipe a row at a time, and what there is with one label each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.likelihoods.calibration import SURER, Voice, as_often, averaged, beyond_chance, calibrate, factors
from oracles import class_probabilities as oracle


def voices(rng, index, held):
    """Three models that say much too surely what is mostly true."""
    truth = np.where(index < 0, rng.integers(0, 3, len(index)), index)
    found = []
    for noise in (0.5, 0.8, 1.2):
        odds = 40.0 * (np.eye(3)[truth] + noise * rng.normal(size=(len(index), 3)))
        named = odds.argmax(axis=1)
        odds[(index >= 0) & ~held] = np.nan
        wrong = lambda named=named: np.where(rng.random(len(named)) < 0.2, rng.integers(0, 3, len(named)), named)  # noqa: E731
        found.append(Voice(odds, rng.chisquare(5, len(index)), [(wrong(), wrong())] if held.any() else []))
    return found


def test_it_is_the_recipe(rng):
    index = np.where(np.arange(60) < 9, np.arange(60) % 3, -1)
    said = voices(rng, index, index >= 0)
    found = calibrate(said, index)
    unlabeled, held = index < 0, index >= 0
    named = [one.odds[unlabeled].argmax(axis=1) for one in said]
    rights = []
    for j, one in enumerate(said):
        share = np.mean(one.odds[held].argmax(axis=1) == index[held])
        halves = [half[unlabeled] for pair in one.halves for half in pair]
        confidence, right = oracle.target(named[j], halves, named[:j] + named[j + 1 :], share, 9, 51, 3)
        rights.append(right)
        assert found.confidence[j] == pytest.approx(confidence)
        soft = oracle.soft(one.odds, one.distances, np.median(one.distances))
        assert oracle.sureness(soft, found.temperatures[j]) == pytest.approx(confidence, abs=1e-6)
    weights = np.exp(3.0 * np.array(rights))
    assert_allclose(found.weights, weights / weights.sum())
    assert found.exponent == SURER  # three labels per class do not move it
    odds, distances = [one.odds for one in said], [one.distances for one in said]
    want = oracle.mean(odds, distances, found.distances, found.temperatures, found.weights, found.exponent)
    assert_allclose(averaged(odds, distances, found), want, atol=1e-9)


def test_many_labels_move_the_exponent_to_where_they_are_likely(rng):
    index = np.where(np.arange(400) < 90, np.arange(400) % 3, -1)
    said = voices(rng, index, index >= 0)
    found = calibrate(said, index)
    held = index >= 0
    parts = [one.odds[held] for one in said], [one.distances[held] for one in said]

    def loss(exponent):
        proba = averaged(*parts, found._replace(exponent=exponent))
        prior = (np.log(exponent) - np.log(SURER)) ** 2 / (2.0 * 0.5**2)
        return -np.log(proba[np.arange(90), index[held]]).sum() + prior

    assert loss(found.exponent) <= min(loss(found.exponent * 1.106), loss(found.exponent / 1.106))


def test_without_held_out_labels_confidence_is_half_a_prior(rng):
    index = np.where(np.arange(60) < 3, np.arange(60) % 3, -1)
    said = voices(rng, index, np.zeros(60, dtype=bool))
    found = calibrate(said, index)
    named = [one.odds[index < 0].argmax(axis=1) for one in said]
    same = np.mean([(named[0] == named[1]).mean(), (named[0] == named[2]).mean()])
    assert found.n_held_out == 0
    assert found.confidence[0] == pytest.approx((same + 1.0 / 3.0) / 2.0)
    assert found.exponent == 1.0


def test_rows_on_their_class_are_sure_whatever_rounding_makes_of_their_distance():
    index = np.array([0, 0, 1, 1, -1, -1])
    odds = 1e6 * np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    distances = np.array([0.0, 0.0, 1e-30, 1e-30, 0.0, 1e-20])
    named = odds.argmax(axis=1)
    voice = Voice(odds, distances, [(named, named)])
    said = averaged([odds], [distances], calibrate([voice], index))
    assert_array_equal(said.argmax(axis=1), named)
    assert said.max(axis=1).min() > 0.8


def rare(rng, n=600):
    """Log-probabilities of two classes, drawn to equal ones, of which one row in seven names the second."""
    score = rng.normal(size=n) - 1.1
    return 1.5 * np.column_stack([-score, score])


def softmax(logs):
    out = np.exp(logs - logs.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def test_factors_give_classes_their_shares_and_leave_what_is_named_and_how_sure(rng):
    logs = rare(rng)
    before, named = softmax(logs), logs.argmax(axis=1)
    wanted = before[:, 1].mean() - 0.01
    found = factors(logs, np.array([1.0 - wanted, wanted]))
    after = softmax(logs * found[named][:, None])
    assert after[:, 1].mean() == pytest.approx((600 * wanted + 0.5) / 601, abs=1e-3)
    assert after.max(axis=1).mean() == pytest.approx(before.max(axis=1).mean(), abs=1e-3)
    assert_array_equal(after.argmax(axis=1), named)
    assert 0.5 < found[1] < 1.0 < found[0] < 2.0


def test_factors_are_never_large_and_a_class_that_no_row_names_has_none(rng):
    logs = np.column_stack([rare(rng), np.full(600, -9.0)])
    assert_array_equal(factors(logs, np.array([0.001, 0.998, 0.001]))[[1, 2]], [2.0, 1.0])


@pytest.mark.parametrize(
    "counts, wanted",
    [([20, 20], 0.0), ([19, 21], 0.0), ([5, 5, 5, 0], 0.0), ([34, 6], 1.0 - 1.0 / 19.6), ([12, 3, 3], 1.0 - 2.0 / 9.0)],
)
def test_how_much_of_unequal_labels_is_not_chance(counts, wanted):
    assert beyond_chance(np.array(counts)) == pytest.approx(wanted)


def test_half_of_unequal_labels_of_equal_classes_is_chance(rng):
    drawn = [beyond_chance(np.bincount(rng.integers(0, 4, 60), minlength=4)) for _ in range(400)]
    assert 0.3 < np.mean(np.array(drawn) == 0.0) < 0.7
    assert np.mean(drawn) < 0.25


def test_a_rare_class_is_nearer_to_what_the_model_finds_only_where_labels_are_unequal(rng):
    logs = rare(rng)
    named, index = logs.argmax(axis=1), np.full(600, -1)
    voice = Voice(40.0 * logs, np.ones(600), [(named, np.where(rng.random(600) < 0.1, 1 - named, named))])
    index[:60] = np.where(rng.random(60) < 0.2, 1 - named[:60], named[:60])
    plain = calibrate([voice], index)
    assert as_often(plain, [voice], np.array([30, 30])) is plain
    found = as_often(plain, [voice], np.array([5200, 800]))
    one, other = (averaged([voice.odds], [voice.distances], c) for c in (plain, found))
    share = softmax(voice.odds)[:, 1].mean()
    assert one[:, 1].mean() > share + 0.03
    assert abs(other[:, 1].mean() - share) < 0.7 * (one[:, 1].mean() - share)
    assert_array_equal(other.argmax(axis=1), one.argmax(axis=1))
    nothing = Voice(np.full((4, 2), np.nan), np.ones(4), [])
    assert as_often(plain, [nothing], np.array([9, 1])) is plain
