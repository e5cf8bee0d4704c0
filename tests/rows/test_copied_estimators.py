"""Every estimator that reads rows gives the same on rows whose tasks, blocks and answers are copies."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA, DPPCA, IFA, PPCA, SCL, SPPCA, DomainStack, MixturePPCA
from gnomon.rows import namespace
from gnomon.rows.contract import Rows
from gnomon.rows.local import LocalRows
from gnomon.rows.masked import incomplete_rows
from gnomon.rows.read import read
from rows.copied import copied_rows

MODELS = {
    "PPCA": (PPCA(2), False),
    "PPCA missing": (PPCA(2), True),
    "SPPCA": (SPPCA(2, random_state=0), False),
    "SPPCA subspace": (SPPCA(2, solver="subspace", random_state=0), False),
    "SPPCA missing": (SPPCA(2, random_state=0), True),
    "CPPCA": (CPPCA(2, random_state=0), False),
    "CPPCA missing": (CPPCA(2, random_state=0, tol=1e-4), True),
    "DPPCA": (DPPCA(2, random_state=0), False),
    "IFA": (IFA(random_state=0, n_init=1, pca_components=3), False),
    "IFA noisy": (IFA(random_state=0, n_init=1, noise="isotropic", pca_components=2, tol=1e-3), False),
    "MixturePPCA": (MixturePPCA(2, 1, n_init=1, random_state=0), False),
    "MixturePPCA missing": (MixturePPCA(2, 1, n_init=1, random_state=0), True),
    "SCL": (SCL(2, n_pivots=4), False),
    "SPPCA dual": (SPPCA(2, solver="dual", tol=1e-4, random_state=0), False),
    "DomainStack": (DomainStack(scale=1.0, C=1.0), False),
}
ANSWERS = ("transform", "predict", "predict_proba", "score_samples", "impute")


def table(missing):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = 2.0 * np.eye(3)[y] @ rng.normal(size=(3, 8)) + rng.normal(size=(60, 8)) + 1.0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.where(np.arange(60) % 4 == 0, -1, y)


def answers(model, missing):
    X, y = table(missing)
    model.fit(X, y)
    return {
        name: np.asarray(getattr(model, name)(X))
        for name in ANSWERS
        if hasattr(model, name) and (missing or name != "impute")
    }


def copy(X, weights=None, *, masked=False):
    return copied_rows(X, weights, masked=len(incomplete_rows(X)) > 0 if masked is None else masked)


@pytest.mark.parametrize("name", MODELS)
def test_copies_change_nothing(name, monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_ENTRIES", 1)  # blocks of 16 rows, like those of the copies
    monkeypatch.setattr(LocalRows, "summarize", Rows.summarize)  # nor has it the short cut of rows at hand
    model, missing = MODELS[name]
    here = answers(model, missing)
    readers = [module for module in list(sys.modules.values()) if getattr(module, "read", None) is read]
    assert len(readers) > 3
    for module in readers:
        monkeypatch.setattr(module, "read", copy)
    there = answers(model, missing)
    assert here
    for key, value in here.items():
        assert_allclose(there[key], value, rtol=1e-7, atol=1e-8)
