"""--components auto: by the labels, by the least bic, or the model's own rule."""

import json
from pathlib import Path

import numpy as np
import pytest

from commands import metrics, refusal, run
from gnomon import PPCA, SPPCA
from gnomon._cli.sizes import TRIED
from gnomon.datasets import make_low_rank
from gnomon.selection import choose_components
from gnomon.tables import write_table

FIT = ("fit", "t.csv", "--components", "auto", "--no-compare", "--out", "out")
P = 12
BUNCH = make_low_rank(80, P, 4, n_classes=3)
LABELS = np.where(np.arange(80) % 4 == 0, np.array(["a", "b", "c"])[BUNCH.target], "")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    write_table("t.csv", {f"x{j}": BUNCH.data[:, j] for j in range(P)} | {"y": LABELS})


def test_a_named_model_gets_the_size_that_labels_choose():
    text = run(*FIT, "--target", "y", "--model", "sppca")
    y = np.where(LABELS == "", None, LABELS)
    sizes = [k for k in TRIED if k < P]
    search = choose_components(SPPCA(), BUNCH.data, y, values=sizes, n_permutations=0, random_state=0)
    assert metrics()["settings"]["components"] == search.results_.chosen_row["settings"]["n_components"]
    (note,) = [note for note in metrics()["notes"] if "--components" in note]
    assert note == f"--components auto tried 1, 2, 3, 4, 5, 7, 10. {search.results_.verdict}"
    assert "note: --components auto tried 1, 2, 3, 4, 5, 7, 10." in text


def test_ppca_gets_the_size_of_the_least_bic():
    run(*FIT, "--drop", "y", "--model", "ppca")
    sizes = [k for k in TRIED if k < P]
    bics = [PPCA(k).fit(BUNCH.data).bic(BUNCH.data) for k in sizes]
    assert metrics()["settings"]["components"] == sizes[int(np.argmin(bics))] > 2
    assert "--components auto: the least bic among 1, 2, 3, 4, 5, 7, 10 components." in metrics()["notes"]


@pytest.mark.parametrize("model", ["auto", "kda", "ifa"])
def test_models_with_a_rule_of_their_own_keep_it(model):
    run(*FIT, "--target", "y", "--model", model)
    found = metrics()["settings"]["components"]
    run("fit", "t.csv", "--target", "y", "--model", model, "--no-compare", "--out", "out", "--force")
    assert metrics()["settings"]["components"] == found


def test_too_few_labels_to_choose_by_leave_the_default():
    few = np.where(np.arange(80) < 3, np.array(["a", "b", "c"])[np.arange(80) % 3], "")
    write_table("t.csv", {f"x{j}": BUNCH.data[:, j] for j in range(P)} | {"y": few})
    run(*FIT, "--target", "y", "--model", "sppca")
    assert metrics()["settings"]["components"] == 2
    assert any(note.startswith("--components auto: no choice, so 2: ") for note in metrics()["notes"])


def test_it_is_planned_compared_and_configured():
    for model, words in {
        "auto": "guided, which many models teach: 2 components at most",
        "search": "the model that the labels choose: 2 components at most",
        "ifa": "ifa: its own number of components",
    }.items():
        said = run(*FIT, "--target", "y", "--model", model, "--dry-run")
        assert f"would fit {words}, scale none, seed 0" in said, model
    assert "would fit dppca: as many components as are found best," in run(
        *FIT, "--target", "y", "--model", "dppca", "--dry-run"
    )
    Path("c.toml").write_text('components = "auto"\nmodel = "ppca"\n')
    run("fit", "t.csv", "--drop", "y", "--config", "c.toml", "--no-compare", "--out", "out")
    found = metrics()["settings"]["components"]
    run(*FIT, "--drop", "y", "--model", "ppca", "--force")
    assert metrics()["settings"]["components"] == found
    words = ("compare", "t.csv", "--target", "y", "--model", "sppca", "--components", "auto", "--json")
    (one,) = json.loads(run(*words))["models"]
    run(*FIT, "--target", "y", "--model", "sppca", "--force")
    assert one["components"] == metrics()["settings"]["components"]


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5", ""])
def test_other_words_are_refused(value):
    found = refusal("fit", "t.csv", "--drop", "y", "--model", "ppca", "--components", value, "--out", "out")
    assert f"{value!r} is neither a whole number from 1 on nor auto" in found


def test_a_table_on_disk_wants_a_number():
    pytest.importorskip("dask.array")
    pytest.importorskip("pyarrow")
    write_table("t.parquet", {f"x{j}": BUNCH.data[:, j] for j in range(P)})
    words = ("fit", "t.parquet", "--model", "ppca", "--dask", "--components", "auto", "--out", "out")
    for more in ((), ("--dry-run",)):  # before anything is read
        found = refusal(*words, *more)
        assert "t.parquet is read from disk, and --components auto fits many times; give a number" in found


def test_the_default_size_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * [1e14, 1.0, 1.0, 1.0, 1.0]
    kind = np.array(["a", "b", "c"], dtype=object)[np.argmax(X[:, 1:4], axis=1)]
    kind[30:] = None
    write_table("units.csv", {f"x{j}": X[:, j] for j in range(5)} | {"kind": kind})
    assert "GuidedProjection: 2 components" in run("fit", "units.csv", "--target", "kind", "--no-compare", "--out", "u")
