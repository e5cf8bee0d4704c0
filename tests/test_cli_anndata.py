"""AnnData on the command line: results as AnnData, layers in place of X, and what is refused."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from commands import column, metrics, refusal, run
from gnomon.anndata import guide
from gnomon.tables import read_table, write_table

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("few_splits")

KINDS = np.repeat(["B", "T"], 20).astype(object)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with t.h5ad, 40 cells of 4 genes, whose layer tells the kinds and whose X does not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    rng = np.random.default_rng(0)
    noise, signal = rng.normal(size=(2, 40, 4)) + np.array([0.0, 4.0])[:, None, None] * (KINDS == "T")[:, None]
    known = np.where(np.arange(40) % 4 == 0, KINDS, None)
    obs = pandas.DataFrame({"kind": known, "batch": np.arange(40) % 3}, index=[f"cell{i}" for i in range(40)])
    var = pandas.DataFrame({"chromosome": list("1122")}, index=["G1", "G2", "G3", "G4"])
    data = anndata.AnnData(noise, obs=obs, var=var, layers={"logs": sparse.csr_matrix(signal)}, uns={"lab": "north"})
    data.write_h5ad("t.h5ad")


def fitted(*more, model="dppca", layer="logs"):
    run("fit", "t.h5ad", "--target", "kind", "--model", model, "--layer", layer, "--no-compare", "--out", "out", *more)


def test_predict_annotates_the_input():
    fitted()
    run("predict", "out", "t.h5ad", "--out", "answers.csv")
    run("transform", "out", "t.h5ad", "--out", "positions.csv")
    assert run("predict", "out", "t.h5ad", "--out", "a.h5ad") == "predicted 40 rows of t.h5ad; wrote a.h5ad\n"
    data, before = anndata.read_h5ad("a.h5ad"), anndata.read_h5ad("t.h5ad")
    pandas.testing.assert_frame_equal(data.obs[["kind", "batch"]], before.obs)
    pandas.testing.assert_frame_equal(data.var, before.var)
    np.testing.assert_array_equal(data.X, before.X)
    np.testing.assert_array_equal(data.layers["logs"].toarray(), before.layers["logs"].toarray())
    assert data.uns["lab"] == "north"
    assert data.obs["gnomon_kind"].tolist() == column("answers.csv", "predicted")
    written = np.array([column("answers.csv", f"p_{kind}") for kind in "BT"], dtype=float)
    np.testing.assert_allclose(data.obs["gnomon_probability"], written.max(axis=0))
    for key, end in ("X_gnomon", ""), ("X_gnomon_std", "_std"):
        there = np.array([column("positions.csv", f"z{j}{end}") for j in (1, 2)], dtype=float).T
        np.testing.assert_allclose(data.obsm[key], there)
    assert data.uns["gnomon"]["target"] == "kind"
    assert data.uns["gnomon"]["classes"].tolist() == ["B", "T"]


def test_transform_annotates_with_what_it_writes_otherwise():
    fitted(model="guided")
    run("transform", "out", "t.h5ad", "--out", "positions.csv")
    run("transform", "out", "t.h5ad", "--out", "a.h5ad")
    data = anndata.read_h5ad("a.h5ad")
    for name in "typicality", "t2_of_limit", "spe_of_limit":
        np.testing.assert_allclose(data.obs[f"gnomon_{name}"], np.array(column("positions.csv", name), dtype=float))
    assert "gnomon_kind" not in data.obs


def test_predictions_of_a_model_without_typicality_have_its_limits_and_those_of_another_go():
    fitted(model="sppca")
    run("predict", "out", "t.h5ad", "--out", "answers.csv")
    run("predict", "out", "t.h5ad", "--out", "a.h5ad")
    data = anndata.read_h5ad("a.h5ad")
    for name in "t2_of_limit", "spe_of_limit":
        np.testing.assert_allclose(data.obs[f"gnomon_{name}"], np.array(column("answers.csv", name), dtype=float))
    guide(data, "kind")
    assert "gnomon_typicality" in data.obs
    assert "gnomon_t2_of_limit" not in data.obs


def test_any_table_can_be_annotated_and_rows_that_are_unlike_are_said():
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=40) + 3 * (KINDS == "T") for name in "abc"}
    write_table("t.csv", {"cell": [f"c{i}" for i in range(40)], **columns, "kind": KINDS})
    run("fit", "t.csv", "--target", "kind", "--id", "cell", "--model", "guided", "--no-compare", "--out", "out")
    columns["a"][3] = 1e4
    write_table("t.csv", {"cell": [f"c{i}" for i in range(40)], **columns})
    assert "1 row is unlike those of the fit (typicality below 0.01): c3" in run(
        "predict", "out", "t.csv", "--out", "a.h5ad"
    )
    data = anndata.read_h5ad("a.h5ad")
    assert data.obs_names.tolist() == [f"c{i}" for i in range(40)]
    assert data.var_names.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(data.X, np.column_stack(list(columns.values())))
    assert np.mean(data.obs["gnomon_kind"] == KINDS) > 0.9
    io.mmwrite("x.mtx", sparse.csr_matrix(np.column_stack(list(columns.values()))))
    Path("kinds.txt").write_text("\n".join(KINDS))
    run("fit", "x.mtx", "--labels", "kinds.txt", "--model", "dppca", "--no-compare", "--out", "sparse")
    run("predict", "sparse", "x.mtx", "--out", "s.h5ad")
    assert sparse.issparse(anndata.read_h5ad("s.h5ad").X)
    assert anndata.read_h5ad("s.h5ad").obs_names.tolist()[:2] == ["1", "2"]


def test_the_same_bytes_each_time_and_by_a_pipe():
    import subprocess

    fitted()
    for name in "a.h5ad", "b.h5ad":
        run("predict", "out", "t.h5ad", "--out", name)
    assert Path("a.h5ad").read_bytes() == Path("b.h5ad").read_bytes()
    os.mkfifo("pipe.h5ad")
    with subprocess.Popen(["cat", "pipe.h5ad"], stdout=subprocess.PIPE) as reader:
        run("predict", "out", "t.h5ad", "--out", "pipe.h5ad")
        assert reader.stdout.read() == Path("a.h5ad").read_bytes()


def test_a_layer_is_read_and_remembered():
    fitted()
    assert metrics()["settings"]["layer"] == "logs"
    run("predict", "out", "t.h5ad", "--out", "a.csv")
    assert np.mean(np.array(column("a.csv", "predicted")) == KINDS) > 0.9
    run("predict", "out", "t.h5ad", "--layer", "X", "--out", "x.csv")
    assert column("x.csv", "p_B") != column("a.csv", "p_B")
    table = read_table("t.h5ad", layer="logs", ignore=["kind"])
    write_table("t.csv", {name: table.X.toarray()[:, j] for j, name in enumerate(table.feature_names)})
    run("predict", "out", "t.csv", "--out", "same.csv")
    assert column("same.csv", "predicted") == column("a.csv", "predicted")
    np.testing.assert_array_equal(read_table("t.h5ad", layer="X").X, anndata.read_h5ad("t.h5ad").X)


def test_every_command_that_reads_takes_a_layer():
    fitted(model="guided")
    assert "suggested 3 of 40 rows" in run("suggest", "out", "t.h5ad", "--layer", "X", "--count", "3", "--out", "s.csv")
    run("compare", "t.h5ad", "--target", "kind", "--model", "sppca", "--layer", "logs", "--out", "scores.csv")
    said = "t.h5ad: no layer 'log'. Did you mean 'logs'?"
    for words in ("fit", "t.h5ad", "--target", "kind"), ("report", "out", "t.h5ad"), ("impute", "out", "t.h5ad"):
        out = {"fit": "new", "report": "r.html", "impute": "i.csv"}[words[0]]
        assert said in refusal(*words, "--layer", "log", "--out", out)
        assert not Path(out).exists()


def test_a_layer_of_what_has_none_is_refused():
    fitted()
    write_table("t.csv", {"G1": [1.0, 2.0], "G2": [1.0, 2.0], "G3": [1.0, 2.0], "G4": [1.0, 2.0]})
    said = refusal("predict", "out", "t.csv", "--layer", "logs", "--out", "a.csv")
    assert said == "gnomon: t.csv: --layer names a layer of AnnData or a sheet of Excel; a .csv file has none.\n"
    write_table("t.parquet", {"G1": [1.0, 2.0], "G2": [1.0, 2.0], "G3": [1.0, 2.0], "G4": [1.0, 2.0]})
    for words in ("predict", "out"), ("fit", "--model", "ppca", "--dask"), ("fit", "--model", "ppca"):
        said = refusal(*words, "t.parquet", "--layer", "logs", "--out", "a.csv")
        assert "--layer names a layer of AnnData" in said
    data = anndata.read_h5ad("t.h5ad")
    data.layers["words"] = np.full((40, 4), "a")
    data.X = None
    data.write_h5ad("t.h5ad")
    assert "matrix is of type" in refusal("predict", "out", "t.h5ad", "--layer", "words", "--out", "a.csv")
    said = refusal("predict", "out", "t.h5ad", "--layer", "X", "--out", "a.csv")
    assert "t.h5ad has no X; name a layer with --layer: 'logs', 'words'." in said
    del data.layers["logs"]
    data.write_h5ad("t.h5ad")
    assert "no layer 'logs'. The layers are 'words'" in refusal("predict", "out", "t.h5ad", "--out", "a.csv")
    assert sorted(os.listdir()) == ["out", "t.csv", "t.h5ad", "t.parquet"]


def test_what_cannot_be_annotated_is_refused(monkeypatch):
    fitted()
    for words in ("impute", "out", "t.h5ad"), ("suggest", "out", "t.h5ad"), ("compare", "t.h5ad", "--target", "kind"):
        assert "a.h5ad: .h5ad is not a kind of table that can be written" in refusal(*words, "--out", "a.h5ad")
    assert "use .csv, .tsv, .parquet, .h5ad." in refusal("predict", "out", "t.h5ad", "--out", "a.xlsx")
    assert "t.h5ad is the input" in refusal("predict", "out", "t.h5ad", "--out", "t.h5ad", "--force")
    Path("a.h5ad").write_text("mine")
    assert "exists and was kept" in refusal("predict", "out", "t.h5ad", "--out", "a.h5ad")
    run("fit", "t.h5ad", "--model", "ppca", "--drop", "kind", "--no-compare", "--out", "blind")
    assert "predicts nothing" in refusal("predict", "blind", "t.h5ad", "--out", "a.h5ad", "--force")
    assert Path("a.h5ad").read_text() == "mine"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = refusal("predict", "out", "t.h5ad", "--out", "new.h5ad")
    assert "new.h5ad: writing AnnData needs anndata, which is not installed: pip install 'gnomon[anndata]'" in said


def test_a_target_whose_name_is_taken_and_a_disk_that_is_full(monkeypatch):
    data = anndata.read_h5ad("t.h5ad")
    data.obs["typicality"] = data.obs.pop("kind")
    data.write_h5ad("u.h5ad")
    run("fit", "u.h5ad", "--target", "typicality", "--model", "dppca", "--no-compare", "--out", "taken")
    assert "which is taken; rename it" in refusal("predict", "taken", "u.h5ad", "--out", "a.h5ad")
    fitted()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    said = refusal("predict", "out", "t.h5ad", "--out", "a.h5ad")
    assert re.match("gnomon: a.h5ad cannot be written .*No space left", said)
    assert sorted(os.listdir()) == ["out", "t.h5ad", "taken", "u.h5ad"]


def test_an_annotated_file_that_appears_meanwhile_is_kept(monkeypatch):
    from gnomon._cli import annotating

    fitted()
    annotate = annotating.annotate

    def late(*arguments, **options):
        Path("a.h5ad").write_text("mine")
        annotate(*arguments, **options)

    monkeypatch.setattr(annotating, "annotate", late)
    assert "the result is in" in refusal("predict", "out", "t.h5ad", "--out", "a.h5ad")
    assert Path("a.h5ad").read_text() == "mine"
    assert anndata.read_h5ad("a-2.h5ad").n_obs == 40


def test_a_model_file_that_knows_of_no_layers_reads_x():
    from gnomon.export import load_metadata, load_model, save_model

    run("fit", "t.h5ad", "--target", "kind", "--model", "dppca", "--no-compare", "--out", "out")
    facts = load_metadata("out/model.gnomon")
    assert facts.pop("layer") is None
    save_model(load_model("out/model.gnomon"), "old.gnomon", metadata=facts)
    for model in "out", "old.gnomon":
        run("predict", model, "t.h5ad", "--out", f"{model}.csv")
    assert Path("old.gnomon.csv").read_bytes() == Path("out.csv").read_bytes()
