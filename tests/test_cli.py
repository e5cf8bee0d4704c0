"""The commands as a person runs them: what they write and what they print."""

import csv
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import gnomon
from gnomon import PPCA, SPPCA
from gnomon._cli import demo
from gnomon.cli import main
from gnomon.datasets import load_diabetes, load_iris, make_low_rank, make_partial
from gnomon.export import load_model
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

IRIS = load_iris()
SPECIES = np.array(IRIS.target_names, dtype=object)[IRIS.target]
PARTIAL = make_partial(SPECIES, n_per_class=8, random_state=0)
FEATURES = ["sepal length", "sepal width", "petal length", "petal width"]
RESULTS = {"model.gnomon", "projection.csv", "projection.parquet", "metrics.json", "report.html"}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def report():
    """Asked for by tests in which reports are written."""


@pytest.fixture(autouse=True)
def quick(request, monkeypatch):
    """Leave the report, which takes a second, out of all other tests."""
    if "report" not in request.fixturenames:
        monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)


def run(*arguments):
    """Run a command that succeeds and return what it prints; without a terminal stderr has progress alone.

    A fit takes SPPCA unless another model is named; the choice among models has tests of its own.
    """
    if arguments[:1] == ("fit",) and not {"--model", "--help"} & set(arguments):
        arguments = (*arguments, "--model", "sppca")
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exit_code == 0, result.output
    assert all(re.search(r"\d min so far", line) for line in result.stderr.splitlines())
    return result.stdout


def flowers(name="flowers.csv", n=150, order=FEATURES, **more):
    columns = {"flower": [f"f{i}" for i in range(n)], **{f: IRIS.data[:n, FEATURES.index(f)] for f in order}}
    write_table(name, columns | {"species": PARTIAL[:n]} | more)
    return name


def columns_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t" if str(path).endswith(".tsv") else ",")
    return dict(zip(header, map(list, zip(*rows))))


def metrics_of(folder):
    return json.loads(Path(folder, "metrics.json").read_text())


def numbers(cells):
    return np.array([float(cell) for cell in cells])


@pytest.fixture
def fitted(working_directory):
    """The table flowers.csv and the folder that gnomon fit wrote for it."""
    run("fit", flowers(), "--target", "species", "--id", "flower", "--out", "out", "--no-compare")


# --------------------------------------------------------------------------------------------- gnomon


def test_version_and_help():
    assert run("--version") == f"gnomon, version {gnomon.__version__}\n"
    assert "gnomon demo" in run("--help")
    assert run() == run("--help")
    assert "..." not in run("--help").partition("Commands:")[2]


def test_help_imports_no_library_of_numbers():
    code = "import sys, gnomon.cli as cli; cli.main(['--help'], standalone_mode=False); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("command", ["demo", "fit", "transform", "predict", "impute"])
def test_every_command_explains_itself(command):
    text = run(command, "--help")
    assert f"Usage: gnomon {command}" in text.replace("main", "gnomon")
    assert "--out" in text


# ------------------------------------------------------------------------------------------------ fit


def test_fit_writes_the_model_of_the_library(fitted):
    assert set(os.listdir("out")) == RESULTS - {"report.html"}
    direct = SPPCA(2).fit(IRIS.data, PARTIAL)
    stored = load_model("out/model.gnomon")[-1]
    assert_array_equal(stored.components_, direct.components_)
    assert stored.classes_.tolist() == IRIS.target_names


def test_projection_holds_ids_projections_targets_and_predictions(fitted):
    table = columns_of("out/projection.csv")
    expected = ["flower", "z1", "z2", "z1_std", "z2_std", "species", "labeled", "predicted"]
    assert list(table) == expected
    model = SPPCA(2).fit(IRIS.data, PARTIAL)
    Z, cov = model.transform(IRIS.data, return_cov=True)
    assert table["flower"][:2] == ["f0", "f1"]
    assert_array_equal(numbers(table["z1"]), Z[:, 0])
    assert_array_equal(numbers(table["z2_std"]), np.sqrt(cov[:, 1, 1]))
    assert table["species"] == [label or "" for label in PARTIAL]
    assert table["labeled"] == [str(label is not None) for label in PARTIAL]
    assert table["predicted"] == model.predict(IRIS.data).tolist()


def test_parquet_projection_equals_the_csv(fitted):
    frame = pytest.importorskip("polars").read_parquet("out/projection.parquet")
    table = columns_of("out/projection.csv")
    assert frame.columns == list(table)
    assert_array_equal(frame["z1"].to_numpy(), numbers(table["z1"]))
    assert frame["species"].to_list() == list(PARTIAL)
    assert frame["labeled"].to_list() == [label is not None for label in PARTIAL]


def test_metrics_are_those_of_the_model(fitted):
    metrics = metrics_of("out")
    model = SPPCA(2).fit(IRIS.data, PARTIAL)
    assert metrics["log_likelihood_nats"] == model.log_likelihood_
    assert metrics["noise_variance"] == model.noise_variance_
    assert metrics["y_noise_variance"] == model.y_noise_variance_
    assert (metrics["n_iterations"], metrics["n_passes"]) == (model.n_iter_, model.n_passes_)
    assert (metrics["n_rows"], metrics["n_features"], metrics["n_labeled"]) == (150, 4, 24)
    assert metrics["classes"] == IRIS.target_names
    assert metrics["settings"]["target_kind"] == "classes"
    assert metrics["settings"]["seed"] == 0
    assert metrics["versions"]["gnomon"] == gnomon.__version__
    assert metrics["comparison"] is None


def test_report_is_one_page_about_this_fit(report, fitted):
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for word in ("flowers.csv", "versicolor", "species", "petal length"):
        assert word in page


def test_fit_says_what_it_did(report):
    text = run("fit", flowers(), "--target", "species", "--id", "flower", "--out", "out")
    assert "flowers.csv: 150 rows, 4 features\n" in text
    assert "target species: 3 classes (text); 24 of 150 rows labeled\n" in text
    assert "SPPCA: 2 components, scale none; solver" in text
    for method in ("SPPCA", "PCA", "LDA", "PLS"):
        assert f"\n{method} " in text
    assert "Wrote to out: metrics.json, model.gnomon, projection.csv, projection.parquet, report.html.\n" in text
    assert text.endswith("Next: gnomon predict out NEW.csv --out answers.csv\n")
    methods = [row["method"] for row in metrics_of("out")["comparison"]["rows"]]
    assert methods == ["SPPCA", "PCA", "LDA", "PLS", "all features"]


@pytest.mark.parametrize("name", ["t.tsv", "t.parquet"])
def test_the_kind_of_file_makes_no_difference(fitted, name):
    run("fit", flowers(name), "--target", "species", "--id", "flower", "--out", "other", "--no-compare")
    assert_array_equal(load_model("other/model.gnomon")[-1].components_, load_model("out/model.gnomon")[-1].components_)


def test_npz_and_csr_tables(fitted):
    y = make_partial(IRIS.target, n_per_class=8, random_state=0)
    C = sparse.csr_matrix(IRIS.data)
    np.savez("dense.npz", X=IRIS.data, y=y)
    np.savez("csr.npz", data=C.data, indices=C.indices, indptr=C.indptr, shape=C.shape, y=y)
    run("fit", "dense.npz", "--target", "y", "--out", "dense", "--no-compare")
    run("fit", "csr.npz", "--target", "y", "--out", "csr", "--no-compare")
    expected = SPPCA(2).fit(IRIS.data, y)
    assert_array_equal(load_model("dense/model.gnomon")[-1].components_, expected.components_)
    assert_allclose(load_model("csr/model.gnomon")[-1].components_, expected.components_, rtol=1e-6)
    run("predict", "csr", "csr.npz", "--out", "answers.csv")
    assert numbers(columns_of("answers.csv")["predicted"]).tolist() == expected.predict(IRIS.data).tolist()
    assert columns_of("answers.csv")["row"][:2] == ["1", "2"]


def test_a_real_target():
    X, y = load_diabetes(return_X_y=True)
    y = np.where(np.arange(442) % 3 == 0, y, np.nan)
    write_table("t.csv", {f"x{j}": X[:, j] for j in range(10)} | {"y": y})
    text = run("fit", "t.csv", "--target", "y", "--target-kind", "real", "--out", "out")
    assert "target y: real numbers (as asked); 148 of 442 rows labeled" in text
    mean, std = SPPCA(2).fit(X, y).predict(X, return_std=True)
    table = columns_of("out/projection.csv")
    assert_array_equal(numbers(table["predicted"]), mean)
    assert_allclose(numbers(table["predicted_std"]), np.broadcast_to(std, (442,)), rtol=1e-12)
    assert table["y"][1] == ""


@pytest.fixture
def two_targets():
    bunch = make_low_rank(120, 6, 2, n_targets=2, random_state=3)
    bunch.target[::4, 0] = np.nan
    bunch.target[:, 1] *= 1000
    columns = {f"x{j}": bunch.data[:, j] for j in range(6)}
    write_table("t.csv", columns | {"oil": bunch.target[:, 0], "water": bunch.target[:, 1]})
    return bunch


def test_several_targets(two_targets):
    text = run("fit", "t.csv", "--target", "oil", "water", "--out", "out")
    assert "target oil, water: 2 real targets (a table of several columns); 120 of 120 rows labeled" in text
    assert "note: water holds 100.0 % of the variance of 2 columns" in text
    mean, _ = SPPCA(2).fit(two_targets.data, two_targets.target).predict(two_targets.data, return_std=True)
    table = columns_of("out/projection.csv")
    assert_allclose(numbers(table["predicted_oil"]), mean[:, 0], rtol=1e-9)
    assert_allclose(numbers(table["predicted_water"]), mean[:, 1], rtol=1e-9)


def test_a_scaled_model_predicts_the_same_in_python(two_targets):
    run("fit", "t.csv", "--target", "oil", "--target", "water", "--scale", "standard", "--no-compare", "--out", "out")
    X = two_targets.data
    spread = X.std(axis=0)
    mean, std = SPPCA(2).fit(X / spread, two_targets.target).predict(X / spread, return_std=True)
    table = columns_of("out/projection.csv")
    assert_allclose(numbers(table["predicted_water"]), mean[:, 1], rtol=1e-6)
    run("predict", "out", "t.csv", "--out", "answers.csv")
    answers = columns_of("answers.csv")
    assert answers["predicted_oil"] == table["predicted_oil"]
    assert_allclose(numbers(answers["predicted_oil_std"]), std[:, 0], rtol=1e-6)
    frame = pd.read_csv("t.csv")
    model = load_model("out/model.gnomon")
    found = model.predict(frame[frame.columns[::-1]])  # columns in another order, with those of the targets
    assert_allclose(found[:, 0], numbers(answers["predicted_oil"]), rtol=1e-12)  # rows of another memory layout
    with pytest.raises(ValueError, match="the model needs 'x1', which X lacks"):
        model.predict(frame.rename(columns={"x1": "x2b"}))


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_unit_and_standard_scaling_of_dense_and_sparse_tables(kind):
    X = np.abs(make_low_rank(60, 5, 2, random_state=0).data) * [1, 10, 100, 1, 1]
    X[:, 4] = 0.1
    C = sparse.csr_matrix(X)
    parts = {"X": X} if kind == "dense" else {name: getattr(C, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez("t.npz", **parts)
    run("fit", "t.npz", "--model", "ppca", "--scale", "unit", "--out", "unit")
    run("fit", "t.npz", "--model", "ppca", "--scale", "standard", "--out", "standard")
    unit = PPCA(2).fit(X / np.linalg.norm(X, axis=1, keepdims=True))
    standard = PPCA(2).fit(X / np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1))
    assert_allclose(load_model("unit/model.gnomon")[-1].components_, unit.components_, rtol=1e-6)
    assert_allclose(load_model("standard/model.gnomon")[-1].components_, standard.components_, rtol=1e-5, atol=1e-6)
    run("transform", "standard", "t.npz", "--out", "z.csv")
    assert columns_of("z.csv")["z1"] == columns_of("standard/projection.csv")["z1"]


def test_ppca_ignores_the_targets_and_shows_them():
    run("fit", flowers(), "--model", "ppca", "--target", "species", "--drop", "flower", "--out", "out")
    assert_array_equal(load_model("out/model.gnomon")[-1].components_, PPCA(2).fit(IRIS.data).components_)
    assert list(columns_of("out/projection.csv")) == ["row", "z1", "z2", "z1_std", "z2_std", "species", "labeled"]
    assert run("transform", "out", "flowers.csv", "--out", "z.csv").startswith("projected 150 rows")


@pytest.mark.parametrize(
    "n_classes, shape, expected",
    [(2, (50, 9), 2), (5, (50, 9), 4), (18, (90, 30), 10), (5, (50, 3), 2), (2, (50, 2), 1)],
)
def test_default_components(n_classes, shape, expected):
    bunch = make_low_rank(*shape, 2, n_classes=n_classes)
    labels = [f"c{i % n_classes}" for i in range(shape[0])]
    write_table("t.csv", {f"x{j}": bunch.data[:, j] for j in range(shape[1])} | {"y": labels})
    run("fit", "t.csv", "--target", "y", "--out", "out", "--no-compare")
    assert len(load_model("out/model.gnomon")[-1].components_) == expected


def test_options_may_come_in_any_order():
    name = flowers(note=["x"] * 150)
    run("fit", "--target", "species", name, "--drop", "flower", "note", "--components=3", "--out", "a", "--no-compare")
    run("fit", "--out=b", "--no-compare", name, "--components", 3, "--drop=flower", "--drop=note", "--target=species")
    assert Path("a/projection.csv").read_text() == Path("b/projection.csv").read_text()
    assert len(load_model("a/model.gnomon")[-1].components_) == 3


def test_unlabeled_marker():
    flowers(species=["?" if label is None else label for label in PARTIAL])
    run("fit", "flowers.csv", "--target=species", "--id=flower", "--unlabeled=?", "--out=out", "--no-compare")
    assert load_model("out/model.gnomon")[-1].classes_.tolist() == IRIS.target_names


def test_own_column_names_are_kept_apart_from_ours():
    write_table("t.csv", {f"z{j + 1}": IRIS.data[:, j] for j in range(4)} | {"labeled": PARTIAL, "row": range(150)})
    run("fit", "t.csv", "--target", "labeled", "--id", "row", "--out", "out", "--no-compare")
    names = ["row", "z1", "z2", "z1_std", "z2_std", "labeled", "labeled_", "predicted"]
    assert list(columns_of("out/projection.csv")) == names


def test_force_replaces_results_and_leaves_nothing_else(fitted, working_directory):
    columns = ("--target=species", "--id=flower")
    run("fit", "flowers.csv", *columns, "--out=out", "--components", 3, "--force", "--no-compare")
    assert len(load_model("out/model.gnomon")[-1].components_) == 3
    assert sorted(os.listdir(working_directory)) == ["flowers.csv", "out"]


def test_the_same_command_writes_the_same_model_and_projection(fitted):
    run("fit", "flowers.csv", "--target", "species", "--id", "flower", "--out", "again", "--no-compare")
    for name in ("model.gnomon", "projection.csv", "projection.parquet"):
        assert Path(f"out/{name}").read_bytes() == Path(f"again/{name}").read_bytes()
    old, new = (json.loads(Path(f"{folder}/metrics.json").read_text()) for folder in ("out", "again"))
    changes = {name for name in old["sha256"] if old["sha256"][name] != new["sha256"].get(name)}
    assert changes <= {"report.html", "metrics.json"}  # the page says when it was written
    own = {"sha256": None, "call": None, "times": None}
    assert old | own == new | own


def test_without_the_libraries_of_the_extras_fit_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.has_pyarrow", lambda: False)
    text = run("fit", flowers(), "--target", "species", "--id", "flower", "--out", "out", "--no-compare")
    assert set(os.listdir("out")) == {"model.gnomon", "projection.csv", "metrics.json"}
    assert "No report.html: its pictures need matplotlib (pip install 'gnomon[plot]').\n" in text
    assert "No projection.parquet: that needs pyarrow (pip install 'gnomon[io]').\n" in text


def test_a_comparison_that_cannot_be_made_is_a_note():
    labels = np.full(150, None, dtype=object)
    labels[[0, 60, 120]] = ["a", "b", "c"]
    text = run("fit", flowers(species=labels), "--target", "species", "--id", "flower", "--out", "out")
    assert "note: no comparison: " in text
    assert metrics_of("out")["comparison"] is None


@pytest.mark.parametrize("kind", ["text", "integers", "real"])
def test_many_labels_are_compared_on_some(kind, monkeypatch):
    """All rows are labeled, and the comparison sees the labels of 60."""
    values = {"text": SPECIES, "integers": IRIS.target, "real": IRIS.data[:, 0] + 0.25}[kind]
    write_table("t.csv", {name: IRIS.data[:, j] for j, name in enumerate(FEATURES)} | {"y": values})
    monkeypatch.setattr("gnomon._cli.fitting.MOST_COMPARED", 60)
    text = run("fit", "t.csv", "--target", "y", "--out", "out")
    assert "note: the comparison used 60 of the 150 labels, to be quick.\n" in text
    metrics = metrics_of("out")
    assert (metrics["n_labeled"], metrics["comparison"]["n_labeled"]) == (150, 60)


def test_warnings_of_the_fit_are_notes(monkeypatch):
    def warn_and_fit(self, X, y=None, fit=SPPCA.fit):
        warnings.warn("the fit\nstopped early", UserWarning, stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(SPPCA, "fit", warn_and_fit)
    text = run("fit", flowers(), "--target", "species", "--id", "flower", "--out", "out", "--no-compare")
    assert text.count("note: the fit stopped early\n") == 1
    assert metrics_of("out")["notes"] == ["the fit stopped early"]


# ------------------------------------------------------------------------------- transform and predict


def test_transform_of_the_training_table_is_the_projection(fitted):
    text = run("transform", "out", "flowers.csv", "--out", "z.csv")
    assert text == "projected 150 rows of flowers.csv; wrote z.csv\n"
    projection, again = columns_of("out/projection.csv"), columns_of("z.csv")
    assert list(again) == ["flower", "z1", "z2", "z1_std", "z2_std", "t2_of_limit", "spe_of_limit"]
    assert all(again[name] == projection[name] for name in list(again)[:5])
    model = SPPCA(2).fit(IRIS.data, PARTIAL)
    found = np.array([float(cell) for cell in again["t2_of_limit"]])
    np.testing.assert_allclose(found, model.hotelling_t2(IRIS.data) / model.control_limits().t2, rtol=1e-8)


def test_predict_gives_classes_and_probabilities(fitted):
    text = run("predict", "out/model.gnomon", "flowers.csv", "--out", "a.tsv")
    assert text == "predicted 150 rows of flowers.csv; wrote a.tsv\n"
    answers = columns_of("a.tsv")
    model = SPPCA(2).fit(IRIS.data, PARTIAL)
    shares = ["p_setosa", "p_versicolor", "p_virginica"]
    assert list(answers) == ["flower", "predicted", *shares, "t2_of_limit", "spe_of_limit"]
    assert_allclose(numbers(answers["spe_of_limit"]), model.spe(IRIS.data) / model.control_limits().spe, rtol=1e-8)
    assert answers["predicted"] == model.predict(IRIS.data).tolist()
    assert_array_equal(numbers(answers["p_virginica"]), model.predict_proba(IRIS.data)[:, 2])


def test_columns_of_a_new_table_are_matched_by_name(fitted):
    flowers("new.csv", n=7, order=FEATURES[::-1], junk=["x"] * 7)
    run("predict", "out", "new.csv", "--out", "a.parquet", "--drop", "junk")
    run("predict", "out", "flowers.csv", "--out", "a.csv")
    frame = pytest.importorskip("polars").read_parquet("a.parquet")
    assert frame["predicted"].to_list() == columns_of("a.csv")["predicted"][:7]
    assert frame["flower"].to_list() == [f"f{i}" for i in range(7)]


def test_rows_are_numbered_when_a_new_table_has_no_id(fitted):
    write_table("new.csv", {name: IRIS.data[:3, j] for j, name in enumerate(FEATURES)})
    run("transform", "out", "new.csv", "--out", "z.csv")
    assert columns_of("z.csv")["row"] == ["1", "2", "3"]


def test_force_replaces_a_result_file(fitted, working_directory):
    run("transform", "out", "flowers.csv", "--out", "z.csv")
    run("predict", "out", "flowers.csv", "--out", "z.csv", "--force")
    assert "predicted" in columns_of("z.csv")
    assert sorted(os.listdir(working_directory)) == ["flowers.csv", "out", "z.csv"]


# ----------------------------------------------------------------------------------------------- demo


@pytest.mark.parametrize(
    "data", ["wine", *(pytest.param(name, marks=pytest.mark.slow) for name in ("digits", "breast_cancer"))]
)
def test_demo_writes_everything_and_its_next_step_works(data, report):
    text = run("demo", "--data", data)
    assert set(os.listdir("gnomon-demo")) == RESULTS | {"table.csv"}
    for method in ("GuidedProjection", "PCA", "LDA", "PLS"):
        assert f"\n{method} " in text
    assert "Some of the unlabeled rows:" in text
    command = text.strip().splitlines()[-1].removeprefix("Next: gnomon ").split()
    run(*command)
    answers, projection = columns_of("answers.csv"), columns_of("gnomon-demo/projection.csv")
    assert answers["predicted"] == projection["predicted"]
    assert answers["row"] == projection["row"]


@pytest.mark.usefixtures("few_splits")
def test_demo_table_gives_the_same_model_through_fit():
    run("demo", "--labels", 4, "--seed", 2, "--out", "demo")
    metrics = metrics_of("demo")
    assert metrics["n_labeled"] == 12
    options = ["--scale", "standard", "--id", "row", "--no-compare", "--model", "auto"]
    run("fit", "demo/table.csv", "--target", "cultivar", *options, "--out", "fit", "--seed", 2)
    assert Path("demo/projection.csv").read_text() == Path("fit/projection.csv").read_text()


def test_demo_scores_are_of_the_hidden_labels():
    run("demo")
    metrics = metrics_of("gnomon-demo")
    assert metrics["comparison"]["n_scored"] == 163
    table, truth = columns_of("gnomon-demo/projection.csv"), np.repeat(["class_0", "class_1", "class_2"], [59, 71, 48])
    hidden = np.array(table["labeled"]) == "False"
    error = (np.array(table["predicted"]) != truth)[hidden].mean()
    comparison = metrics["comparison"]
    assert comparison["n_draws"] == demo.DRAWS == 10
    ours = comparison["rows"][0]  # a mean over draws of what is labeled; this is one of them
    assert abs(ours["prediction"] - error) < 3 * ours["prediction_spread"]


def test_an_option_may_follow_several_values():
    run("fit", flowers(), "--drop", "flower", "--target", "species", "--no-compare", "--out", "out")
    assert metrics_of("out")["comparison"] is None


def test_many_target_names_are_cut():
    Y = make_low_rank(40, 5, 2, n_targets=8).target
    X = make_low_rank(40, 5, 2).data
    np.savez("t.npz", X=X, Y=Y)
    text = run("fit", "t.npz", "--target", "Y", "--out", "out", "--no-compare")
    assert "target Y0, Y1, Y2, Y3, Y4, Y5, ...: 8 real targets (a table of several columns); 40 of 40" in text


# ---------------------------------------------------------------------------------------- in a shell


def shell(*arguments):
    command = [sys.executable, "-c", "from gnomon.cli import main; main(prog_name='gnomon')", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_in_a_shell():
    done = shell("demo", "--out", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    again = shell("demo", "--out", "demo")
    assert again.returncode == 2
    assert again.stdout == ""
    assert again.stderr == "gnomon: demo exists and was kept; choose another --out, or add --force to replace it.\n"
