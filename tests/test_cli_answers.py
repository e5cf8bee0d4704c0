"""--json, --quiet, --dry-run, lines of progress, options from a file, and names of columns for the shell."""

import hashlib
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from commands import column, metrics, refusal, run
from gnomon._cli import answering
from gnomon._progress import counted
from gnomon.cli import main
from gnomon.datasets import load_iris, make_partial
from gnomon.tables import read_table, write_table

IRIS = load_iris()
X, Y = IRIS.data[::3], np.array(IRIS.target_names, dtype=object)[IRIS.target[::3]]
FIT = ("fit", "t.csv", "--target", "kind", "--no-compare")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    write_table("t.csv", {name: X[:, j] for j, name in enumerate("abcd")} | {"kind": make_partial(Y, n_per_class=6)})


def answered(*words):
    """The one object of --json."""
    return json.loads(run(*words, "--json"))


def test_fit_says_what_its_record_says():
    found = answered(*FIT, "--model", "dppca", "--out", "out")
    written = metrics()
    assert {key: found[key] for key in ("settings", "n_rows", "log_likelihood_nats")} == {
        key: written[key] for key in ("settings", "n_rows", "log_likelihood_nats")
    }
    assert (found["command"], found["out"], "model.gnomon" in found["files"]) == ("fit", "out", True)


def test_every_command_of_a_model_answers_as_json():
    run(*FIT, "--out", "out")
    for name in ("predict", "transform"):
        found = answered(name, "out", "t.csv", "--out", f"{name}.csv")
        assert found == {
            "command": name, "table": "t.csv", "model": "GuidedProjection", "rows": len(X), "out": f"{name}.csv",
            "assumed": "",
            "unlike": [],
            "unseen": {},
        }  # fmt: skip
    suggested = answered("suggest", "out", "t.csv", "--count", 2)
    run("suggest", "out", "t.csv", "--count", 2, "--out", "s.csv")
    assert [one["predicted"] for one in suggested["suggested"]] == column("s.csv", "predicted")
    assert suggested["out"] is None


def test_rows_unlike_those_of_the_fit_are_named():
    run(*FIT, "--out", "out")
    write_table("far.csv", {name: [float(x), 1000.0] for name, x in zip("abcd", X[0], strict=True)})
    assert answered("predict", "out", "far.csv", "--out", "p.csv")["unlike"] == [2]


def test_compare_answers_with_its_table():
    found = answered("compare", "t.csv", "--target", "kind", "--model", "kda", "--out", "scores.csv")
    assert [row["method"] for row in found["comparison"]["rows"]] == column("scores.csv", "method")
    assert [model["model"] for model in found["models"]] == ["kda"]


def test_reports_and_graphs_answer_too():
    pytest.importorskip("matplotlib")
    pytest.importorskip("onnx")
    run(*FIT, "--out", "out")
    found = answered("export", "out", "--onnx", "m.onnx")
    assert found["outputs"] == ["transform", "variance", "probabilities", "labels"]
    assert 0.5 < float(found["metadata"]["pupil_agreement"]) <= 1.0
    assert answered("report", "out", "t.csv", "--out", "r.html")["rows"] == len(X)


def test_numbers_that_are_not_finite_are_null():
    assert answering.plain({"a": np.array([1.0, np.nan]), 2: (float("inf"), np.int64(3), True, "x", None)}) == {
        "a": [1.0, None],
        "2": [None, 3, True, "x", None],
    }


def test_json_and_a_printed_result_are_refused():
    run(*FIT, "--out", "out")
    assert "--json prints to standard output, and so does --out -" in refusal(
        "predict", "out", "t.csv", "--out", "-", "--json"
    )


def test_quiet_prints_nothing_but_errors_and_the_result():
    result = CliRunner().invoke(main, [*FIT, "--out", "out", "--quiet"])
    assert (result.exit_code, result.output) == (0, "")
    result = CliRunner().invoke(main, ["predict", "out", "t.csv", "--out", "-", "--quiet"])
    assert (result.stderr, len(result.stdout.splitlines())) == ("", len(X) + 1)
    assert "exists and was kept" in refusal(*FIT, "--out", "out", "--quiet")


@pytest.mark.parametrize("model", ["auto", "sppca", "kda", "dppca"])
def test_a_dry_run_says_what_the_fit_does_and_writes_nothing(model):
    planned = answered(*FIT, "--model", model, "--scale", "standard", "--out", "out", "--dry-run")
    assert sorted(path.name for path in Path().iterdir()) == ["t.csv"]
    done = answered(*FIT, "--model", model, "--scale", "standard", "--out", "out")
    for name in ("n_rows", "n_features", "n_labeled"):
        assert planned[name] == done[name]
    for name in ("scale", "seed", "target", "target_kind"):
        assert planned[name] == done["settings"][name]
    assert planned["components"] in (None, done["settings"]["components"])
    assert planned["features"] == list("abcd")


def test_the_record_has_the_call_the_table_and_the_times():
    run(*FIT, "--model", "sppca", "--drop", "d", "--out", "out", "--missing", "n.d.", "a b")
    found = metrics()
    assert found["call"] == "gnomon " + " ".join(FIT) + " --model sppca --drop d --out out --missing n.d. 'a b'"
    assert found["table_sha256"] == hashlib.sha256(Path("t.csv").read_bytes()).hexdigest()
    assert set(found["times"]["seconds"]) == {"reading the table", "fitting"}
    assert all(0.0 < seconds < 60.0 for seconds in found["times"]["seconds"].values())
    assert abs(datetime.now(UTC) - datetime.fromisoformat(found["times"]["began"])) < timedelta(minutes=5)
    assert found["settings"]["missing"] == ["n.d.", "a b"]


def test_the_record_of_what_is_read_but_once():
    content = Path("t.csv").read_bytes()
    CliRunner().invoke(main, ["fit", "-", *FIT[2:], "--model", "sppca", "--out", "out"], input=content)
    assert metrics()["table_sha256"] == hashlib.sha256(content).hexdigest()


def test_a_dry_run_in_words_and_its_refusals():
    text = run(*FIT, "--out", "out", "--dry-run")
    assert "target kind: 3 classes (text); 18 of 50 rows labeled" in text
    assert "would fit guided, which many models teach: 2 components at most, scale none, seed 0" in text
    assert text.endswith("Nothing was fitted; a fit would write out.\n")
    assert "no parameter 'depth'" in refusal(*FIT, "--model", "kda", "--set", "depth=1", "--out", "out", "--dry-run")
    assert "'nothing'" in refusal("fit", "t.csv", "--target", "nothing", "--out", "out", "--dry-run")
    write_table("n.csv", {"n": np.arange(50.0), "a": X[:, 0], "kind": Y})
    assert "'n'" in refusal("fit", "n.csv", "--target", "kind", "--out", "out", "--dry-run")
    Path("out").mkdir()
    assert "exists and was kept" in refusal(*FIT, "--out", "out", "--dry-run")


def test_a_dry_run_of_a_table_on_disk():
    pytest.importorskip("dask.dataframe")
    write_table("t.parquet", {name: X[:, j] for j, name in enumerate("abcd")} | {"kind": Y})
    found = answered("fit", "t.parquet", "--target", "kind", "--dask", "--out", "out", "--dry-run")
    assert (found["model"], found["from_disk"], found["n_rows"]) == ("sppca", True, len(X))


def test_a_line_now_and_then_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setattr(answering, "EVERY", 0.02)
    with answering.working(3) as step:
        step("reading")
        step("fitting")
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"gnomon: fitting (step 2 of 3), 0 min so far"}


def test_lines_say_how_many_fits_are_done_and_how_long_the_others_take(monkeypatch, capsys):
    monkeypatch.setattr(answering, "EVERY", 0.02)

    def fits():
        for i in range(4):
            time.sleep(0.2)
            yield i

    with answering.working(1) as step:
        step("fitting")
        counted(fits(), 4)
        step("writing", 0)
        time.sleep(0.1)
    lines = list(dict.fromkeys(capsys.readouterr().err.splitlines()))
    assert lines == [
        "gnomon: fitting (step 1 of 1), 0 of 4 fits, 0 min so far",
        *(f"gnomon: fitting (step 1 of 1), {i} of 4 fits, about 1 s left for them, 0 min so far" for i in (1, 2, 3)),
        "gnomon: writing (step 1 of 1), 0 min so far",
    ]


def test_what_is_left_is_as_long_as_what_was_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(answering.time, "monotonic", lambda: now[0])
    doing = answering.Doing(3)
    doing.told(0, 10)
    now[0] += 120.0
    doing.told(2, 10)
    assert doing.part == ", 2 of 10 fits, about 8 min left for them"
    now[0] += 60.0  # nothing has come since
    assert doing.part == ", 2 of 10 fits, about 12 min left for them"
    doing.told(10, 10)
    assert doing.part == ", 10 of 10 fits"
    doing.next("writing", 1)
    assert doing.part == ""


@pytest.mark.parametrize("seconds, words", [(0.2, "1 s"), (99.4, "99 s"), (100.0, "2 min"), (6000.0, "1.7 h")])
def test_lengths_of_time_in_words(seconds, words):
    assert answering.span(seconds) == words


def test_a_comparison_tells_of_its_fits(monkeypatch):
    monkeypatch.setattr(answering, "EVERY", 0.001)
    result = CliRunner().invoke(main, ["compare", "t.csv", "--target", "kind", "--model", "kda"])
    assert result.exit_code == 0
    assert " of 10 fits" in result.stderr


def test_no_lines_when_quiet(monkeypatch):
    monkeypatch.setattr(answering, "EVERY", 0.001)
    result = CliRunner().invoke(main, [*FIT, "--out", "out", "--quiet"])
    assert (result.exit_code, result.stderr) == (0, "")
    result = CliRunner().invoke(main, [*FIT, "--out", "more"])
    assert result.stderr.startswith("gnomon: ")


CONFIG = """target = ["kind"]
drop = "d"
scale = "standard"
components = 1
compare = false
model = "kda"
"""


def test_options_of_a_file_are_those_of_the_line():
    Path("c.toml").write_text(CONFIG)
    run("fit", "t.csv", "--config", "c.toml", "--out", "out")
    settings = metrics()["settings"]
    words = ("--drop", "d", "--scale", "standard", "--components", 1, "--model", "kda", "--no-compare")
    run("fit", "t.csv", "--target", "kind", *words, "--out", "out", "--force")
    assert metrics()["settings"] == settings
    assert (settings["drop"], settings["model"], metrics()["comparison"]) == (["d"], "kda", None)


def test_what_is_said_beside_the_file_wins():
    Path("c.toml").write_text(CONFIG + 'out = "out"\n')
    run("fit", "t.csv", "--model", "sppca", "--config", "c.toml", "--scale", "none")
    assert (metrics()["settings"]["model"], metrics()["settings"]["scale"]) == ("sppca", "none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targets = 'kind'", "fit has no option 'targets'; it has categorical, compare, components,"),
        ("table = 't.csv'", "fit has no option 'table'"),
        ("config = 'd.toml'", "fit has no option 'config'"),
        ("compare = 'no'", "compare is 'no'; true or false is wanted"),
        ("scale = ['none']", "scale is a list; one value is wanted"),
        ("seed = {a = 1}", "seed holds {'a': 1}; text or a number is wanted"),
        ("drop = [true]", "drop holds True; text or a number is wanted"),
        ("scale = 'some'", "'some' is not one of"),
        ("components = 1.5", "'1.5' is neither a whole number from 1 on nor auto"),
        ("a = ", "c.toml is no TOML"),
    ],
)
def test_what_a_file_may_not_say(text, message):
    Path("c.toml").write_text(text)
    assert message in refusal(*FIT, "--out", "out", "--config", "c.toml")
    assert sorted(path.name for path in Path().iterdir()) == ["c.toml", "t.csv"]


def test_a_file_that_is_not_there():
    assert "--config none.toml: it cannot be read" in refusal(*FIT, "--out", "out", "--config", "none.toml")


def completed(*words):
    """What the shell is offered for the last word."""
    found = ShellComplete(main, {}, "gnomon", "_GNOMON_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [(one.type, one.value) for one in found]


def test_columns_and_files_are_completed():
    for option in ("--target", "--id", "--drop", "--keep"):
        assert completed("fit", "t.csv", option, "k") == [("plain", "kind")]
    assert completed("fit", "t.csv", "--target", "") == [("plain", name) for name in (*"abcd", "kind")]
    assert completed("fit", "none.csv", "--target", "") == []
    assert completed("fit", "--target", "") == []
    files = [("look",), ("fit",), ("predict", "out"), ("fit", "t.csv", "--labels"), ("predict", "m", "t.csv", "--out")]
    for words in files:
        assert completed(*words, "t")[0][0] == "file"


def test_every_value_of_an_option_that_takes_several_is_completed():
    assert completed("fit", "t.csv", "--drop", "a", "k") == [("plain", "kind")]
    assert completed("fit", "t.csv", "--target", "a", "--drop", "b", "c", "k") == [("plain", "kind")]
    assert completed("fit", "t.csv", "--form", "transposed", "decimal-c") == [("plain", "decimal-comma")]
    assert completed("fit", "t.csv", "--drop", "a", "--targ")[0] == ("plain", "--target")
    assert completed("fit", "t.csv", "--id", "a", "k") == []


def test_look_at_a_layer():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(X.copy(), layers={"counts": np.round(10 * X)})
    data.obs["kind"] = Y
    data.write_h5ad("cells.h5ad")
    found = answered("look", "cells.h5ad", "--layer", "counts")
    kinds = {one["name"]: one["kind"] for one in found["columns"]}
    assert [kinds[name] for name in "0123"] == ["whole numbers"] * 4
    assert " --layer counts " in found["command"]
    own = {one["name"]: one["kind"] for one in answered("look", "cells.h5ad")["columns"]}
    assert own["0"] == "numbers"
    assert "no layer 'count'" in refusal("look", "cells.h5ad", "--layer", "count")
    assert "a .csv file has none" in refusal("look", "t.csv", "--layer", "counts")
    assert read_table("cells.h5ad", targets=["kind"], layer="counts").X[0, 0] == np.round(10 * X[0, 0])
