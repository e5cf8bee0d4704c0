"""Estimators of rows that live elsewhere: the same answers, and X itself never comes home unless the model needs it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

import gnomon
from gnomon import (
    CPPCA,
    DPPCA,
    IFA,
    KDA,
    PPCA,
    SCL,
    SDRGLM,
    SEPCA,
    SPPCA,
    ColoredMVU,
    DomainStack,
    GuidedProjection,
    KernelSPPCA,
    MixturePPCA,
    NeighborFeatures,
)
from gnomon.rows import namespace
from gnomon.rows.contract import Rows
from gnomon.rows.local import LocalRows
from rows.copied import CopiedRows, CopiedSparseRows

MODELS = {
    "PPCA": (PPCA(2), ""),
    "PPCA auto": (PPCA("auto"), ""),
    "PPCA missing": (PPCA(2), "missing"),
    "PPCA single": (PPCA(2), "single"),
    "PPCA sparse": (PPCA(2), "sparse"),
    "SPPCA": (SPPCA(2, random_state=0), ""),
    "SPPCA weighted": (SPPCA(2, random_state=0), "weighted"),
    "SPPCA sparse": (SPPCA(2, solver="subspace", random_state=0), "sparse"),
    "SPPCA subspace": (SPPCA(2, solver="subspace", random_state=0), ""),
    "SPPCA missing": (SPPCA(2, random_state=0), "missing"),
    "SPPCA dual": (SPPCA(2, solver="dual", tol=1e-4, random_state=0), ""),
    "CPPCA": (CPPCA(2, random_state=0), ""),
    "CPPCA weighted": (CPPCA(2, random_state=0), "weighted"),
    "CPPCA missing": (CPPCA(2, random_state=0, tol=1e-4), "missing"),
    "DPPCA": (DPPCA(2, random_state=0), ""),
    "DPPCA sparse": (DPPCA(2, n_factors=2, shrinkage=0.1, unlabeled_weight=1.0), "sparse"),
    "IFA": (IFA(random_state=0, n_init=1, pca_components=3), ""),
    "IFA noisy": (IFA(random_state=0, n_init=1, noise="isotropic", pca_components=2, tol=1e-3), ""),
    "MixturePPCA": (MixturePPCA(2, 1, n_init=1, random_state=0), ""),
    "MixturePPCA weighted": (MixturePPCA(2, 1, n_init=1, random_state=0), "weighted"),
    "MixturePPCA missing": (MixturePPCA(2, 1, n_init=1, random_state=0), "missing"),
    "SCL": (SCL(2, n_pivots=4), ""),
    "SCL sparse": (SCL(2, n_pivots=4, augment=True), "sparse"),
}
IN_MEMORY = {  # the model needs all of X in one place, again and again
    "ColoredMVU": (ColoredMVU(2, n_basis=5), "distances of all pairs of rows"),
    "DomainStack": (
        DomainStack(scale=1.0, C=1.0),
        "the classifier reads features and projection",
    ),
    "GuidedProjection": (GuidedProjection(), "rows are prepared in several ways, on graphs of all pairs among them"),
    "KDA": (KDA(kernel="rbf"), "kernel values of all pairs of labeled rows"),
    "KernelSPPCA": (KernelSPPCA(2, kernel="rbf"), "kernel values of all pairs of rows"),
    "NeighborFeatures": (NeighborFeatures(5), "distances of all pairs of rows"),
    "SDRGLM": (
        SDRGLM(2),
        "every step of the search reads all rows several times",
    ),
    "SEPCA": (SEPCA(2), "kernel values of all pairs of rows"),
}
ANSWERS = ("transform", "posterior", "predict", "predict_proba", "score_samples", "impute")


class Away:
    """Rows that refuse to come home, though columns that belong to them may."""

    def gather(self, *columns):
        assert columns, "X was gathered"
        return super().gather(*columns)


class AwayRows(Away, CopiedRows):
    pass


class AwaySparseRows(Away, CopiedSparseRows):
    pass


def table(kind):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = 2.0 * np.eye(3)[y] @ rng.normal(size=(3, 8)) + rng.normal(size=(60, 8)) + 1.0
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "sparse":
        X = np.where(np.abs(X) > 0.7, X, 0.0)
    X = X.astype(np.float32) if kind == "single" else X
    weights = np.where(np.arange(60) % 5, 1.5, 0.0) if kind == "weighted" else None
    return X, np.where(np.arange(60) % 4 == 0, -1, y), weights


def away(X, kind, weights=None):
    if kind == "sparse":
        return AwaySparseRows(sp.csr_array(X), weights)
    return AwayRows(X, weights)


def answers(model, X, kind):
    found = {}
    for name in ANSWERS:
        if hasattr(model, name) and (name != "impute" or kind == "missing"):
            answer = getattr(model, name)(X)
            for i, part in enumerate(answer if isinstance(answer, tuple) else [answer]):
                part = part.gather() if isinstance(part, Rows) else part
                found[name, i] = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_rows_elsewhere_change_nothing_and_stay_there(name, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)  # blocks of 16 rows, like those of the copies
    monkeypatch.setattr(LocalRows, "summarize", Rows.summarize)  # nor has it the short cut of rows at hand
    model, kind = MODELS[name]
    X, y, weights = table(kind)
    here, there = clone(model), clone(model)
    rows = away(X, kind, weights)
    if kind == "sparse":
        X = rows.X
    here.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    there.fit(rows, y)
    want, got = answers(here, X, kind), answers(there, away(X, kind), kind)
    assert want
    assert want.keys() == got.keys()
    for key, value in want.items():
        assert got[key].dtype == value.dtype
        single = value.dtype == np.float32
        assert_allclose(got[key], value, rtol=1e-4 if single else 1e-7, atol=1e-4 if single else 1e-8, err_msg=str(key))
    if hasattr(here, "score") and not name.startswith("SCL"):
        assert there.score(away(X, kind), y) == pytest.approx(here.score(X, y))


@pytest.mark.parametrize("name", IN_MEMORY)
def test_only_these_models_bring_all_rows_home(name):
    model, reason = IN_MEMORY[name]
    X, y, _ = table("")
    assert reason
    with pytest.raises(AssertionError, match="X was gathered"):
        clone(model).fit(away(X, ""), y)
    said = " ".join(type(model).__doc__.split())
    assert "`Rows` are brought into this process" in said


def test_every_estimator_is_in_one_of_the_lists():
    fitted = {name for name in gnomon.__all__ if hasattr(getattr(gnomon, name), "fit")}
    assert fitted == {type(model).__name__ for model, _ in MODELS.values()} | set(IN_MEMORY)
