"""The table beside tools that may not be installed: its protocol on small data, and stand-ins for them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from gnomon import GuidedProjection
from gnomon.experiments import peers
from gnomon.experiments._draw import draw_labeled, one_nn_error
from gnomon.experiments.peers import FIRST_SEED, N_LABELS, format_table, reproduce

TOOLS = ("umap", "mofaflex", "scvi")


@pytest.fixture
def flowers(monkeypatch):
    """Flowers as genes, as cells and as a set of neither; none of the tools is installed."""
    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(peers, "load", lambda name: (X, y))
    monkeypatch.setattr(peers, "counts_of", lambda name: np.rint(10 * X))
    for tool in TOOLS:
        monkeypatch.setitem(sys.modules, tool, None)
    return X, y


def test_errors_are_of_hidden_labels(flowers):
    X, y = flowers
    (one,) = reproduce(("other",), n_draws=1)
    labeled = draw_labeled(y, N_LABELS, FIRST_SEED)
    model = GuidedProjection(3).fit(X, np.where(labeled, y, -1))
    near, wrong, seconds = one["found"]["GuidedProjection"]
    assert (near, wrong) == (
        one_nn_error(model.transform(X), y, labeled),
        np.mean(model.predict(X[~labeled]) != y[~labeled]),
    )
    assert 0 < seconds < 60
    assert one["found"]["PCA"][1] is None
    assert one["found"]["logistic"][0] is None


def test_tools_that_are_not_installed_are_named(flowers):
    records = list(reproduce(("khan", "pbmc68k"), n_draws=1))
    assert all(set(one["found"]) == set(peers.METHODS) - {"UMAP", "MOFA-FLEX", "scANVI"} for one in records)
    lines = format_table(records).splitlines()
    assert lines[:2] == ["2 draws of 2 sets", "not installed, or without a set: UMAP, MOFA-FLEX, scANVI"]


@pytest.fixture
def got(flowers, monkeypatch):
    """What stand-ins for the tools get; they give rows back as they are."""
    y = flowers[1]
    labeled, got = draw_labeled(y, N_LABELS, FIRST_SEED), {}

    class Umap:
        def __init__(self, n_components, random_state):
            got["UMAP dims"] = n_components

        def fit_transform(self, X, y):
            got["UMAP"] = y
            return X

    class MofaFlex:
        def __init__(self, data, *options):
            ((table,),) = (tables.values() for tables in data.values())
            got["MOFA-FLEX"], self.Z = table.obs.to_numpy(), table.X

        def get_factors(self, form):
            return {"rows": self.Z}

    class Scanvi:
        @staticmethod
        def setup_anndata(table, labels_key, unlabeled_category):
            got["scANVI"] = table.obs[labels_key].to_numpy()

        def __init__(self, table, n_latent):
            self.X = table.X

        def train(self, **options):
            assert options["accelerator"] == "cpu"

        def get_latent_representation(self):
            return self.X

        def predict(self):
            return LogisticRegression(max_iter=1000).fit(self.X[labeled], y[labeled].astype(str)).predict(self.X)

    def options(**given):
        return SimpleNamespace(**given)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Umap))
    tool = SimpleNamespace(MOFAFLEX=MofaFlex, DataOptions=options, ModelOptions=options, TrainingOptions=options)
    monkeypatch.setitem(sys.modules, "mofaflex", tool)
    tool = SimpleNamespace(model=SimpleNamespace(SCANVI=Scanvi), settings=SimpleNamespace(seed=None))
    monkeypatch.setitem(sys.modules, "scvi", tool)
    return got


def test_tools_see_the_labels_of_labeled_rows_alone(flowers, got):
    X, y = flowers
    labeled = draw_labeled(y, N_LABELS, FIRST_SEED)
    (one,) = reproduce(("pbmc68k",), n_draws=1)
    assert set(one["found"]) == set(peers.METHODS)
    seen = np.where(labeled, y, -1)
    assert (got["UMAP"] == seen).all()
    assert got["UMAP dims"] == 3
    assert (got["scANVI"] == np.where(labeled, y.astype(str), "unknown")).all()
    guides = got["MOFA-FLEX"]
    assert np.isnan(guides[~labeled]).all()
    assert (guides[labeled] == (y[labeled, None] == np.arange(3))).all()
    assert one["found"]["UMAP"][0] == one["found"]["MOFA-FLEX"][0] == one_nn_error(X, y, labeled)
    predicted = (
        LogisticRegression(max_iter=1000).fit(np.rint(10 * X)[labeled], y[labeled]).predict(np.rint(10 * X)[~labeled])
    )
    assert one["found"]["scANVI"][1] == np.mean(predicted != y[~labeled])


def test_the_table_by_hand():
    """Two draws of a set of genes and one of another, whose methods are not the same."""
    records = [
        {"data": "khan", "seed": 100, "found": {"DPPCA": [0.1, 0.2, 1.0], "MOFA-FLEX": [0.5, None, 9.0]}},
        {"data": "khan", "seed": 101, "found": {"DPPCA": [0.3, 0.2, 3.0], "MOFA-FLEX": [0.7, None, 7.0]}},
        {"data": "beef", "seed": 100, "found": {"DPPCA": [0.5, 0.8, 2.0]}},
    ]
    lines = format_table(records).splitlines()
    assert lines[0] == "3 draws of 2 sets"
    assert [line.split() for line in lines[3:5]] == [["all", "sets", "1-NN", "predictions", "seconds"]] + [
        ["DPPCA", "0.300", "0.400", "2.0"]
    ]
    assert [line.split() for line in lines[6:]] == [
        ["khan", "1-NN", "predictions", "seconds"],
        ["DPPCA", "0.200", "0.200", "2.0"],
        ["MOFA-FLEX", "0.600", "8.0"],
    ]


def test_what_is_done_is_not_done_again(flowers):
    kept = [{"data": "khan", "seed": FIRST_SEED, "found": {}}]
    records = list(reproduce(("khan", "other"), n_draws=1, done=kept))
    assert [(one["data"], one["seed"]) for one in records] == [("other", FIRST_SEED)]


def test_counts_are_whole_numbers_of_the_stored_logs(tmp_path, monkeypatch):
    (tmp_path / "breadth").mkdir()
    counts = np.array([[0, 3], [17, 1]])
    np.savez(tmp_path / "breadth" / "cells.npz", raw=np.log1p(counts).astype(np.float32))
    monkeypatch.setenv("GNOMON_DATA", str(tmp_path))
    assert (peers.counts_of("cells") == counts).all()
