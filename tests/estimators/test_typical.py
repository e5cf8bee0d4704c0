"""Typicality: shares counted on rows held out, a Pareto tail, and rows that are unlike those of a fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from gnomon import PPCA, SPPCA, GuidedProjection
from gnomon.describe import UNUSUAL, describe
from gnomon.estimators._typical import Reference, counts, distances, flattened, log_lengths, reference_of
from gnomon.experiments import breadth, breadth_numbers
from gnomon.experiments._draw import draw_labeled
from gnomon.export import load_model, save_model


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    first, second = order[:300], order[300:]
    seen = np.where(np.arange(300) < 20, y[first], -1)
    return X[first], X[second], GuidedProjection(2).fit(X[first], seen)


def test_distances_are_squared_ones_of_the_gaussian_for_each_entry(rng):
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 3.0
    model = PPCA(2).fit(X)
    D = X - model.mean_
    by_hand = np.einsum("ij,jk,ik->i", D, model.get_precision(), D) / 4
    assert_allclose(distances(model, X, np.full(50, 4.0)), by_hand, rtol=1e-8)


def test_rows_that_are_much_longer_or_shorter_are_not_typical_either():
    """By hand: logarithms of mean squares, of which the twenty farthest from their median have distances over 1."""
    distances = np.arange(1.0, 201.0)
    lengths = np.concatenate([np.linspace(4.0, 6.0, 180), np.full(10, 3.0), np.full(10, 7.0)])
    tail = Reference(distances, 180.0, 0.5, None, lengths)

    def of(*values):
        return tail.typicality(np.full(len(values), 100.0), np.ones(len(values)), np.array(values))

    usual = 102.0 / 201.0 / 0.9
    far = 0.1 * 25.0 ** (-1.0 / np.log(2.0)) / 0.05  # the mean log excess of the tail is that of 2 over 1
    assert_allclose(of(5.0, 4.2, 7.0, 30.0, -20.0, -np.inf), [usual, usual, usual, far, far, 0.0], atol=1e-4)
    alike = tail._replace(lengths=np.full(200, 5.0))
    assert_allclose(alike.typicality(distances[:1], np.ones(1), np.array([5.1])), 1.0)
    assert alike.typicality(distances[:1], np.ones(1), np.array([5.0 + np.log(0.25)]))[0] < UNUSUAL
    empty = tail._replace(lengths=np.r_[np.full(120, -np.inf), lengths[:80]])  # most rows of the fit are zero
    assert empty.typicality(distances[:1], np.ones(1), np.array([-np.inf]))[0] == 1.0
    some = tail._replace(lengths=np.r_[np.full(30, -np.inf), lengths[:170]])  # as many as are in the tail
    assert_allclose(some.typicality(np.full(2, 100.0), np.ones(2), np.array([-np.inf, 5.0])), [usual, usual])
    assert some.typicality(distances[:1], np.ones(1), np.array([30.0]))[0] > UNUSUAL  # what is as far is in the fit


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_lengths_are_of_the_entries_that_are_there(form):
    X = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert_allclose(log_lengths(form(X), np.array([3.0, 3.0, 3.0])), [np.log(25.0 / 3.0), -np.inf, 0.0])
    if form is np.asarray:
        X[0, 2] = np.nan
        assert_allclose(log_lengths(X, np.array([2.0, 3.0, 3.0]))[0], np.log(12.5))


def test_rows_that_are_too_near_are_not_typical_either():
    """By hand: one over the distances has a Pareto tail through its largest tenth; a twentieth may be odd for it."""
    distances = np.sort(np.random.default_rng(0).gamma(20.0, 0.05, size=200))
    spread_of_far = float(np.log(distances[180:] / distances[179]).mean())
    tail, whole = Reference(2.0 * distances, 2.0 * float(distances[179]), spread_of_far, distances), np.ones(3)
    start = distances[20]
    spread = np.log(start / distances[:20]).mean()
    near = [2.0 * 100.0 ** (-1.0 / spread), 2.0 * 3.0 ** (-1.0 / spread)]
    alike = np.zeros(50)
    assert_allclose(tail.typicality(np.array([start / 100.0, start / 3.0, 1.0]), whole, alike[:3]), [*near, 1.0])
    assert_allclose(tail.typicality(np.array([2.0 * distances[150]]), whole[:1], alike[:1]), 51.0 / 201.0 / 0.9)
    assert tail.typicality(np.zeros(1), np.ones(1), alike[:1])[0] < UNUSUAL
    assert tail.typicality(np.zeros(1), np.full(1, 0.1), alike[:1])[0] > UNUSUAL  # most of the row is missing
    assert tail.typicality(np.linspace(start, 1.0, 50), np.ones(50), alike).min() > 0.3
    for own in (None, np.r_[np.zeros(30), distances]):  # rows of the fit that are in the middle
        assert tail._replace(own=own).typicality(np.zeros(1), np.ones(1), alike[:1])[0] == 1.0


@pytest.mark.parametrize(("n", "folds"), [(12, 12), (40, 20), (500, 8), (1500, 5), (2500, 0)])
def test_rows_held_out_are_those_of_folds_in_order_of_distance(rng, n, folds):
    X = rng.normal(size=(n, 5)) * [5.0, 3.0, 1.0, 1.0, 1.0]

    def fit(A):
        return PPCA(2).fit(A)

    whole, entries = fit(X), np.full(n, 5.0)
    tail = reference_of(fit, X, X, whole)
    order = np.argsort(distances(whole, X, entries))
    parts = [order[i::folds] for i in range(folds)] or [order[np.linspace(0, n - 1, 500).astype(int)]]
    by_hand = [distances(fit(np.delete(X, some, axis=0)), X[some], entries[some]) for some in parts]
    assert_allclose(tail.distances, np.sort(np.concatenate(by_hand)), rtol=1e-8)
    turned = reference_of(fit, X[::-1], X[::-1], whole)
    assert_allclose(turned.distances, tail.distances, rtol=1e-8)
    n_tail = max(5, len(tail.distances) // 10)
    assert_allclose(tail.start, tail.distances[-n_tail - 1])
    assert_allclose(tail.spread, np.log(tail.distances[-n_tail:] / tail.start).mean())


def test_new_rows_are_as_typical_as_said_where_columns_outnumber_rows():
    """With five parts .003, .009, .033 and .19 of new rows are below these limits."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((560, 3)) @ rng.standard_normal((3, 150)) + 0.7 * rng.standard_normal((560, 150))
        fitted, new = X[:60], X[60:]
        whole = PPCA(10).fit(fitted)
        tail = reference_of(PPCA(10).fit, fitted, fitted, whole)
        found = tail.typicality(distances(whole, new, counts(new)), np.ones(500), log_lengths(new, counts(new)))
        shares.append([(found < limit).mean() for limit in (0.01, 0.05, 0.2, 0.5)])
    assert_allclose(np.mean(shares, axis=0), (0.009, 0.031, 0.097, 0.364), rtol=0.25)


def test_entries_that_are_there_are_counted():
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
    assert counts(X).tolist() == [2.0, 1.0]
    assert counts(sp.csr_array(np.eye(3))).tolist() == [3.0, 3.0, 3.0]


def test_rows_like_those_of_the_fit_are_rarely_unusual(halves):
    train, new, model = halves
    assert (model.typicality(train) < UNUSUAL).mean() <= 0.02
    assert (model.typicality(new) < UNUSUAL).mean() <= 0.04
    assert 0.02 < (model.typicality(new) < 0.1).mean() < 0.2


def test_rows_that_no_table_like_it_holds_are_unusual(halves, rng):
    train, new, model = halves
    turned = new[:5].copy()
    turned[:, ::2] *= -1.0  # measurements that go together in every tumor go apart
    odd = np.vstack([10.0 * new[:5], new[:5] + 5.0 * rng.normal(size=(5, 30))])
    assert np.all(model.typicality(odd) < UNUSUAL)
    assert np.median(model.typicality(turned)) < 0.05
    assert np.all(model.typicality(10.0 * new[:5]) < model.typicality(new[:5]))
    assert np.all(model.typicality(np.full((1, 30), 1e150)) == 0.0)


def test_images_of_another_thing_and_spectra_without_light():
    X, y = load_digits(return_X_y=True)
    X = X[:600] / np.linalg.norm(X[:600], axis=1, keepdims=True)
    model = GuidedProjection(2).fit(X, np.where(np.arange(600) < 60, y[:600], -1))
    assert model.typicality(np.zeros((1, 64)))[0] < UNUSUAL
    assert model.typicality(np.eye(64)[:1])[0] < UNUSUAL


@pytest.mark.parametrize("form", [sp.csr_array, np.float32])
def test_forms_agree_and_files_keep_it(halves, form, tmp_path):
    train, new, model = halves
    rows = form(new) if form is sp.csr_array else new.astype(form)
    assert_allclose(model.typicality(rows), model.typicality(new), atol=1e-4)
    save_model(model, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    assert_allclose(loaded.typicality(new), model.typicality(new), rtol=1e-12)
    assert_allclose(describe(model).typicality(new), model.typicality(new))


def test_missing_entries_do_not_make_a_row_typical_or_odd(halves, rng):
    train, new, model = halves
    holes = np.where(rng.random(new.shape) < 0.2, np.nan, new)
    found = model.typicality(holes)
    assert (found < UNUSUAL).mean() < 0.06
    odd = holes[:20] * 10.0
    assert (model.typicality(odd) < UNUSUAL).mean() > 0.9


def test_what_fills_a_gap_does_not_make_a_row_odd():
    rng = np.random.default_rng(0)
    X = 2.0 * rng.standard_normal((300, 3)) @ rng.standard_normal((3, 20)) + rng.standard_normal((300, 20))
    X *= np.exp(1.5 * rng.standard_normal(20))
    X[12:100, :6] = X[112:, :6] = np.nan  # columns that few rows observe
    model = GuidedProjection(2).fit(X[:100], np.where(np.arange(100) % 2, -1, X[:100, 7] > 0))
    assert (model.typicality(X[:100]) < UNUSUAL).mean() <= 0.02
    assert (model.typicality(X[100:]) < UNUSUAL).mean() <= 0.04
    odd = np.where(np.arange(20) % 2, 1.0, -1.0) * X[100:] * 4.0
    assert (model.typicality(odd) < UNUSUAL).mean() >= 0.9


def test_a_row_at_the_mean_of_what_it_has_is_at_no_distance(rng):
    X = 0.01 * rng.standard_normal((60, 6))
    model = PPCA(2).fit(X)
    row = np.where(np.arange(6) % 3 == 1, np.nan, model.mean_)[None]
    assert_allclose(distances(model, row, counts(row)), 0.0, atol=1e-9)


def test_too_few_rows_have_no_typicality():
    X, y = load_wine(return_X_y=True)
    some = [*range(0, 178, 22)]
    model = GuidedProjection(2).fit(X[some], y[some])
    assert describe(model).typicality is None
    with pytest.raises(ValueError, match="at least 10 rows"):
        model.typicality(X)


def test_the_less_typical_a_row_the_nearer_its_probabilities_are_to_equal_ones():
    proba = np.tile([0.9, 0.1, 0.0], (4, 1))
    found = flattened(proba, np.array([0.5, UNUSUAL, UNUSUAL / 2.0, 0.0]))
    assert np.array_equal(found[:2], proba[:2])
    by_hand = np.array([0.9, 0.1, 1e-12]) ** np.array([[0.5], [0.01]])
    assert_allclose(found[2:], by_hand / by_hand.sum(axis=1, keepdims=True))
    assert (np.argsort(-found) == [0, 1, 2]).all()
    assert np.array_equal(proba, np.tile([0.9, 0.1, 0.0], (4, 1)))


def test_classes_of_unusual_rows_are_less_sure_and_the_same(halves):
    train, new, model = halves
    whole, far = model.predict_proba(train), model.predict_proba(100.0 * new[:20])
    raw = model._told(model._in_preparations(model._check_rows(train)), None)[0]
    alike = model.typicality(train) >= UNUSUAL
    assert alike.mean() > 0.98
    assert np.array_equal(whole[alike], raw[alike])
    assert (far.max(axis=1) < 0.6).all()
    told = model._told(model._in_preparations(model._check_rows(100.0 * new[:20])), None)[0]
    assert np.array_equal(far.argmax(axis=1), told.argmax(axis=1))
    assert np.array_equal(model.predict(100.0 * new[:20]), model.classes_[far.argmax(axis=1)])


def test_several_targets_are_less_sure_each_and_numbers_are_left():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.column_stack([y, X[:, 0]]).astype(float)
    Y[30:130] = np.nan
    model = GuidedProjection(2, target=("classes", "real"), unlabeled=(None, None)).fit(X, Y)
    told = model._told(model._in_preparations(model._check_rows(50.0 * X)), lambda guide, seen: guide.predict(seen))
    found = model._predicted(model._check_rows(50.0 * X))
    assert (found[0].max(axis=1) < told[0].max(axis=1)).mean() > 0.9
    assert np.array_equal(found[1], told[1])


def known_and_odd(name):
    """Of a set of breadth: rows of the fit, their labels, new rows of the same classes and their classes, odd rows."""
    X, y = breadth.load(name)
    rng = np.random.default_rng(5)
    some = np.sort(rng.permutation(X.shape[0])[:500])
    X, y = X[some], np.unique(y[some], return_inverse=True)[1]
    last = y.max()
    other = (y == last) & (last > 1)
    fit = ~other & (rng.random(len(y)) < 0.7)
    new = ~other & ~fit
    if np.bincount(y[fit])[: last + (last < 2)].min() < 2:
        fit = new = ~other
    seen = np.where(draw_labeled(y[fit], 5, 100), y[fit], -1)
    return X[fit], seen, X[new], y[new], [rows for rows in (X[:1] * 0, X[new] * 10, X[other]) if rows.shape[0]]


@pytest.mark.slow
@pytest.mark.realdata
def test_unusual_rows_are_less_sure_and_new_rows_as_good_on_real_data(record_property):
    """Rows of zeros, ten times as bright, and of a class that is not in the fit, on every set of breadth."""
    found = []
    for name in breadth.SETS:
        X, seen, new, y, odd = known_and_odd(name)
        model = GuidedProjection(2).fit(X, seen)

        def losses(rows, rule, model=model):
            proba = model._told(model._in_preparations(model._check_rows(rows)), None)[0]
            return -np.log(np.maximum(flattened(proba, model.typicality(rows)) if rule else proba, 1e-6))

        chance = np.log(len(model.classes_))
        of_new = [losses(new, rule)[np.arange(len(y)), y].mean() for rule in (False, True)]
        of_odd = [np.mean([losses(rows, rule).mean() - chance for rows in odd]) for rule in (False, True)]
        found.append([*of_new, *of_odd, (model.typicality(X) < UNUSUAL).mean()])
    found = np.array(found)
    without, new, odd_without, odd, _ = found.mean(axis=0)
    record_property("without the rule, with it; new rows, odd ones", found.mean(axis=0).round(4).tolist())
    assert new < without + 0.002
    assert (found[:, 1] - found[:, 0]).max() < 0.01
    assert odd < 0.5 * odd_without
    assert found[:, 4].max() <= 0.02


@pytest.mark.slow
@pytest.mark.realdata
def test_rows_of_zeros_and_dark_ones_are_unusual_on_real_data(record_property):
    """With being near, long and short, and without; rows of a class that is not in the fit stay as easy to tell."""
    found = []
    for name in breadth.SETS:
        X, seen, new, _, odd = known_and_odd(name)
        model = GuidedProjection(2).fit(X, seen)
        of_both, far = model._tail, (*model._tail[:3], None, None)
        row = []
        for model._tail in (far, of_both):
            shares = [(model.typicality(rows) < UNUSUAL).mean() for rows in (odd[0], 0.1 * new, new)]
            both = [model.typicality(rows) for rows in (odd[-1], new)]
            auc = (both[0][:, None] < both[1]).mean() + 0.5 * (both[0][:, None] == both[1]).mean()
            row += [*shares, auc if len(odd) == 3 else np.nan]
        found.append(row)
    without, both = np.split(np.nanmean(found, axis=0), 2)
    record_property("zeros, dark, new, AUC of an unseen class; far alone", without.round(3).tolist())
    record_property("the same, near, long and short too", both.round(3).tolist())
    assert both[0] == 1.0
    assert both[1] > without[1] + 0.2
    assert both[2] < without[2] + 0.005
    assert both[3] > without[3] - 0.01


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize(("model", "zero", "bright"), [(GuidedProjection(2), 8, 40), (SPPCA(3), 1.2, 6)])
def test_intervals_of_unusual_spectra_are_wider(model, zero, bright, record_property):
    """Deviations beside the median of the rows of the fit, at least so many times."""
    for name in breadth_numbers.SETS:
        X, Y, _ = breadth_numbers.load(name)
        known = np.flatnonzero(~np.isnan(Y[:, 0]))
        some = known[np.random.default_rng(0).permutation(len(known))[:600]]
        X, y, n = X[some], Y[some, 0], len(some) * 3 // 4
        y[min(50, len(y) // 2) :] = np.nan
        fitted = clone(model).set_params(target="real").fit(X[:n], y[:n])
        usual, none, ten = (
            np.median(fitted.predict(rows, return_std=True)[1]) for rows in (X[:n], X[:1] * 0, 10 * X[n : n + 20])
        )
        record_property(name, [round(float(of / usual), 1) for of in (none, ten)])
        assert none > zero * usual
        assert ten > bright * usual
