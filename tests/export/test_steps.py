"""What stands before a model of a table: columns are found by name, gaps are filled, and a file keeps both."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from gnomon import DPPCA, PPCA, SPPCA
from gnomon.export import Columns, GapFiller, load_model, save_model
from gnomon.rows.spare import spare_rank

FRAME = load_wine(as_frame=True).data
Y = np.where(np.arange(178) % 4 == 0, load_wine().target, -1)


@parametrize_with_checks([Columns(), GapFiller()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("native", [pd.DataFrame, lambda frame: pl.from_pandas(frame)], ids=["pandas", "polars"])
def test_permuted_columns_are_put_right_and_wrong_ones_refused(native):
    model = make_pipeline(Columns(ignored=["cultivar"]), StandardScaler(), SPPCA(2)).fit(native(FRAME), Y)
    want = model.predict(FRAME.to_numpy())
    turned = FRAME[FRAME.columns[::-1]].assign(cultivar="?")
    assert_array_equal(model.predict(native(turned)), want)
    with pytest.raises(
        ValueError, match="X: the model needs 'alcohol', which X lacks; the model does not know 'Alcohol': leave it out"
    ):
        model.predict(native(FRAME.rename(columns={"alcohol": "Alcohol"})))
    with pytest.raises(ValueError, match="X has 12 features, but Columns is expecting 13"):
        model.predict(FRAME.to_numpy()[:, 1:])


@pytest.mark.parametrize("native", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_answers_become_columns_and_new_ones_count_as_empty(native, tmp_path):
    rows = {"q": ["no", "yes", None, "no"], "a": [1.0, 2.0, 4.0, 3.0], "code": [1, 2, 10, 1], "y": list("xyxy")}
    model = Pipeline([("columns", Columns(["y"], ["q", "code"])), ("model", PPCA(1))]).fit(native(rows))
    columns, nan = model["columns"], np.nan
    names = ["a", "q=no", "q=yes", "code=1", "code=2", "code=10"]
    assert columns.get_feature_names_out().tolist() == names
    want = [[1, 1, 0, 1, 0, 0], [2, 0, 1, 0, 1, 0], [4, nan, nan, 0, 0, 1], [3, 1, 0, 1, 0, 0]]
    assert_array_equal(columns.transform(native(rows)), want)
    save_model(model, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    assert_array_equal(loaded.transform(np.array(want)), model.transform(native(rows)))
    new = native(rows | {"q": ["maybe", "yes", None, "no"]})
    with pytest.warns(UserWarning, match="X: 'maybe' in 'q' is no answer of the fit, and counts as empty"):
        assert_array_equal(loaded["columns"].transform(new), [[1, nan, nan, 1, 0, 0], *want[1:]])
    with pytest.raises(ValueError, match="the model needs 'q', which X lacks"):
        loaded.transform(native({name: rows[name] for name in ("a", "code")}))
    with pytest.raises(ValueError, match="X has no column 'z' of those in categorical"):
        Columns(categorical=["z"]).fit(native(rows))


def test_a_step_of_an_earlier_version_has_no_answers():
    step = Columns().fit(FRAME)
    del step.answers_
    assert_array_equal(step.transform(FRAME), FRAME.to_numpy())


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="X has several columns named 'a'"):
        Columns().fit(pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]))


def test_gaps_are_filled_as_the_model_expects():
    X = load_iris().data
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    filled = GapFiller(2).fit(X).transform(holes)
    assert_allclose(filled, PPCA(2).fit(X / X.std(axis=0)).impute(holes / X.std(axis=0)) * X.std(axis=0))
    assert_array_equal(GapFiller(2).fit(X).transform(X), X)


def test_gaps_are_filled_alike_in_any_units_and_precision():
    X = load_iris().data
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    filled, units = GapFiller().fit(holes).transform(holes), np.array([1e-6, 1.0, 1e3, 1e6])
    assert_allclose(GapFiller().fit(holes * units).transform(holes * units), filled * units, rtol=1e-6)
    short = GapFiller().fit(holes.astype(np.float32)).transform(holes.astype(np.float32))
    assert short.dtype == np.float32
    assert_allclose(short, filled, rtol=1e-4)


def test_parts_that_no_row_joins_are_filled_by_their_means():
    X = np.random.default_rng(0).normal(size=(80, 2)) @ np.random.default_rng(1).normal(size=(2, 12))
    X += 0.1 * np.random.default_rng(2).normal(size=X.shape)
    holes = np.where((np.arange(80)[:, None] + np.arange(12)) % 2, np.nan, X)
    filled = GapFiller().fit(holes).transform(holes)
    assert_allclose(filled, np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes), rtol=1e-6)


def test_gaps_of_a_table_without_spare_rank_get_the_mean():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0], [6.0, 5.0]])
    filler = GapFiller().fit(X)
    assert filler.model_ is None
    assert filler.transform(X)[2].tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    "columns",
    [
        lambda X: np.column_stack([X, X[:, 0]]),
        lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
        lambda X: 100 * np.abs(X) / np.abs(X).sum(axis=1, keepdims=True),
        lambda X: X * 0 + 3.0,
    ],
    ids=["duplicated", "constant", "percent", "nothing varies"],
)
def test_tables_of_less_than_full_rank_can_be_filled(columns):
    X = columns(np.random.default_rng(0).normal(size=(40, 3)))
    assert spare_rank(sp.csc_array(X)) == spare_rank(X)
    holes = X.copy()
    holes[::5, 0] = np.nan
    filled = GapFiller().fit(X).transform(holes)
    assert np.isfinite(filled).all()
    assert_array_equal(filled[np.isfinite(holes)], X[np.isfinite(holes)])


def test_the_spare_rank_does_not_depend_on_units():
    X = np.random.default_rng(0).normal(size=(50, 3)) @ np.random.default_rng(1).normal(size=(3, 6))
    assert spare_rank(X) == 2
    assert spare_rank(X * 1e-100) == spare_rank(X * 1e100) == 2
    assert spare_rank(X * 10.0 ** np.arange(-2, 4)) == 2
    assert spare_rank(X + 1e3) == 2


def test_a_column_that_is_never_observed_is_named():
    holes = np.array([[1.0, np.nan], [2.0, np.nan], [4.0, np.nan]])
    with pytest.raises(ValueError, match="column 1 of X is never observed; drop it"):
        GapFiller().fit(holes)
    with pytest.raises(ValueError, match="column 'b' of X is never observed"):
        GapFiller().fit(pd.DataFrame(holes, columns=["a", "b"]))


@pytest.mark.parametrize("spread", [0, 4, 6, 8, 11, 14, 18])
@pytest.mark.parametrize("n, p", [(50, 6), (5, 30), (90, 80)])
def test_the_spare_rank_is_what_ppca_takes(n, p, spread):
    """Columns whose units are far apart: the small ones are lost beside the large ones."""
    X = np.random.default_rng(0).normal(size=(n, p)) * 10.0 ** np.linspace(0, spread, p)
    for table in (X, sp.csr_array(X)):
        k = spare_rank(table)
        assert PPCA(k).fit(table).n_components_ == k
        if k < min(n - 1, p, 64) - 1:  # and it takes no more
            with pytest.raises(ValueError, match="must be less than the rank of X"):
                PPCA(k + 1).fit(table)
    holes = X.copy()
    holes[0, 0] = np.nan
    assert np.isfinite(GapFiller(100).fit(X).transform(holes)).all()


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        Normalizer(),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    ],
    ids=str,
)
def test_pipelines_with_scalers_come_back_bit_for_bit(tmp_path, scaler):
    model = make_pipeline(Columns(), scaler, GapFiller(), DPPCA(2)).fit(FRAME, Y)
    save_model(model, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    assert isinstance(loaded, Pipeline)
    assert_array_equal(loaded.predict_proba(FRAME[FRAME.columns[::-1]]), model.predict_proba(FRAME))


def test_text_pipelines_come_back(tmp_path):
    X = sp.random(60, 40, 0.3, format="csr", random_state=0)
    model = make_pipeline(TfidfTransformer(), SPPCA(2)).fit(X, np.arange(60) % 2)
    save_model(model, tmp_path / "m.gnomon")
    assert_array_equal(load_model(tmp_path / "m.gnomon").transform(X), model.transform(X))
