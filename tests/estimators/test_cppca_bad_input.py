"""CPPCA with little, strange or wrong targets: a defined result or an error that says what to do."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA, PPCA
from gnomon.export import load_model, save_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = (X[:, 0] > 0).astype(int)
THREE = np.arange(60) % 3


@pytest.mark.parametrize(
    "options, y, error, message",
    [
        ({}, 2 * Y - 1, ValueError, "ambiguous: pass unlabeled=None"),
        ({}, Y[:5], ValueError, "y has 5 rows, X has 60"),
        ({}, np.column_stack([Y, np.ones(60)]), ValueError, "column 1 of y has the single value 1 in"),
        ({}, np.column_stack([Y, np.full(60, np.nan)]), ValueError, "column 1 of y is never observed"),
        ({}, np.full(60, 0.5), ValueError, "y has the single value 0.5"),
        ({}, np.column_stack([Y, 2 * Y - 1]), ValueError, "column 1 of y holds the numbers -1 and 1 only"),
        ({}, np.where(Y, np.inf, 0.3), ValueError, "y is infinite in row"),
        ({"families": ["poisson"]}, X[:, 0], ValueError, "target='counts' wants"),
        ({"families": ["poisson"]}, Y - 3.0, ValueError, "target='counts' wants"),
        ({"families": ["gauss"]}, Y, ValueError, "must be one of 'gaussian'"),
        ({"families": ["gaussian", "poisson"]}, Y, ValueError, "target has 2 entries, y has 1 columns"),
        ({"families": "logit"}, THREE, ValueError, "3 classes, but its family is 'logit'; use 'categorical'"),
        ({"families": ["probit"]}, THREE, ValueError, "3 classes, but its family is 'probit'; use 'categorical'"),
        ({"families": "gaussian"}, np.array(["a", "b"] * 30), TypeError, "holds 'a', which is not a number"),
        ({"inference": "quadrature"}, THREE, ValueError, "use inference='auto'"),
        ({"inference": "ep"}, THREE, ValueError, "use inference='auto'"),
        ({"families": "cauchy"}, Y, ValueError, "families='cauchy'"),
        ({"label_ridge": -1.0}, Y, ValueError, "label_ridge=-1.0"),
        ({"n_components": 5}, Y, ValueError, "must be less than the rank of X"),
        ({"label_weight": 0.0}, Y, ValueError, "label_weight=0.0"),
    ],
)
def test_errors_say_what_is_wanted(options, y, error, message):
    with pytest.raises(error, match=message):
        CPPCA(**{"n_components": 2, **options}).fit(X, y)


def test_errors_of_a_fitted_model():
    model = CPPCA(2).fit(X, Y)
    with pytest.raises(ValueError, match=r"classes that were not in fit: 7. Known: \[0, 1\]"):
        model.score_samples(X, np.full(60, 7))
    with pytest.raises(ValueError, match="y has 2 columns, but the model was fitted with 1"):
        model.posterior(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="this one was fitted without any"):
        CPPCA(2).fit(X).predict(X)
    with pytest.raises(ValueError, match="fitted without targets"):
        CPPCA(2).fit(X).score_samples(X, Y)
    with pytest.raises(AttributeError, match="predict_proba"):
        CPPCA(2).fit(X, X[:, 0]).predict_proba(X)
    with pytest.raises(ValueError, match="rank of X, 0"):
        CPPCA(2).fit(np.ones((60, 5)), Y)


def test_no_label_and_one_class_warn_and_are_ppca():
    plain = PPCA(2).fit(X)
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        model = CPPCA(2).fit(X, np.full(60, -1))
    assert_allclose(model.components_, plain.components_, atol=1e-3)
    with pytest.raises(ValueError, match="without any"):
        model.predict(X)
    with pytest.warns(UserWarning, match="single class 'a'"):
        model = CPPCA(2).fit(X, ["a"] * 30 + [None] * 30)
    assert_allclose(model.components_, plain.components_, atol=1e-3)
    assert (model.predict(X) == "a").all()
    assert_allclose(model.predict_proba(X), 1.0)
    assert model.score_samples(X, ["a"] * 60).shape == (60,)


def test_one_row_for_each_class_and_all_rows():
    for rows in (np.array([0, 1]), np.arange(60)):
        y = np.full(60, -1)
        y[rows] = rows % 2
        model = CPPCA(2).fit(X, y)
        assert model.converged_
        assert np.isfinite(model.predict_proba(X)).all()
    y = np.r_[np.arange(20), np.full(40, -1)]  # twenty classes of one row
    assert_allclose(CPPCA(2).fit(X, y).predict_proba(X).sum(axis=1), 1.0)


def test_one_labeled_row_in_all():
    y = np.full(60, -1)
    y[7] = 3
    with pytest.warns(UserWarning, match="single class 3"):
        model = CPPCA(2).fit(X, y)
    assert (model.predict(X) == 3).all()
    assert_allclose(model.components_, PPCA(2).fit(X).components_, atol=1e-3)
    y = np.full((60, 2), np.nan)
    y[7] = [1.0, 2.5]
    with pytest.raises(ValueError, match="column 0 of y has the single value"):
        CPPCA(2).fit(X, y)


def test_classes_with_identical_rows_are_not_told_apart():
    twice = np.vstack([X[:10], X[:10], X])
    y = np.r_[np.zeros(10), np.ones(10), np.full(60, -1)].astype(int)
    model = CPPCA(2).fit(twice, y)
    assert_allclose(model.y_loadings_, 0.0, atol=1e-6)
    assert_allclose(model.predict_proba(twice), 0.5, atol=1e-6)


def test_labels_that_one_column_separates():
    wide = X * np.array([100.0, 1, 1, 1, 1])
    model = CPPCA(2).fit(wide, Y)
    assert model.converged_
    assert (model.predict(wide) == Y).all()
    assert np.abs(model.y_loadings_).max() < 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(CPPCA(2, label_ridge=0, max_iter=60).fit(wide, Y).predict_proba(wide)).all()


def test_several_classes_that_two_columns_separate():
    corners = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    wide = np.hstack([100.0 * corners[THREE], X])
    model = CPPCA(2).fit(wide, THREE)
    assert model.converged_
    assert (model.predict(wide) == THREE).all()
    assert np.abs(model.y_loadings_).max() < 100
    assert (np.diff(model.objective_path_) >= -1e-10 * np.abs(model.objective_)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = CPPCA(2, label_ridge=0, max_iter=60).fit(wide, THREE)
    assert np.isfinite(free.y_loadings_).all()
    assert_allclose(free.predict_proba(wide).sum(axis=1), 1.0)


def test_several_classes_with_identical_rows_are_not_told_apart():
    thrice = np.vstack([X[:10], X[:10], X[:10], X])
    y = np.r_[np.repeat([0, 1, 2], 10), np.full(60, -1)]
    assert_allclose(CPPCA(2).fit(thrice, y).predict_proba(thrice), 1 / 3, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e150])
def test_scale_of_x_does_not_matter(scale):
    a, b = CPPCA(2, tol=1e-8).fit(X, Y), CPPCA(2, tol=1e-8).fit(X * scale, Y)
    assert_allclose(b.predict_proba(X * scale), a.predict_proba(X), atol=1e-6)
    assert_allclose(b.y_loadings_, a.y_loadings_, rtol=1e-4, atol=1e-6)


def test_large_counts_and_real_outputs_in_any_units():
    counts = RNG.poisson(np.exp(2 * X[:, 0] + 5)).astype(float)
    model = CPPCA(3, families="poisson").fit(X, counts)
    assert np.corrcoef(np.log1p(model.predict(X)), np.log1p(counts))[0, 1] > 0.5
    y = X[:, 0] + 0.1 * X[:, 1]
    a, b = CPPCA(2, tol=1e-8).fit(X, y), CPPCA(2, tol=1e-8).fit(X, 1e8 * y - 5.0)
    assert_allclose(b.predict(X), 1e8 * a.predict(X) - 5.0, rtol=1e-5, atol=1e2)


@pytest.mark.parametrize("y", [Y, np.column_stack([Y, X[:, 1]]), np.array([["a", "x"], ["b", "y"]] * 30)])
def test_a_saved_model_predicts_the_same(tmp_path, y):
    model = CPPCA(2).fit(X, y)
    save_model(model, tmp_path / "model.gnomon")
    loaded = load_model(tmp_path / "model.gnomon")
    assert (loaded.predict(X) == model.predict(X)).all()
    assert (loaded.score_samples(X, y) == model.score_samples(X, y)).all()
