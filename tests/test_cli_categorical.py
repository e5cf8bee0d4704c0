"""Text in a table: `--categorical` from the fit to the predictions, in Python as on the command line."""

import warnings

import numpy as np
import pytest
from scipy import sparse

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


def test_compare_takes_answers():
    run("compare", "t.csv", *OPTIONS[:4], *ANSWERS, "--model", "sppca")


@pytest.mark.parametrize("answers", [ANSWERS, ("--categorical", "all")])
def test_a_table_on_disk_has_answers_as_one_in_memory(answers):
    pytest.importorskip("dask")
    parquet = pytest.importorskip("pyarrow.parquet")
    new = survey()
    new["size"][7] = "unknown"
    write_table("whole.parquet", new)
    parquet.write_table(parquet.read_table("whole.parquet"), "t.parquet", row_group_size=25)
    said = refusal("fit", "t.parquet", *OPTIONS, *answers, "--dask")
    assert "t.parquet: 'unknown' among the answers in 'size'; add --missing unknown" in said
    how = (*answers, "--missing", "unknown", "--model", "sppca", "--set", "tol=1e-10")
    run("fit", "t.parquet", *OPTIONS, *how, "--dask")
    run("fit", "t.parquet", *OPTIONS[:-1], "memory", *how)
    assert load_model("out")["columns"].answers_ == load_model("memory")["columns"].answers_
    for name in ("z1", "z2", "z1_std"):
        there, here = (np.array(column(f"{where}/projection.csv", name), dtype=float) for where in ("out", "memory"))
        np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-7)
    write_table("new.csv", {name: new[name] for name in reversed(new) if name != "kind"})
    run("predict", "out", "new.csv", "--out", "answers.csv")
    with warnings.catch_warnings(action="ignore"):
        frame = pytest.importorskip("pandas").read_csv("new.csv")
        assert load_model("out").predict(frame).tolist() == column("answers.csv", "predicted")


def test_a_sparse_table_has_answers_where_all_rows_gave_one():
    new, X = survey(every=60), np.where(IRIS.data > 3.0, IRIS.data, 0.0)[:: 150 // 60][:60]
    parts = sparse.csr_matrix(X)
    arrays = {name: getattr(parts, name) for name in ("data", "indices", "indptr", "shape")}
    kind = np.array([label or "" for label in new["kind"]])
    np.savez("s.npz", **arrays, size=new["size"].astype(str), kind=kind)
    options = ("--target", "kind", "--categorical", "size", "--model", "sppca", "--no-compare")
    run("fit", "s.npz", *options, "--out", "out")
    np.savez("d.npz", X=X, size=new["size"].astype(str), kind=kind)
    run("fit", "d.npz", *options, "--out", "dense")
    there, here = (np.array(column(f"{where}/projection.csv", "z1"), dtype=float) for where in ("out", "dense"))
    np.testing.assert_allclose(np.abs(there), np.abs(here), rtol=1e-5, atol=1e-7)
    size = new["size"].astype(str)
    size[3] = "huge"
    np.savez("new.npz", **arrays, size=size)
    said = refusal("predict", "out", "new.npz", "--out", "answers.csv")
    assert "new.npz, row 4, column 'size': no answer of the fit, and a sparse table has no empty cells" in said


def test_dates_are_not_called_answers():
    write_table("t.csv", survey() | {"day": [f"2024-01-{1 + i % 28:02d}" for i in range(60)]})
    said = refusal("fit", "t.csv", *OPTIONS)
    assert "--drop size day, take 'size' for answers with --categorical size, or name them" in said
