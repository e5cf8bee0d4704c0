"""SEPCA as an estimator: certificate, projection of new rows, classifier, bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics.pairwise import rbf_kernel

from gnomon import SEPCA
from gnomon.export import load_model, save_model

ROOT = np.sqrt(3) / 2
TRIANGLE = np.array([[0, 1], [-ROOT, -0.5], [ROOT, -0.5]])


def circles(rng, n=95):
    """Two rings, one inside the other, and a uniform third dimension."""
    angle, y = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    radius = np.where(y, 1.0, 2.0) + 0.1 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-2, 2, n)]), y


def clusters(rng, n=80):
    """Four normal clusters and a uniform third dimension."""
    y = np.arange(n) % 4
    centers = np.array([[2, 2], [-2, 2], [-2, -2], [2, -2]])
    return np.column_stack([centers[y] + 0.5 * rng.normal(size=(n, 2)), rng.uniform(-4, 4, n)]), y


def same_span(a, b, tol=1e-4):
    """Codes agree up to sign, column by column."""
    signs = np.sign((a * b).sum(axis=0))
    assert_allclose(a * signs, b, atol=tol * np.abs(b).max())


@pytest.mark.parametrize("y", [None, ["a"] * 3], ids=["no labels", "one class"])
@pytest.mark.filterwarnings("ignore:y holds the single class:UserWarning")
def test_triangle(y):
    model = SEPCA(1, penalty=0.2, tol=1e-8).fit(TRIANGLE, y)
    assert_allclose([model.certificate_["lower"], model.certificate_["upper"]], -1.700160, atol=1e-6)
    assert model.relaxation_tight_ is False
    model = SEPCA(1, penalty=0.2, kernel="precomputed", rank_exact=True).fit(TRIANGLE @ TRIANGLE.T, y)
    assert_allclose(model.rank_value_, -2.142814, atol=1e-6)
    assert model.relaxation_tight_ is False


def test_circles_are_certified_and_told_apart(rng):
    X, y = circles(rng)
    new, truth = circles(rng, 120)
    model = SEPCA(2, kernel="rbf", gamma=0.5).fit(X, y)
    assert model.n_iter_ <= 60
    assert model.certificate_["gap"] <= 1e-6
    assert np.mean(model.predict(new) == truth) > 0.97
    assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


def test_clusters_are_certified_and_told_apart(rng):
    X, y = clusters(rng)
    new, truth = clusters(rng, 120)
    model = SEPCA(2).fit(X, y)
    assert model.n_iter_ <= 60
    assert model.certificate_["gap"] <= 1e-6
    assert np.mean(model.predict(new) == truth) > 0.97


@pytest.mark.parametrize("penalty, tight", [(0.1, False), (1.0, True)])
def test_digits_are_certified(penalty, tight):
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X[rows], y[rows]
    model = SEPCA(10, penalty=penalty).fit(X[:200], y[:200])
    assert model.n_iter_ <= 60
    assert model.certificate_["gap"] <= 1e-6
    assert model.relaxation_tight_ is tight
    assert np.mean(model.predict(X[200:]) == y[200:]) > 0.85


def test_two_routes_to_a_linear_kernel_agree():
    X, y = load_iris(return_X_y=True)
    new = X[::7] + 0.1
    by_columns = SEPCA(2).fit(X, y)
    by_kernel = SEPCA(2, kernel="precomputed").fit(X @ X.T, y)
    by_function = SEPCA(2, kernel=lambda a, b: a @ b.T).fit(X, y)
    sparse = SEPCA(2).fit(csr_matrix(X), y)
    codes = by_columns.transform(new)
    same_span(by_kernel.transform(new @ X.T), codes)
    same_span(by_function.transform(new), codes)
    same_span(sparse.transform(csr_matrix(new)), codes)
    assert_allclose(by_kernel.predict_proba(new @ X.T), by_columns.predict_proba(new), atol=1e-4)


def test_fewer_rows_than_features_give_the_same(rng):
    X, y = rng.normal(size=(20, 30)), np.arange(20) % 3
    model, other = SEPCA(2).fit(X, y), SEPCA(2, kernel="precomputed").fit(X @ X.T, y)
    new = rng.normal(size=(5, 30))
    same_span(model.transform(new), other.transform(new @ X.T))


def test_kernel_scale_origin_and_units_change_nothing(rng):
    X, y = clusters(rng)
    codes = SEPCA(2).fit(X, y).transform(X)
    for scale, origin in ((1e-8, 0.0), (1e8, 0.0), (1.0, 1e4)):
        moved = scale * (X + origin)
        same_span(SEPCA(2).fit(moved, y).transform(moved), codes)


def test_codes_tend_to_principal_components(rng):
    X, y = clusters(rng)
    Z = SEPCA(2, penalty=1e6).fit(X, y).embedding_
    centered = X - X.mean(axis=0)
    centered /= np.sqrt((centered**2).sum() / len(X))
    U = np.linalg.svd(np.hstack([centered, np.eye(4)[y] - 0.25]), full_matrices=False)[0][:, :2]
    same_span(Z, U, 1e-3)


def test_training_rows_go_through_the_same_map(rng):
    X, y = circles(rng)
    model = SEPCA(2, kernel="rbf", gamma=0.5).fit(X, y)
    K = rbf_kernel(X, gamma=0.5)
    K -= K.mean(axis=0)
    K = (K.T - K.mean(axis=1)).T
    K /= np.trace(K) / len(K)
    Z = model.embedding_
    smooth = Z.mean(axis=0) + K @ np.linalg.solve(K + model.projection_ridge_ * np.eye(len(K)), Z - Z.mean(axis=0))
    assert_allclose(model.transform(X), smooth, atol=1e-7)
    assert_allclose(Z.T @ Z, np.eye(2), atol=1e-10)


def test_pseudo_inverse_interpolates_what_the_ridge_smooths(rng):
    X, y = circles(rng)
    model = SEPCA(2, kernel="rbf", gamma=0.5, projection_ridge="pinv").fit(X, y)
    centered = model.embedding_ - model.embedding_.mean(axis=0)
    assert_allclose(model.transform(X), centered, atol=1e-5)  # constants are outside the span of a centered kernel
    assert SEPCA(2, kernel="rbf", gamma=0.5, projection_ridge=0.3).fit(X, y).projection_ridge_ == 0.3


def test_unlabeled_rows_inform_codes_through_x_alone(rng):
    X, y = clusters(rng)
    hidden = np.where(np.arange(80) < 16, y, -1)
    model = SEPCA(2).fit(X, hidden)
    assert model.n_labeled_ == 16
    assert np.mean(model.predict(X) == y) > 0.95
    assert_array_equal(model.classes_, np.arange(4))
    named = np.where(hidden < 0, None, np.array(list("abcd"), dtype=object)[hidden])
    other = SEPCA(2).fit(X, named)
    assert_allclose(other.transform(X), model.transform(X))
    assert_array_equal(other.predict(X), np.array(list("abcd"))[model.predict(X)])
    floats = np.where(hidden < 0, np.nan, hidden)
    assert_allclose(SEPCA(2).fit(X, floats).transform(X), model.transform(X))


def test_no_labels_is_the_unsupervised_model(rng):
    X, _ = clusters(rng)
    model = SEPCA(2).fit(X)
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        other = SEPCA(2).fit(X, [None] * 80)
    assert_allclose(other.transform(X), model.transform(X))
    with pytest.raises(ValueError, match="fitted with labeled rows"):
        model.predict(X)


def test_landmarks_of_all_rows_are_the_exact_model(rng):
    X, y = circles(rng)
    exact = SEPCA(2, kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
    every = SEPCA(2, kernel="rbf", gamma=0.5, tol=1e-8, n_landmarks=95).fit(X, y)
    some = SEPCA(2, kernel="rbf", gamma=0.5, n_landmarks=40).fit(X, y)
    assert_allclose(every.transform(X), exact.transform(X))
    assert len(some.landmarks_) == 40
    assert some.X_fit_.shape == (40, 3)
    new, truth = circles(rng, 120)
    assert np.mean(some.predict(new) == truth) > 0.95


def test_float32_stays_float32(rng):
    X, y = circles(rng)
    model = SEPCA(2, kernel="rbf", gamma=0.5).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.embedding_.dtype == np.float32


def test_duplicate_rows_are_no_trouble(rng):
    X, y = clusters(rng)
    model = SEPCA(2).fit(np.vstack([X, X]), np.concatenate([y, y]))
    codes = model.transform(np.vstack([X, X]))
    assert np.isfinite(codes).all()
    assert_allclose(codes[:80], codes[80:], atol=1e-8)


def test_stopping_early_warns_and_says_how_far(rng):
    X, y = circles(rng)
    with pytest.warns(UserWarning, match="max_iter.*relative gap"):
        model = SEPCA(2, kernel="rbf", max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert model.certificate_["gap"] > 1e-6


@pytest.mark.slow
def test_penalty_is_chosen_by_labels_that_were_hidden():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y, new, truth = X[rows[:150]], y[rows[:150]], X[rows[150:]], y[rows[150:]]
    model = SEPCA(6, penalty="auto").fit(X, y)
    penalties, losses = model.penalty_losses_["penalty"], model.penalty_losses_["log_loss"]
    assert model.penalty_ == penalties[losses.argmin()]
    worst = float(penalties[losses.argmax()])

    def loss(penalty):
        proba = SEPCA(6, penalty=penalty).fit(X, y).predict_proba(new)
        return -np.log(proba[np.arange(len(truth)), truth]).mean()

    assert loss(model.penalty_) < loss(worst) - 0.02
    assert abs(loss(model.penalty_) - losses.min()) < 0.3
    assert SEPCA(6).fit(X, y).penalty_losses_ is None


@pytest.mark.filterwarnings("ignore:y holds the single class:UserWarning")
def test_the_order_of_rows_does_not_choose_the_penalty():
    X, truth = load_iris(return_X_y=True)
    y = np.where(np.random.default_rng(0).random(150) < 0.3, truth, -1)
    order = np.random.default_rng(11).permutation(150)
    plain, other = SEPCA(2, penalty="auto").fit(X, y), SEPCA(2, penalty="auto").fit(X[order], y[order])
    assert_allclose(other.penalty_losses_["log_loss"], plain.penalty_losses_["log_loss"], rtol=1e-4)
    assert other.penalty_ == plain.penalty_
    assert_allclose(other.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_penalty_cannot_be_chosen_without_labels_to_hide(rng):
    X, _ = clusters(rng)
    for y in (None, ["a"] * 80, ["a", "b"] + [None] * 78):
        with pytest.raises(ValueError, match="penalty='auto' needs two classes"):
            SEPCA(2, penalty="auto").fit(X, y)


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"penalty": 0.0}, ValueError, r"penalty=0.0 must be finite and above 0"),
        ({"penalty": -1}, ValueError, "penalty=-1"),
        ({"penalty": "cv"}, ValueError, "penalty='cv' must be one of 'auto'"),
        ({"n_components": 3}, ValueError, r"n_components=3 must be at most 2: less than n_samples=3"),
        ({"n_components": 0}, ValueError, "n_components=0 must be at least 1"),
        ({"solver": "newton"}, ValueError, "solver='newton' must be one of"),
        ({"projection_ridge": "none"}, ValueError, "projection_ridge='none' must be one of"),
        ({"n_landmarks": 1}, ValueError, "n_landmarks=1 must be at least 2"),
        ({"rank_exact": "yes"}, ValueError, "rank_exact='yes'"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        SEPCA(**parameters).fit(TRIANGLE, [0, 1, 1])


def test_bad_data_is_named(rng):
    X, y = clusters(rng)
    with pytest.raises(ValueError, match=r"the eigenvalue -\d.* not positive semi-definite"):
        SEPCA(1, kernel="precomputed").fit(np.array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]]), [0, 1, 1])
    with pytest.raises(ValueError, match="all 4 rows of X are the same"):
        SEPCA(1).fit(np.ones((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="all 4 rows of X are the same"):
        SEPCA(1, kernel="rbf").fit(np.ones((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Unknown label type: y holds real numbers; SEPCA"):
        SEPCA(2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"X contains NaN; SEPCA needs every entry.*gnomon impute"):
        SEPCA(2).fit(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match="y has 79 rows, X has 80"):
        SEPCA(2).fit(X, y[1:])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "rank_exact": True},
        {"projection_ridge": "pinv"},
        {"kernel": "precomputed"},
    ],
    ids=str,
)
def test_whole_weights_are_repeated_rows(parameters):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 4)), rng.normal(size=(7, 4))
    y = np.where(np.arange(40) % 3 == 0, -1, X[:, 0] > 0)
    weights = rng.integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    tables = (X, X[rows], new, new)
    if "kernel" in parameters and parameters["kernel"] == "precomputed":
        tables = (rbf_kernel(X), rbf_kernel(X[rows]), rbf_kernel(new, X), rbf_kernel(new, X[rows]))
    model, twice = SEPCA(2, **parameters).fit(tables[0], y, weights), SEPCA(2, **parameters).fit(tables[1], y[rows])
    tol = 1e-5 if "rank_exact" in parameters else 1e-8
    for name in ("upper", "lower", "gap"):
        assert_allclose(model.certificate_[name], twice.certificate_[name], rtol=1e-9, atol=1e-9)
    assert_allclose(model.rank_value_, twice.rank_value_, rtol=1e-9)
    assert_allclose(model.transform(tables[2]), twice.transform(tables[3]), atol=tol)
    assert_allclose(model.predict_proba(tables[2]), twice.predict_proba(tables[3]), atol=tol)
    used = np.flatnonzero(weights)
    assert_allclose(model.embedding_[np.searchsorted(used, rows)], twice.embedding_, atol=tol)
    assert_allclose(model.embedding_.T @ (weights[used, None] * model.embedding_), np.eye(2), atol=1e-9)
    assert (model.n_samples_, model.projection_ridge_) == (len(used), pytest.approx(twice.projection_ridge_))


def test_weights_of_a_sparse_table_and_of_labels(rng):
    X, y = clusters(rng)
    weights = rng.uniform(0.5, 3, 80)
    dense = SEPCA(2).fit(X, y, weights)
    assert_allclose(SEPCA(2).fit(csr_matrix(X), y, weights).transform(csr_matrix(X)), dense.transform(X), atol=1e-6)
    few = SEPCA(2, kernel="rbf", n_landmarks=20).fit(X, y, weights)
    assert few.certificate_["gap"] <= 1e-6
    assert np.mean(few.predict(X) == y) > 0.7  # guessing: 0.25
    loud = SEPCA(2, penalty="auto").fit(X, y, weights)
    assert loud.penalty_losses_["log_loss"].min() < 0.5


def test_weights_that_cannot_be_used(rng):
    X, y = clusters(rng)
    with pytest.raises(ValueError, match="solver='bundle' takes no sample_weight; use solver='fista'"):
        SEPCA(2, solver="bundle").fit(X, y, np.ones(80))
    with pytest.raises(ValueError, match=r"sample_weight\[3\]=-1.0 must be finite and not negative"):
        SEPCA(2).fit(X, y, np.where(np.arange(80) == 3, -1.0, 1.0))


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf"}, {"penalty": "auto", "projection_ridge": "pinv"}])
def test_a_model_file_gives_the_same_answers(rng, tmp_path, parameters):
    X, y = clusters(rng)
    model = SEPCA(2, **parameters).fit(X, np.where(np.arange(80) % 3 == 0, -1, y))
    save_model(model, tmp_path / "m.gnomon")
    again = load_model(tmp_path / "m.gnomon")
    assert_array_equal(again.transform(X), model.transform(X))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_one_class_warns_and_predicts_it(rng):
    X, _ = clusters(rng)
    with pytest.warns(UserWarning, match="single class 'a'"):
        model = SEPCA(2).fit(X, ["a"] * 80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(model.predict(X)) == {"a"}
        assert_allclose(model.transform(X), SEPCA(2).fit(X).transform(X), atol=1e-4)


@pytest.mark.parametrize(
    "weights", [np.full(80, 1e15), np.full(80, 1e300), np.r_[1e300, np.ones(79)]], ids=["each", "huge", "one"]
)
def test_more_rows_than_floats_can_count_are_refused(weights):
    X, y = clusters(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"sample_weight sums to .* at most 9.0e\+15 in all: divide it by a number"):
        SEPCA(2).fit(X, y, weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_as_large_as_allowed_are_no_trouble():
    """Rows that count 1e12 times: the penalty is nothing beside them, and the bounds hold."""
    X, y = clusters(np.random.default_rng(0))
    model = SEPCA(2, tol=1e-4).fit(X, y, np.full(80, 1e12))
    assert model.certificate_["lower"] <= model.certificate_["upper"]
    assert model.certificate_["gap"] <= 1e-4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["fista", "bundle", "coordinate"])
def test_converged_means_a_residual_within_tol(solver):
    X, y = clusters(np.random.default_rng(0), 24)
    for max_iter, tol in ((1, 1e-3), (40, 2e-2)):
        model = SEPCA(1, penalty=1.0, solver=solver, tol=tol, max_iter=max_iter).fit(X, y)
        assert model.converged_ == (model.objective_residual_ <= tol) == (max_iter == 40)
        assert model.objective_residual_ >= model.certificate_["gap"]
