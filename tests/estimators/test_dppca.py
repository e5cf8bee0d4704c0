"""DPPCA against its dense oracle, its limits, and its promises on odd data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from gnomon import DPPCA
from gnomon.selection.baselines import lda_map
from oracles import dppca as oracle

FIXED = {"n_factors": 3, "shrinkage": 0.0, "unlabeled_weight": 1.0}


def planted(rng, n=150, hidden=0.8, **kwargs):
    """Rows of a random model, their classes, and the labels with a share of them hidden."""
    true = oracle.random_model(rng, **kwargs)
    X, index = oracle.draw(rng, true, n)
    labels = np.where(rng.random(n) < hidden, -1, index)
    labels[: 2 * len(true.prior)] = np.tile(np.arange(len(true.prior)), 2)
    X[: 2 * len(true.prior)] += true.means[labels[: 2 * len(true.prior)]] - true.means[index[: 2 * len(true.prior)]]
    index[: 2 * len(true.prior)] = labels[: 2 * len(true.prior)]
    return true, X, index, labels


# 1 oracle


@pytest.mark.parametrize("noise", ["half", "ml", 0.7])
def test_densities_and_probabilities_are_those_of_the_definition(rng, noise):
    _, X, index, labels = planted(rng)
    model = DPPCA(2, noise_variance=noise, uncertainty="plug-in", **FIXED).fit(100 + 7 * X, labels)
    X = 100 + 7 * X
    dense = oracle.of(model)
    joint = oracle.log_joint(dense, X)
    assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    assert_allclose(model.predict_proba(X), np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-9)
    assert_allclose(model.score_samples(X, index), joint[np.arange(len(X)), index], rtol=1e-9)
    assert_array_equal(model.predict(X), joint.argmax(axis=1))


@pytest.mark.parametrize("weight", [1.0, 0.3, 0.0])
def test_the_objective_is_the_log_likelihood(rng, weight):
    _, X, _, labels = planted(rng)
    model = DPPCA(1, n_factors=3, shrinkage=0.0, unlabeled_weight=weight).fit(X, labels)
    assert_allclose(model.log_likelihood_, oracle.log_likelihood(oracle.of(model), X, labels, weight), rtol=1e-9)
    assert model.log_likelihood_ == model.objective_path_[-1]


@pytest.mark.parametrize("shrinkage", [0.05, 0.3])
def test_the_log_likelihood_is_without_the_penalty_of_shrinkage(rng, shrinkage):
    _, X, _, labels = planted(rng)
    X = 3.0 + 50.0 * X
    model = DPPCA(1, n_factors=3, shrinkage=shrinkage, unlabeled_weight=0.5).fit(X, labels)
    assert_allclose(model.log_likelihood_, oracle.log_likelihood(oracle.of(model), X, labels, 0.5), rtol=1e-9)
    assert model.objective_path_[-1] < model.log_likelihood_ - 1.0


def test_single_precision_and_a_large_offset(rng):
    _, X, _, labels = planted(rng, n=60)
    rows = (1e8 + 1e3 * X).astype(np.float32)
    model = DPPCA(1, n_factors=3, shrinkage=0.0, unlabeled_weight=1.0).fit(rows, labels)
    expected = oracle.log_likelihood(oracle.of(model), rows.astype(float), labels, 1.0)
    assert_allclose(model.log_likelihood_, expected, rtol=1e-9)
    assert_allclose(model.score_samples(rows, labels).sum(), expected, rtol=1e-6)
    assert model.transform(rows).dtype == np.float32


@pytest.mark.parametrize("noise, shrinkage", [("ml", 0.0), ("half", 0.0), ("half", 0.2)])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_the_fit_is_a_fixed_point_of_em(rng, noise, shrinkage, weight):
    _, X, _, labels = planted(rng)
    model = DPPCA(
        1, n_factors=3, shrinkage=shrinkage, unlabeled_weight=weight, noise_variance=noise, tol=1e-9, max_iter=5000
    )
    fitted = oracle.of(model.fit(X, labels))
    _, _, S = oracle.within_scatter(X, oracle.responsibilities(fitted, X, labels), np.where(labels >= 0, 1.0, weight))
    target = np.trace(S) / len(S)
    s2 = None if noise == "ml" else fitted.s2
    again = oracle.em_step(fitted, X, labels, weight, s2=s2, n_factors=3, shrinkage=shrinkage, target=target)
    tolerance = 1e-3 if shrinkage else 1e-6  # what the shrinkage draws to was set before the climb
    assert_allclose(again.means, fitted.means, atol=1e-6)
    assert_allclose(again.prior, fitted.prior, atol=1e-6)
    assert_allclose(oracle.covariance(again), oracle.covariance(fitted), atol=tolerance * np.abs(S).max())
    if noise == "half":
        third = (1 - shrinkage) * np.linalg.eigvalsh(S)[-3] + shrinkage * target
        assert_allclose(fitted.s2, third, rtol=5e-3)


def test_posterior_is_that_of_the_row_without_noise(rng):
    _, X, index, labels = planted(rng)
    model = DPPCA(2, **FIXED).fit(X, labels)
    dense, D = oracle.of(model), model.components_.T
    y = np.where(np.arange(len(X)) < 4, index, -1)
    mean, cov = model.posterior(X[:8], y[:8], "plug-in")
    resp = oracle.responsibilities(dense, X[:8], y[:8])
    for i in range(8):
        expected = oracle.noise_free_moments(dense, D, model.mean_, X[i], resp[i])
        assert_allclose(mean[i], expected[0], atol=1e-8)
        assert_allclose(cov[i], expected[1], atol=1e-8)
    plug_in = DPPCA(2, **FIXED | {"uncertainty": "plug-in"}).fit(X, labels)
    assert_allclose(plug_in.transform(X[4:8], return_cov=True)[1], cov[4:], atol=1e-12)


def test_projection_solves_the_generalized_eigenproblem(rng):
    _, X, _, labels = planted(rng, n_classes=4)
    model = DPPCA(6, **FIXED).fit(X, labels)
    dense, D = oracle.of(model), model.components_.T
    S, pi = oracle.covariance(dense), dense.prior
    M = dense.means - pi @ dense.means
    B = (M * pi[:, None]).T @ M
    assert_allclose(D.T @ S @ D, np.diag([1, 1, 1, 0.01, 0.01, 0.01]), atol=1e-8)
    between = D.T @ B @ D
    top = np.sort(np.linalg.eigvals(np.linalg.solve(S, B)).real)[::-1]
    assert_allclose(np.diag(between)[:3], top[:3], rtol=1e-8)
    assert_allclose(between - np.diag(np.diag(between)), 0, atol=1e-8)
    assert_allclose(between[3:, 3:], 0, atol=1e-8)  # the rest is of factors
    assert model.n_class_components_ == 3
    assert_allclose(model.transform(X), (X - model.mean_) @ D, atol=1e-10)
    assert_allclose(model.transform(model.inverse_transform(np.eye(6))), np.eye(6), atol=1e-8)


# 2 stepwise invariant


@pytest.mark.parametrize("noise, shrinkage", [("ml", 0.0), ("half", 0.0), ("half", 0.3), (0.5, 0.0)])
@pytest.mark.parametrize("p", [8, 200])
def test_em_never_lowers_the_objective(rng, noise, shrinkage, p):
    _, X, _, labels = planted(rng, p=p, n=120, spread=0.25)
    model = DPPCA(1, n_factors=3, shrinkage=shrinkage, unlabeled_weight=1.0, noise_variance=noise, max_iter=2000).fit(
        X, labels
    )
    path = model.objective_path_
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert model.converged_
    if noise == "ml" and p == 8:
        assert path[-1] > path[0] + 0.1


# 3 two routes to one answer


def test_sparse_rows_give_the_fit_of_dense_ones(rng):
    _, X, _, labels = planted(rng, p=30)
    X[np.abs(X) < 1.0] = 0.0
    dense = DPPCA(2, **FIXED).fit(X, labels)
    for form in (sp.csr_array, sp.csc_matrix):
        sparse = DPPCA(2, **FIXED).fit(form(X), labels)
        assert_allclose(sparse.components_, dense.components_, atol=1e-7)
        assert_allclose(sparse.objective_path_[-1], dense.objective_path_[-1], rtol=1e-9)
        assert_allclose(sparse.predict_proba(form(X)), dense.predict_proba(X), atol=1e-7)


def test_wide_and_tall_tables_take_the_same_way_in_coordinates(rng, monkeypatch):
    _, X, _, labels = planted(rng, p=40, n=60)
    wide = np.hstack([X, np.zeros((60, 60))])  # 60 x 100: by inner products of rows
    tall = DPPCA(2, noise_variance=0.5, **FIXED).fit(X, labels)
    long = DPPCA(2, noise_variance=0.5, **FIXED).fit(wide, labels)
    assert_allclose(long.components_[:, :40], tall.components_, atol=1e-6)
    assert_allclose(long.predict_proba(wide), tall.predict_proba(X), atol=1e-8)


def test_weight_zero_learns_from_the_labeled_rows_only(rng):
    _, X, _, labels = planted(rng)
    known = labels >= 0
    of_labeled = FIXED | {"unlabeled_weight": 0.0, "noise_variance": "ml", "uncertainty": "plug-in"}
    alone = DPPCA(2, **of_labeled).fit(X[known], labels[known])
    model = DPPCA(2, **of_labeled).fit(X, labels)
    assert_allclose(model.components_, alone.components_, atol=1e-7)
    assert_allclose(model.class_means_, alone.class_means_, atol=1e-9)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-7)


def test_more_weight_of_unlabeled_rows_moves_the_means(rng):
    _, X, _, labels = planted(rng)
    fits = [DPPCA(1, n_factors=3, shrinkage=0.0, unlabeled_weight=w).fit(X, labels).class_means_ for w in (0, 0.2, 1)]
    assert np.abs(fits[0] - fits[1]).max() > 1e-3
    assert np.abs(fits[1] - fits[2]).max() > 1e-3


# 4 special cases


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_all_rows_labeled_and_all_factors_kept_is_lda(load):
    X, y = load(return_X_y=True)
    model = DPPCA(2, n_factors=50, shrinkage=0.0, uncertainty="plug-in").fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(
        model.predict_proba(X), LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_proba(X), atol=1e-6
    )
    assert_array_equal(model.predict(X), lda.predict(X))
    assert_allclose(np.abs(np.corrcoef(model.transform(X).T, lda.transform(X).T)[:2, 2:]), np.eye(2), atol=0.02)
    spans = [np.linalg.qr(A)[0] for A in (model.components_.T, lda.scalings_[:, :2])]
    assert_allclose(np.linalg.svd(spans[0].T @ spans[1])[1], 1.0, atol=1e-8)


def test_labeled_rows_only_and_all_factors_is_ridge_lda_in_many_dimensions(rng):
    _, X, index, labels = planted(rng, p=300, n=40, hidden=0.5, spread=0.3)
    known = labels >= 0
    model = DPPCA(2, n_factors=1000, shrinkage=1e-3, unlabeled_weight=0.0).fit(X, labels)
    rival = lda_map(X[known], labels[known], 2, shrinkage=1e-3)
    mine, other = model.transform(X), rival.project(X)
    mine, other = mine - mine[0], other - other[0]
    assert_allclose(np.abs(mine), np.abs(other), atol=1e-5 * np.abs(other).max())
    assert_array_equal(model.predict(X[~known]), rival.predict(rival.project(X[~known])))


def test_uniform_and_given_priors_are_kept(rng):
    _, X, _, labels = planted(rng)
    assert_allclose(DPPCA(1, class_prior="uniform", **FIXED).fit(X, labels).class_prior_, 1 / 3)
    assert_allclose(DPPCA(1, class_prior=[0.5, 0.3, 0.2], **FIXED).fit(X, labels).class_prior_, [0.5, 0.3, 0.2])
    with pytest.raises(ValueError, match=r"class_prior.*3 positive"):
        DPPCA(1, class_prior=[0.5, 0.5], **FIXED).fit(X, labels)


# 6 recovery


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(3)
    true, X, index, labels = planted(rng, n=4000, hidden=0.9, spread=0.7)
    settings = {"n_factors": 4, "shrinkage": 0.0, "unlabeled_weight": 1.0, "noise_variance": "ml"}
    model = DPPCA(2, uncertainty="plug-in", **settings).fit(X, labels)
    fresh, truth = oracle.draw(rng, true, 4000)
    proba = model.predict_proba(fresh)
    top, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    bins = np.digitize(top, np.linspace(1 / 3, 1, 11))
    error = sum((bins == b).mean() * abs(top[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins))
    assert 0.6 < right.mean() < 0.97
    assert error < 0.02
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)


def test_samples_have_the_moments_of_the_model(rng):
    _, X, _, labels = planted(rng)
    model = DPPCA(2, **FIXED).fit(X, labels)
    drawn, classes = model.sample(20000, return_y=True, random_state=0)
    dense = oracle.of(model)
    assert_allclose(np.bincount(classes) / 20000, dense.prior, atol=0.02)
    rows = drawn[classes == 1]
    assert_allclose(rows.mean(axis=0), dense.means[1], atol=0.15)
    assert_allclose(np.cov(rows.T), oracle.covariance(dense), atol=0.1 * np.abs(oracle.covariance(dense)).max())


# choices


def test_auto_takes_the_first_of_the_best(rng):
    _, X, _, labels = planted(rng, p=60, spread=0.3)
    model = DPPCA().fit(X, labels)
    best = max(choice.score for choice in model.agreement_path_)
    first = next(choice for choice in model.agreement_path_ if choice.score >= best - 0.04)
    assert (model.n_factors_, model.shrinkage_, model.unlabeled_weight_) == first[:3]
    assert {choice.unlabeled_weight for choice in model.agreement_path_} == {1.0, 0.1, 0.0}
    assert len({choice.n_factors for choice in model.agreement_path_}) > 2
    again = DPPCA().fit(X, labels)
    assert again.agreement_path_ == model.agreement_path_


def wine(rng):
    X, y = load_wine(return_X_y=True)
    labels = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    return StandardScaler().fit_transform(X[:, 1:6]), labels


def blobs(rng):
    y = rng.integers(0, 4, 160)
    X = 4.0 * rng.normal(size=(4, 10))[y] + 4.0 * rng.normal(size=(160, 10))
    return X, np.where(np.arange(160) < 24, y, -1)


def test_of_scores_that_are_about_equal_auto_takes_the_first():
    X, labels = blobs(np.random.default_rng(5))
    model = DPPCA().fit(X, labels)
    best = max(model.agreement_path_, key=lambda choice: choice.score)
    first = next(choice for choice in model.agreement_path_ if choice.score >= best.score - 0.04)
    assert (model.n_factors_, model.shrinkage_, model.unlabeled_weight_) == first[:3] != best[:3]


@pytest.mark.parametrize("table", [wine, pytest.param(blobs, marks=pytest.mark.slow)])
def test_auto_is_the_same_for_any_seed_order_and_names(rng, table):
    X, labels = table(rng)
    first = DPPCA().fit(X, labels)
    expected = first.predict_proba(X)
    assert len(first.agreement_path_) > 3
    order = rng.permutation(len(X))
    columns = rng.permutation(X.shape[1])
    names = np.array(rng.permutation(len(expected[0])), dtype=int)
    changed = [
        DPPCA(random_state=7).fit(X, labels).predict_proba(X),
        DPPCA().fit(X[order], labels[order]).predict_proba(X),
        DPPCA().fit(X[:, columns], labels).predict_proba(X[:, columns]),
        DPPCA().fit(X * (1 + 1e-13), labels).predict_proba(X),
        DPPCA().fit(X, np.where(labels < 0, -1, names[labels])).predict_proba(X)[:, names],
        DPPCA().fit(1e6 * X, labels).predict_proba(1e6 * X),
    ]
    for found in changed:
        assert_allclose(found, expected, atol=1e-6)


def test_auto_components_are_those_that_separate(rng):
    _, X, _, labels = planted(rng, n_classes=4)
    assert DPPCA("auto", **FIXED).fit(X, labels).components_.shape == (3, 8)
    with pytest.raises(ValueError, match="n_components='some' must be one of 'auto'"):
        DPPCA("some").fit(X, labels)


# starts, and what is said of convergence


def test_the_best_of_several_starts_is_kept():
    gains = []
    for seed in (8, 9):
        _, X, _, labels = planted(
            np.random.default_rng(seed), hidden=1.0, n=60, p=6, n_classes=2, spread=0.8, n_factors=1
        )
        options = {"n_factors": 1, "shrinkage": 0.0, "unlabeled_weight": 1.0, "noise_variance": "ml", "max_iter": 2000}
        one, several = (DPPCA(1, n_init=n, **options).fit(X, labels) for n in (1, 5))
        assert len(several.optima_) == 5
        assert_allclose(several.optima_[0], one.objective_path_[-1], rtol=1e-12)
        assert several.objective_path_[-1] == several.optima_.max()
        assert_array_equal(DPPCA(1, n_init=3, **options).fit(X, labels).optima_, several.optima_[:3])
        gains.append(several.log_likelihood_ - one.log_likelihood_)
    assert gains[0] > 10
    assert abs(gains[1]) < 0.1


@pytest.mark.parametrize("noise, shrinkage", [("half", 0.1), ("ml", 0.0)])
@pytest.mark.parametrize("max_iter", [1, 2, 1000])
def test_converged_is_what_the_residual_says(rng, noise, shrinkage, max_iter):
    _, X, _, labels = planted(rng, spread=0.4)
    model = DPPCA(1, n_factors=3, shrinkage=shrinkage, unlabeled_weight=1.0, noise_variance=noise, max_iter=max_iter)
    if max_iter < 1000:
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, labels)
    else:
        model.fit(X, labels)
    assert model.converged_ == (max_iter == 1000)
    assert model.converged_ == (model.objective_residual_ <= model.tol)


def test_transform_gives_the_frames_that_are_asked_for(rng):
    pd = pytest.importorskip("pandas")
    _, X, _, labels = planted(rng)
    model = DPPCA(2, **FIXED).set_output(transform="pandas").fit(X, labels)
    for found in (model.transform(X), model.transform(X, return_cov=True)[0], model.fit_transform(X, labels)):
        assert isinstance(found, pd.DataFrame)
        assert found.columns.tolist() == ["dppca0", "dppca1"]


def test_the_usual_number_of_factors_is_one_for_ten_rows(rng):
    X = rng.normal(size=(500, 60))
    X[::2, 0] += 6
    for n, wanted in ((100, 20), (250, 25), (500, 40)):
        labels = np.where(np.arange(n) < 6, np.arange(n) % 2, -1)
        for n_factors in ("usual", "auto"):  # halves of three rows a class cannot tell
            model = DPPCA(1, n_factors=n_factors, shrinkage=1e-2, unlabeled_weight=1.0).fit(X[:n], labels)
            assert model.n_factors_ == wanted
            assert model.agreement_path_ == []


def test_unlabeled_rows_that_mislead_get_no_weight(rng):
    """The classes differ along one axis, a far larger division of the rows lies across it."""
    n, p = 400, 30
    y, other = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = 0.3 * rng.normal(size=(n, p))
    X[:, 0] += 1.5 * y
    X[:, 1:6] += 6 * other[:, None]
    labels = np.where(np.arange(n) < 24, y, -1)
    labels[:2] = y[:2] = [0, 1]
    model = DPPCA(1).fit(X, labels)
    assert (model.predict(X) == y).mean() > 0.9


def test_one_row_a_class_takes_the_documented_choice(rng):
    _, X, index, _ = planted(rng)
    labels = np.full(len(X), -1)
    labels[:3] = index[:3]
    model = DPPCA().fit(X, labels)
    assert (model.shrinkage_, model.unlabeled_weight_) == (1e-3, 1.0)
    assert model.agreement_path_ == []
    assert np.isfinite(model.transform(X)).all()


# bad input


@pytest.mark.filterwarnings("ignore:y holds the single class")
def test_one_labeled_row_gives_factors_of_one_class(rng):
    _, X, _, _ = planted(rng)
    labels = np.full(len(X), -1)
    labels[7] = 4
    model = DPPCA(2).fit(X, labels)
    assert set(model.predict(X)) == {4}
    assert model.n_class_components_ == 0
    assert np.isfinite(model.transform(X)).all()


def test_classes_with_the_same_rows_stay_finite(rng):
    rows = rng.normal(size=(6, 5))
    X, labels = np.vstack([rows, rows]), np.repeat([0, 1], 6)
    model = DPPCA(1).fit(X, labels)
    assert_allclose(model.predict_proba(X), 0.5, atol=1e-6)
    assert np.isfinite(model.transform(X)).all()


def test_separable_classes_without_spread_stay_finite(rng):
    centers = rng.normal(size=(3, 5))
    labels = np.repeat([0, 1, 2], 4)
    for X in (centers[labels], centers[labels] + 1e-9 * rng.normal(size=(12, 5))):
        model = DPPCA(2).fit(X, np.where(np.arange(12) % 4 < 2, labels, -1))
        assert np.isfinite(model.transform(X)).all()
        assert_array_equal(model.predict(X), labels)
        assert np.isfinite(model.score_samples(X, labels)).all()


def test_errors_say_what_to_do(rng):
    _, X, index, labels = planted(rng)
    model = DPPCA(1, **FIXED).fit(X, labels)
    with pytest.raises(ValueError, match="classes that were not in fit: 9"):
        model.score_samples(X[:2], [0, 9])
    with pytest.raises(ValueError, match="every row as unlabeled"):
        DPPCA().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="Unknown label type"):
        DPPCA().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="rank of X"):
        DPPCA(9).fit(X, labels)
    with pytest.raises(ValueError, match="constant"):
        DPPCA().fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    hole = X.copy()
    hole[3, 2] = np.nan
    with pytest.raises(ValueError, match="impute"):
        DPPCA().fit(hole, labels)
    with pytest.raises(ValueError, match="impute"):
        model.predict(hole)
    for bad in (
        {"shrinkage": 1.0},
        {"unlabeled_weight": 1.5},
        {"n_factors": 0},
        {"noise_variance": "none"},
        {"noise_variance": -1.0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            DPPCA(**bad).fit(X, labels)


def test_units_and_types_of_labels_do_not_matter(rng):
    _, X, _, labels = planted(rng)
    names = np.array(["a", "b", "c", None], dtype=object)[labels]
    plain, text = DPPCA(2).fit(X, labels), DPPCA(2).fit(X, names)
    floats = DPPCA(2, target="classes").fit(X, np.where(labels < 0, np.nan, labels))
    assert_allclose(text.components_, plain.components_)
    assert_allclose(floats.components_, plain.components_)
    assert text.predict(X[:1])[0] == "abc"[plain.predict(X[:1])[0]]
    small = DPPCA(2).fit(1e-100 * X, labels)
    assert_allclose(small.transform(1e-100 * X), plain.transform(X), atol=1e-6)
    assert_allclose(small.predict_proba(1e-100 * X), plain.predict_proba(X), atol=1e-6)


def test_one_label_per_class_is_predicted_with_a_confidence_by_a_prior_which_is_said(rng):
    y = np.arange(60) % 3
    X = 6.0 * np.eye(3)[y] @ rng.normal(size=(3, 8)) + rng.normal(size=(60, 8))
    seen = np.where(np.arange(60) < 3, y, -1)
    model = DPPCA().fit(X, seen)
    assert model.calibration_["n_held_out"] == 0
    assert "prior temperature" in model.describe().fit.remarks[0]
    assert model.predict_proba(X).max(axis=1).mean() < 0.9
    plain = DPPCA(uncertainty="plug-in").fit(X, seen)
    assert plain.calibration_ is None
    assert plain.describe().fit.remarks == ()
    assert_allclose(plain.predict_proba(X), oracle.responsibilities(oracle.of(plain), X, [-1] * 60), atol=1e-6)
