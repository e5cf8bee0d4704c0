"""How targets are read: labels of every kind, marks of unlabeled rows, real outputs, and what is refused."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from estimators.support import assert_same_fit, load
from gnomon import SPPCA, KernelSPPCA

X, Y_INT = load("iris", 0.6)
WORDS = np.array(["ant", "bee", "cow"], dtype=object)
LABELED = Y_INT >= 0


@cache
def reference():
    return SPPCA(2).fit(X, Y_INT)


def words(missing):
    out = np.full(150, missing, dtype=object)
    out[LABELED] = WORDS[Y_INT[LABELED]]
    return out


def numbers(missing):
    out = np.full(150, missing, dtype=object)
    out[LABELED] = Y_INT[LABELED].tolist()
    return out


WORD_TARGETS = {
    "None": words(None),
    "nan": words(np.nan),
    "pd.NA": words(pd.NA),
    "list": words(None).tolist(),
    "column": words(None)[:, None],
    "series": pd.Series(words(None)),
    "frame": pd.DataFrame({"kind": words(None)}),
    "string": pd.Series(words(None), dtype="string"),
    "categorical": pd.Series(pd.Categorical(words(None))),
    "categorical_spare": pd.Series(pd.Categorical(words(None), categories=["cow", "ant", "bee", "dog"])),
    "pandas_categorical": pd.Categorical(words(None)),
    "polars": pl.Series("kind", words(None).tolist()),
    "polars_categorical": pl.Series("kind", words(None).tolist(), dtype=pl.Categorical),
    "polars_frame": pl.DataFrame({"kind": words(None).tolist()}),
}
NUMBER_TARGETS = {
    "minus_one": Y_INT,
    "int8": Y_INT.astype(np.int8),
    "object_none": numbers(None),
    "object_nan": numbers(np.nan),
    "pandas_int": pd.Series(Y_INT),
    "pandas_nullable": pd.Series(numbers(None), dtype="Int64"),
    "polars_int": pl.Series(Y_INT),
    "polars_null": pl.Series(numbers(None).tolist()),
    "column": Y_INT[:, None],
}


@pytest.mark.parametrize("kind", WORD_TARGETS)
def test_words_with_any_mark(kind):
    model = SPPCA(2).fit(X, WORD_TARGETS[kind])
    assert model.target_kind_ == "classes"
    assert list(model.classes_) == ["ant", "bee", "cow"]
    assert model.n_labeled_ == LABELED.sum()
    assert_same_fit(model, reference(), tol=1e-12)
    assert_array_equal(model.predict(X), WORDS[reference().predict(X)])
    assert_allclose(model.score_samples(X, WORD_TARGETS[kind]), reference().score_samples(X, Y_INT), rtol=1e-10)


@pytest.mark.parametrize("kind", NUMBER_TARGETS)
def test_numbers_with_any_mark(kind):
    model = SPPCA(2).fit(X, NUMBER_TARGETS[kind])
    assert model.target_kind_ == "classes"
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_same_fit(model, reference(), tol=1e-12)
    assert_allclose(model.score_samples(X, NUMBER_TARGETS[kind]), reference().score_samples(X, Y_INT), rtol=1e-10)


@pytest.mark.parametrize(
    "y",
    [
        np.where(Y_INT == 1, True, False),
        pd.Series(Y_INT == 1),
        pl.Series(Y_INT == 1),
        (Y_INT == 1).astype(object),
    ],
    ids=["bool", "pandas", "polars", "object"],
)
def test_booleans_are_classes(y):
    model = SPPCA(2).fit(X, y)
    assert_array_equal(model.classes_, [False, True])
    assert_same_fit(model, SPPCA(2).fit(X, (Y_INT == 1).astype(int)), tol=1e-10)
    assert model.predict(X).dtype == bool


def test_booleans_with_unlabeled_rows():
    y = np.where(LABELED, Y_INT == 1, None)
    model = SPPCA(2).fit(X, y)
    assert_array_equal(model.classes_, [False, True])
    assert model.n_labeled_ == LABELED.sum()


class TestMinusOneAndOne:
    Y = np.where(Y_INT == 1, 1, -1)

    def test_is_ambiguous(self):
        with pytest.raises(ValueError, match="unlabeled=None"):
            SPPCA(2).fit(X, self.Y)

    def test_as_classes(self):
        model = SPPCA(2, unlabeled=None).fit(X, self.Y)
        assert_array_equal(model.classes_, [-1, 1])
        assert model.n_labeled_ == 150
        assert set(model.predict(X)) <= {-1, 1}
        assert_allclose(model.score_samples(X, self.Y).sum(), model.log_likelihood_, rtol=1e-9)

    def test_as_a_mark(self):
        with pytest.warns(UserWarning, match="single class 1"):
            model = SPPCA(2, unlabeled=-1).fit(X, self.Y)
        assert model.n_labeled_ == (self.Y == 1).sum()


def test_a_mark_of_ones_own():
    y = words("unknown")
    model = SPPCA(2, unlabeled="unknown").fit(X, y)
    assert_same_fit(model, reference(), tol=1e-12)
    numbers = np.where(Y_INT < 0, 99, Y_INT)
    assert_same_fit(SPPCA(2, unlabeled=99).fit(X, numbers), reference(), tol=1e-12)


def test_minus_one_can_be_a_class_among_others():
    model = SPPCA(2, unlabeled=None).fit(X, Y_INT)
    assert_array_equal(model.classes_, [-1, 0, 1, 2])
    assert model.n_labeled_ == 150


class TestRealOutputs:
    y = np.where(LABELED, X @ [1.0, 0.5, -1.0, 2.0] + np.random.default_rng(0).normal(size=150), np.nan)

    @pytest.fixture
    def real(self):
        return SPPCA(2).fit(X, self.y)

    @pytest.mark.parametrize(
        "form",
        [
            lambda y: y[:, None],
            lambda y: y.tolist(),
            pd.Series,
            lambda y: pd.Series(y, dtype="Float64"),
            lambda y: pd.Series(y).astype(object),
            lambda y: pd.DataFrame({"a": y}),
            pl.Series,
            lambda y: pl.DataFrame({"a": y}),
            lambda y: pl.Series([None if np.isnan(v) else v for v in y]),
        ],
    )
    def test_any_container(self, real, form):
        model = SPPCA(2).fit(X, form(self.y))
        assert model.target_kind_ == "real"
        assert_same_fit(model, real, tol=1e-12)
        assert_allclose(model.score_samples(X, form(self.y)).sum(), model.log_likelihood_, rtol=1e-9)

    def test_single_precision_outputs(self, real):
        model = SPPCA(2).fit(X, self.y.astype(np.float32))
        assert_allclose(model.components_, real.components_, atol=1e-6)
        assert model.components_.dtype == np.float64

    def test_a_vector_gives_vectors_and_a_table_tables(self, real):
        assert real.predict(X).shape == (150,)
        both = SPPCA(2).fit(X, np.column_stack([self.y, self.y**2]))
        assert both.predict(X).shape == (150, 2)
        assert [a.shape for a in both.predict(X, return_std=True)] == [(150, 2)] * 2

    def test_a_frame_of_outputs_with_nulls(self):
        table = np.column_stack([self.y, np.random.default_rng(1).normal(size=150)])
        table[::4, 1] = np.nan
        reference = SPPCA(2).fit(X, table)
        pandas = pd.DataFrame(table, columns=["a", "b"])
        polars = pl.DataFrame({"a": table[:, 0], "b": table[:, 1]}).fill_nan(None)
        assert_same_fit(SPPCA(2).fit(X, pandas), reference, tol=1e-12)
        assert_same_fit(SPPCA(2).fit(X, polars), reference, tol=1e-12)

    def test_integers_in_columns_are_real_outputs(self):
        Y = np.random.default_rng(0).integers(0, 5, size=(150, 2))
        model = SPPCA(2).fit(X, Y)
        assert model.target_kind_ == "real"
        assert_same_fit(model, SPPCA(2).fit(X, Y.astype(float)), tol=1e-12)


def fails(error, match, y, **kwargs):
    with pytest.raises(error, match=match):
        SPPCA(2, **kwargs).fit(X, y)


def test_what_is_refused():
    rng = np.random.default_rng(0)
    fails(ValueError, "y has 149 rows, X has 150", np.zeros(149))
    fails(ValueError, "y is infinite in row 3", np.where(np.arange(150) == 3, np.inf, rng.normal(size=150)))
    fails(TypeError, "mixes labels of several types", np.array(["a", 1] * 75, dtype=object))
    fails(ValueError, "shape", np.zeros((150, 2, 2)))
    fails(TypeError, "column 0 of y holds .a., which is not a number", np.array([["a", "b"]] * 150, dtype=object))
    fails(ValueError, "holds -1, which is ambiguous", rng.integers(-1, 3, size=(150, 2)))
    fails(TypeError, "dtype complex128", np.zeros(150, dtype=complex))


def test_a_sparse_target_is_refused():
    import scipy.sparse as sp

    fails(TypeError, "y is a sparse matrix", sp.csr_array(np.eye(150, 3)))


def test_new_targets_must_be_like_those_of_fit():
    with pytest.raises(ValueError, match="classes that were not in fit: 7"):
        reference().score_samples(X, np.where(np.arange(150) == 0, 7, Y_INT))
    with pytest.raises(ValueError, match="y has 149 rows"):
        reference().score_samples(X, Y_INT[1:])
    with pytest.raises(ValueError, match="fitted without targets"):
        SPPCA(2).fit(X).score_samples(X, Y_INT)
    real = SPPCA(2).fit(X, np.random.default_rng(0).normal(size=(150, 2)))
    with pytest.raises(ValueError, match="y has 3 columns, but the model was fitted with 2"):
        real.posterior(X, np.zeros((150, 3)))
    table = SPPCA(2).fit(X, np.eye(3)[np.arange(150) % 3])
    with pytest.raises(ValueError, match="row 0 of y breaks a linear relation"):
        table.score_samples(X, np.ones((150, 3)))
    half = np.eye(3)[np.arange(150) % 3]
    half[4, 1] = np.nan
    with pytest.raises(ValueError, match="misses some outputs of row 4"):
        table.score_samples(X, half)


@pytest.mark.parametrize("estimator", [SPPCA, KernelSPPCA])
@pytest.mark.parametrize("target, column", [("classes", 0), (["real", "classes"], 1)])
def test_columns_of_classes_are_refused_where_tables_are_numbers(estimator, target, column):
    model = estimator(2, target=target)
    Y = np.column_stack([Y_INT, Y_INT % 2])
    for fit in (model.fit, *([model.partial_fit] if estimator is SPPCA else [])):
        with pytest.raises(ValueError, match=f"asks for classes in column {column} of y; .* or fit CPPCA"):
            fit(X, Y)
