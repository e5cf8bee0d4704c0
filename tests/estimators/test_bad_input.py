"""Bad and unusual rows and targets, the same list for every model: an error that names what is wrong, or a finite fit.

What concerns one model alone is with that model (test_special_cases, test_targets, test_missing, test_kernel_sppca,
test_mixture_ppca); damaged model files are in tests/export/test_model_file.py.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from estimators.support import load, quietly
from gnomon import PPCA, SPPCA, KernelSPPCA, MixturePPCA
from gnomon.export import load_model, save_model

X, Y = load("iris", 0.5)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
EVERY = {"PPCA": PPCA(2), "SPPCA": SPPCA(2), "KernelSPPCA": KernelSPPCA(2), "MixturePPCA": MixturePPCA(2, 1, n_init=1)}
PLAIN = ["PPCA", "SPPCA", "MixturePPCA"]  # those that take missing entries
GUIDED = ["SPPCA", "KernelSPPCA"]


def each(names=EVERY):
    return pytest.mark.parametrize("model", [EVERY[name] for name in names], ids=names)


def refuses(model, match, rows, y=Y, error=ValueError):
    with pytest.raises(error, match=match):
        clone(model).fit(rows, y)


def answers(model, rows):
    """Everything that a fitted model says about rows, by method."""
    methods = ["transform", "score_samples", "predict_proba"]
    found = {name: np.asarray(getattr(model, name)(rows)) for name in methods if hasattr(model, name)}
    for name, values in found.items():
        assert np.isfinite(values).all(), name
    return found


EXPECTED = {}


def expected_of(model, rows):
    """The fit to plain rows and its answers, once for each model and table."""
    table = rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    key = repr(model), type(rows), table.tobytes()
    if key not in EXPECTED:
        fitted = clone(model).fit(rows, Y)
        EXPECTED[key] = fitted.log_likelihood_, answers(fitted, rows)
    return EXPECTED[key]


def assert_alike(model, one, other, tol=1e-6):
    """Two forms of the same rows give the same fit and the same answers."""
    second = clone(model).fit(other, Y)
    log_likelihood, expected = expected_of(model, one)
    assert_allclose(log_likelihood, second.log_likelihood_, rtol=1e-8)
    for name, values in answers(second, other).items():
        assert_allclose(values, expected[name], atol=tol * np.abs(expected[name]).max(), err_msg=name)


# -- entries of X --------------------------------------------------------------------------------------------------


@each()
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_nan_in_sparse_rows(model, form):
    refuses(model, "NaN", form(HOLES))


@each()
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_infinity_in_fit_and_in_new_rows(model, bad, form):
    rows = np.where(np.arange(4) == 2, bad, X)
    refuses(model, "infinity", form(rows))
    fitted = clone(model).fit(X, Y)
    for name in ("transform", "score_samples", "predict_proba", "predict"):
        if hasattr(fitted, name) and not (isinstance(model, PPCA) and name.startswith("predict")):
            with pytest.raises(ValueError, match="infinity"):
                getattr(fitted, name)(form(rows))


@each(PLAIN)
def test_infinity_beside_missing_entries(model):
    rows = HOLES.copy()
    rows[5, 0] = np.inf
    refuses(model, "infinity", rows)
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(X, Y).transform(rows)


@each(PLAIN)
def test_a_table_without_any_value_and_a_constant_one(model):
    refuses(model, "column 0 of X is never observed", np.full((20, 4), np.nan), Y[:20])
    refuses(model, "X is constant", np.where(np.isnan(HOLES), np.nan, 0.1))


@each(PLAIN)
def test_what_is_masked_is_missing(model):
    masked = np.ma.masked_array(np.where(np.isnan(HOLES), 1e6, X), mask=np.isnan(HOLES))
    assert_alike(model, HOLES, masked)


@each()
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_values_of_any_size(model, size):
    assert_size_does_not_matter(model, X, size)


@each(PLAIN)
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_values_of_any_size_beside_missing_entries(model, size):
    assert_size_does_not_matter(model, HOLES, size)


def assert_size_does_not_matter(model, rows, size):
    """Latent variables and probabilities have no unit, and a density is per unit of each observed entry."""
    expected = answers(clone(model).fit(rows, Y), rows)
    found = answers(clone(model).fit(rows * size, Y), rows * size)
    if "score_samples" in expected:
        expected["score_samples"] -= np.log(size) * (~np.isnan(rows)).sum(axis=1)
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=1e-6, atol=1e-5, err_msg=name)


@each(PLAIN)
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_values_too_large_to_be_squared(model, rows):
    refuses(model, "X holds 7.9e[+]160 in absolute value", rows * 1e160)
    with pytest.raises(ValueError, match=r"X holds 7.9e[+]160 in absolute value"):
        clone(model).fit(X, Y).score_samples(rows * 1e160)


@each(PLAIN)
@pytest.mark.parametrize("size", [1e-170, 1e-300])
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_values_too_small_to_be_squared(model, rows, size):
    refuses(model, "X varies too little to compute with", rows * size)


def test_outputs_too_large_and_too_small():
    y = np.where(Y < 0, np.nan, X[:, 0])
    refuses(SPPCA(2), "y holds 7.*e[+]160 in absolute value", X, y * 1e160)
    refuses(SPPCA(2), "y varies too little to compute with", X, y * 1e-170)


@pytest.mark.parametrize("rows", [np.full((3, 4), 1e150), np.array([[1e150, np.nan, -1e150, 0.0]])])
def test_rows_very_far_away(rows):
    """The density underflows to minus infinity at worst, and no class is sure."""
    model = SPPCA(2).fit(X, Y)
    assert (model.score_samples(rows) < -1e299).all()
    proba = model.predict_proba(rows)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.max() < 0.9
    assert_array_equal(model.predict(rows), model.classes_[proba.argmax(axis=1)])
    tiny = PPCA(2).fit(X * 1e-20)
    assert_array_equal(tiny.score_samples(rows), np.full(len(rows), -np.inf))
    assert np.isfinite(tiny.transform(rows)).all()


# -- the shape of X ------------------------------------------------------------------------------------------------


@each()
def test_empty_tables(model):
    refuses(model, "0 sample", X[:0], Y[:0])
    refuses(model, "0 feature", X[:, :0])
    fitted = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.transform(X[:0])


@each()
def test_one_row(model):
    refuses(model, "a minimum of 2 is required", X[:1], Y[:1])
    fitted = clone(model).fit(X, Y)
    for name, values in answers(fitted, X[:1]).items():
        assert_allclose(values[0], getattr(fitted, name)(X)[0], rtol=1e-9, atol=1e-12)


@each()
def test_one_column(model):
    refuses(model, r"rank.* 1\b", X[:, :1])


@each()
def test_fewer_rows_than_components(model):
    refuses(model, "must be less than|need a rank of at least 2", X[[0, 60]], np.array([0, 1]))


@each()
def test_as_many_components_as_the_rank(model):
    refuses(clone(model).set_params(n_components=2), "must be less than the rank", X[:, [0, 1, 0, 1]])


@each()
def test_rows_that_are_two_rows_over_and_over(model):
    refuses(model, r"rank.* 1\b", np.repeat(X[[0, 70]], 20, axis=0), np.repeat([0, 1], 20))


@each()
def test_each_row_twice(model):
    once, twice = clone(model).fit(X, Y), clone(model).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    assert_allclose(twice.log_likelihood_, 2 * once.log_likelihood_, rtol=1e-6)
    expected = answers(once, X)
    for name, values in answers(twice, X).items():
        if name == "predict_proba" and hasattr(once, "class_counts_"):  # surer, with twice as many labels
            assert np.mean(values.argmax(axis=1) == expected[name].argmax(axis=1)) > 0.95
            assert np.sort(values).mean(axis=0)[-1] > np.sort(expected[name]).mean(axis=0)[-1]
        else:
            assert_allclose(values, expected[name], atol=1e-4, err_msg=name)


@each()
def test_a_constant_column_gets_no_loading(model):
    rows = np.column_stack([X, np.full(150, 7.0)])
    fitted = clone(model).fit(rows, Y)
    answers(fitted, rows)
    if hasattr(fitted, "components_"):
        assert_allclose(fitted.components_[..., 4], 0, atol=1e-8)
    else:
        assert_allclose(fitted.transform(rows), SPPCA(2).fit(rows, Y).transform(rows), atol=1e-6)


# -- how X is stored -----------------------------------------------------------------------------------------------


def strided(rows):
    wide = np.zeros((2 * len(rows), 2 * rows.shape[1]))
    wide[::2, 1::2] = rows
    return wide[::2, 1::2]


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


FORMS = {
    "strided": strided,
    "read only": read_only,
    "by columns": np.asfortranarray,
    "reversed twice": lambda rows: rows[::-1].copy()[::-1],
    "big endian": lambda rows: rows.astype(">f8"),
    "objects": lambda rows: rows.astype(object),
    "frame of objects": lambda rows: pd.DataFrame(rows, columns=list("abcd")).astype(object),
    "text of numbers": lambda rows: rows.astype(str),
    "list": lambda rows: rows.tolist(),
}


@each()
@pytest.mark.parametrize("form", FORMS)
def test_any_storage_of_complete_rows(model, form):
    assert_alike(model, X, FORMS[form](X))


@each(PLAIN)
@pytest.mark.parametrize("form", FORMS)
def test_any_storage_of_rows_with_missing_entries(model, form):
    assert_alike(model, HOLES, FORMS[form](HOLES))


@each()
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, bool])
def test_integers_and_booleans(model, dtype, form):
    rows = (X.mean(axis=0) < X) if dtype is bool else np.round(8 * X).astype(dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*collapsed")  # eight distinct rows, in the mixture
        assert_alike(model, form(rows.astype(np.float64)), form(rows))


@each(PLAIN)
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_nulls_in_a_frame_are_missing(model, frame):
    if frame == "pandas":
        table = pd.DataFrame(HOLES, columns=list("abcd")).convert_dtypes()
        assert table.isna().sum().sum() == np.isnan(HOLES).sum()
    else:
        table = pl.DataFrame(HOLES, schema=list("abcd")).fill_nan(None)
    assert_alike(model, pd.DataFrame(HOLES, columns=list("abcd")), table)


@each(PLAIN)
def test_columns_of_text_and_dates_are_named(model):
    table = pd.DataFrame(X, columns=list("abcd")).astype({"b": object})
    words = table.assign(b=["1.5", "red"] + ["2"] * 148)
    refuses(model, "column 'b' of X holds 'red' in row 1, which is not a number", words)
    refuses(model, "column 'b' of X holds 'red' in row 1", pl.DataFrame(words.astype({"b": str})))
    refuses(model, "column 1 of X holds 'red' in row 1", words.to_numpy())
    category = table.assign(c=pd.Categorical(["u", "v", "w"] * 50))
    refuses(model, "column 'c' of X holds 'u' in row 0", category)
    dates = table.assign(d=pd.date_range("2020-01-01", periods=150))
    refuses(model, "column 'd' of X holds .*2020-01-01", dates, error=TypeError)
    fitted = clone(model).fit(table, Y)
    with pytest.raises(ValueError, match="column 'b' of X holds 'red'"):
        fitted.transform(words)


def test_columns_of_text_in_a_kernel_model():
    refuses(
        KernelSPPCA(2),
        "column 0 of X holds 'red' in row 102, which is not a number",
        np.where(X > 7, "red", X.astype(str)),
    )


@each()
def test_names_of_columns_that_changed(model):
    table = pd.DataFrame(X, columns=list("abcd"))
    fitted = clone(model).fit(table, Y)
    for other in (table.rename(columns={"a": "z"}), table[list("bacd")]):
        with pytest.raises(ValueError, match="feature names"):
            fitted.transform(other)
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.transform(X[:, :3])


# -- targets -------------------------------------------------------------------------------------------------------


@each(GUIDED)
def test_targets_of_another_length(model):
    refuses(model, "y has 149 rows, X has 150", X, Y[1:])
    with pytest.raises(ValueError, match="y has 149 rows, X has 150"):
        clone(model).fit(X, Y).posterior(X, Y[1:])


@each(["PPCA", "SPPCA", "MixturePPCA"])
def test_weights_of_another_length(model):
    with pytest.raises(ValueError, match=r"sample_weight has shape \(149,\); X has 150 rows"):
        clone(model).fit(X, Y, sample_weight=np.ones(149))


@each(GUIDED)
def test_minus_one_and_one_is_ambiguous(model):
    refuses(model, "ambiguous: pass unlabeled=None", X, np.where(Y == 1, 1, -1))
    fitted = clone(model).set_params(unlabeled=None).fit(X, np.where(Y == 1, 1, -1))
    assert_array_equal(fitted.classes_, [-1, 1])


@each(GUIDED)
def test_an_output_without_any_value(model):
    refuses(model, "column 1 of y is never observed", X, np.column_stack([X[:, 0], np.full(150, np.nan)]))
    refuses(model, "y is infinite in row 3", X, np.where(np.arange(150) == 3, np.inf, X[:, 0]))


@each(GUIDED)
def test_a_class_with_one_row(model):
    y = np.where(np.arange(150) == 4, 9, np.where(Y == 0, 1, Y))
    fitted = clone(model).fit(X, y)
    assert_array_equal(fitted.classes_, [1, 2, 9])
    assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)


@each(GUIDED)
@pytest.mark.parametrize("y", [np.full(150, -1), np.full(150, None), np.full(150, np.nan), np.full((150, 2), np.nan)])
def test_all_rows_unlabeled(model, y):
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        fitted = clone(model).fit(X, y)
    assert_allclose(fitted.transform(X), clone(model).fit(X).transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="fitted with labeled rows"):
        fitted.predict(X)


# -- kernels and files ---------------------------------------------------------------------------------------------


def test_a_precomputed_kernel_that_is_not_positive_semidefinite():
    K = rbf_kernel(X, gamma=0.5)
    K[3, 90] = K[90, 3] = -9.0
    refuses(KernelSPPCA(2, kernel="precomputed"), "eigenvalue", K)


@each(["PPCA", "KernelSPPCA", "MixturePPCA"])
@pytest.mark.parametrize("cut", [0, 1, 100, -100, -1])
def test_a_model_file_cut_short_or_altered(model, cut, tmp_path):
    path = tmp_path / "model.gnomon"
    save_model(quietly(clone(model), X, Y), path)
    content = path.read_bytes()
    path.write_bytes(content[:cut])
    with pytest.raises(ValueError, match="cut short or"):
        load_model(path)
    altered = bytearray(content)
    altered[len(content) // 2 + cut % 50] ^= 1
    path.write_bytes(altered)
    with pytest.raises(ValueError, match="cut short or"):
        load_model(path)
