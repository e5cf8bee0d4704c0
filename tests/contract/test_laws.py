"""Laws of every estimator: rounding, the order of rows and columns, names of labels and units decide nothing.

An estimator joins with a line in `CASES`. A fit is asked for all that it has: `transform`, `predict`, `predict_proba`,
`score_samples` and the log-likelihood. `tol` is tight there, so that what a law allows is not used up by where an
iteration stops.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from threadpoolctl import threadpool_info

import gnomon
from gnomon.export import load_model, save_model

CLOSE = 1e-6


class Case(NamedTuple):
    """An estimator, and the data that it is fitted to; labels are text, None where a row has none."""

    model: Any
    X: Any
    y: Any = None
    renamed: bool = True  # whether y holds names that may be exchanged
    scales: tuple = (1e-100, 1e100)


def _scores(X):
    """Principal component scores: uncorrelated columns."""
    centered = X - X.mean(axis=0)
    return centered @ np.linalg.svd(centered, full_matrices=False)[2].T


def _few(y, share=0.2):
    """Labels of some rows, -1 in the others."""
    return np.where(np.random.default_rng(0).random(len(y)) < share, y, -1)


IRIS, IRIS_Y = load_iris(return_X_y=True)
WINE, WINE_Y = load_wine(return_X_y=True)
WINE = _scores(WINE / WINE.std(axis=0))
DIABETES, DISEASE = (table[:150] for table in load_diabetes(return_X_y=True))
FEW_NUMBERS = np.where(np.random.default_rng(0).random(150) < 0.3, DISEASE, np.nan)


def _whole_numbers():
    """Answers yes or no, and counts, of rows of three kinds: many distances are the same but for rounding."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 120)
    Z = rng.normal(size=(120, 2)) + 2.0 * np.eye(3)[kind][:, :2]
    answers = Z @ rng.normal(size=(2, 20)) + rng.normal(size=(120, 20)) > 0
    counts = rng.poisson(1.0, (300, 30)) * (rng.random((300, 30)) < 0.3)
    return answers.astype(float), counts.astype(float), kind


ANSWERS, COUNTS, KIND = _whole_numbers()

CASES = {
    "IFA": Case(gnomon.IFA(3, tol=1e-8), WINE, _few(WINE_Y)),
    "IFA without labels": Case(gnomon.IFA([2, 2], tol=1e-8), WINE, renamed=False),
    "IFA tied": Case(gnomon.IFA(3, tied=True, tol=1e-8), WINE, _few(WINE_Y)),
    "IFA with noise": Case(
        gnomon.IFA(3, noise="isotropic", pca_components=2, tol=1e-8, max_iter=5000), IRIS, _few(IRIS_Y)
    ),
    "PPCA": Case(gnomon.PPCA(2), IRIS),
    "SPPCA of classes": Case(gnomon.SPPCA(3, tol=1e-9), WINE, _few(WINE_Y)),
    "SPPCA of numbers": Case(gnomon.SPPCA(2, tol=1e-9), DIABETES, FEW_NUMBERS, renamed=False),
    "SPPCA with private latents": Case(gnomon.SPPCA(2, n_private=1, tol=1e-9), WINE, _few(WINE_Y)),
    "CPPCA": Case(gnomon.CPPCA(2, tol=1e-9), WINE, _few(WINE_Y)),
    "CPPCA with private latents": Case(gnomon.CPPCA(2, n_private=1, tol=1e-9), WINE, _few(WINE_Y)),
    "CPPCA by Laplace": Case(gnomon.CPPCA(2, inference="laplace", tol=1e-8), WINE, _few(WINE_Y)),
    "CPPCA of numbers": Case(gnomon.CPPCA(2, tol=1e-9), DIABETES, FEW_NUMBERS, renamed=False),
    "KernelSPPCA": Case(gnomon.KernelSPPCA(2, tol=1e-9), IRIS, _few(IRIS_Y)),
    "DPPCA": Case(gnomon.DPPCA(tol=1e-9), WINE, _few(WINE_Y)),
    "GuidedProjection": Case(gnomon.GuidedProjection(), WINE, _few(WINE_Y)),
    "GuidedProjection of numbers": Case(gnomon.GuidedProjection(), DIABETES, FEW_NUMBERS, renamed=False),
    "KDA": Case(gnomon.KDA(), WINE, _few(WINE_Y)),
    "SEPCA": Case(gnomon.SEPCA(2, tol=1e-10), IRIS, _few(IRIS_Y)),
    "SDRGLM": Case(gnomon.SDRGLM(2, tol=1e-9), IRIS, _few(IRIS_Y)),
    "ColoredMVU": Case(gnomon.ColoredMVU(2), IRIS[::2], _few(IRIS_Y)[::2]),
    "NeighborFeatures": Case(gnomon.NeighborFeatures(5), IRIS),
    "DomainStack": Case(gnomon.DomainStack(scale=1.0, C=1.0), IRIS, _few(IRIS_Y)),
    "MixturePPCA": Case(gnomon.MixturePPCA(3, 2, tol=1e-9), IRIS),
    "KDA with a kernel": Case(gnomon.KDA(kernel="cosine", shrinkage=0.1), IRIS, _few(IRIS_Y)),
    "SCL": Case(gnomon.SCL(2, n_pivots=4), IRIS, renamed=False),
    "SDRGLM of counts": Case(gnomon.SDRGLM(2, x_family="poisson", tol=1e-9), np.round(IRIS), _few(IRIS_Y), scales=()),
    "MixturePPCA of scores": Case(gnomon.MixturePPCA(3, 3, tol=1e-9, max_iter=5000), WINE),
    "MixturePPCA of counts": Case(gnomon.MixturePPCA(3, 2, tol=1e-9, max_iter=5000), COUNTS, scales=()),
    "KDA of answers": Case(gnomon.KDA(), ANSWERS, _few(KIND, 0.3), scales=()),
    "CPPCA of answers": Case(gnomon.CPPCA(2, tol=1e-9), ANSWERS, _few(KIND, 0.3), scales=()),
    "DPPCA of answers": Case(gnomon.DPPCA(tol=1e-9), ANSWERS, _few(KIND, 0.3), scales=()),
    "SCL of answers": Case(gnomon.SCL(2, n_pivots=4), ANSWERS + 1.0, renamed=False, scales=()),
    "GuidedProjection of answers": Case(gnomon.GuidedProjection(), ANSWERS, _few(KIND, 0.3), scales=()),
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")


def test_every_estimator_is_among_the_cases():
    names = {name for name in gnomon.__all__ if isinstance(getattr(gnomon, name), type)}
    assert {type(case.model).__name__ for case in CASES.values()} == names


every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def fitted(case, X=None, y=None):
    """The estimator, fitted to the data of the case or to others."""
    model = clone(case.model)
    X, y = case.X if X is None else X, case.y if y is None else y
    return model.fit(X) if y is None else model.fit(X, y)


FOUND: dict[int, Any] = {}


def plain(case):
    """The estimator, fitted to the data of the case once for all laws."""
    if id(case) not in FOUND:
        FOUND[id(case)] = fitted(case)
    return FOUND[id(case)]


def answers(model, X):
    """Everything that a fitted model says of rows, as tables (n, ...) by name."""
    found = {}
    for name in ("transform", "predict", "predict_proba", "score_samples"):
        if hasattr(model, name):
            answer = getattr(model, name)(X)
            tables = answer if isinstance(answer, list) else [answer]
            found |= {f"{name} {i}": np.asarray(table) for i, table in enumerate(tables)}
    return found


def agree(model, X, other, other_X, rows=slice(None), names=None):
    """Two fits say the same of the same rows."""
    want, got = answers(model, X), answers(other, other_X)
    assert want.keys() == got.keys()
    for name, table in want.items():
        if table.dtype.kind != "f":
            assert_array_equal(got[name], table[rows], err_msg=name)
        else:
            unit = max(np.abs(table).max(), 1.0)
            assert_allclose(got[name], table[rows], rtol=0, atol=CLOSE * unit, err_msg=name)
    if hasattr(model, "log_likelihood_"):
        assert_allclose(other.log_likelihood_, model.log_likelihood_, rtol=CLOSE)


@every
def test_rounding_decides_nothing(case):
    moved = case.X * (1.0 + 1e-13)
    agree(plain(case), case.X, fitted(case, moved), moved)


@every
def test_the_order_of_rows_decides_nothing(case):
    order = np.random.default_rng(1).permutation(len(case.X))
    y = None if case.y is None else case.y[order]
    agree(plain(case), case.X, fitted(case, case.X[order], y), case.X[order], order)


@every
def test_the_order_of_columns_decides_nothing(case):
    order = np.random.default_rng(2).permutation(case.X.shape[1])
    agree(plain(case), case.X, fitted(case, case.X[:, order]), case.X[:, order])


LABELED = {name: case for name, case in CASES.items() if case.y is not None and case.renamed}


@pytest.mark.parametrize("case", LABELED.values(), ids=LABELED.keys())
def test_names_of_labels_decide_nothing(case):
    n_classes = case.y.max() + 1
    names = np.append(np.random.default_rng(3).permutation(n_classes), -1)
    model, other = plain(case), fitted(case, y=names[case.y])
    want, got = answers(model, case.X), answers(other, case.X)
    for name, table in want.items():
        if name.startswith("predict "):
            assert_array_equal(got[name], names[table], err_msg=name)
        elif name.startswith("predict_proba"):
            assert_allclose(got[name][:, names[:-1]], table, atol=CLOSE, err_msg=name)
        else:
            assert_allclose(got[name], table, rtol=0, atol=CLOSE * max(np.abs(table).max(), 1.0), err_msg=name)


@every
def test_units_decide_nothing(case):
    want = answers(plain(case), case.X)
    for scale in case.scales:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            got = answers(fitted(case, case.X * scale), case.X * scale)
        for name, table in want.items():
            if name.startswith("predict"):
                assert_allclose(got[name], table, rtol=CLOSE, atol=CLOSE, err_msg=f"{name} {scale}")
            elif name.startswith("transform"):  # some projections are in units of X, others have none
                unit = table.std(axis=0) / got[name].std(axis=0)
                assert_allclose(got[name] * unit, table, rtol=0, atol=CLOSE * np.abs(table).max(), err_msg=name)
            else:
                assert np.isfinite(got[name]).all(), name


@every
def test_what_belongs_to_the_caller_stays_as_it_was(case):
    X, y = case.X.copy(), None if case.y is None else case.y.copy()
    filters, threads = list(warnings.filters), threadpool_info()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    answers(fitted(case), case.X)
    assert_array_equal(case.X, X)
    if y is not None:
        assert_array_equal(case.y, y)
    assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert warnings.filters == filters
    assert threadpool_info() == threads


LANDMARKS = {
    "KernelSPPCA": gnomon.KernelSPPCA(2, kernel="rbf", gamma=0.1, n_landmarks=30, tol=1e-9),
    "KernelSPPCA of a kernel matrix": gnomon.KernelSPPCA(2, kernel="precomputed", n_landmarks=30, tol=1e-9),
    "KDA": gnomon.KDA(kernel="rbf", gamma=0.1, n_landmarks=20, shrinkage=0.1),
    "SEPCA": gnomon.SEPCA(2, kernel="rbf", gamma=0.1, n_landmarks=30, tol=1e-9),
}


@pytest.mark.parametrize("name", LANDMARKS)
def test_landmarks_are_the_same_rows_in_any_order_and_unit(name):
    model, y, order = LANDMARKS[name], _few(WINE_Y, 0.4), np.random.default_rng(1).permutation(len(WINE))
    K = np.exp(-0.1 * ((WINE[:, None] - WINE) ** 2).sum(axis=2))
    given = model.kernel == "precomputed"
    plain = clone(model).fit(K if given else WINE, y)
    other = clone(model).fit(K[np.ix_(order, order)] if given else WINE[order], y[order])
    rows = "references_" if name == "KDA" else "landmarks_"
    assert set(order[getattr(other, rows)]) == set(getattr(plain, rows))
    want = plain.predict_proba(K if given else WINE)
    assert_allclose(other.predict_proba(K[:, order] if given else WINE), want, atol=CLOSE)


@every
def test_skops_writes_types_of_gnomon_alone_and_gives_the_model_back(case):
    """What skops does not know are the classes of this library, which a reader can trust by their names."""
    io = pytest.importorskip("skops.io")
    written = io.dumps(plain(case))
    unknown = io.get_untrusted_types(data=written)
    assert type(case.model).__name__ in {name.rpartition(".")[2] for name in unknown}
    assert all(name.startswith("gnomon.") for name in unknown)
    want, got = answers(plain(case), case.X), answers(io.loads(written, trusted=unknown), case.X)
    assert want.keys() == got.keys()
    for name, table in want.items():
        assert_array_equal(got[name], table, err_msg=name)


@every
def test_a_model_file_gives_the_model_back(case, tmp_path):
    save_model(plain(case), tmp_path / "m.gnomon")
    want, got = answers(plain(case), case.X), answers(load_model(tmp_path / "m.gnomon"), case.X)
    assert want.keys() == got.keys()
    for name, table in want.items():
        assert_array_equal(got[name], table, err_msg=name)
