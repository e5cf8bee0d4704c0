"""The scikit-learn face: names, containers, copies, parameters, errors about X."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.support import assert_same_fit, load
from gnomon import PPCA, SPPCA

X, Y = load("iris", 0.5)
NAMES = ["a", "b", "c", "d"]
MODELS = [PPCA(2), SPPCA(2)]
BOTH = pytest.mark.parametrize("model", MODELS, ids=["PPCA", "SPPCA"])


def fitted(model):
    return clone(model).fit(X, Y)


@BOTH
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_feature_names_are_kept_and_checked(model, frame):
    table = frame(X, columns=NAMES) if frame is pd.DataFrame else frame(X, schema=NAMES)
    found = clone(model).fit(table, Y)
    assert list(found.feature_names_in_) == NAMES
    assert_same_fit(found, fitted(model), tol=1e-8)  # frames are stored by columns: other rounding
    assert_allclose(found.transform(table), fitted(model).transform(X))
    other = table.rename(columns={"a": "z"}) if frame is pd.DataFrame else table.rename({"a": "z"})
    with pytest.raises(ValueError, match=r"(?s)feature names.*z"):
        found.transform(other)


@BOTH
def test_names_vanish_on_a_refit_without_them(model):
    found = clone(model).fit(pd.DataFrame(X, columns=NAMES), Y)
    found.fit(X, Y)
    assert not hasattr(found, "feature_names_in_")


@BOTH
def test_names_out(model):
    assert_array_equal(fitted(model).get_feature_names_out(), [f"{type(model).__name__.lower()}{i}" for i in (0, 1)])


@BOTH
@pytest.mark.parametrize("output, frame", [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(model, output, frame):
    found = fitted(model).set_output(transform=output)
    Z = found.transform(X)
    assert isinstance(Z, frame)
    assert list(Z.columns) == list(found.get_feature_names_out())
    assert_allclose(np.asarray(Z), fitted(model).transform(X))
    assert isinstance(clone(model).set_output(transform=output).fit_transform(X, Y), frame)


def test_set_output_with_covariance():
    found = fitted(SPPCA(2)).set_output(transform="pandas")
    Z, cov = found.transform(X, return_cov=True)
    assert isinstance(Z, pd.DataFrame)
    assert cov.shape == (len(X), 2, 2)


def test_weights_are_routed():
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), SPPCA(2).set_fit_request(sample_weight=True)
        )
        pipeline.fit(X, Y, sample_weight=w)
    scaled = StandardScaler().fit_transform(X)
    assert_same_fit(pipeline[-1], SPPCA(2).fit(scaled, Y, sample_weight=w), tol=1e-12)
    assert np.abs(pipeline[-1].components_ - SPPCA(2).fit(scaled, Y).components_).max() > 1e-3


@BOTH
def test_clone_and_pickle(model):
    found = fitted(model)
    assert not hasattr(clone(found), "components_")
    assert clone(found).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.transform(X), found.transform(X))
    assert_array_equal(again.score_samples(X), found.score_samples(X))


@BOTH
def test_fit_transform_is_fit_then_transform(model):
    assert_allclose(clone(model).fit_transform(X, Y), fitted(model).transform(X), rtol=1e-12)


@BOTH
def test_fit_returns_self_and_changes_nothing_of_the_callers(model):
    Xc, yc = X.copy(), Y.copy()
    found = clone(model)
    before = found.get_params()
    assert found.fit(Xc, yc) is found
    assert found.get_params() == before
    assert_array_equal(Xc, X)
    assert_array_equal(yc, Y)


def test_refitting_forgets_the_past():
    found = SPPCA(2).fit(X, Y)
    found.fit(X, X[:, 0] + 0.1)
    assert not hasattr(found, "classes_")
    assert found.target_kind_ == "real"
    found.fit(X[:, :3])
    assert found.n_features_in_ == 3
    assert found.certificate_ is None
    assert_same_fit(found, SPPCA(2).fit(X[:, :3]), tol=1e-8)  # frames are stored by columns: other rounding


@BOTH
def test_new_rows_in_any_form_are_the_same_rows(model):
    """Arrays of floats pass the door without scikit-learn's checks; what else there is, and what is wrong, does not."""
    found = fitted(model)
    expected = found.transform(X)
    swapped = X.astype(X.dtype.newbyteorder("S"))
    for form in (X.tolist(), np.asfortranarray(X), swapped, X.astype(object), np.ma.masked_array(X)):
        assert_allclose(found.transform(form), expected, rtol=1e-12)
    for wrong, message in [
        (X[:, :3], "3 features, but"),
        (X[0], "Expected 2D array"),
        (X[None], "dim 3"),
        (X[:0], "0 sample"),
        (np.asmatrix(X), "np.matrix"),
        (X + 1j, "Complex data"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            found.transform(wrong)
    named = clone(model).fit(pd.DataFrame(X, columns=NAMES), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        named.transform(X)


@BOTH
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_in_x(model, bad):
    Xb = X.copy()
    Xb[3, 1] = bad
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(Xb, Y)
    with pytest.raises(ValueError, match="infinity"):
        fitted(model).transform(Xb)


@BOTH
def test_missing_entries_need_a_dense_x(model):
    Xb = csr_array(np.where(np.arange(X.shape[1]) == 1, np.nan, X))
    with pytest.raises(ValueError, match="NaN among its stored entries"):
        clone(model).fit(Xb, Y)


@BOTH
def test_wrong_shapes_of_x(model):
    found = fitted(model)
    for method in (found.transform, found.posterior, found.score_samples):
        with pytest.raises(ValueError, match="X has 3 features"):
            method(X[:, :3])
    with pytest.raises(ValueError, match="2D array"):
        clone(model).fit(X[:, 0])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        clone(model).fit(X[:1])
    assert found.transform(X[:1]).shape == (1, 2)


@BOTH
def test_unfitted(model):
    for method in (model.transform, model.posterior, model.score_samples, model.inverse_transform):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            method(X)
    for method in (model.sample, model.get_covariance, model.get_precision):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            method()


@pytest.mark.parametrize(
    "parameters, error, match",
    [
        ({"n_components": 0}, ValueError, "n_components=0 must be at least 1"),
        ({"n_components": 1.5}, TypeError, "n_components=1.5 must be an integer"),
        ({"n_components": True}, TypeError, "n_components=True"),
        ({"solver": "magic"}, ValueError, "solver='magic' must be one of 'auto'"),
        ({"tol": 0.0}, ValueError, "tol=0.0 must be finite and above 0"),
        ({"tol": np.nan}, ValueError, "tol=nan"),
        ({"tol": "small"}, TypeError, "tol='small'"),
        ({"max_iter": 0}, ValueError, "max_iter=0 must be at least 1"),
        ({"n_init": -1}, ValueError, "n_init=-1"),
        ({"init": "zeros"}, ValueError, "init='zeros'"),
        ({"noise_init": -1.0}, ValueError, "noise_init=-1.0"),
        ({"acceleration": "warp"}, ValueError, "acceleration='warp'"),
    ],
)
def test_bad_parameters(parameters, error, match):
    with pytest.raises(error, match=match):
        SPPCA(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "weights, match",
    [
        (np.ones(3), r"sample_weight has shape \(3,\)"),
        (np.where(np.arange(150) == 5, -1.0, 1.0), r"sample_weight\[5\]=-1\.0"),
        (np.where(np.arange(150) == 5, np.nan, 1.0), r"sample_weight\[5\]=nan"),
        (np.zeros(150), "zero for every row"),
    ],
)
def test_bad_weights(weights, match):
    with pytest.raises(ValueError, match=match):
        SPPCA(2).fit(X, Y, sample_weight=weights)


def test_rows_of_weight_zero_are_left_out():
    w = (np.arange(150) % 3 > 0).astype(float)
    assert_same_fit(SPPCA(2).fit(X, Y, sample_weight=w), SPPCA(2).fit(X[w > 0], Y[w > 0]), tol=1e-10)


def test_one_number_as_weight_is_no_weight():
    assert_same_fit(SPPCA(2).fit(X, Y, sample_weight=1.0), SPPCA(2).fit(X, Y), tol=1e-10)


def test_works_inside_pipelines_and_searches():
    y = load("iris")[1]
    pipeline = make_pipeline(StandardScaler(), SPPCA(2), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(pipeline, {"sppca__n_components": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_["sppca__n_components"] in (1, 2)
    columns = ColumnTransformer([("low", PPCA(1), [0, 1, 2])], remainder="passthrough").fit(X)
    assert columns.transform(X).shape == (150, 2)


def test_targets_in_a_list_and_rows_in_a_list():
    assert_same_fit(SPPCA(2).fit(X.tolist(), Y.tolist()), SPPCA(2).fit(X, Y), tol=1e-12)


def test_integers_are_read_as_real_rows():
    whole = np.round(X * 10).astype(int)
    assert_same_fit(SPPCA(2).fit(whole, Y), SPPCA(2).fit(whole.astype(float), Y), tol=1e-12)
