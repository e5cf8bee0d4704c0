"""DomainStack: what it trains on, what it chooses by, which domain it predicts for, bad input."""

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state

from estimators.test_scl import two_domains
from gnomon import PPCA, SCL, SPPCA, DomainStack
from gnomon.numerics.folds import deal_folds


@pytest.fixture
def words(rng):
    X, y, domain = two_domains(rng)
    return X, y, domain, np.where(domain == 0, y, -1)


def stacked(X, Z, scale):
    """Features and projections of the given share, all divided by the root of the total variance of X."""
    total = X.var(axis=0).sum()
    return np.hstack([X, scale * Z * np.sqrt(total / Z.var(axis=0).sum())]) / np.sqrt(total)


def logistic(C):
    """To more digits than at its defaults."""
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-9)


def test_it_is_logistic_regression_on_features_and_projections_of_all_rows(words):
    X, y, domain, seen = words
    model = DomainStack(PCA(3), scale=0.5, C=7.0).fit(X, seen)
    F = stacked(X, PCA(3).fit_transform(X), 0.5)
    plain = logistic(7.0).fit(F[domain == 0], y[domain == 0])
    assert_allclose(model.predict_proba(X), plain.predict_proba(F), rtol=1e-5)
    assert_array_equal(model.predict(X), plain.predict(F))
    alone = DomainStack(PCA(3), augment=False, C=7.0).fit(X, seen)
    plain = logistic(7.0).fit(F[domain == 0, 30:] * 2, y[domain == 0])
    assert_allclose(alone.predict_proba(X), plain.predict_proba(F[:, 30:] * 2), rtol=1e-5)
    assert is_classifier(model)


def test_projections_centered_by_domain(words):
    X, y, domain, seen = words
    Z = PCA(3).fit_transform(X)
    Z -= np.array([Z[domain == d].mean(axis=0) for d in (0, 1)])[domain]
    model = DomainStack(PCA(3), scale=1.0, C=3.0, center="domains").fit(X, seen)
    F = stacked(X, Z, 1.0)
    plain = logistic(3.0).fit(F[domain == 0], y[domain == 0])
    assert_allclose(model.predict_proba(X, domain=domain == 0), plain.predict_proba(F), rtol=1e-6)
    assert_allclose(model.predict_proba(X[100:]), plain.predict_proba(F[100:]), rtol=1e-6)  # the unlabeled domain
    assert not np.allclose(model.predict_proba(X[:100]), plain.predict_proba(F[:100]))
    assert_array_equal(model.domains_, [False, True])
    assert model.target_ == 0


def test_choices_are_those_of_the_held_out_log_loss(words):
    X, y, domain, seen = words
    grid = {"n_components": [1, 4]}
    model = DomainStack(PCA(), grid=grid, cv=4, random_state=3).fit(X, seen)
    assert len(model.results_) == 2 * 4 * 5
    generator = np.random.default_rng(check_random_state(3).randint(2**31))
    dealt = deal_folds(X[:100] - X[:100].mean(axis=0), y[:100], 4, generator)
    folds = [(np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)) for fold in range(4)]
    for result in model.results_[::7]:
        F = stacked(X, PCA(**result["params"]).fit_transform(X), result["scale"])
        losses = []
        for train, test in folds:
            plain = logistic(result["C"]).fit(F[train], y[train])
            losses.append(log_loss(y[test], plain.predict_proba(F[test]), normalize=False))
        assert_allclose(result["log_loss"], sum(losses) / 100, rtol=1e-5)
    best = min(model.results_, key=lambda result: result["log_loss"])
    assert (model.best_params_, model.scale_, model.C_) == (best["params"], best["scale"], best["C"])
    assert model.projection_.n_components == best["params"]["n_components"]
    fixed = DomainStack(PCA(), grid=grid, scale=1.0, C=1.0, cv=StratifiedShuffleSplit(1, random_state=0)).fit(X, seen)
    assert [result["params"] for result in fixed.results_] == [{"n_components": 1}, {"n_components": 4}]


class Recorder(TransformerMixin, BaseEstimator):
    """A projection that notes what it was fitted to."""

    seen: ClassVar[list] = []

    def fit(self, X, y, domain=None):
        self.seen.append((np.array(y), np.array(domain)))
        return self

    def transform(self, X):
        return X[:, :2]


def test_held_out_labels_reach_no_projection(words):
    X, y, domain, seen = words
    Recorder.seen.clear()
    DomainStack(Recorder(), cv=4).fit(X, seen)
    labels = np.array([labels for labels, _ in Recorder.seen])
    assert labels.shape == (5, 200)
    assert (abs((labels[:4, :100] == -1).sum(axis=1) - 25) <= 1).all()  # a quarter is hidden
    assert_array_equal((labels[:4, :100] == -1).sum(axis=0), np.ones(100))  # every row once
    assert_array_equal(labels[-1], seen)
    for _, told in Recorder.seen:  # hidden rows stay in their domain
        assert_array_equal(told, (domain == 0).astype(int))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("projection", [PPCA(2), SPPCA(2), SCL(2, n_pivots=10)], ids=lambda p: type(p).__name__)
def test_sparse_equals_dense(words, form, projection):
    X, _, domain, seen = words
    dense = DomainStack(projection, scale=1.0, C=10.0).fit(X, seen)
    sparse = DomainStack(projection, scale=1.0, C=10.0).fit(form(X), seen)
    assert_allclose(sparse.predict_proba(form(X)), dense.predict_proba(X), rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_order_of_rows_decides_nothing_where_parameters_are_chosen(dtype):
    """Nor do the order of columns and names of classes: folds follow from what rows hold."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90)
    X = (rng.normal(size=(90, 12)) + rng.normal(size=(3, 12))[truth]).astype(dtype)
    y, rows, columns, names = (
        np.where(rng.random(90) < 0.6, truth, -1),
        rng.permutation(90),
        rng.permutation(12),
        [2, 0, 1],
    )
    plain = DomainStack().fit(X, y)
    other = DomainStack().fit(X[rows][:, columns], np.append(names, -1)[y[rows]])
    assert (other.scale_, other.C_) == (plain.scale_, plain.C_)
    tolerance = 1e-7 if dtype == np.float64 else 1e-5
    assert_allclose(other.predict_proba(X[:, columns])[:, names], plain.predict_proba(X), atol=tolerance)


def test_units_and_kinds_of_labels_do_not_matter(words):
    X, y, domain, seen = words
    reference = DomainStack(PCA(2), cv=3).fit(X, seen)
    told = np.where(seen < 0, None, np.array(["bad", "good"])[y])
    for rows, labels in ((1e-6 * X, seen), (X, np.where(seen < 0, np.nan, seen)), (X, told)):
        model = DomainStack(PCA(2), cv=3).fit(rows, labels)
        assert_allclose(model.predict_proba(rows), reference.predict_proba(X), rtol=1e-4)
    assert_array_equal(model.classes_, ["bad", "good"])
    assert_array_equal(model.predict(X), np.array(["bad", "good"])[reference.predict(X)])


@pytest.mark.slow
def test_projection_of_stacked_rows_helps_in_the_other_domain():
    gains = []
    for seed in range(10):
        X, y, domain = two_domains(np.random.default_rng(seed), 600)
        model = DomainStack(SCL(2, n_pivots=10), cv=3).fit(X, np.where(domain == 0, y, -1))
        plain = LogisticRegression().fit(X[domain == 0], y[domain == 0])
        gains.append(model.score(X[domain == 1], y[domain == 1]) - plain.score(X[domain == 1], y[domain == 1]))
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(10)


@pytest.mark.parametrize(
    "options, match, error",
    [
        ({"scale": 0.0}, "scale=0.0 must be", ValueError),
        ({"C": -1.0}, "C=-1.0 must be", ValueError),
        ({"center": "mean"}, "center='mean' must be one of", ValueError),
        ({"cv": 1}, "cv=1 must be at least 2", ValueError),
        ({"projection": LogisticRegression()}, "must have the methods fit and transform", TypeError),
        ({"grid": {"n_components": [99]}}, "n_components=99 must be less than the rank", ValueError),
    ],
)
def test_bad_parameters(words, options, match, error):
    with pytest.raises(error, match=match):
        DomainStack(**options).fit(words[0], words[3])


def test_bad_rows_labels_and_domains(words):
    X, y, domain, seen = words
    model = DomainStack(PCA(2), scale=1.0, C=1.0, center="domains")
    holes = np.where(np.arange(30) == 3, np.nan, X)
    fitted = model.fit(X, seen)
    for call in (lambda: model.fit(holes, seen), lambda: fitted.predict(holes)):
        with pytest.raises(ValueError, match="Input X contains NaN; DomainStack needs every entry"):
            call()
    for labels, match in (
        (None, "requires y to be passed"),
        (np.where(domain == 0, 3, -1), r"y holds the classes \[3\] .* needs at least two"),
        (y + 0.25, "Unknown label type: y holds real numbers"),
        (np.column_stack([y, y]), "must be one column for DomainStack"),
    ):
        with pytest.raises(ValueError, match=match):
            model.fit(X, labels)
    with pytest.raises(ValueError, match="X is constant"):
        model.fit(np.ones((200, 3)), seen)
    once = seen.copy()
    once[:100] = 0
    once[0] = 1
    with pytest.raises(ValueError, match="class 1 has one labeled row, so that none can be held out"):
        DomainStack(PCA(2)).fit(X, once)
    lost = [(np.flatnonzero(y[:100] == 0), np.flatnonzero(y[:100] == 1))]
    with pytest.raises(ValueError, match="cv leaves no labeled row of some class"):
        DomainStack(PCA(2), cv=lost).fit(X, seen)
    three = model.fit(X, seen, domain=np.array(["a", "b", "c"])[domain + (np.arange(200) > 150)])
    with pytest.raises(ValueError, match="of the 3 domains in fit not exactly one is without labels"):
        three.predict(X)
    assert three.predict(X, domain=["b"] * 200).shape == (200,)
    with pytest.raises(ValueError, match="domain='d' of row 0 was not in fit"):
        three.predict(X, domain=["d"] * 200)


@pytest.mark.parametrize("hidden", [-1, None, np.nan])
def test_score_counts_labeled_rows_and_refuses_labels_of_several_types(words, hidden):
    X, y, _, given = words
    model = DomainStack(SCL(2), scale=1.0, C=1.0).fit(X, given)
    seen = np.arange(len(y)) % 3 > 0
    labels = np.array([v if s else hidden for v, s in zip(y.tolist(), seen, strict=True)], dtype=object)
    assert model.score(X, labels) == pytest.approx(np.mean(model.predict(X[seen]) == y[seen]))
    mixed = np.array([v if s else "a" for v, s in zip(y.tolist(), seen, strict=True)], dtype=object)
    with pytest.raises(TypeError, match="y mixes labels of several types"):
        model.score(X, mixed)
