"""gnomon export: the graph of a stored model, and what is refused."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import column, refusal, run
from gnomon.datasets import load_iris, make_partial
from gnomon.export import load_model
from gnomon.tables import write_table

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

IRIS = load_iris()
X, Y = IRIS.data[::3], np.array(IRIS.target_names, dtype=object)[IRIS.target[::3]]
FIT = ("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out", "--model")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    features = {name: X[:, j] for j, name in enumerate("abcd")}
    write_table("t.csv", {"kind": make_partial(Y, n_per_class=6, random_state=0)} | features)


@pytest.mark.parametrize("model", ["sppca", "cppca", "dppca"])
def test_a_graph_predicts_what_the_command_predicts(model):
    run(*FIT, model, "--scale", "standard")
    outputs = "transform, variance, probabilities, labels"
    assert run("export", "out", "--onnx", "m.onnx").endswith(f": {outputs}; wrote m.onnx\n")
    run("predict", "out", "t.csv", "--out", "p.csv")
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    labels, proba = session.run(["labels", "probabilities"], {"X": X.astype(np.float32)})
    assert labels.tolist() == column("p.csv", "predicted")
    np.testing.assert_allclose(proba, load_model("out/model.gnomon").predict_proba(X), atol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert [json.loads(facts[name]) for name in ("feature_names", "targets")] == [list("abcd"), ["kind"]]


def test_of_the_default_the_graph_is_that_of_its_pupil():
    run(*FIT[:-1])
    said = run("export", "out", "--onnx", "m.onnx")
    assert re.search(r"the pupil of GuidedProjection, which names the class that it names in (9\d\.\d|100\.0) %", said)
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    (labels,) = session.run(["labels"], {"X": X.astype(np.float32)})
    facts = session.get_modelmeta().custom_metadata_map
    wanted = load_model("out/model.gnomon").predict(X)
    assert (labels == wanted).mean() == pytest.approx(float(facts["pupil_agreement"]), abs=1e-3)


def test_the_same_model_gives_the_same_file():
    run(*FIT, "dppca")
    run("export", "out/model.gnomon", "--onnx", "m.onnx")
    first = Path("m.onnx").read_bytes()
    assert "exists and was kept; choose another --onnx" in refusal("export", "out", "--onnx", "m.onnx")
    run("export", "out", "--onnx", "m.onnx", "--force")
    assert Path("m.onnx").read_bytes() == first


def test_what_cannot_be_exported_is_said_in_one_line_and_nothing_is_written(monkeypatch):
    run(*FIT, "kda")
    assert "KDA has no ONNX graph" in refusal("export", "out", "--onnx", "m.onnx")
    assert "ends in .onnx" in refusal("export", "out", "--onnx", "m.html")
    assert "--onnx is empty" in refusal("export", "out", "--onnx", "")
    assert "the folder none does not exist" in refusal("export", "out", "--onnx", "none/m.onnx")
    assert "none/model.gnomon does not exist" in refusal("export", "none/model.gnomon", "--onnx", "m.onnx")
    assert "Missing option '--onnx'" in refusal("export", "out")
    run(*FIT, "ppca", "--force")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'gnomon[onnx]'" in refusal("export", "out", "--onnx", "m.onnx")
    assert sorted(path.name for path in Path().iterdir()) == ["out", "t.csv"]
