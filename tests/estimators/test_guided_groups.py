"""GuidedProjection of rows that belong together: replicates say no more than one row, and are held out together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.support import load
from gnomon import GuidedProjection
from gnomon.estimators import _class_guide, guided_projection
from gnomon.estimators._class_guide import teach
from gnomon.estimators._preparations import fit_preparations, with_rows
from gnomon.models import dppca
from gnomon.rows import read


def replicated(X, y, labeled, times, noise, seed=0):
    """Rows and targets with so many noisy ones of each labeled row, none of the others, and the sample of each."""
    rng = np.random.default_rng(seed)
    sample = np.concatenate([np.arange(len(X)), np.repeat(labeled, times - 1)])
    return X[sample] + noise * X.std(axis=0) * rng.standard_normal((len(sample), X.shape[1])), y[sample], sample


def numbers(seed=0, n=25):
    """Rows, a number that they tell in part, and which rows are labeled."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((300, 8))
    X = Z @ rng.standard_normal((8, 80)) + rng.standard_normal((300, 80))
    y = Z @ rng.standard_normal(8) + 1.5 * rng.standard_normal(300)
    return X, y, np.arange(300) < n


@pytest.mark.parametrize("times, noise", [(2, 0.0), (5, 0.0), (5, 0.3)])
def test_intervals_of_numbers_cover_whatever_the_replicates(times, noise):
    within, alone, said = [], [], []
    for seed in range(4):
        X, y, labeled = numbers(seed)
        rows, values, sample = replicated(X, y, np.flatnonzero(labeled), times, noise, seed)
        seen = np.where(labeled[sample], values, np.nan)
        for found, groups in ((within, [f"s{i}" for i in sample]), (alone, None)):
            model = GuidedProjection(target="real").fit(rows, seen, groups=groups)
            mean, std = model.predict(rows[:300][~labeled], return_std=True)
            found.append(np.mean(np.abs(mean - y[~labeled]) < 1.96 * std))
        said.append(max(r2 for *_, r2 in model.teachers_))
    assert np.mean(within) > 0.92
    assert np.mean(alone) < 0.87 or noise == 0.3
    assert np.mean(alone) < np.mean(within) - 0.05
    if noise == 0.0:
        assert min(said) > 0.95  # without groups a copy foretells its own


def test_copies_of_rows_with_a_number_say_nothing_more():
    X, y, labeled = numbers()
    rows, values, sample = replicated(X, y, np.flatnonzero(labeled), 4, 0.0)
    seen = np.where(labeled[sample], values, np.nan)
    once = np.where(np.arange(len(seen)) < 300, seen, np.nan)  # the copies are there, without the number
    found = GuidedProjection(target="real").fit(rows, seen, groups=sample)
    alone = GuidedProjection(target="real").fit(rows, once)
    assert_allclose(found.predict(X, return_std=True), alone.predict(X, return_std=True), rtol=1e-6)
    assert_allclose([r2 for *_, r2 in found.teachers_], [r2 for *_, r2 in alone.teachers_], rtol=1e-6)


@pytest.mark.parametrize("times, noise", [(5, 0.0), (5, 0.3)])
def test_probabilities_are_as_likely_as_without_replicates(times, noise):
    X, y = load("wine")
    losses = []
    for seed in range(3):
        labeled = np.concatenate(
            [np.random.default_rng(seed).permutation(np.flatnonzero(y == c))[:4] for c in range(3)]
        )
        rows, index, sample = replicated(X + 2.0 * X.std(axis=0) * np.random.default_rng(9).standard_normal(X.shape),
                                         y, labeled, times, noise, seed)  # fmt: skip
        seen, rest = np.where(np.isin(sample, labeled), index, -1), np.setdiff1d(np.arange(178), labeled)
        once = np.where(np.arange(len(seen)) < 178, seen, -1)
        tries = (seen, sample), (seen, None), (once, None)
        probas = [GuidedProjection().fit(rows, known, groups=of).predict_proba(rows[rest]) for known, of in tries]
        losses.append([-np.log(proba[np.arange(len(rest)), y[rest]]).mean() for proba in probas])
    grouped, ungrouped, single = np.mean(losses, axis=0)
    assert grouped < ungrouped - 0.05
    assert grouped < single + 0.03


def test_labeled_rows_of_a_class_and_group_are_their_mean():
    X, y = load("wine")
    index, groups = np.where(np.arange(178) % 6 == 0, y, -1), np.arange(178) % 15
    preparations = with_rows(fit_preparations(X, 3))
    union = _class_guide.fit_union(preparations, 2)[1]
    found = teach(preparations, union, index, 3, groups)
    keys = [(c, g) if c >= 0 else (-1 - i, g) for i, (c, g) in enumerate(zip(index, groups, strict=True))]
    units = list(dict.fromkeys(keys))
    shares = np.array([[one == unit for one in keys] for unit in units], dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    means = [reduced.means(np.array([units.index(one) for one in keys])) for _, reduced in preparations]
    for (_, reduced), mean in zip(preparations, means, strict=True):
        assert_allclose(mean.T, shares @ reduced.T, atol=1e-9)
    assert len(units) < 178
    labels = np.array([max(c, -1) for c, _ in units])
    wanted = _class_guide._teach(
        [(how, mean) for (how, _), mean in zip(preparations, means, strict=True)],
        union.means(np.array([units.index(one) for one in keys])), labels, 3, np.array([g for _, g in units]),
    )  # fmt: skip
    assert_allclose(found.guide.weights, wanted.guide.weights, rtol=1e-9)
    seen = [reduced for _, reduced in preparations]
    assert_allclose(found.calibrated, wanted.guide.probabilities(seen, union), atol=1e-9)


def test_groups_of_one_row_change_nothing():
    X, y = load("wine")
    seen = np.where(np.arange(178) % 9 == 0, y, -1)
    plain, named = (GuidedProjection().fit(X, seen, groups=groups) for groups in (None, [f"w{i}" for i in range(178)]))
    assert_array_equal(plain.predict_proba(X), named.predict_proba(X))
    apart = np.where(seen < 0, 0, np.arange(178))  # unlabeled rows of one group are no replicates of labels
    assert_array_equal(plain.predict_proba(X), GuidedProjection().fit(X, seen, groups=apart).predict_proba(X))


def test_the_order_of_rows_and_the_names_of_groups_do_not_matter():
    X, y = load("wine")
    seen, groups = np.where(np.arange(178) % 4 == 0, y, -1), np.arange(178) // 8
    order = np.random.default_rng(0).permutation(178)
    found = GuidedProjection().fit(X, seen, groups=groups).predict_proba(X)
    moved = GuidedProjection().fit(X[order], seen[order], groups=[f"g{17 * i % 23}" for i in groups[order]])
    assert_allclose(moved.predict_proba(X), found, atol=1e-6)


def test_a_table_of_classes_and_numbers_takes_groups():
    X, y = load("wine")
    rows, index, sample = replicated(X, y, np.arange(0, 178, 6), 3, 0.0)
    kinds = np.where(np.isin(sample, np.arange(0, 178, 6)), index, np.nan)
    table = np.column_stack([kinds, np.where(np.isnan(kinds), np.nan, rows[:, 0])])
    model = GuidedProjection(target=["classes", "real"]).fit(rows, table, groups=sample)
    once = table.copy()
    once[178:] = np.nan
    alone = GuidedProjection(target=["classes", "real"]).fit(rows, once)
    assert_allclose(model.predict(X)[:, 1].astype(float), alone.predict(X)[:, 1].astype(float), rtol=1e-6)


def test_too_few_groups_for_numbers_are_an_error():
    X, y, labeled = numbers(n=12)
    seen = np.where(labeled, y, np.nan)
    with pytest.raises(
        ValueError, match="y has 12 labeled rows of 2 groups, each of which counts as one row; a target"
    ):
        GuidedProjection(target="real").fit(X, seen, groups=np.arange(300) % 2)
    with pytest.raises(ValueError, match="groups has 299 entries and X 300 rows"):
        GuidedProjection(target="real").fit(X, seen, groups=np.arange(299))
    with pytest.raises(ValueError, match="y has the same mean in every group of rows"):
        GuidedProjection(target="real").fit(
            X, np.where(labeled, np.arange(300) % 2, np.nan), groups=np.arange(300) // 2
        )


def test_one_group_of_each_class_is_fitted_as_one_label_is():
    X, y = load("wine")
    seen = np.where(np.isin(np.arange(178), np.r_[0:5, 60:65, 140:145]), y, -1)
    model = GuidedProjection().fit(X, seen, groups=np.where(seen < 0, np.arange(178), 1000 + y))
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.predict(X) == y).mean() > 0.85


@pytest.mark.parametrize("n, n_groups", [(60, 12), (14, 6)])
def test_no_fold_has_a_part_of_a_group_or_all_of_a_class(n, n_groups):
    rng, held = np.random.default_rng(0), 0
    for _ in range(30):
        index, groups = rng.integers(-1, 3, size=n), rng.integers(0, n_groups, size=n)
        index[:3] = np.arange(3)
        rows = dppca.principal_rows(read(rng.normal(size=(n, 8))), 5)
        folds = dppca.content_folds(rows, index, 3, groups)
        for g in np.unique(groups):
            assert len(np.unique(folds[(groups == g) & (index >= 0)])) <= 1
        for fold in range(3):
            assert set(index[(index >= 0) & (folds != fold)]) == {0, 1, 2}
        assert (folds[index < 0] == -1).all()
        held += (folds >= 0).sum() / (index >= 0).sum()
    assert held > 0.4 * 30


def test_scikit_learn_takes_groups_to_the_fit(monkeypatch):
    X, y = load("wine")
    order = np.random.default_rng(0).permutation(178)
    X, y, groups = X[order], y[order], np.arange(178) // 2
    seen, fit = [], _class_guide.teach
    monkeypatch.setattr(guided_projection, "teach", lambda *given: seen.append(given[-1]) or fit(*given))
    with config_context(enable_metadata_routing=True):
        model = GuidedProjection().set_fit_request(groups=True)
        cross_val_score(model, X, y, cv=GroupKFold(2), params={"groups": groups})
    make_pipeline(StandardScaler(), GuidedProjection()).fit(X, y, guidedprojection__groups=groups)
    assert sorted(len(np.unique(of)) for of in seen) == [44, 45, 89]
