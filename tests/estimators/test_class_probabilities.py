"""Class probabilities mean what they say: on planted classes, and on real data; what they are made of."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_t
from sklearn.base import clone

from gnomon import CPPCA, DPPCA, IFA, KDA, SDRGLM, SEPCA, SPPCA, GuidedProjection, KernelSPPCA
from gnomon.estimators import _class_guide
from gnomon.estimators._preparations import fit_preparations
from gnomon.estimators._teaching import (
    ENOUGH,
    FEWEST_LABELS,
    calibrate,
    calibrated,
    held_out,
    log_odds,
    skills_of,
    sureness,
    weigh,
)
from gnomon.experiments import breadth, class_probabilities
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments.class_probabilities import logistic
from gnomon.models import dppca
from gnomon.rows import read
from gnomon.rows.kind import is_sparse
from oracles import average_and_teach as oracle

SHARES = (0.9, 0.05, 0.05)


def planted(seed, n=2000, p=30):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=SHARES)
    centers = 1.5 * rng.normal(size=(3, 2))
    Z = centers[y] + 0.8 * rng.normal(size=(n, 2))
    return Z @ rng.normal(size=(2, p)) + rng.normal(size=(n, p)), y


def log_loss(proba, classes, y):
    return -np.log(proba[np.arange(len(y)), np.searchsorted(classes, y)]).mean()


@pytest.mark.parametrize("model", [SPPCA(2), KernelSPPCA(2, kernel="linear")], ids=["SPPCA", "KernelSPPCA"])
def test_confidence_is_accuracy_whatever_the_shares(model):
    gaps, losses = [], []
    for seed in range(4):
        X, y = planted(seed, 600)
        seen = np.where(np.arange(len(y)) < 80, y, -1)
        if len(np.unique(seen)) < 4:
            continue
        fitted = model.fit(X, seen)
        proba, rest = fitted.predict_proba(X[80:]), y[80:]
        gaps.append(proba.max(axis=1).mean() - np.mean(fitted.predict(X[80:]) == rest))
        losses.append(
            log_loss(proba, fitted.classes_, rest) - log_loss(np.tile(SHARES, (len(rest), 1)), range(3), rest)
        )
    assert len(gaps) > 1
    assert abs(np.mean(gaps)) < 0.04
    assert max(losses) < 0  # better than the shares alone


def test_samples_have_the_classes_that_predict_proba_says():
    X, y = planted(0)
    model = SPPCA(2).fit(X, np.where(np.arange(len(y)) < 200, y, -1))
    drawn, classes = model.sample(4000, return_y=True, random_state=0)
    said = model.predict_proba(drawn).mean(axis=0)
    found = np.array([(classes == c).mean() for c in model.classes_])
    np.testing.assert_allclose(found, said, atol=0.02)


def test_a_row_that_misses_entries_is_less_sure():
    X, y = planted(1)
    model = SPPCA(2).fit(X, np.where(np.arange(len(y)) < 200, y, -1))
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.8, np.nan, X)
    whole, part = model.predict_proba(X), model.predict_proba(holes)
    assert log_loss(whole, model.classes_, y) < log_loss(part, model.classes_, y)
    assert abs(part.max(axis=1).mean() - np.mean(part.argmax(axis=1) == y)) < 0.03


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize(
    "n_labels, most_loss, most_error_of_calibration", [(2, 1.1, 0.17), (3, 1.0, 0.16), (10, 0.85, 0.13)]
)
def test_probabilities_hold_on_real_data(n_labels, most_loss, most_error_of_calibration):
    losses, gaps = [], []
    for name in breadth.SETS:
        X, y = breadth.load(name)
        some = np.sort(np.random.default_rng(7).permutation(len(y))[:1500])
        X, y = X[some], np.unique(y[some], return_inverse=True)[1]
        labeled = draw_labeled(y, n_labels, 7)
        if np.count_nonzero(~labeled) < 20:
            continue
        proba = SPPCA(10 if X.shape[1] > 12 else 5).fit(X, np.where(labeled, y, -1)).predict_proba(X[~labeled])
        y = y[~labeled]
        losses.append(log_loss(proba, np.arange(proba.shape[1]), y))
        sure, right = proba.max(axis=1), proba.argmax(axis=1) == y
        bins = np.minimum((15 * sure).astype(int), 14)
        gaps.append(sum(abs(np.sum(sure[bins == b]) - np.sum(right[bins == b])) for b in range(15)) / len(y))
    assert np.mean(losses) < most_loss
    assert np.mean(gaps) < most_error_of_calibration


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("n_labels, most_loss, most_error_of_calibration", [(3, 0.85, 0.16), (10, 0.55, 0.08)])
def test_probabilities_of_dppca_hold_on_real_data(n_labels, most_loss, most_error_of_calibration):
    losses, gaps = [], []
    for name in breadth.SETS:
        X, y = breadth.load(name)
        some = np.sort(np.random.default_rng(100).permutation(len(y))[:1500])
        X, y = X[some], np.unique(y[some], return_inverse=True)[1]
        X = breadth.scaled(X, "unit rows" if is_sparse(X) else "standardized")
        labeled = draw_labeled(y, n_labels, 100)
        if np.count_nonzero(~labeled) < 20:
            continue
        proba = DPPCA().fit(X, np.where(labeled, y, -1)).predict_proba(X[~labeled])
        y = y[~labeled]
        losses.append(-np.log(np.maximum(proba[np.arange(len(y)), y], 1e-6)).mean())
        sure, right = proba.max(axis=1), proba.argmax(axis=1) == y
        bins = np.minimum((10 * sure).astype(int), 9)
        gaps.append(sum(abs(np.sum(sure[bins == b]) - np.sum(right[bins == b])) for b in range(10)) / len(y))
    assert np.mean(losses) < most_loss
    assert np.mean(gaps) < most_error_of_calibration


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("n_labels, fewest_won", [(3, 0.45), (10, 0.6)])
def test_probabilities_of_dppca_hold_where_labels_are_balanced_and_rows_are_not(n_labels, fewest_won):
    """Nine rows in ten of one class, as many labels of both: log-loss beside logistic regression's."""
    losses = []
    for name in breadth.SETS:
        X, y = nine_in_ten(*breadth.load(name))
        if y.sum() < n_labels + 3:
            continue
        labeled = draw_labeled(y, n_labels, 100)
        models = DPPCA().fit(X, np.where(labeled, y, -1)), logistic(y[labeled]).fit(X[labeled], y[labeled])
        tables = [np.maximum(model.predict_proba(X[~labeled]), 1e-6) for model in models]
        losses.append([log_loss(proba, np.arange(2), y[~labeled]) for proba in tables])
    ours, others = np.transpose(losses)
    assert ours.mean() < others.mean()
    assert np.mean(ours < others) >= fewest_won


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize(
    "n_labels, most_error, most_of_one, most_loss, least_right",
    [
        (2, 0.145, 0.34, 0.76, 0.725),
        (3, 0.12, 0.42, 0.6, 0.77),
        (5, 0.102, 0.24, 0.55, 0.81),
        (10, 0.058, 0.17, 0.36, 0.865),
    ],
)
def test_average_and_teach_is_as_sure_as_it_is_right_on_real_data(
    n_labels, most_error, most_of_one, most_loss, least_right, monkeypatch
):
    """Rows as given, one draw of every set that no constant was settled on."""
    monkeypatch.setattr(class_probabilities, "FIRST_SEED", 200)
    monkeypatch.setattr(class_probabilities, "SCALINGS", breadth.SCALINGS[:1])
    records = class_probabilities.reproduce(n_labels=(n_labels,), n_draws=1, methods=("GuidedProjection",))
    found = [one["scores"]["GuidedProjection"] for one in records]
    means = {name: np.mean([one[name] for one in found]) for name in found[0]}
    assert means["ECE"] < most_error
    assert max(one["ECE"] for one in found) < most_of_one
    assert means["log-loss"] < most_loss
    assert means["accuracy"] > least_right


def nine_in_ten(X, y, most=1200):
    """Rows of the two largest classes, 1 being a tenth of them."""
    rng, counts = np.random.default_rng(100), np.bincount(y)
    order = np.argsort(-counts, kind="stable")[:2]
    large, small = (rng.permutation(np.flatnonzero(y == c)) for c in order)
    large = large[: int(0.9 * most)]
    small = small[: round(len(large) / 9)]
    some = np.sort(np.concatenate([large[: 9 * len(small)], small]))
    return X[some], (y[some] == order[1]).astype(int)


# ------------------------------------------------------------- models whose labeled rows have a say beside them

MODELS = {
    "CPPCA": CPPCA(5),
    "SDRGLM": SDRGLM(5),
    "SEPCA": SEPCA(5),
}


def few_labels(n_labels, seed, n=300, p=12):
    """Rows of overlapping classes in a space of four dimensions, their classes, and those that are seen."""
    rng = np.random.default_rng(seed)
    y, apart = np.arange(n) % 3, 1.0 + 0.5 * (seed % 2)
    X = rng.normal(size=(n, p)) + 0.5 * apart * rng.normal(size=(3, 4))[y] @ rng.normal(size=(4, p))
    X += rng.normal(size=(n, 4)) @ rng.normal(size=(4, p))
    return X, y, np.where(np.arange(n) < 3 * n_labels, y, -1)


@pytest.fixture(params=list(MODELS))
def model(request):
    return clone(MODELS[request.param])


@pytest.mark.parametrize("n_labels", [3, 10])
def test_they_are_nearer_to_how_often_they_are_right(model, n_labels):
    gaps = {"full": [], "plug-in": []}
    for seed in range(8):
        X, y, seen = few_labels(n_labels, seed)
        for uncertainty, found in gaps.items():
            proba = clone(model).set_params(uncertainty=uncertainty).fit(X, seen).predict_proba(X[seen < 0])
            found.append(proba.max(axis=1).mean() - (proba.argmax(axis=1) == y[seen < 0]).mean())
    assert np.mean(np.abs(gaps["full"])) < 0.1
    assert np.mean(np.abs(gaps["full"])) < np.mean(np.abs(gaps["plug-in"]))


def test_predictions_are_the_most_probable_classes_and_projections_stay(model):
    X, _, seen = few_labels(4, 0)
    full, plain = model.fit(X, seen), clone(model).set_params(uncertainty="plug-in").fit(X, seen)
    assert plain.calibration_ is None
    np.testing.assert_allclose(full.transform(X), plain.transform(X))
    np.testing.assert_allclose(full.predict_proba(X).sum(axis=1), 1.0)
    assert (full.predict(X) == full.classes_[full.predict_proba(X).argmax(axis=1)]).all()


def test_probabilities_are_those_of_both(model):
    """The mean of the plug-in probabilities at the temperature, and of the densities, from the public record."""
    X, _, seen = few_labels(4, 1)
    full, plain = model.fit(X, seen), clone(model).set_params(uncertainty="plug-in").fit(X, seen)
    one = full.calibration_
    U = (full.transform(X)[:, : len(one["axes"])] - one["origin"]) @ one["axes"]
    freedom = U.shape[1] + 2 + len(seen[seen >= 0]) - 3
    joint = [
        (n + 1) * multivariate_t(center, (1 + 1 / (n + 1)) * one["covariance"], freedom).pdf(U)
        for center, n in zip(one["centers"], one["counts"], strict=True)
    ]
    other = np.transpose(joint) / np.sum(joint, axis=0)[:, None]
    own = plain.predict_proba(X) ** (1 / one["temperature"])
    own /= own.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        full.predict_proba(X), one["weight"] * other + (1 - one["weight"]) * own, rtol=1e-6, atol=1e-8
    )
    assert one["weight"] == pytest.approx(3 / 7)


def test_neither_order_nor_units_of_rows_matter(model):
    X, _, seen = few_labels(5, 2)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = clone(model).fit(X, seen), clone(model).fit(1e3 * X[order], seen[order])
    np.testing.assert_allclose(other.predict_proba(1e3 * X), one.predict_proba(X), atol=1e-3)


def test_one_label_in_each_class_is_said_to_tell_nothing(model):
    X, _, seen = few_labels(1, 3)
    proba = model.fit(X, seen).predict_proba(X)
    assert np.isfinite(proba).all()
    assert "one label in each class" in " ".join(model.describe().fit.remarks)
    assert "one label in each class" not in " ".join(clone(model).fit(X, few_labels(2, 3)[2]).describe().fit.remarks)


def test_one_class_is_certain(model):
    X, _, seen = few_labels(3, 4)
    with pytest.warns(UserWarning, match="single class"):
        model.fit(X, np.where(seen == 0, 0, -1))
    np.testing.assert_allclose(model.predict_proba(X), 1.0)


def unequal(seed, n=300):
    """Rows of which 15 % are of the second class, with 40 labels on random ones of the first n; and n."""
    rng = np.random.default_rng(100 + seed)
    Z = rng.standard_normal((n + 1000, 3))
    X, along = Z @ rng.standard_normal((3, 20)), Z[:, 0] + 0.6 * rng.standard_normal(n + 1000)
    X, y = X + rng.standard_normal((n + 1000, 20)), (along > np.quantile(along, 0.85)).astype(int)
    few, some = np.full(n, -1), rng.permutation(n)[:40]
    few[some] = y[some]
    return X, y, few, n


def test_average_and_teach_names_a_rare_class_as_often_as_it_comes_and_gives_it_a_little_too_much():
    """Means over five draws."""
    named, said, there = [], [], []
    for seed in range(5):
        X, y, few, n = unequal(seed)
        proba = GuidedProjection().fit(X[:n], few).predict_proba(X[n:])
        named.append(proba.argmax(axis=1).mean())
        said.append(proba[:, 1].mean())
        there.append(y[n:].mean())
    assert np.mean(there) == pytest.approx(0.15, abs=0.01)
    assert np.mean(named) == pytest.approx(0.15, abs=0.03)
    assert np.mean(said) == pytest.approx(0.20, abs=0.02)


def test_average_and_teach_is_less_sure_of_a_rare_class_as_the_definition_says():
    rng = np.random.default_rng(0)
    index = np.full(200, -1)
    index[:26] = np.repeat([0, 1, 2], [18, 6, 2])
    probas, weights, densities = rng.dirichlet([3, 1, 1], size=(4, 200)), np.full(4, 0.25), rng.normal(size=200)
    mean = probas.mean(axis=0)
    wanted = oracle.calibrated(mean, densities, probas.argmax(axis=2), weights, index, index < 0)
    found = calibrated(mean, densities, calibrate(mean, densities, probas, weights, index))
    np.testing.assert_allclose(found, wanted, atol=1e-7)
    np.testing.assert_array_equal(found.argmax(axis=1), mean.argmax(axis=1))


def test_few_labels_rule_no_class_out():
    """Six clusters far apart, one of them without labels, and nothing that tells whose its rows are."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(6), 10)
    X, seen = 40.0 * rng.standard_normal((6, 30))[y] + rng.standard_normal((60, 30)), np.full(60, -1)
    seen[[0, 1, 10, 11, 20, 21, 30, 31, 40, 41]] = np.repeat(np.arange(5), 2)
    proba = GuidedProjection().fit(X, seen).predict_proba(X)
    assert 0.25 / (11 * 5) <= proba.min() < 1.05 * 0.25 / (11 * 5)
    assert proba[:10, 0].min() > 0.9


@pytest.mark.parametrize("right", [0.95, 0.4])
def test_labels_held_out_say_how_sure_average_and_teach_may_be(right):
    rng, index = np.random.default_rng(0), np.full(200, -1)
    index[:18] = np.arange(18) % 3
    probas, weights, densities = rng.dirichlet([3, 1, 1], size=(4, 200)), np.full(4, 0.25), rng.normal(size=200)
    held, mean = np.full((200, 3), np.nan), probas.mean(axis=0)
    for i in range(17):  # one is never held out
        held[i] = np.roll([0.7, 0.2, 0.1], index[i] + (rng.random() > right))
    plain, moved = (calibrate(mean, densities, probas, weights, index, one).exponent for one in (None, held))
    wanted = plain[0] * oracle.likely_power(held[:17], index[:17], 6)
    np.testing.assert_allclose(np.log(moved), np.log(wanted), atol=0.026)
    assert (moved > plain).all() if right > 0.9 else (moved < plain).all()


@pytest.mark.parametrize("n_labels, n_folds", [(2, 2), (3, 3), (5, 3)])
def test_every_label_is_held_out_once(n_labels, n_folds):
    rng = np.random.default_rng(0)
    index = np.where(np.arange(60) < 3 * n_labels, np.arange(60) % 3, -1)
    rows = dppca.principal_rows(read(rng.normal(size=(60, 8))), 5)
    trains = held_out(rows, index, 3)
    assert len(trains) == n_folds
    np.testing.assert_array_equal(np.sum([known < 0 for known in trains], axis=0), np.where(index < 0, n_folds, 1))
    for known in trains:
        assert set(index[(index >= 0) & (known < 0)]) == {0, 1, 2}
        np.testing.assert_array_equal(known[known >= 0], index[known >= 0])
    assert held_out(rows, np.where(np.arange(60) < 3 * FEWEST_LABELS - 3, index, -1), 3) == []


def test_a_few_hundred_labels_held_out_are_enough():
    rng = np.random.default_rng(0)
    index = np.arange(3 * ENOUGH + 6) % 3
    rows = dppca.principal_rows(read(rng.normal(size=(len(index), 4))), 3)
    (known,) = held_out(rows, index, 3)
    assert ENOUGH <= np.count_nonzero(known < 0) < 1.1 * ENOUGH


def test_a_teacher_counts_by_how_well_it_tells_labels_that_it_does_not_know():
    rng, index = np.random.default_rng(0), np.arange(40) % 2
    right = np.eye(2)[index]
    told = np.array([right, np.where(np.arange(40)[:, None] < 8, 1.0 - right, right), 1.0 - right])
    skills = skills_of(told, index)
    np.testing.assert_allclose(skills, [1.0, 0.6, 0.02])
    np.testing.assert_array_equal(skills_of(told[:, :0], index[:0]), 1.0)
    probas, unlabeled = rng.dirichlet([1, 1], size=(3, 30)), np.full(30, -1)
    plain, weights = (weigh(probas, unlabeled, some)[0] for some in (1.0, skills))
    np.testing.assert_allclose(weights, plain * skills**2 / (plain * skills**2).sum())


def test_who_tells_a_label_knows_it_neither_itself_nor_by_how_teachers_count(monkeypatch):
    """What is said of the rows of a fold, from their definition: teachers are weighed by the other folds."""
    rng, calls = np.random.default_rng(0), []
    y = np.arange(90) % 3
    X, index = rng.normal(size=(90, 6)) + 1.5 * np.eye(3, 6)[y], np.where(np.arange(90) < 21, y, -1)
    preparations = list(fit_preparations(X, 3))
    union = _class_guide.fit_union(preparations, 2)[1]
    average = _class_guide._average

    def noted(preparations, union, known, voices, skills):
        calls.append((known, voices, skills, average(preparations, union, known, voices, skills)))
        return calls[-1][-1]

    monkeypatch.setattr(_class_guide, "_average", noted)
    skills, held = _class_guide._without_labels(preparations, union, index, 3)
    folds = [np.flatnonzero((known < 0) & (index >= 0)) for known, *_ in calls]
    named = [[log_odds(voice, preparations[i][1]).argmax(axis=1) for i, _, voice in of] for _, of, *_ in calls]
    for f, (known, _, some, one) in enumerate(calls):
        told = [np.concatenate([of[j][rows] for of, rows in others(named, folds, f)]) for j in range(len(some))]
        truth = np.concatenate([index[rows] for _, rows in others(named, folds, f)])
        kappas = [max(oracle.kappa(one, truth, 3), 0.02) for one in told]
        np.testing.assert_allclose(some, kappas, atol=1e-12)
        power = sureness(one.proba, one.probas, one.weights, known)
        np.testing.assert_allclose(held[folds[f]], one.proba[folds[f]] ** power)
    assert np.isnan(held[21:]).all()
    assert np.ptp(skills) > 0.0


def others(named, folds, f):
    return [pair for g, pair in enumerate(zip(named, folds, strict=True)) if g != f]


def test_fits_that_hold_labels_out_see_some_unlabeled_rows(rng, monkeypatch):
    seen = []
    average = _class_guide._average

    def noted(preparations, union, index, *args):
        seen.append({len(index), len(union.T), *(len(rows.T) for _, rows in preparations)})
        return average(preparations, union, index, *args)

    monkeypatch.setattr(_class_guide, "ENOUGH_ROWS", 40)
    monkeypatch.setattr(_class_guide, "_average", noted)
    y = rng.integers(0, 2, 120)
    X, few = rng.normal(size=(120, 6)) + 3.0 * y[:, None], np.where(np.arange(120) < 20, y, -1)
    model = GuidedProjection(2, target="classes").fit(X, few)
    assert seen == [*[{60}] * 3, {120}]
    assert (model.predict(X) == y).mean() > 0.95


@pytest.mark.parametrize("model", [KDA(), IFA(tied=True, pca_components=10)], ids=["KDA", "IFA"])
def test_a_rare_class_is_not_given_what_one_temperature_gives_it(model):
    """Beside the same probabilities at one exponent for all classes; means over six draws."""
    losses, excess = [], []
    for seed in range(6):
        X, y, few, n = unequal(seed, 400)
        fitted = clone(model).fit(X[:n], few)
        powers, truth = fitted.calibration_["exponent"], y[n:]
        found = fitted.predict_proba(X[n:])
        fitted.calibration_ = fitted.calibration_ | {"exponent": np.sqrt(powers[0] * powers[1])}
        plain = fitted.predict_proba(X[n:])
        np.testing.assert_array_equal(found.argmax(axis=1), plain.argmax(axis=1))
        losses.append([log_loss(proba, range(2), truth) for proba in (found, plain)])
        excess.append([proba[:, 1].mean() - truth.mean() for proba in (found, plain)])
    assert np.subtract(*np.transpose(losses)).mean() < 0.0
    ours, others = np.mean(excess, axis=0)
    assert 0.0 < ours < others - 0.05


def test_many_classes_of_few_labels_are_no_reason_to_warn():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(30), 4)
    X = 3.0 * rng.normal(size=(30, 10))[truth] + rng.normal(size=(120, 10))
    with warnings.catch_warnings(action="error"):
        model = GuidedProjection(2).fit(X, np.where(np.arange(120) % 4 == 0, truth, -1))
    assert (model.predict(X) == truth).mean() > 0.9
