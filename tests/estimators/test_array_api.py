"""PPCA and SPPCA on arrays of other libraries: the same numbers, returned where and as the rows came."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

from gnomon import PPCA, SPPCA, MixturePPCA
from namespaces import LIBRARIES, WITH_TORCH, get, put

N, P = 240, 40
MODELS = {
    "ppca_moments": PPCA(3),
    "ppca_subspace": PPCA(3, solver="subspace"),
    "ratio": SPPCA(3),
    "moments": SPPCA(3, tol=1e-12),
    "subspace": SPPCA(3, solver="subspace", tol=1e-12, max_iter=2000),
    "em": SPPCA(3, solver="em", tol=1e-11, max_iter=5000),
    "weighted": SPPCA(3, label_weight=4.0, output_noise=0.2, tol=1e-12),
    "dual": SPPCA(3, solver="dual", tol=1e-3),
    "ppca_missing": PPCA(3, tol=1e-11),
    "missing": SPPCA(3, tol=1e-11, label_weight=3.0),
}
TOLERANCES = [(np.float64, 1e-10), (np.float32, 1e-4)]
STRICT = type(array_api_strict.asarray(0.0))


def planted(name="moments", seed=0):
    """Rows, and two real outputs: all known for "ratio", half of the rows without for the others."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, 3))
    X = Z @ rng.normal(size=(3, P)) * np.linspace(1, 2, P) + rng.normal(size=(N, P)) + 3 * rng.normal(size=P)
    Y = Z[:, :2] @ rng.normal(size=(2, 2)) + 0.3 * rng.normal(size=(N, 2))
    if name not in ("ratio", "dual"):
        Y[rng.random(N) < 0.5] = np.nan
    if name.endswith("missing"):
        lost = rng.random((N, P)) < 0.2
        lost[: N // 2] = lost[np.arange(N // 2) % 5]  # few patterns, then many
        lost[:3] = False
        lost[5] = True
        X[lost] = np.nan
    return X, Y


def outputs(model, X, Y):
    """Everything that comes back as arrays of the library of X."""
    mean, cov = model.posterior(X, Y)
    Z, Z_cov = model.transform(X, return_cov=True)
    out = {"mean": mean, "cov": cov, "Z": Z, "Z_cov": Z_cov, "density": model.score_samples(X, Y)}
    out |= {"density of x": model.score_samples(X), "back": model.inverse_transform(Z), "imputed": model.impute(X)}
    if isinstance(model, SPPCA):
        out["expected"], out["std"] = model.predict(X, return_std=True)
    return out


def assert_close(mine, other, tol, what):
    assert_allclose(mine, other, rtol=0, atol=tol * np.abs(other).max(), err_msg=what)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype, tol", TOLERANCES)
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_numpy(name, library, dtype, tol):
    X, Y = planted(name)
    X = X.astype(dtype)
    stored = put(X, library)
    reference, model = clone(MODELS[name]).fit(X, Y), clone(MODELS[name]).fit(stored, Y)
    assert model.solver_ == reference.solver_
    assert model.converged_
    for attribute in ("components_", "mean_", "noise_variance_", "log_likelihood_"):
        mine, other = getattr(model, attribute), getattr(reference, attribute)
        assert type(mine) is type(other)
        assert_close(mine, other, tol, attribute)
    assert model.components_.dtype == dtype
    wanted = outputs(reference, X, Y)
    for what, out in outputs(model, stored, Y).items():
        assert type(out) is type(stored), what
        assert out.dtype == stored.dtype, what
        assert out.device == stored.device, what
        assert_close(get(out), wanted[what], tol, what)
    assert_allclose(model.score(stored, Y), reference.score(X, Y), rtol=tol)
    assert_allclose(model.bic(stored, Y), reference.bic(X, Y), rtol=tol)


@pytest.mark.parametrize("library", LIBRARIES)
def test_targets_and_weights_of_the_same_library(library):
    X, Y = planted()
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    reference = SPPCA(3, tol=1e-12).fit(X, Y, sample_weight=w)
    stored, targets = put(X, library), put(Y, library)
    model = SPPCA(3, tol=1e-12).fit(stored, targets, sample_weight=put(w, library))
    assert model.n_samples_ == (w > 0).sum()
    assert_close(model.components_, reference.components_, 1e-10, "components_")
    assert_close(get(model.posterior(stored, targets)[0]), reference.posterior(X, Y)[0], 1e-10, "posterior")
    assert_close(get(model.score_samples(stored, targets)), reference.score_samples(X, Y), 1e-10, "density")


@pytest.mark.parametrize("library", LIBRARIES)
def test_classes(library):
    X, y = load_iris(return_X_y=True)
    y[::3] = -1
    stored = put(X, library)
    reference, model = SPPCA(2, tol=1e-12).fit(X, y), SPPCA(2, tol=1e-12).fit(stored, put(y, library))
    assert_array_equal(model.classes_, [0, 1, 2])
    labels = model.predict(stored)
    assert isinstance(labels, np.ndarray)
    assert_array_equal(labels, reference.predict(X))
    proba = model.predict_proba(stored)
    assert type(proba) is type(stored)
    assert proba.device == stored.device
    assert_allclose(get(proba), reference.predict_proba(X), atol=1e-9)
    assert_array_equal(SPPCA(2).fit(stored, np.array(["a", "b"])[y % 2]).predict(stored)[:1].dtype.kind, "U")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_takes_rows_of_any_library_whatever_it_was_fitted_to(library):
    X, Y = planted()
    on_numpy, elsewhere = SPPCA(3).fit(X, Y), SPPCA(3).fit(put(X, library), Y)
    assert_allclose(get(on_numpy.transform(put(X, library))), on_numpy.transform(X), atol=1e-10)
    assert isinstance(elsewhere.transform(X), np.ndarray)
    single = elsewhere.transform(put(X.astype(np.float32), library))
    assert single.dtype == put(np.zeros(1, dtype=np.float32), library).dtype
    assert type(PPCA(2).fit_transform(put(X, library))) is type(single)


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_become_floats_where_they_are(library):
    X = np.round(planted()[0]).astype(np.int64)
    stored = put(X, library)
    model = PPCA(2).fit(stored)
    Z = model.transform(stored)
    assert Z.dtype == put(np.zeros(1), library).dtype
    assert_allclose(get(Z), PPCA(2).fit(X).transform(X), atol=1e-9)
    whole = put(np.ones((4, 2), dtype=np.int64), library)
    assert_allclose(get(model.inverse_transform(whole)), model.inverse_transform(get(whole)), rtol=1e-12)


@WITH_TORCH
def test_gradients_are_left_alone():
    X, Y = planted()
    stored = put(X, "torch").requires_grad_()
    Z = SPPCA(3).fit(stored, Y).transform(stored)
    assert not Z.requires_grad
    assert stored.grad is None


@pytest.mark.parametrize(
    "name, tol", [("ppca_moments", None), ("moments", None), ("ratio", None), ("ppca_missing", 1e-3), ("missing", 1e-3)]
)
def test_a_device_without_float64(name, tol):
    X, Y = planted(name)
    X = X.astype(np.float32)
    stored = put(X, "strict", "no_float64")
    both = [clone(MODELS[name]) for _ in range(2)]
    for each in both if tol else ():
        each.set_params(tol=tol)  # single precision does not reach the default
    reference, model = both[0].fit(X, Y), both[1].fit(stored, Y)
    wanted = outputs(reference, X, Y)
    for what, out in outputs(model, stored, Y).items():
        assert out.dtype == array_api_strict.float32
        assert out.device == stored.device
        assert_close(get(out), wanted[what], tol or 1e-4, what)


@pytest.mark.parametrize("name", MODELS)
def test_strict_rows_never_come_to_the_host(name, monkeypatch):
    moved = []
    plain = STRICT.to_device

    def record(self, *args, **kwargs):
        moved.append(self.shape)
        return plain(self, *args, **kwargs)

    X, Y = planted(name)
    stored = put(X, "strict")
    with pytest.raises(RuntimeError, match="device1"):  # NumPy cannot read this device, so nothing passes unseen
        np.asarray(stored)
    monkeypatch.setattr(STRICT, "to_device", record)
    model = clone(MODELS[name]).fit(stored, Y)
    outputs(model, stored, Y)
    assert moved
    assert not [shape for shape in moved if shape and shape[0] == N and shape[1:] == (P,)]


@WITH_TORCH
@pytest.mark.parametrize("name", MODELS)
def test_torch_rows_never_come_to_the_host(name, monkeypatch):
    import torch

    moved = []
    plain = torch.Tensor.numpy

    def record(self, *args, **kwargs):
        moved.append(tuple(self.shape))
        return plain(self, *args, **kwargs)

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"a tensor of shape {tuple(self.shape)} was converted implicitly")

    X, Y = planted(name)
    stored = put(X, "torch")
    monkeypatch.setattr(torch.Tensor, "numpy", record)
    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    model = clone(MODELS[name]).fit(stored, Y)
    outputs(model, stored, Y)
    assert moved
    assert (N, P) not in moved


BAD = {
    "one dimension": (lambda X: X[:, 0], "Expected 2D array"),
    "one row": (lambda X: X[:1], r"1 sample\(s\): X must have at least 2"),
    "no column": (lambda X: X[:, :0], r"0 feature\(s\)"),
    "infinity": (lambda X: X + np.where(np.arange(P) == 2, -np.inf, 0.0), "contains infinity"),
    "missing column": (lambda X: X + np.where(np.arange(P) == 2, np.nan, 0.0), "column 2 of X is never observed"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_in_fit(kind, library):
    spoil, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        PPCA(1).fit(put(spoil(planted()[0]), library))


@pytest.mark.parametrize("library", LIBRARIES)
def test_bad_new_rows(library):
    X, Y = planted()
    model = SPPCA(3).fit(put(X, library), Y)
    for method in (model.transform, model.predict, model.score_samples, model.posterior, model.impute):
        with pytest.raises(ValueError, match="contains infinity"):
            method(put(BAD["infinity"][0](X), library))
        with pytest.raises(ValueError, match="39 features"):
            method(put(X[:, 1:], library))
    with pytest.raises(ValueError, match=r"shape \(240, 40\)"):
        model.inverse_transform(put(X, library))
    with pytest.raises(TypeError, match="complex"):
        model.transform(put(X + 1j, library))


def test_names_of_features_are_forgotten_and_missed():
    import pandas as pd

    X, _ = planted()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(P)])
    model = PPCA(2).fit(frame)
    with pytest.warns(UserWarning, match="valid feature names"):
        model.transform(put(X, "strict"))
    assert not hasattr(model.fit(put(X, "strict")), "feature_names_in_")
    assert model.n_features_in_ == P


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("y", ["targets", None])
def test_missing_entries_of_new_rows(library, y, monkeypatch):
    X, Y = planted("missing")
    model = SPPCA(3).fit(*planted())
    stored, targets = put(X, library), Y if y else None
    monkeypatch.setattr("gnomon.rows.namespace.BLOCK_ENTRIES", 40 * P)  # several batches
    monkeypatch.setattr("gnomon.rows.namespace.BLOCK_ENTRIES", 50 * P)
    assert_close(get(model.impute(stored, targets)), model.impute(X, targets), 1e-10, "impute")
    assert_close(get(model.score_samples(stored, targets)), model.score_samples(X, targets), 1e-10, "density")
    assert_array_equal(get(stored), X)
    labels = np.where(np.arange(N) % 3, "a", "b")
    classes = SPPCA(2).fit(X, labels)
    assert_array_equal(classes.predict(stored), classes.predict(X))
    assert_close(get(classes.predict_proba(stored)), classes.predict_proba(X), 1e-10, "proba")


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_entries_need_em(library):
    X, Y = planted("missing")
    with pytest.raises(ValueError, match="needs complete rows"):
        SPPCA(2, solver="moments").fit(put(X, library), Y)
    with pytest.raises(ValueError, match="needs complete rows"):
        SPPCA(2, solver="dual").fit(put(X, library), Y)


@WITH_TORCH
def test_a_mixture_still_takes_tensors_as_it_takes_lists():
    X, _ = planted()
    assert_allclose(MixturePPCA(2).fit(put(X, "torch")).score(X), MixturePPCA(2).fit(X).score(X))
