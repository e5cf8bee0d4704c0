"""SDRGLM: units, targets of every family, new rows, sparse tables, the projection ridge, errors."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

from contract.test_estimators import INAPPLICABLE
from estimators.support import load
from gnomon import SDRGLM
from gnomon.datasets import make_partial
from gnomon.export import load_model, save_model
from oracles import sdr_glm as oracle

FAMILIES = ["gaussian", "bernoulli", "multinomial", "poisson"]


def counts(rng, n=80, p=12):
    """Counts, and a class that decides their rates."""
    y = np.arange(n) % 3
    rates = np.exp(rng.normal(size=(3, p)))
    return rng.poisson(2 * rates[y]).astype(float), y


def features(family, rng):
    X, y = counts(rng)
    return (
        (X, y)
        if family in ("poisson", "multinomial")
        else ((np.log1p(X), y) if family == "gaussian" else ((X > 2) * 1.0, y))
    )


@pytest.mark.parametrize("x_family", FAMILIES)
@pytest.mark.parametrize("families", FAMILIES)
def test_every_pair_of_families_learns(x_family, families):
    X, y = features(x_family, np.random.default_rng(0))
    y = (y > 0).astype(int) if families == "bernoulli" else y
    train = np.where(np.arange(80) < 40, y, np.nan)
    model = SDRGLM(2, x_family=x_family, families=families).fit(X, train)
    assert model.families_ == families
    assert model.n_labeled_ == 40
    assert model.transform(X).shape == (80, 2)
    assert (np.diff(model.objective_path_) >= -1e-9 * np.abs(model.objective_path_[:-1])).all()
    found = model.predict(X[40:])
    if families in ("gaussian", "poisson"):
        assert np.corrcoef(found, y[40:])[0, 1] > 0.5
    else:
        assert (found == y[40:]).mean() > 0.65
        assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-9)
        assert_array_equal(model.classes_[model.predict_proba(X[40:]).argmax(axis=1)], found)


def test_the_fit_is_the_model_in_units_of_x():
    """Natural parameters in the units of the data minimize the objective of the standardized tables."""
    X, y = load("diabetes", 0.5)
    X = X * 37 + 5
    model = SDRGLM(2, tol=1e-9).fit(X, y)
    scale = np.sqrt(((X - X.mean(axis=0)) ** 2).mean())
    assert_allclose(model.x_scale_, scale)
    size = np.nanstd(y)
    Vx, bx = model.components_ / scale, (model.x_intercept_ - X.mean(axis=0)) / scale
    Vy, by = model.y_loadings_.T / size, (model.y_intercept_ - np.nanmean(y)) / size
    J = oracle.objective(
        (X - X.mean(axis=0)) / scale, ((y - np.nanmean(y)) / size)[:, None], ("gaussian", "gaussian"),
        model.embedding_, Vx, bx, Vy, by, (0.0, 0.0), model.alpha, model.penalty,
    )  # fmt: skip
    assert_allclose(-J, model.objective_path_[-1], rtol=1e-9)
    new = X[:5] + 1.0
    U = oracle.gaussian_projection((new - X.mean(axis=0)) / scale, Vx, bx, model.projection_ridge_)
    assert_allclose(model.transform(new), U, atol=1e-9)
    assert_allclose(model.predict(new), U @ model.coef_[0] + model.intercept_[0])
    assert_allclose(model.inverse_transform(U), U @ model.components_ + model.x_intercept_)


@pytest.mark.parametrize("size", [1e-150, 1e-3, 1e3, 1e150])
def test_the_size_of_x_and_of_y_does_not_matter(size):
    X, y = load("iris", 0.5)
    expected = SDRGLM().fit(X, y)
    assert_allclose(SDRGLM().fit(X * size, y).transform(X * size), expected.transform(X), atol=1e-5)
    real = X[:, 0].copy()
    a, b = SDRGLM().fit(X[:, 1:], real), SDRGLM().fit(X[:, 1:], real * size)
    assert_allclose(b.predict(X[:, 1:]) / size, a.predict(X[:, 1:]), rtol=1e-4)


def test_without_labels_transform_gives_the_scores_of_the_fit():
    X, _ = load("wine")
    for y in (None, np.full(178, -1), np.full(178, np.nan)):
        if y is None:
            model = SDRGLM(3, tol=1e-10).fit(X)
        else:
            with pytest.warns(UserWarning, match="every row as unlabeled"):
                model = SDRGLM(3, tol=1e-10).fit(X, y)
        assert_allclose(model.transform(X), model.embedding_, atol=1e-5)
        assert model.y_loadings_.shape == (0, 3)
        assert model.families_ is None
        with pytest.raises(ValueError, match="fitted with labeled rows"):
            model.predict(X)


def test_unlabeled_rows_are_left_out_of_the_labels():
    """A row without a label is not a class of its own, whatever marks it; its scores come from x alone."""
    X, y = load("wine", 0.6)
    first = SDRGLM(2).fit(X, y)
    for other in (np.where(y < 0, np.nan, y), pd.array(np.where(y < 0, None, y), dtype="Int64")):
        assert_allclose(SDRGLM(2, families="multinomial").fit(X, other).transform(X), first.transform(X), atol=1e-8)
    assert_array_equal(first.classes_, [0, 1, 2])
    hidden = y < 0
    U = oracle.gaussian_projection(
        (X[hidden] - X.mean(axis=0)) / first.x_scale_, first.components_ / first.x_scale_,
        (first.x_intercept_ - X.mean(axis=0)) / first.x_scale_, first.penalty / first.alpha,
    )  # fmt: skip
    assert_allclose(first.embedding_[hidden], U, atol=1e-3)


def test_a_mark_of_ones_own_among_counts():
    X, y = features("gaussian", np.random.default_rng(0))
    missing = SDRGLM(2, families="poisson").fit(X, np.where(y == 2, np.nan, y))
    marked = SDRGLM(2, target="counts", unlabeled=-1).fit(X, np.where(y == 2, -1, y))
    assert marked.n_labeled_ == (y < 2).sum()
    assert (marked.families_, marked.target_kind_) == ("poisson", "counts")
    assert_allclose(marked.predict(X), missing.predict(X))
    with pytest.raises(ValueError, match=r"y is -1 in row .*target="):
        SDRGLM(2, families="poisson").fit(X, np.where(y == 2, -1, y))


def test_labels_by_table_and_outputs_missing_one_by_one(rng):
    X, y = features("gaussian", rng)
    table = np.column_stack([y == 0, y > 0]).astype(float)
    table[::3, 0] = np.nan
    table[1::4, 1] = np.nan
    model = SDRGLM(2, families="bernoulli").fit(X, table)
    assert model.predict(X).shape == (80, 2)
    assert set(np.unique(model.predict(X))) <= {0.0, 1.0}
    assert ((model.predict(X) == np.column_stack([y == 0, y > 0])).mean()) > 0.8
    proba = model.predict_proba(X)
    assert [one.shape for one in proba] == [(80, len(classes)) for classes in model.classes_]
    for column, classes, one in zip(model.predict(X).T, model.classes_, proba, strict=True):
        assert_allclose(one.sum(axis=1), 1.0)
        assert_array_equal(column, classes[one.argmax(axis=1)])
    real = np.column_stack([X[:, 0], -X[:, 0] + 0.1 * X[:, 1]])
    real[::2, 1] = np.nan
    assert SDRGLM(2).fit(X[:, 2:], real).predict(X[:, 2:]).shape == (80, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_sparse_rows_are_the_dense_ones(family):
    X, y = features(family, np.random.default_rng(0))
    params = {"x_family": family, "tol": 1e-7, "projection_ridge": 0.1}
    dense = SDRGLM(2, **params).fit(X, y)
    for form in (sp.csr_matrix, sp.csc_array):
        model = SDRGLM(2, **params).fit(form(X), y)
        assert_allclose(model.transform(form(X)), model.transform(X), atol=1e-8)
        if family == "gaussian":  # a sparse table is not moved, so that its intercepts are drawn elsewhere
            assert_allclose(model.x_scale_, dense.x_scale_)
        assert_allclose(model.predict_proba(form(X)), dense.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_sparse_rows_are_never_made_dense(family, monkeypatch):
    monkeypatch.setattr("gnomon.models.sdr_glm.factors.BLOCK", 1 << 17)
    n, p = 2000, 2000  # 32 MB when dense
    rng = np.random.default_rng(0)
    X = sp.random(n, p, density=2e-3, random_state=0, data_rvs=lambda size: rng.integers(1, 4, size=size) * 1.0)
    y = np.where(np.arange(n) < 200, np.arange(n) % 2, -1)
    model = SDRGLM(2, x_family=family, max_iter=2, projection_ridge=1.0)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X.tocsr(), y)
    model.transform(X.tocsr())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * p * 0.6


def test_the_embedding_of_the_fit_follows_labels_and_transform_does_not():
    """Random labels: the scores of the fit separate them, projections of the same rows by x alone hardly do."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, size=100)
    model = SDRGLM(1, alpha=1e-4).fit(X, y)
    own = LogisticRegression(C=1e6).fit(model.embedding_, y).score(model.embedding_, y)
    Z = model.transform(X)
    assert own == 1.0
    assert LogisticRegression(C=1e6).fit(Z, y).score(Z, y) < 0.75


def digits(seed):
    """Five labeled digits a class, and all others."""
    X, y = load_digits(return_X_y=True)
    seen = make_partial(y, n_per_class=5, random_state=seed) >= 0
    return X, y, np.flatnonzero(seen), np.flatnonzero(~seen)


@pytest.mark.slow
def test_digits_from_fifty_labels():
    """The ridge of the model against none, and against the pseudo-inverse that maps training rows to their scores."""
    ours, by_pinv, plain = [], [], []
    for seed in range(4):
        X, y, train, test = digits(seed)
        model = SDRGLM(10).fit(X[train], y[train])

        def accuracy(Z_train, Z_test, y=y, train=train, test=test):
            size = Z_train.std()
            return LogisticRegression(max_iter=2000).fit(Z_train / size, y[train]).score(Z_test / size, y[test])

        ours.append(accuracy(model.transform(X[train]), model.transform(X[test])))
        by_pinv.append(accuracy(model.embedding_, X[test] @ (np.linalg.pinv(X[train]) @ model.embedding_)))
        bare = SDRGLM(10, projection_ridge=1e-9).fit(X[train], y[train])
        plain.append(accuracy(bare.embedding_, bare.transform(X[test])))
    assert min(ours) >= 0.8
    assert np.mean(by_pinv) < 0.5
    assert np.mean(ours) > np.mean(plain) + 0.03


def test_classes_of_iris_are_predicted_at_the_defaults():
    X, y = load("iris")
    found = np.concatenate(
        [SDRGLM().fit(X[train], y[train]).predict(X[test]) == y[test] for train, test in StratifiedKFold(3).split(X, y)]
    )
    assert found.mean() >= 0.92


def test_probabilities_are_as_sure_as_they_are_right_whatever_labels_are_drawn():
    """Eight labels a class separate: no draw of them makes probabilities of 0 and 1, or moves what is projected far."""
    X, y = load("wine")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    losses, sizes = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        seen = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:8] for c in range(3)])
        hidden = np.setdiff1d(np.arange(len(y)), seen)
        model = SDRGLM().fit(X, np.where(np.isin(np.arange(len(y)), seen), y, -1))
        losses.append(log_loss(y[hidden], model.predict_proba(X[hidden])))
        sizes.append(model.transform(X).std())
        assert model.projection_ridge_ == pytest.approx(10.0)
    assert max(losses) < 0.35  # guessing: 1.1
    assert max(sizes) < 1.3 * min(sizes)


@pytest.mark.parametrize("x_family", FAMILIES)
def test_order_and_rounding_change_nothing(x_family):
    X, y = features(x_family, np.random.default_rng(0))
    y = np.where(np.arange(80) % 2, y, -1)
    model = SDRGLM(2, x_family=x_family, tol=1e-9).fit(X, y)
    rows, columns = np.random.default_rng(1).permutation(80), np.random.default_rng(2).permutation(12)
    other = SDRGLM(2, x_family=x_family, tol=1e-9).fit(X[rows][:, columns], y[rows])
    assert_allclose(other.transform(X[:, columns]), model.transform(X), atol=1e-6)
    assert_allclose(other.predict_proba(X[:, columns]), model.predict_proba(X), atol=1e-6)
    assert other.projection_ridge_ == model.projection_ridge_
    if x_family == "gaussian":
        near = SDRGLM(2, tol=1e-9).fit(X * (1 + 1e-13), y)
        assert_allclose(near.transform(X), model.transform(X), atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("x_family", FAMILIES)
def test_converged_means_a_residual_within_tol(x_family):
    X, y = features(x_family, np.random.default_rng(0))
    for max_iter in (1, 2000):
        model = SDRGLM(2, x_family=x_family, max_iter=max_iter).fit(X, y)
        assert model.converged_ == (model.objective_residual_ <= model.tol) == (max_iter == 2000)


def test_model_files_and_single_precision(tmp_path):
    X, y = load("wine", 0.3)
    model = SDRGLM().fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.components_.dtype == np.float32
    save_model(model, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_names_and_special_sizes():
    X, y = load("iris")
    assert list(SDRGLM().fit(X, y).get_feature_names_out()) == ["sdrglm0", "sdrglm1"]
    assert SDRGLM().fit(X[:, :1], y).transform(X[:, :1]).shape == (150, 1)
    constant = np.column_stack([X, np.full(150, 3.0)])
    assert_allclose(SDRGLM().fit(constant, y).components_[:, 4], 0, atol=1e-8)
    alone = np.where(np.arange(150) == 4, 9, np.where(y == 0, 1, y))
    assert_array_equal(SDRGLM().fit(X, alone).classes_, [1, 2, 9])


@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_one_class_is_said_and_predicted(family):
    X, _ = load("iris")
    y = np.where(np.arange(150) < 60, 4, -1)
    with pytest.warns(UserWarning, match="single class 4"):
        model = SDRGLM(families=family).fit(X, y)
    assert_array_equal(model.predict(X), np.full(150, 4))
    assert_array_equal(model.predict_proba(X), np.ones((150, 1)))


def test_bad_parameters_and_rows(rng):
    X, y = load("iris")
    for params, match in [
        ({"x_family": "normal"}, "x_family='normal' must be one of"),
        ({"families": "beta"}, "families='beta' must be one of"),
        ({"alpha": 0}, "alpha=0 must be finite and above 0"),
        ({"penalty": -1.0}, "penalty=-1.0 must be finite and above 0"),
        ({"projection_ridge": "best"}, "projection_ridge='best' must be one of"),
        ({"projection_ridge": 0}, "projection_ridge=0 must be"),
        ({"n_components": 5}, "n_components=5 must be at most 4"),
        ({"x_family": "bernoulli"}, "X holds the value 5.1; x_family='bernoulli' wants 0 or 1"),
    ]:
        with pytest.raises(ValueError, match=match):
            SDRGLM(**params).fit(X, y)
    for family in ("poisson", "multinomial"):
        for form in (np.asarray, sp.csr_matrix):
            with pytest.raises(ValueError, match=f"Negative values in data: -4.*{family}.*counts of at least 0"):
                SDRGLM(x_family=family).fit(form(np.where(X > 7, -4.0, X)), y)
    with pytest.raises(
        ValueError, match=r"contains NaN; SDRGLM with x_family=.multinomial. needs every entry.*gnomon impute"
    ):
        SDRGLM(x_family="multinomial").fit(np.where(X > 7, np.nan, X), y)
    with pytest.raises(ValueError, match="contains NaN among its stored entries"):
        SDRGLM().fit(sp.csr_matrix(np.where(X > 7, np.nan, X)), y)
    with pytest.raises(ValueError, match="column 1 of X is never observed; drop it"):
        SDRGLM().fit(np.where(np.arange(4) == 1, np.nan, X), y)
    with pytest.raises(ValueError, match="X is constant"):
        SDRGLM().fit(np.where(X > 7, np.nan, 1.0), y)
    with pytest.raises(ValueError, match="infinity"):
        SDRGLM().fit(np.where(X > 7, np.inf, X), y)
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match="X is constant"):
            SDRGLM().fit(form(np.full((10, 3), 0.1)), y[:10])
    model = SDRGLM(x_family="poisson").fit(np.round(X), y)
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-X)
    with pytest.raises(ValueError, match=r"Z has shape \(3, 1\)"):
        model.inverse_transform(np.ones((3, 1)))


def test_missing_entries_are_left_out_of_the_projection():
    X, y = load("iris", 0.5)
    X[::4, 2] = X[1::5, 0] = np.nan
    model = SDRGLM(2).fit(X, y)
    new = np.array([[5.0, np.nan, 3.0, 1.0], [np.nan] * 4])
    V, b = model.components_ / model.x_scale_, model.x_intercept_ / model.x_scale_
    seen = [0, 2, 3]
    U = oracle.gaussian_projection(new[:1, seen] / model.x_scale_, V[:, seen], b[seen], model.projection_ridge_)
    assert_allclose(model.transform(new), [U[0], [0.0, 0.0]], atol=1e-9)
    assert_allclose(model.x_intercept_, np.nanmean(X, axis=0), atol=0.2)
    assert_allclose(model.inverse_transform(model.transform(new[1:]))[0], model.x_intercept_)
    assert np.mean(model.predict(X) == load("iris")[1]) > 0.75


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_impute_fills_in_what_was_planted(family):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 12))
    mean = {"gaussian": theta, "bernoulli": 1 / (1 + np.exp(-theta)), "poisson": np.exp(theta)}[family]
    X = {
        "gaussian": lambda: theta + 0.3 * rng.normal(size=theta.shape),
        "bernoulli": lambda: (rng.random(theta.shape) < mean).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
    }[family]()
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    ridge = 0.1 if family == "gaussian" else 3.0  # ten entries of 0 and 1 a row say little of two scores
    filled = SDRGLM(2, x_family=family, penalty=ridge).fit(holes).impute(holes)
    missing = np.isnan(holes)
    assert_array_equal(filled[~missing], X[~missing])
    columns = np.broadcast_to(np.nanmean(holes, axis=0), X.shape)
    share = ((filled - mean)[missing] ** 2).sum() / ((columns - mean)[missing] ** 2).sum()
    assert share < {"gaussian": 0.05, "bernoulli": 0.75, "poisson": 0.4}[family]
    with pytest.raises(TypeError, match="impute needs a dense X"):
        SDRGLM(2, x_family=family).fit(holes).impute(sp.csr_matrix(X))


def test_bad_targets():
    X, y = load("iris")
    real = X[:, 0]
    for family, targets, match in [
        ("poisson", real - 6, "y is -0.9 in row 0; target='counts' wants"),
        ("poisson", np.where(y == 2, -3, y), "y is -3 in row 100"),
        ("bernoulli", y, "y holds 3 classes; families='bernoulli'.* two classes"),
        (None, np.column_stack([y, y]), "column 0 of y holds 3 classes"),
        ("multinomial", np.column_stack([y > 0, y > 1]), "y holds 2 classes; .* one column"),
        (None, [y > 0, real], "columns of several kinds"),
        ("gaussian", np.ones(150), "y has the single value 1"),
        ("gaussian", np.column_stack([real, np.full(150, np.nan)]), "column 1 of y is never observed"),
        ("gaussian", np.where(y == 1, np.inf, real), "y is infinite in row 50"),
        (None, y[1:], "y has 149 rows, X has 150"),
        (None, np.where(y == 0, -1, 1), "ambiguous"),
    ]:
        with pytest.raises(ValueError, match=match):
            SDRGLM(families=family).fit(X, targets)
    with pytest.raises(ValueError, match="families='gaussian' is not for targets that are classes"):
        SDRGLM(families="gaussian", target="classes").fit(X, y)
    with pytest.raises(TypeError, match="y holds 'a', which is not a number"):
        SDRGLM(families="poisson").fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(AttributeError, match="predict_proba"):
        SDRGLM().fit(X, real).predict_proba(X)


def test_scikit_learn_checks_of_counts():
    """What the checks ask of counts does not depend on how far a fit goes: a few sweeps, so that they are quick."""
    check_estimator(SDRGLM(x_family="poisson", max_iter=3), expected_failed_checks=INAPPLICABLE["SDRGLM"])


@pytest.mark.parametrize("x_family", ["gaussian", "poisson"])
def test_the_order_of_many_rows_of_whole_numbers_decides_nothing(x_family):
    """Sweeps crawl here: a short one is not yet near the minimum."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 4200)
    Z = rng.normal(size=(4200, 2)) + 2.0 * np.eye(3)[kind][:, :2]
    noise = rng.normal(size=(4200, 12))
    X = np.clip(np.round(3.0 + 0.7 * (Z @ rng.normal(size=(2, 12)) + noise)), 1.0, 5.0)
    y, order = np.where(rng.random(4200) < 0.9, kind, -1), rng.permutation(4200)
    model = SDRGLM(2, x_family=x_family).fit(X, y)
    other = SDRGLM(2, x_family=x_family).fit(X[order], y[order])
    assert model.converged_
    assert_allclose(other.transform(X), model.transform(X), rtol=0, atol=1e-9)
    assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-8)
