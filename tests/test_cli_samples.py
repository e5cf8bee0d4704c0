"""Rows that share a cell of --id are of one sample: they count as one label and are held out together."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, metrics, refusal, run
from gnomon import GuidedProjection
from gnomon.datasets import load_iris, make_partial
from gnomon.selection import GuidedSearch
from gnomon.tables import write_table

IRIS = load_iris()
KIND = np.array(IRIS.target_names, dtype=object)[IRIS.target]
PARTIAL = make_partial(KIND, n_per_class=4, random_state=0)
LABELED = np.flatnonzero([one is not None for one in PARTIAL])
SAMPLE = np.concatenate([np.arange(150), np.repeat(LABELED, 2)])
X = IRIS.data[SAMPLE] + 0.02 * np.random.default_rng(0).standard_normal((len(SAMPLE), 4))
FIT = ("fit", "t.csv", "--id", "plant", "--no-compare", "--out", "out")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)


def table(target, names=None):
    names = [f"p{i}" for i in SAMPLE] if names is None else names
    write_table("t.csv", {"plant": names} | {f"x{j}": X[:, j] for j in range(4)} | {"y": target})


@pytest.mark.parametrize("model", [(), ("--model", "guided")])
def test_a_fit_is_told_which_rows_are_of_one_sample(model):
    table(PARTIAL[SAMPLE])
    text = " ".join(run(*FIT, "--target", "y", *model).split())
    assert "note: by --id plant the 36 labeled rows are of 12 samples: rows of one sample count as one label" in text
    wanted = GuidedProjection().fit(X, PARTIAL[SAMPLE], groups=SAMPLE).predict_proba(X)
    run("predict", "out", "t.csv", "--out", "p.csv")
    found = np.array([column("p.csv", f"p_{name}") for name in IRIS.target_names], dtype=float).T
    assert_allclose(found, wanted, atol=1e-6)
    assert np.abs(found - GuidedProjection().fit(X, PARTIAL[SAMPLE]).predict_proba(X)).max() > 0.02


def test_deviations_of_numbers_are_those_of_samples():
    y = np.where(np.isin(SAMPLE, LABELED), X[:, 0], np.nan)
    table(["" if np.isnan(one) else one for one in y])
    run(*FIT, "--target", "y", "--target-kind", "real")
    run("predict", "out", "t.csv", "--out", "p.csv")
    _, std = GuidedProjection(target="real").fit(X, y, groups=SAMPLE).predict(X, return_std=True)
    assert_allclose(np.array(column("p.csv", "predicted_std"), dtype=float), std, rtol=1e-5)


@pytest.mark.usefixtures("few_splits")
def test_a_search_holds_samples_out_together(monkeypatch):
    quickly = partial(GuidedSearch, n_splits=1, n_permutations=0, preprocessing=["rows"])
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", quickly)
    table(PARTIAL[SAMPLE])
    run(*FIT, "--target", "y", "--model", "search")
    found = [row["score"] for row in metrics()["choice"]["rows"]]
    together, alone = (
        quickly(["DPPCA", "CPPCA", "SPPCA"], n_components=2).fit(X, PARTIAL[SAMPLE], groups=groups).results_.rows
        for groups in (SAMPLE, None)
    )
    assert_allclose(found, [row["score"] for row in together], atol=1e-6)
    assert np.abs(np.subtract(found, [row["score"] for row in alone])).max() > 0.01


def test_names_of_their_own_say_nothing():
    table(PARTIAL[SAMPLE], [f"p{i}" for i in range(len(SAMPLE))])
    assert "samples" not in run(*FIT, "--target", "y")
    table(PARTIAL[SAMPLE])
    assert "note: by --id" not in run(*FIT, "--force", "--target", "y", "--model", "dppca")  # which counts rows


def test_numbers_of_two_samples_are_refused():
    y = np.where(np.isin(SAMPLE, LABELED), X[:, 0], np.nan)
    table(["" if np.isnan(one) else one for one in y], [f"p{i % 2}" for i in SAMPLE])
    told = refusal(*FIT, "--target", "y", "--target-kind", "real")
    assert "column 'y' has 36 labeled rows of 2 groups, each of which counts as one row" in told
    assert told.strip().endswith("Label rows of other groups, or leave --id out.")
