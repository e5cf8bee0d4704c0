"""Estimators of Dask collections: what NumPy gives, lazily, wherever the chunks are."""

import os
import signal
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

import gnomon
from gnomon import CPPCA, DPPCA, IFA, KDA, PPCA, SCL, SPPCA, DomainStack, GuidedProjection, KernelSPPCA, MixturePPCA
from gnomon.rows import read
from gnomon.rows.dask import DaskRows

FRAME = load_iris(as_frame=True)
X, Y = FRAME.data.to_numpy(), FRAME.target.to_numpy()
LABELS = np.where(np.arange(150) % 4, -1, Y)
NUMBERS = np.where((np.arange(300) % 3 > 0).reshape(150, 2), X[:, :2] ** 2, np.nan)  # single targets missing
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
WEIGHTS = np.where(np.arange(150) % 5, 1.5, 0.0)
METHODS = ("transform", "posterior", "predict", "predict_proba", "score_samples", "impute")

CASES = {
    "PPCA": (PPCA(2), X, None, None),
    "PPCA auto": (PPCA("auto"), X, None, None),
    "PPCA missing": (PPCA(2), GAPS, None, None),
    "PPCA single": (PPCA(2), X.astype(np.float32), None, None),
    "SPPCA": (SPPCA(2), X, LABELS, None),
    "SPPCA numbers": (SPPCA(2), X, NUMBERS, None),
    "SPPCA missing": (SPPCA(2), GAPS, LABELS, None),
    "SPPCA weighted": (SPPCA(2, label_weight=3.0), X, LABELS, WEIGHTS),
    "SPPCA subspace": (SPPCA(2, solver="subspace"), X, LABELS, None),
    "CPPCA": (CPPCA(2), X, LABELS, None),
    "CPPCA missing": (CPPCA(2, tol=1e-3), GAPS, LABELS, None),
    "DPPCA": (DPPCA(n_factors=1, shrinkage=0.1, unlabeled_weight=1.0), X, LABELS, None),
    "MixturePPCA": (MixturePPCA(2, 1, n_init=1, random_state=0), X, None, WEIGHTS),
    "IFA": (IFA(n_init=1, random_state=0), X, LABELS, None),
    "SCL": (SCL(2, n_pivots=3), X, LABELS, None),
    "KernelSPPCA": (KernelSPPCA(2, kernel="rbf"), X, LABELS, None),
    "KDA": (KDA(kernel="rbf"), X, LABELS, None),
    "GuidedProjection": (GuidedProjection(), X, LABELS, None),
}


def fitted(model, table, y, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(table, y, **({} if weights is None else {"sample_weight": weights}))


def chunked(table, size=40):
    return da.from_array(table, chunks=(size, table.shape[1]))


def parts(answer):
    return answer if isinstance(answer, (tuple, list)) else [answer]


@pytest.mark.parametrize("name", CASES)
def test_chunks_change_nothing_and_answers_are_lazy(name):
    model, table, y, weights = CASES[name]
    here = fitted(model, table, y, weights)
    there = fitted(model, chunked(table), y, None if weights is None else da.from_array(weights, chunks=40))
    loose = table.dtype == np.float32 or model.get_params().get("tol") == 1e-3
    for method in METHODS:
        if not hasattr(here, method):
            continue
        if method == "impute" and "missing" not in name:
            continue
        wanted, found = parts(getattr(here, method)(table)), parts(getattr(there, method)(chunked(table)))
        for want, got in zip(wanted, found, strict=True):
            if len(want) == len(table):
                assert isinstance(got, da.Array)
                assert (got.dtype, got.shape, got.chunks[0]) == (want.dtype, want.shape, (40, 40, 40, 30))
            got = got.compute() if isinstance(got, da.Array) else got
            if got.ndim > want.ndim:  # a covariance for each row, for chunks with missing entries may have one
                assert np.ptp(got, axis=0).max() == 0.0
                got = got[0]
            if want.dtype.kind == "f":
                assert_allclose(got, want, rtol=1e-2 if loose else 1e-7, atol=1e-3 if loose else 1e-7, err_msg=method)
            else:
                assert_array_equal(got, want)
    if hasattr(here, "score") and not name.startswith("SCL"):
        assert there.score(chunked(table), y) == pytest.approx(here.score(table, y), rel=1e-6)


@pytest.mark.parametrize("name", [name for name in gnomon.__all__ if isinstance(getattr(gnomon, name), type)])
def test_no_method_of_rows_is_forgotten(name):
    kind, found = getattr(gnomon, name), 0
    for method in (*METHODS, "typicality"):
        for base in kind.__mro__:
            function = vars(base).get(method)
            function = getattr(function, "fn", function)  # of what is available if
            if function is not None and base.__module__.startswith("gnomon"):
                while hasattr(function, "__wrapped__") and function.__code__.co_name != "of_any":
                    function = function.__wrapped__
                assert function.__code__.co_name == "of_any", f"{base.__name__}.{method}"
                found += 1
    assert found


def test_sparse_chunks(rng):
    table = sp.csr_array(sp.random(120, 60, density=0.1, random_state=rng))
    lazy = da.from_array(table.toarray(), chunks=(50, 60)).map_blocks(sp.csr_array)
    labels = np.where(np.arange(120) % 3, -1, np.arange(120) % 2)
    here, there = SPPCA(2).fit(table, labels), SPPCA(2).fit(lazy, labels)
    assert_allclose(there.log_likelihood_, here.log_likelihood_, rtol=1e-9)
    assert_allclose(there.transform(lazy).compute(), here.transform(table), atol=1e-6)


def test_a_frame_gives_frames_with_names_and_its_index():
    table = FRAME.data.set_index(np.arange(150) + 1000)
    lazy = dd.from_pandas(table.assign(kind=LABELS), npartitions=3)
    model = SPPCA(2).fit(lazy.drop(columns="kind"), lazy["kind"])
    assert_array_equal(model.feature_names_in_, table.columns)
    rows, plain = lazy.drop(columns="kind"), SPPCA(2).fit(table, LABELS)
    Z = model.transform(rows)
    assert isinstance(Z, dd.DataFrame)
    assert Z.compute().columns.tolist() == ["sppca0", "sppca1"]
    assert Z.compute().index.tolist() == table.index.tolist()
    assert_allclose(Z.compute(), plain.transform(table), atol=1e-9)
    proba = model.predict_proba(rows).compute()
    assert proba.columns.tolist() == ["0", "1", "2"]
    assert_allclose(proba, plain.predict_proba(table), atol=1e-9)
    labels = model.predict(rows)
    assert isinstance(labels, dd.Series)
    assert labels.compute().tolist() == plain.predict(table).tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.transform(rows.rename(columns={"sepal length (cm)": "other"}))


class Counted:
    """How often a chunk is made."""

    times = 0

    def __call__(self, block):
        Counted.times += 1
        return block


def test_nothing_is_read_before_it_is_asked_for_and_each_read_reads_once():
    lazy = chunked(X).map_blocks(Counted(), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        Counted.times = 0
        model = PPCA(2).fit(lazy)
        assert Counted.times <= 4 * (model.n_passes_ + 2)  # entries are looked at first, and rows known again last
        Counted.times = 0
        Z = model.transform(lazy)
        assert Counted.times == 0
        Z.compute()
        assert Counted.times == 4


def test_empty_partitions_unknown_sizes_and_columns_in_chunks():
    holes = da.concatenate([chunked(X[:50]), chunked(X[:0], 1), chunked(X[50:])])
    unknown = chunked(X)[da.from_array(np.ones(150, dtype=bool), chunks=40)]
    assert np.isnan(unknown.shape[0])
    plain = SPPCA(2).fit(X, LABELS)
    for lazy in (holes, unknown):
        model = SPPCA(2).fit(lazy, LABELS)
        assert_allclose(model.transform(lazy).compute(), plain.transform(X), atol=1e-9)
    cut = da.from_array(X, chunks=(40, 3))
    with pytest.warns(UserWarning, match="chunked along its columns, in 2"):
        model = SPPCA(2).fit(cut, LABELS)
    assert_allclose(model.components_, plain.components_, atol=1e-9)


def test_targets_are_conditioned_on_chunk_by_chunk():
    plain = SPPCA(2).fit(X, LABELS)
    model = SPPCA(2).fit(chunked(X), da.from_array(LABELS, chunks=30))
    mean, cov = model.posterior(chunked(X), da.from_array(Y, chunks=30))
    want, want_cov = plain.posterior(X, Y)
    assert_allclose(mean.compute(), want, atol=1e-9)
    assert_allclose(cov.compute(), np.broadcast_to(want_cov, (150, 2, 2)), atol=1e-9)
    assert_allclose(model.score_samples(chunked(X), Y).compute(), plain.score_samples(X, Y), atol=1e-8)
    stacked = DomainStack(scale=1.0, C=1.0).fit(X, LABELS)
    assert_array_equal(stacked.predict(chunked(X)).compute(), stacked.predict(X))


@pytest.mark.parametrize(
    ("lazy", "message"),
    [
        (lambda: chunked(X).astype(str), "real numbers are wanted"),
        (lambda: da.ones(5), "Expected 2D array"),
        (lambda: chunked(np.where(X[3, 1] == X, np.inf, X)), "infinity"),
        (lambda: dd.from_pandas(FRAME.data.assign(kind="a"), npartitions=2), "column 'kind' of X holds .*not a number"),
        (lambda: chunked(X[:1]), "Found array with 1 sample"),
    ],
)
def test_bad_collections_are_refused(lazy, message):
    with pytest.raises(ValueError, match=message):
        PPCA(2).fit(lazy())


def test_the_number_of_features_is_that_of_the_fit():
    model = PPCA(2).fit(chunked(X))
    with pytest.raises(ValueError, match="3 features"):
        model.transform(chunked(X[:, :3]))


def test_rows_that_do_not_fit_are_not_brought_home():
    rows = read(da.zeros((10**9, 10**4), chunks=(10**7, 10**4)))
    with pytest.raises(MemoryError, match=r"wanted whole in this process: 80000 GB"):
        rows.gather()


def test_taken_rows_keep_their_order_weights_and_columns(rng):
    rows, weights = read(chunked(X), rng.random(150)), None
    rows = rows.with_columns(number=np.arange(150))
    for some in (np.array([3, 4, 90, 149]), np.array([90, 3, 149, 4])):
        found = rows.take(some)
        assert_array_equal(found.gather(), X[some])
        assert_array_equal(found.gather("number"), some)
        assert_array_equal(found.weights, rows.weights[some])
        assert_allclose(found.summarize().mean, rows.weights[some] @ X[some] / rows.weights[some].sum())
    assert isinstance(rows.take(np.array([3, 149])), DaskRows)
    assert weights is None


def test_inner_products_of_single_precision_and_large_means_lose_nothing(rng):
    for table in (X.astype(np.float32), rng.normal(size=(150, 4)) + 1e7):
        exact = table.astype(np.float64)
        exact = exact - exact.mean(axis=0)
        rows = read(chunked(table))
        standard = rows.standard(rows.summarize())
        assert_allclose(standard.gram() * standard.scale**2, exact @ exact.T, atol=1e-6)


class TestCluster:
    """Workers in processes of their own."""

    @pytest.fixture(scope="class")
    @staticmethod
    def client():
        from distributed import Client, LocalCluster

        settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        patient = dask.config.set({"distributed.scheduler.allowed-failures": 30})
        with patient, LocalCluster(**settings) as cluster, Client(cluster) as client:
            yield client

    def test_workers_agree_with_this_process(self, client):
        model, table, y, _ = CASES["SPPCA numbers"]
        here, there = fitted(model, table, y, None), fitted(model, chunked(table), y, None)
        assert_allclose(there.log_likelihood_, here.log_likelihood_, rtol=1e-10)
        assert_allclose(there.transform(chunked(table)).compute(), here.transform(table), atol=1e-7)

    @pytest.mark.slow
    def test_a_killed_worker_changes_nothing(self, client):
        model, table, y, _ = CASES["SPPCA missing"]
        here = fitted(model, table, y, None)
        slow = chunked(table).map_blocks(killing, os.getpid(), dtype=float, meta=np.empty((0, 0)))
        there = fitted(model, slow, y, None)
        assert_allclose(there.log_likelihood_, here.log_likelihood_, rtol=1e-10)


def killing(block, pid):
    """The block; its process is killed on the way, once in a while."""
    if os.getpid() != pid and np.random.default_rng().random() < 0.02:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize("given", [{}, {"n_factors": 2, "shrinkage": 0.1, "unlabeled_weight": 0.5}])
def test_coordinates_of_dppca_stay_on_the_workers(monkeypatch, given):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=2400)
    table = 2.0 * np.eye(3)[kind] @ rng.normal(size=(3, 8)) + rng.normal(size=(2400, 8)) + 1.0
    labels = np.where(np.arange(2400) < 60, kind, -1)
    here = DPPCA(**given).fit(table, labels)
    monkeypatch.delattr(DaskRows, "at_hand")
    monkeypatch.setattr(DaskRows, "gather", lambda self, *columns: pytest.fail("rows came home"))
    there = DPPCA(**given).fit(chunked(table, 700), labels)
    assert abs(there.log_likelihood_ - here.log_likelihood_) < 1e-8 * len(table)
    assert there.n_passes_ == here.n_passes_
    assert there.n_iter_ == here.n_iter_
    assert_allclose(there.components_, here.components_, atol=1e-7)
    assert_allclose(there.predict_proba(table), here.predict_proba(table), atol=1e-7)
