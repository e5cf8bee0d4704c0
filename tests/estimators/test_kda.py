"""KDA: the linear kernel is discriminant analysis, kernels against explicit features, targets, errors."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import pairwise_kernels, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from estimators.support import load
from gnomon import KDA
from gnomon.datasets import fetch_orl, make_partial
from gnomon.estimators import _kernel
from gnomon.export import load_model, save_model
from oracles import kda as oracle

RBF = {"kernel": "rbf", "gamma": 0.05}


def wine(hidden=0.0):
    X, y = load("wine", hidden)
    return scale(X), y


def same_up_to_sign(Z, other, **tol):
    signs = np.sign((Z * other).sum(axis=0))
    assert_allclose(Z, other * signs, **tol)


@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.01, 0.5])
def test_linear_kernel_has_the_probabilities_of_discriminant_analysis(name, shrinkage):
    X, y = load(name)
    X = scale(X)
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
    ours = KDA(shrinkage=shrinkage, uncertainty="plug-in").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_linear_kernel_without_ridge_has_the_directions_of_discriminant_analysis(name):
    X, y = load(name)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    Z = theirs.transform(X)
    ours = KDA(shrinkage=0, uncertainty="plug-in").fit(X, y)
    same_up_to_sign(ours.transform(X), Z - Z.mean(axis=0), rtol=1e-5, atol=1e-7)
    share = ours.between_variance_ / ours.between_variance_.sum()
    assert_allclose(share, theirs.explained_variance_ratio_, rtol=1e-6)


def test_linear_kernel_is_the_definition_with_more_features_than_rows(rng):
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 80)) + 5 * np.eye(3, 80)[y]
    new = rng.normal(size=(7, 80)) * 3
    model = KDA(shrinkage=0.05, uncertainty="plug-in").fit(X, y)
    directions, ratios = oracle.discriminant(X, y, 0.05, 80)
    same_up_to_sign(model.transform(new), (new - X.mean(axis=0)) @ directions, atol=1e-8)
    assert_allclose(model.between_variance_, ratios, rtol=1e-9)
    logs = oracle.log_posterior(X, y, new, 0.05, 80)
    assert_allclose(model.predict_proba(new), np.exp(logs), atol=1e-9)
    assert model.effective_dimension_ == 80


def test_quadratic_kernel_is_the_definition_on_its_explicit_features(rng):
    X, y = load("iris")
    X = scale(X)[::2]
    y = y[::2]

    def phi(rows):
        return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)

    model = KDA(shrinkage=0.02, kernel="poly", degree=2, gamma=1.0, coef0=0).fit(X, y)
    assert model.rank_ == 10
    new = rng.normal(size=(9, 4))
    directions, ratios = oracle.discriminant(phi(X), y, 0.02, 10)
    assert_allclose(model.between_variance_, ratios, rtol=1e-7)
    same_up_to_sign(model.transform(new), (phi(new) - phi(X).mean(axis=0)) @ directions, atol=1e-6)


def test_three_ways_to_give_a_kernel():
    X, y = wine(0.6)
    named = KDA(**RBF).fit(X, y)
    K = rbf_kernel(X, gamma=0.05)
    given = KDA(kernel="precomputed").fit(K, y)
    tables = KDA(kernel=rbf_kernel, kernel_params={"gamma": 0.05}).fit(X, y)
    by_rows = KDA(kernel=lambda a, b: np.exp(-0.05 * ((a - b) ** 2).sum())).fit(X, y)
    sparse = KDA(**RBF).fit(sp.csr_matrix(X), y)
    expected = named.transform(X)
    assert_allclose(given.transform(K), expected, atol=1e-8)
    assert_array_equal(given.predict(K[:5]), named.predict(X[:5]))
    for model in (tables, by_rows):
        assert_allclose(model.transform(X), expected, atol=1e-8)
    assert_allclose(sparse.transform(sp.csc_matrix(X)), expected, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian"])
def test_every_named_kernel_is_its_precomputed_matrix(kernel):
    X, y = wine()
    params = {"gamma": 0.01, "degree": 2, "coef0": 1.0}
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **params)
    if kernel == "sigmoid":
        with pytest.raises(ValueError, match="has the eigenvalue -"):
            KDA(kernel=kernel, **params).fit(X, y)
        return
    named, given = KDA(kernel=kernel, **params).fit(X, y), KDA(kernel="precomputed").fit(K, y)
    if kernel == "linear":  # n_features is known, and here it is the rank
        assert named.effective_dimension_ == given.effective_dimension_
    assert_allclose(named.predict_proba(X), given.predict_proba(K), atol=1e-8)


@pytest.mark.parametrize("marker", [-1, None, np.nan, pd.NA])
def test_unlabeled_rows_change_nothing(marker):
    X, y = wine()
    hidden = np.arange(len(y)) % 3 > 0
    marked = y.astype(int if isinstance(marker, int) else object)
    marked[hidden] = marker
    some, alone = KDA(**RBF).fit(X, marked), KDA(**RBF).fit(X[~hidden], y[~hidden])
    assert_allclose(some.transform(X), alone.transform(X), atol=1e-9)
    assert_array_equal(some.references_, np.flatnonzero(~hidden))
    assert some.n_labeled_ == (~hidden).sum()


def test_labels_of_any_kind_and_components():
    X, y = wine()
    names = np.array(["red", "rose", "white"])
    model = KDA(1, **RBF).fit(X, names[y])
    assert set(model.predict(X)) == set(names)
    both = KDA(**RBF).fit(X, y)
    assert model.transform(X).shape == (len(X), 1)
    assert_allclose(model.transform(X), both.transform(X)[:, :1])
    assert_allclose(model.predict_proba(X), both.predict_proba(X))  # all directions, whatever is shown
    assert list(both.get_feature_names_out()) == ["kda0", "kda1"]
    signed = KDA(unlabeled=None).fit(X, np.where(y == 0, -1, 1))
    assert_array_equal(signed.classes_, [-1, 1])
    floats = KDA(**RBF).fit(X, np.where(y == 2, np.nan, y))
    assert_array_equal(floats.classes_, [0, 1])
    assert floats.n_labeled_ == (y < 2).sum()


def test_circles_are_separated_by_a_kernel_and_not_by_a_line():
    X, y = make_circles(300, factor=0.4, noise=0.08, random_state=0)
    train, test = y.copy(), slice(100, None)
    train[test] = -1
    accuracy = {
        k: (KDA(kernel=k, gamma=1.0).fit(X, train).predict(X[test]) == y[test]).mean() for k in ("linear", "rbf")
    }
    assert accuracy["rbf"] > 0.97
    assert accuracy["linear"] < 0.7


def test_gamma_is_one_over_the_number_of_features_by_default():
    X, y = wine()
    default, given = (KDA(kernel="rbf", gamma=gamma).fit(X, y) for gamma in (None, 1 / 13))
    assert_array_equal(default.predict_proba(X), given.predict_proba(X))


@pytest.mark.parametrize("size", [1e-100, 1e-5, 1e5, 1e100])
def test_the_size_of_x_does_not_matter(size):
    X, y = wine()
    expected = KDA().fit(X, y).predict_proba(X)
    assert_allclose(KDA().fit(X * size, y).predict_proba(X * size), expected, atol=1e-8)


def test_single_precision_stays():
    X, y = wine()
    model = KDA(**RBF).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.transform(X), KDA(**RBF).fit(X, y).transform(X), atol=1e-3)


def test_a_model_file_gives_the_same_answers(tmp_path):
    X, y = wine(0.5)
    model = KDA(**RBF).fit(X, y)
    save_model(model, tmp_path / "kda.gnomon")
    loaded = load_model(tmp_path / "kda.gnomon")
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_all_labeled_rows_as_landmarks_are_the_exact_model(kernel):
    X, y = wine()
    y = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    exact, ours = (
        KDA(kernel=kernel, shrinkage=0.1).fit(X, y),
        KDA(kernel=kernel, shrinkage=0.1, n_landmarks=(y >= 0).sum()).fit(X, y),
    )
    assert_allclose(ours.transform(X), exact.transform(X), atol=1e-6)
    assert_allclose(ours.predict_proba(X), exact.predict_proba(X), atol=1e-6)


def test_few_landmarks_are_the_model_in_their_span(same_draws):
    """Against the definition on explicit features: those of the rows projected on the span of the landmarks."""
    X, y = load("iris")
    model = KDA(kernel="rbf", gamma=0.5, shrinkage=0.05, n_landmarks=12).fit(X, y)
    assert model.dual_coef_.shape == (12, 2)
    assert_array_equal(model.X_fit_, X[model.references_])
    values, vectors = np.linalg.eigh(rbf_kernel(X[model.references_], gamma=0.5))
    features = rbf_kernel(X, X[model.references_], gamma=0.5) @ (vectors / np.sqrt(values))
    explicit = KDA(shrinkage=0.05).fit(features, y)  # linear: the same 12 dimensions
    assert_allclose(model.predict_proba(X), explicit.predict_proba(features), atol=1e-6)
    K = rbf_kernel(X, gamma=0.5)
    given = KDA(kernel="precomputed", shrinkage=0.05, n_landmarks=12).fit(K, y)
    assert_allclose(given.predict_proba(K), model.predict_proba(X), atol=1e-8)
    other = KDA(kernel="rbf", gamma=0.5, shrinkage=0.05, n_landmarks=12, random_state=1).fit(X, y)
    assert set(other.references_) != set(model.references_)


def test_many_rows_by_landmarks_take_little_memory():
    X, y = make_circles(6000, factor=0.4, noise=0.05, random_state=0)
    tracemalloc.start()
    model = KDA(kernel="rbf", gamma=1.0, n_landmarks=50).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 10
    assert (model.predict(X) == y).mean() > 0.999


def test_bad_input():
    X, y = wine()
    for params, match in [
        ({"shrinkage": -0.1}, "shrinkage=-0.1 must be finite and at least 0"),
        ({"shrinkage": 1.5}, "shrinkage=1.5 must be at most 1"),
        ({"n_components": 3}, "n_components=3 must be at most 2: 3 classes"),
        ({"n_components": 0}, "n_components=0 must be at least 1"),
        ({"n_landmarks": 1}, "n_landmarks=1 must be at least 2"),
        ({"n_landmarks": 179}, "n_landmarks=179 must be at most 178, the labeled rows; use None"),
        ({"kernel": "gauss"}, "kernel='gauss' must be one of"),
        ({"kernel": "rbf", "shrinkage": 0}, "shrinkage=0 is too small"),
        ({"kernel": "precomputed"}, "X has shape .178, 13.; the kernel matrix"),
        ({"kernel": lambda A, B: np.ones(3)}, "kernel returned shape"),
    ]:
        with pytest.raises(ValueError, match=match):
            KDA(**params).fit(X, y)
    for targets, match in [
        (None, "requires y to be passed"),
        (np.full(178, -1), r"y marks every row as unlabeled"),
        (np.where(y == 1, 1, -1), "ambiguous"),
        (np.ones(178, dtype=int), r"y holds the classes \[1\]"),
        (X[:, 0], "Unknown label type: y holds real numbers; KDA"),
        (y[1:], "y has 177 rows, X has 178"),
    ]:
        with pytest.raises(ValueError, match=match):
            KDA().fit(X, targets)
    with pytest.raises(ValueError, match=r"X contains NaN; KDA needs every entry.*gnomon impute"):
        KDA().fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="labeled rows of X are all the same"):
        KDA().fit(np.ones((6, 3)), [0, 1, 0, 1, -1, -1])
    with pytest.raises(ValueError, match="at most 1: the labeled rows span 1"):
        KDA(2).fit(X[:, :1], y)
    K = polynomial_kernel(X)
    K[3, 90] += 9 * K.max()
    with pytest.raises(ValueError, match=r"X is not symmetric: entry \(3, 90\)"):
        KDA(kernel="precomputed").fit(K, y)


def test_a_kernel_matrix_that_is_not_positive_semidefinite():
    X, y = wine()
    K = rbf_kernel(X, gamma=0.5)
    K[3, 90] = K[90, 3] = -9.0
    with pytest.raises(ValueError, match="has the eigenvalue -"):
        KDA(kernel="precomputed").fit(K, y)


@pytest.mark.realdata
def test_faces_with_two_labels_a_person():
    """A small shrinkage is what makes discriminant analysis strong on faces: far better than a heavy one."""
    data = fetch_orl(size=32)
    y = make_partial(data.target, n_per_class=2, random_state=0)
    test = y < 0
    error = {
        r: (KDA(shrinkage=r).fit(data.data, y).predict(data.data[test]) != data.target[test]).mean()
        for r in (1e-3, 1.0)
    }
    assert error[1e-3] < 0.27
    assert error[1e-3] < error[1.0]


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_scikit_learn_checks_of_kernels(kernel):
    integers = "a kernel matrix cut down to integers is no kernel matrix"
    failed = {"check_classifiers_classes": "labels -1 and 1 alone are refused: -1 may mark unlabeled rows"}
    failed |= {"check_estimators_dtypes": integers} if kernel == "precomputed" else {}
    check_estimator(KDA(kernel=kernel), expected_failed_checks=failed)


# ------------------------------------------------------------------------------------- how sure probabilities are


def few_labels(n_labels, seed=0, n=400, p=30, n_classes=3):
    """Rows of overlapping classes, their classes, and those that are seen."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, :n_classes] += 1.5 * np.eye(n_classes)[y]
    seen = np.where(np.arange(n) < n_labels * n_classes, y, -1)
    return X, y, seen


@pytest.mark.parametrize("n_labels", [2, 4, 10])
def test_probabilities_are_as_sure_as_they_are_right(n_labels):
    away, plain = [], []
    for seed in range(10):
        X, y, seen = few_labels(n_labels, seed)
        rest = seen < 0
        for uncertainty, found in (("full", away), ("plug-in", plain)):
            proba = KDA(uncertainty=uncertainty).fit(X, seen).predict_proba(X[rest])
            found.append(proba.max(axis=1).mean() - (proba.argmax(axis=1) == y[rest]).mean())
    assert abs(np.mean(away)) < 0.08
    assert np.mean(np.abs(away)) < 0.5 * np.mean(np.abs(plain))


def test_how_sure_it_is_changes_no_prediction_and_no_direction():
    X, _, seen = few_labels(4)
    full, plain = KDA().fit(X, seen), KDA(uncertainty="plug-in").fit(X, seen)
    assert plain.calibration_ is None
    assert_allclose(full.transform(X), plain.transform(X))
    assert (full.predict(X) == plain.predict(X)).all()
    assert_allclose(full.predict_proba(X).sum(axis=1), 1.0)


def test_confidence_follows_from_the_rows_whatever_their_order():
    X, _, seen = few_labels(5)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = KDA().fit(X, seen), KDA().fit(X[order], seen[order])
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


def test_one_label_in_each_class_tells_nothing():
    X, _, seen = few_labels(1)
    model, plain = KDA(shrinkage=0.5).fit(X, seen), KDA(shrinkage=0.5, uncertainty="plug-in").fit(X, seen)
    assert model.calibration_["n_held_out"] == 0
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-10)


def test_many_labels_are_taken_at_their_word():
    X, y, _ = few_labels(0, n=1200)
    assert KDA().fit(X, y).calibration_ is None
    assert KDA().fit(X[:900], y[:900]).calibration_["n_held_out"] == 900


def test_coordinates_by_elimination_lead_to_the_same_projection(rng, monkeypatch):
    y = rng.integers(0, 3, 120)
    X = rng.standard_normal((120, 6)) + 2.0 * np.eye(6)[y]
    exact = KDA(kernel="rbf", gamma=0.2).fit(X, y)
    monkeypatch.setattr(_kernel, "MANY", 120)
    quick = KDA(kernel="rbf", gamma=0.2).fit(X, y)
    new = rng.standard_normal((9, 6))
    assert quick.rank_ == exact.rank_ == 119
    for table in (X, new):
        assert_allclose(quick.transform(table), exact.transform(table), atol=1e-8)
        assert_allclose(quick.predict_proba(table), exact.predict_proba(table), atol=1e-8)
    assert not np.array_equal(quick.dual_coef_, exact.dual_coef_)  # the other way was taken
