"""IFA through its public face: forms of y, shapes, units, and what bad input says."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import IFA, combine_one_vs_rest
from oracles import ifa as oracle


@pytest.fixture(scope="module")
def planted():
    """Rows of two class variables of 2 and 3 components, all numbers, and some of them."""
    rng = np.random.default_rng(5)
    ids = np.stack([rng.integers(0, 2, 240), rng.integers(0, 3, 240)], axis=1)
    Z = rng.normal(size=(240, 5))
    Z[:, :2] += 5.0 * ids
    return Z @ rng.normal(size=(5, 5)) + 4.0, ids, np.where(rng.random(ids.shape) < 0.3, ids, -1)


@pytest.fixture(scope="module")
def fitted(planted):
    X, _, known = planted
    return IFA().fit(X, known)


def test_shapes(planted, fitted):
    X, ids, known = planted
    assert fitted.transform(X).shape == (240, 5)
    assert fitted.predict(X).shape == (240, 2)
    assert [p.shape for p in fitted.predict_proba(X)] == [(240, 2), (240, 3)]
    assert fitted.mixing_.shape == fitted.unmixing_.shape == (5, 5)
    assert [len(w) for w in fitted.mix_weights_] == [2, 3]
    assert (fitted.n_latents_, fitted.n_components_, fitted.n_samples_) == (2, 5, 240)
    assert list(fitted.get_feature_names_out()) == [f"ifa{i}" for i in range(5)]
    assert fitted.converged_
    assert len(fitted.optima_) == 5
    assert_allclose(fitted.optima_.max(), fitted.log_likelihood_)
    assert (fitted.predict(X) == ids).mean() > 0.97


def test_latents_come_back_as_rows(planted, fitted):
    X = planted[0]
    assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-9)
    with pytest.raises(ValueError, match=r"Z has shape \(3, 4\)"):
        fitted.inverse_transform(np.ones((3, 4)))


def test_posteriors_are_bayes_rule_on_the_latents(planted, fitted):
    X = planted[0][:20]
    Z, found = fitted.transform(X), fitted.predict_proba(X)
    for s in range(2):
        w, m, v = fitted.mix_weights_[s], fitted.mix_means_[s], fitted.mix_variances_[s]
        joint = w * np.exp(-0.5 * (Z[:, [s]] - m) ** 2 / v) / np.sqrt(v)
        assert_allclose(found[s], joint / joint.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-12)


def test_scores_with_labels_add_up_to_the_likelihood(planted, fitted):
    X, ids, known = planted
    assert_allclose(fitted.score_samples(X, known).sum(), fitted.log_likelihood_, rtol=1e-9)
    assert_allclose(fitted.score(X), fitted.score_samples(X).mean())
    parts = [fitted.score_samples(X, np.column_stack([np.full(240, a), np.full(240, -1)])) for a in (0, 1)]
    assert_allclose(np.logaddexp(*parts), fitted.score_samples(X), rtol=1e-9)


def test_density_integrates_to_one():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200) * 3 + rng.normal(size=200)])
    model = IFA().fit(X)
    side = np.linspace(-8, 12, 201)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert_allclose(np.exp(model.score_samples(grid)).sum() * 0.1**2, 1.0, atol=1e-3)


# -- forms of y --------------------------------------------------------------------------------------------------------


def test_a_vector_of_labels_gives_vectors(planted):
    X, ids, known = planted
    model = IFA().fit(X, known[:, 1])
    assert model.predict(X).shape == (240,)
    assert model.predict_proba(X).shape == (240, 3)
    assert_array_equal(IFA().fit(X, known[:, 1:]).predict(X), model.predict(X))  # one column is a vector


def test_text_names_the_components(planted, fitted):
    X, ids, known = planted
    names = [np.array(["ant", "bee"]), np.array(["x", "y", "z"])]
    words = [np.where(known[:, s] < 0, None, names[s][known[:, s]]) for s in range(2)]
    model = IFA().fit(X, words)
    assert [classes.tolist() for classes in model.classes_] == [["ant", "bee"], ["x", "y", "z"]]
    numbers = fitted.predict(X)
    assert_array_equal(model.predict(X), np.column_stack([names[s][numbers[:, s]] for s in range(2)]))
    assert_allclose(model.score_samples(X, words), fitted.score_samples(X, known))
    vector = IFA(n_components_per_latent=4).fit(X, words[1])
    assert vector.classes_.tolist() == ["x", "y", "z", "component 3"]
    assert IFA(n_components_per_latent=4).fit(X, np.where(known[:, 1] < 0, -1, known[:, 1] + 2)).classes_.tolist() == [
        2,
        3,
        4,
        0,
    ]


@pytest.mark.parametrize("form", ["frame", "object", "float", "nullable"])
def test_forms_of_missing_labels_are_one(planted, fitted, form):
    X, _, known = planted
    holes = np.where(known < 0, np.nan, known)
    y = {
        "frame": pd.DataFrame(known),
        "object": np.where(known < 0, None, known.astype(object)),
        "float": holes,
        "nullable": pd.DataFrame(holes).astype("Int64"),
    }[form]
    assert_allclose(IFA().fit(X, y).unmixing_, fitted.unmixing_)


def test_plausibilities_of_labels_are_labels(planted, fitted):
    X, _, known = planted
    tables = [oracle.one_of_k(known[:, 0], 2), oracle.one_of_k(known[:, 1], 3)]
    assert_allclose(IFA().fit(X, plausibilities=tables).unmixing_, fitted.unmixing_)


def test_partial_labels_say_more_than_none_and_less_than_labels(planted):
    X, ids, _ = planted
    wrong = (ids[:, 1] + np.random.default_rng(0).integers(1, 3, 240)) % 3
    not_this = 1.0 - np.eye(3)[wrong]  # one component excluded in every row
    partial = IFA(init="labels").fit(X, plausibilities=[not_this])
    assert (partial.predict_proba(X)[0].argmax(axis=1) == ids[:, 1]).mean() > 0.95
    soft = np.where(np.eye(3)[ids[:, 1]] > 0, 1.0, 0.4)
    assert (IFA(init="labels").fit(X, plausibilities=[soft]).predict(X)[:, 0] == ids[:, 1]).mean() > 0.95


def test_without_labels_there_is_one_latent_or_what_was_asked_for(planted):
    X = planted[0]
    assert IFA().fit(X).n_latents_ == 1
    model = IFA(n_components_per_latent=[2, 3]).fit(X)
    assert [len(w) for w in model.mix_weights_] == [2, 3]
    assert len(model.predict_proba(X)) == 2


def test_a_latent_without_any_label_is_found_by_its_shape(planted):
    X, ids, known = planted
    y = known.copy()
    y[:, 0] = -1
    found = IFA(n_init=20).fit(X, y).predict(X)
    agreement = (found[:, 0] == ids[:, 0]).mean()
    assert max(agreement, 1 - agreement) > 0.95
    assert (found[:, 1] == ids[:, 1]).mean() > 0.95


def test_tied_uses_unlabeled_rows_and_has_one_class_variable():
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 10 == 0, y, -1)
    model = IFA(tied=True).fit(X, few)
    assert model.n_latents_ == 2
    assert model.predict(X).shape == (150,)
    assert (model.predict(X) == y).mean() > 0.95
    assert_allclose(model.mix_variances_[0], model.mix_variances_[0][0])
    assert_allclose(model.mix_weights_[0], model.mix_weights_[1])
    assert_allclose(model.score_samples(X, few).sum(), model.log_likelihood_)


# -- rows --------------------------------------------------------------------------------------------------------------


def test_sparse_and_dense_rows_agree(planted):
    X, _, known = planted
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.3, 0.0, X)
    dense, sparse = (IFA().fit(A, known) for A in (X, sp.csr_matrix(X)))
    assert_allclose(sparse.unmixing_, dense.unmixing_, atol=1e-7)
    assert_allclose(sparse.transform(sp.csr_matrix(X)), dense.transform(X), atol=1e-6)


def test_single_precision_stays(planted, fitted):
    X, _, known = planted
    model = IFA().fit(X.astype(np.float32), known)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.inverse_transform(model.transform(X.astype(np.float32))).dtype == np.float32
    assert_allclose(model.transform(X), fitted.transform(X), atol=1e-2)
    assert_allclose(model.score(X), fitted.score(X), atol=1e-2)


def test_constant_columns_and_copies_of_columns_change_nothing(planted, fitted):
    X, _, known = planted
    wide = IFA().fit(np.column_stack([X, np.ones(240), X[:, 0]]), known)
    assert wide.n_components_ == 5
    assert_array_equal(wide.predict(np.column_stack([X, np.ones(240), X[:, 0]])), fitted.predict(X))
    assert_allclose(wide.unmixing_[:, 5], 0.0)


@pytest.mark.parametrize("scale", [1e-140, 1e-5, 1e140])
def test_units_of_x_do_not_matter(planted, fitted, scale):
    X, _, known = planted
    model = IFA().fit(scale * X, known)
    assert_allclose(model.transform(scale * X), fitted.transform(X), atol=1e-4)
    assert_allclose(model.log_likelihood_, fitted.log_likelihood_ - 240 * 5 * np.log(scale), rtol=1e-7)


def test_more_columns_than_rows_need_principal_components():
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 400))
    X[:, :40] += 3.0 * ids[:, None]
    with pytest.raises(ValueError, match="pca_components"):
        IFA().fit(X, ids)
    few = np.where(np.arange(60) < 20, ids, -1)
    model = IFA(pca_components=5).fit(X, few)
    assert model.mixing_.shape == (400, 5)
    assert (model.predict(X) == ids).mean() > 0.9


def test_samples_and_their_components(fitted):
    X, y = fitted.sample(50, return_y=True, random_state=3)
    assert X.shape == (50, 5)
    assert y.shape == (50, 2)
    assert (fitted.predict(X) == y).mean() > 0.9
    assert_allclose(fitted.sample(50, random_state=3), X)


def test_same_seed_same_model_and_fit_in_a_pipeline(planted, fitted):
    X, _, known = planted
    assert_array_equal(clone(fitted).fit(X, known).unmixing_, fitted.unmixing_)
    assert make_pipeline(StandardScaler(), IFA(n_init=1)).fit(X, known).transform(X).shape == (240, 5)


# -- one latent for each class -----------------------------------------------------------------------------------------


def test_one_vs_rest_is_the_posterior_given_exactly_one(rng):
    tables = [np.column_stack([1 - p, p]) for p in rng.uniform(0.01, 0.99, (4, 6))]
    assert_allclose(combine_one_vs_rest(tables), oracle.exactly_one(tables), rtol=1e-10)
    flipped = [table[:, ::-1] for table in tables]
    assert_allclose(combine_one_vs_rest(flipped, positive=0), combine_one_vs_rest(tables))


def test_one_vs_rest_of_certain_tables():
    tables = [np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])]
    assert_allclose(combine_one_vs_rest(tables), [[1, 0, 0]])
    with pytest.raises(ValueError, match=r"probabilities\[1\] has shape \(1, 3\)"):
        combine_one_vs_rest([tables[0], np.ones((1, 3))])
    with pytest.raises(ValueError, match="positive"):
        combine_one_vs_rest(tables, positive=2)


# -- bad input ---------------------------------------------------------------------------------------------------------

X40 = np.random.default_rng(0).normal(size=(40, 3))
Y40 = np.arange(40) % 2


@pytest.mark.parametrize(
    "y, options, words",
    [
        (np.arange(40) % 3, {"n_components_per_latent": 2}, "y holds 3 classes, more than n_components_per_latent=2"),
        (Y40 - 2, {}, "y holds the numbers -2 and -1"),
        (Y40 + 0.5, {}, "Unknown label type: y holds real"),
        (Y40[:30], {}, "y has 30 rows, X has 40"),
        ([object()] * 40, {}, "Unknown label type: y holds values of type object"),
        (np.column_stack([Y40] * 4), {}, "4 latent variables need"),
        (np.column_stack([Y40] * 2), {"n_components_per_latent": [2, 2, 2]}, "is for 3 latents; y has 2"),
        (np.column_stack([Y40] * 2), {"tied": True}, "tied=True has one class variable"),
        (None, {"tied": True, "n_components_per_latent": [2, 3]}, r"\[2, 3\] has 2 numbers; tied=True has one class"),
        (Y40, {"solver": "gem", "tied": True}, "needs solver='profile'"),
        (Y40, {"solver": "newton"}, "solver='newton'"),
        (Y40, {"pca_components": 4}, "rank of X, 3"),
        (Y40, {"n_components_per_latent": 1}, "n_components_per_latent=1"),
        (Y40, {"n_components_per_latent": []}, "is empty"),
        (Y40, {"init": "kmeans"}, "init='kmeans'"),
        (Y40, {"n_init": 0}, "n_init=0"),
        (Y40, {"tol": 0}, "tol=0"),
        (sp.csr_array(Y40[:, None]), {}, "sparse"),
    ],
)
def test_what_is_wrong_is_named(y, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        IFA(**options).fit(X40, y)


@pytest.mark.parametrize(
    "X, options, words",
    [
        (np.ones((40, 3)), {}, "do not vary in any column"),
        (np.ones((40, 3)), {"noise": "isotropic"}, "do not vary in any column"),
        (np.ones((40, 3)), {"pca_components": 2}, "do not vary in any column"),
        (X40[:, [0, 0, 0]], {"n_components_per_latent": [2, 2]}, "2 latent variables need.*and it has 1"),
        (np.tile(X40, (1, 20))[:, :50], {}, "has 40 rows, and 50 directions are kept.*pca_components, at most 38"),
        (np.where(X40 > 2, np.inf, X40), {}, "contains infinity"),
        (np.where(X40 > 2, np.nan, X40), {}, "contains NaN.*impute"),
        (X40[:1], {}, "minimum of 2"),
    ],
)
def test_what_is_wrong_with_rows_is_named(X, options, words):
    y = np.column_stack([Y40] * 2) if options.get("n_components_per_latent") else Y40
    with pytest.raises(ValueError, match=words):
        IFA(**options).fit(X, y[: len(X)])


@pytest.mark.parametrize("noise", ["none", "isotropic"])
def test_a_latent_that_nobody_labeled_is_fitted(noise):
    model = IFA(noise=noise, tol=1e-3).fit(X40, np.column_stack([Y40, np.full(40, -1)]))
    assert np.isfinite(model.log_likelihood_)
    assert model.predict(X40).shape == (40, 2)
    assert np.isfinite(np.hstack(model.predict_proba(X40))).all()


@pytest.mark.parametrize(
    "tables, words",
    [
        ([np.ones((40, 2))[:30]], r"plausibilities\[0\] has shape \(30, 2\)"),
        ([np.ones((40, 2)), np.where(np.arange(40)[:, None] == 7, 0.0, np.ones(2))], r"plausibilities\[1\].*in row 7"),
        ([2.0 * np.ones((40, 2))], "numbers between 0 and 1"),
        ([np.full((40, 2), np.nan)], "numbers between 0 and 1"),
        ([np.ones((40, 1))], "at least 2"),
        ("all", "must be a list"),
        ([], "must be a list"),
    ],
)
def test_what_is_wrong_with_plausibilities_is_named(tables, words):
    with pytest.raises((ValueError, TypeError), match=words):
        IFA().fit(X40, plausibilities=tables)


def test_labels_and_plausibilities_are_not_mixed():
    with pytest.raises(ValueError, match="not both"):
        IFA().fit(X40, Y40, plausibilities=[np.ones((40, 2))])


def test_numbers_that_no_row_has_are_no_components():
    model = IFA().fit(X40, 5 * Y40)
    assert model.classes_.tolist() == [0, 5]
    with pytest.raises(ValueError, match="ambiguous"):
        IFA().fit(X40, 2 * Y40 - 1)
    with pytest.warns(UserWarning, match="single class 1"):
        assert IFA(unlabeled=-1).fit(X40, 2 * Y40 - 1).classes_.tolist() == [0, 1]


def test_rows_with_holes_are_refused():
    X = X40.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN.*impute"):
        IFA().fit(X, Y40)
    with pytest.raises(ValueError, match="contains NaN"):
        IFA().fit(X40, Y40).predict(X)


def test_a_climb_that_is_cut_short_says_so(planted):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = IFA(max_iter=1).fit(planted[0], planted[2])
    assert not model.converged_


def test_labels_of_new_rows_are_checked(fitted, planted):
    X = planted[0][:4]
    with pytest.raises(ValueError, match="y has 1 columns, but the model was fitted with 2"):
        fitted.score_samples(X, np.zeros(4, int))
    with pytest.raises(ValueError, match="classes that were not in fit: 2"):
        fitted.score_samples(X, np.full((4, 2), 2))


def test_all_rows_of_one_class_or_all_labeled_are_fitted(planted):
    X, ids, _ = planted
    assert (IFA().fit(X, ids).predict(X) == ids).mean() > 0.97
    one = IFA().fit(X, np.zeros(240, int))
    assert np.isfinite(one.log_likelihood_)
    assert (one.predict(X) == 0).all()


# -- noise -------------------------------------------------------------------------------------------------------------


def test_noisy_model_of_fewer_latents_than_columns():
    rng = np.random.default_rng(2)
    ids = np.stack([rng.integers(0, 2, 300), rng.integers(0, 3, 300)], axis=1)
    Z = 4.0 * ids + rng.normal(size=(300, 2))
    X = Z @ rng.normal(size=(2, 8)) + 0.5 * rng.normal(size=(300, 8))
    known = np.where(rng.random(ids.shape) < 0.2, ids, -1)
    model = IFA(noise="isotropic").fit(X, known)
    assert model.mixing_.shape == (8, 2)
    assert model.transform(X).shape == (300, 2)
    assert model.noise_variance_ == pytest.approx(0.25, rel=0.1)
    assert (model.predict(X) == ids).mean() > 0.95
    assert_allclose(model.score_samples(X, known).sum(), model.log_likelihood_, rtol=1e-9)
    drawn, y = model.sample(4000, return_y=True)
    assert_allclose(np.cov(drawn.T).trace(), np.cov(X.T).trace(), rtol=0.2)
    assert y.shape == (4000, 2)
    more = IFA(noise="isotropic", pca_components=4, tol=0.01).fit(X, known)
    assert (more.n_latents_, more.n_components_) == (2, 4)
    assert more.log_likelihood_ > model.log_likelihood_
    linear = (X - model.mean_) @ model.unmixing_.T
    for s in range(2):
        assert np.corrcoef(linear[:, s], model.transform(X)[:, s])[0, 1] > 0.99


def test_noise_has_no_tied_latents_and_no_gem():
    for extra in ({"tied": True}, {"solver": "gem"}):
        with pytest.raises(ValueError, match="own solver and no tied"):
            IFA(noise="isotropic", **extra).fit(X40, Y40)
    assert IFA().fit(X40, Y40).noise_variance_ == 0.0


def test_the_order_of_rows_without_clusters_decides_nothing():
    """Answers on a scale: no direction is better than another, and a search of them goes on and on."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, 120)
    Z = rng.normal(size=(120, 2)) + 2.0 * np.eye(3)[kind][:, :2]
    directions = rng.normal(size=(2, 12))
    X = np.clip(np.round(3.0 + 0.7 * (Z @ directions + rng.normal(size=(120, 12)))), 1.0, 5.0)
    model, other = (IFA([2, 2], tol=1e-8, max_iter=5000).fit(A) for A in (X, X[::-1]))
    assert_allclose(other.log_likelihood_, model.log_likelihood_, rtol=1e-9)
    assert_allclose(other.transform(X), model.transform(X), atol=1e-5)
