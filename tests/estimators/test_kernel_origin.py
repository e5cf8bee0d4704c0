"""Kernels of rows far from zero keep the digits of what tells them apart, wherever the origin is; long indices."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon import KDA, SEPCA, ColoredMVU, KernelSPPCA

RNG = np.random.default_rng(0)
Y = np.arange(30) % 3
NARROW = np.round(RNG.normal(size=(30, 5)) * 1024) / 1024 + Y[:, None]  # sums with whole numbers are exact
WIDE = np.round(RNG.normal(size=(30, 65)) * 1024) / 1024 + Y[:, None]
MODELS = {
    "KDA": KDA(),
    "KDA rbf": KDA(kernel="rbf", gamma=0.05),
    "KDA landmarks": KDA(n_landmarks=12),
    "KernelSPPCA": KernelSPPCA(1),
    "KernelSPPCA rbf": KernelSPPCA(1, kernel="rbf", gamma=0.05),
    "SEPCA": SEPCA(1),
    "ColoredMVU": ColoredMVU(1),
}


@pytest.mark.parametrize("shift", [1e5, 1e8])
@pytest.mark.parametrize("X", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("name", MODELS)
def test_where_the_origin_is_does_not_matter(name, X, shift):
    if name == "ColoredMVU":
        pytest.importorskip("clarabel")
    model = MODELS[name]
    near = model.fit(X, Y).transform(X)
    model.fit(X + shift, Y)
    far = model.transform(X + shift)
    if "landmarks" not in name:  # which span other directions about another origin
        assert_allclose(far, near, atol=1e-6 * np.abs(near).max())
    assert_allclose(model.transform(sp.csr_array(X + shift)), far, atol=1e-6 * np.abs(far).max())


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1.1, 30)])
@pytest.mark.parametrize("value", [0.1, 1 / 3])
@pytest.mark.parametrize("name", ["KDA", "KernelSPPCA", "SEPCA"])
def test_rows_that_are_all_the_same_are_refused(name, value, weights):
    if weights is not None and name == "KDA":
        pytest.skip("KDA takes no weights")
    more = {} if weights is None else {"sample_weight": weights}
    with pytest.raises(ValueError, match=r"of X are( all)? the same to the kernel|has rank 0"):
        MODELS[name].fit(np.full((30, 6), value), Y, **more)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "cosine"])
def test_long_indices_of_sparse_rows_are_taken(kernel):
    X = sp.csr_array(np.where(np.abs(NARROW) < 1.0, 0.0, NARROW))
    long = X.copy()
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = KDA(kernel=kernel)
    assert_allclose(model.fit(long, Y).transform(long), model.fit(X, Y).transform(X), atol=1e-12)
    assert long.indices.dtype == np.int64
