"""Text in a table: `--categorical` from the fit to the predictions, in Python as on the command line."""

import warnings

import numpy as np
import pytest

from commands import column, metrics, refusal, run
from gnomon.datasets import load_iris
from gnomon.export import load_model
from gnomon.tables import write_table

IRIS = load_iris()
OPTIONS = ("--target", "kind", "--id", "name", "--no-compare", "--out", "out")
ANSWERS = ("--categorical", "size", "code")


def survey(n=60, every=9):
    """Flowers of which two lengths are words and codes; one in so many words is missing."""
    rows = np.arange(0, 150, 150 // n)[:n]
    X, y = IRIS.data[rows], IRIS.target[rows]
    size = np.array(["small", "mid", "large"], dtype=object)[np.digitize(X[:, 2], [2.5, 5.0])]
    size[every::every] = None
    return {
        "name": [f"f{i}" for i in range(n)],
        "width": X[:, 1],
        "size": size,
        "code": np.digitize(X[:, 3], [0.8, 1.7]) + 1,
        "petal": X[:, 3],
        "kind": np.where(np.arange(n) % 3 == 0, np.array(["a", "b", "c"], dtype=object)[y], None),
    }


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    write_table("t.csv", survey())


@pytest.mark.parametrize("model", [(), ("--model", "sppca", "--scale", "standard"), ("--model", "sepca")])
def test_new_answers_are_said_and_python_predicts_the_same(model):
    write_table("t.csv", survey(every=60 if "sepca" in model else 9))
    run("fit", "t.csv", *OPTIONS, *ANSWERS, *model)
    assert (metrics()["n_features"], metrics()["settings"]["categorical"]) == (8, ["size", "code"])
    new = survey()
    new["size"][4], new["size"][5], new["code"] = "huge", "tiny", new["code"].astype(float)
    write_table("new.csv", {name: new[name] for name in reversed(new) if name != "kind"})
    said = run("predict", "out", "new.csv", "--out", "answers.csv")
    assert "note: 'huge', 'tiny' in 'size' are no answer of the fit, and count as empty.\n" in said
    loaded = load_model("out")
    for library in ("pandas", "polars"):
        frame = pytest.importorskip(library).read_csv("new.csv")
        with pytest.warns(UserWarning, match="X: 'huge', 'tiny' in 'size' are no answer of the fit"):
            assert loaded.predict(frame).tolist() == column("answers.csv", "predicted")
        with warnings.catch_warnings(action="ignore"):
            want = [float(cell) for cell in column("answers.csv", "p_a")]
            np.testing.assert_allclose(loaded.predict_proba(frame)[:, 0], want, rtol=1e-12)


def test_parquet_in_parts_says_each_new_answer_once(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("gnomon.tables._parquet.PART", 1)
    monkeypatch.setattr("gnomon.tables._parquet.FEWEST_ROWS", 7)
    run("fit", "t.csv", *OPTIONS, *ANSWERS, "--model", "sppca")
    new = survey()
    new["size"][4] = new["size"][50] = "huge"
    for suffix in ("csv", "parquet"):
        write_table(f"new.{suffix}", new)
        said = run("transform", "out", f"new.{suffix}", "--out", f"{suffix}.csv")
        assert said.count("'huge' in 'size' is no answer") == 1
    whole, parts = (np.array(column(f"{kind}.csv", "z1"), dtype=float) for kind in ("csv", "parquet"))
    np.testing.assert_allclose(parts, whole, rtol=1e-9)


def test_all_stands_for_every_column_of_text():
    said = refusal("fit", "t.csv", *OPTIONS)
    assert "take it for answers with --categorical size" in said
    run("fit", "t.csv", *OPTIONS, "--categorical", "all", "--dry-run")
    run("fit", "t.csv", *OPTIONS, "--categorical", "all", "--model", "sppca")
    assert metrics()["settings"]["categorical"] == ["size"]
    write_table("numbers.csv", {name: cells for name, cells in survey().items() if name != "size"})
    again = ("fit", *OPTIONS[:-1], "again", "--categorical", "all")
    assert "no column of text is left for --categorical all" in refusal(*again, "numbers.csv")
    assert "standard input can be read but once" in refusal(*again, "-")
    write_table("named.csv", survey() | {"all": ["yes", "no"] * 30})
    said = refusal(*again, "named.csv")
    assert "column 'size': 'small' is not a number" in said


def test_many_columns_of_text_are_taken_by_one_word():
    write_table("t.csv", survey() | {f"q{j}": ["yes", "no"] * 30 for j in range(9)})
    assert "q8, take them for answers with --categorical all, or name" in refusal("fit", "t.csv", *OPTIONS)


def test_marks_among_answers_are_asked_about():
    new = survey()
    new["size"][7] = new["size"][9] = "unknown"
    write_table("t.csv", new)
    said = refusal("fit", "t.csv", *OPTIONS, *ANSWERS)
    assert said == (
        "gnomon: t.csv: 'unknown' among the answers in 'size'; add --missing unknown if it is no answer, or keep it "
        "with --keep size.\n"
    )
    run("fit", "t.csv", *OPTIONS, *ANSWERS, "--model", "sppca", "--missing", "unknown")
    assert metrics()["n_features"] == 8
    assert "no answer of the fit" not in run("predict", "out", "t.csv", "--out", "answers.csv")
    run("fit", "t.csv", *OPTIONS[:-1], "kept", *ANSWERS, "--model", "sppca", "--keep", "size")
    assert "size=unknown" in load_model("kept")["columns"].feature_names_in_


def test_compare_takes_answers_and_a_table_on_disk_does_not():
    run("compare", "t.csv", *OPTIONS[:4], *ANSWERS, "--model", "sppca")
    pytest.importorskip("dask")
    write_table("t.parquet", survey())
    assert "--categorical is for tables in memory" in refusal("fit", "t.parquet", *OPTIONS, *ANSWERS, "--dask")
