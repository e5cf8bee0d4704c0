"""gnomon fit of Parquet that stays on disk gives what it gives in memory, and says what is different."""

import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, metrics, refusal, run
from gnomon._cli import large
from gnomon.tables import _large, read_table

pytest.importorskip("dask.array")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

N, P = 600, 8
FIT = ("fit", "table.parquet", "--target", "kind", "--id", "name", "--out", "out", "--no-compare")


def columns(n=N, holes=0.02, dtype=np.float64):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 2))
    X = Z @ rng.normal(size=(2, P)) * 2.0 + rng.normal(size=(n, P)) + 3.0
    X[rng.random((n, P)) < holes] = np.nan
    kind = np.array(["up", "down"], dtype=object)[(Z[:, 0] > 0).astype(int)]
    kind[rng.random(n) < 0.8] = None
    features = {f"x{j}": X[:, j].astype(dtype) for j in range(P)}
    return {"name": [f"row {i}" for i in range(n)], **features, "kind": kind.tolist()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    save(columns())


def save(table, path="table.parquet", rows=150):
    pq.write_table(pa.table(table), path, row_group_size=rows)


def numbers(name):
    return np.array(column("out/projection.csv", name), dtype=float)


def both(*more, fit=FIT):
    """What is written by a fit from disk, and in memory: numbers of the projection, other cells, figures."""
    found = []
    for where in (("--dask",), ()):
        run(*fit, *more, *where)
        cells = {name: column("out/projection.csv", name) for name in ("name", "kind", "labeled", "predicted")}
        found.append(([numbers("z1"), numbers("z1_std"), numbers("z2")], cells, metrics()))
        shutil.rmtree("out")
    return found


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_a_fit_from_disk_is_that_in_memory(scale):
    (Z, cells, figures), (Z_memory, cells_memory, in_memory) = both("--scale", scale, "--model", "sppca")
    assert_allclose(Z, Z_memory, atol=1e-8)
    assert cells == cells_memory
    same = ("n_rows", "n_features", "n_missing", "n_labeled", "classes", "settings", "solver", "converged")
    assert {name: figures[name] for name in same} == {name: in_memory[name] for name in same}
    assert figures["log_likelihood_nats"] == pytest.approx(in_memory["log_likelihood_nats"], rel=1e-12)
    assert figures["notes"] == ["table.parquet was read from disk."]


def test_rows_of_unit_length_and_single_precision():
    save(columns(holes=0.0, dtype=np.float32))
    (Z, cells, _), (Z_memory, cells_memory, _) = both("--scale", "unit", "--model", "sppca")
    assert_allclose(Z, Z_memory, atol=1e-5)
    assert cells == cells_memory


def test_a_folder_of_files_and_columns_in_another_order():
    table = columns()
    Path("parts").mkdir()
    for i, rows in enumerate((slice(0, 200), slice(200, 210), slice(210, N))):
        names = list(table) if i else list(table)[::-1]
        save({name: table[name][rows] for name in names}, f"parts/{i}.parquet")
    (Z, *_), _ = both("--model", "sppca")
    run("fit", "parts", *FIT[2:], "--model", "sppca", "--dask")
    sign = np.sign((numbers("z1") * Z[0]).sum())
    assert_allclose(numbers("z1") * sign, Z[0], atol=1e-8)


def test_a_table_larger_than_a_share_of_memory_stays_on_disk(monkeypatch):
    monkeypatch.setattr(_large, "memory", lambda: 20 * N * P * 8)
    said = run(*FIT[:-1])
    assert "table.parquet was read from disk, so SPPCA was fitted alone; what is compared and" not in said
    monkeypatch.setattr(_large, "memory", lambda: 3 * N * P * 8)
    monkeypatch.setattr(large, "OTHERS", 100)
    n_labeled = sum(kind is not None for kind in columns()["kind"])
    said = run(*FIT, "--force")
    assert f"of {100 + n_labeled} of its rows" in " ".join(said.split())
    assert metrics()["settings"]["model"] == "sppca"
    assert metrics()["settings"]["model_asked_for"] == "auto"


@pytest.mark.usefixtures("few_splits")
def test_the_comparison_is_of_a_sample(monkeypatch):
    monkeypatch.setattr(large, "LABELED", 40)
    monkeypatch.setattr(large, "OTHERS", 100)
    run(*FIT[:-1], "--dask")
    assert {row["method"] for row in metrics()["comparison"]["rows"]} >= {"SPPCA", "PCA", "LDA"}
    assert metrics()["comparison"]["n_labeled"] == 40


def test_classes_and_numbers_together_are_for_cppca():
    table = columns()
    save(table | {"size": table["x0"], "kind": table["kind"]})
    run("fit", "table.parquet", "--target", "kind", "size", "--drop", "x0", "--id", "name", *FIT[6:], "--dask")
    assert metrics()["settings"]["model"] == "cppca"
    assert metrics()["converged"]


def test_no_more_than_some_row_groups_are_in_memory():
    n = 60_000
    table = columns(n, holes=0.0)
    table.pop("name")
    save(table, rows=2_000)
    size = n * P * 8
    read_table("table.parquet", targets=["kind"])  # what is imported on the way counts for nothing
    tracemalloc.start()
    request = large.Request("fit", "table.parquet", ("kind",), model="sppca", dask=True)
    large.fit(request, large.read(request), lambda _: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_rows = n * (P + 8 + 8 + 8 + 16) * 8  # targets, what a column of them takes, weights, groups, a few more
    assert peak < of_rows + size / 4


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_workers_of_a_scheduler_fit_the_same(workers):
    distributed = pytest.importorskip("distributed")
    (Z, cells, _), _ = both("--model", "sppca")
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None
    ) as c:
        run(*FIT, "--model", "sppca", "--scheduler", c.scheduler_address)
    assert_allclose(numbers("z1"), Z[0], atol=1e-8)
    assert column("out/projection.csv", "predicted") == cells["predicted"]


def with_text(table):
    return table | {"x3": [None if np.isnan(v) else str(v) for v in table["x3"][:-1]] + ["n.d."]}


def with_marks(table):
    x2, x5 = table["x2"].copy(), table["x5"].copy()
    x2[[9, 500]], x5[599] = -999, -9999
    return table | {"x2": x2, "x5": x5}


REFUSED = {
    "one model": (columns, ("--model", "kda"), "--model kda wants all rows in memory; use"),
    "a scale": (columns, ("--scale", "unit"), "the cell is empty, and --scale unit divides a row by its length"),
    "a number of rows": (
        lambda: columns() | {"x2": np.arange(7.0, 7.0 + N)},
        (),
        "column 'x2' counts the rows (7, 8, ...): name it with --id x2",
    ),
    "an empty column": (
        lambda: columns() | {"x2": np.full(N, np.nan)},
        (),
        "column 'x2': no row has a value; leave the column out with --drop x2",
    ),
    "marks": (
        lambda: with_marks(columns()),
        (),
        "-999 and -9999 in 'x2', 'x5' lie far from all other numbers; add --missing=-999 --missing=-9999 if they mean "
        "empty cells, or keep them with --keep x2 x5.",
    ),
    "a mark": (columns, ("--missing", "n.d."), "--missing n.d. names a cell of text"),
    "text": (lambda: with_text(columns()), (), "column 'x3': '"),
    "words": (
        lambda: columns() | {"x3": ["low"] * N},
        (),
        "'low' is not a number; leave the column out with --drop x3",
    ),
    "a huge number": (lambda: columns() | {"x2": [0.5] * 400 + [1e200] * 200}, (), "row 401, column 'x2': 1e+200"),
    "a column": (columns, ("--drop", "x9"), "no column 'x9' for --drop"),
    "to keep": (columns, ("--keep", "x9"), "--keep names 'x9', which is not a feature"),
    "components": (columns, ("--components", "8", "--model", "sppca"), "--components 8 must be less"),
    "one class": (lambda: columns() | {"kind": ["up"] + [None] * (N - 1)}, (), "only the value up in 1 labeled row,"),
    "a scheduler": (columns, ("--scheduler", "tcp://127.0.0.1:1"), "no scheduler answers there"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_leaves_nothing(what, monkeypatch):
    monkeypatch.setattr(large, "ANSWERS", 1)
    table, more, said = REFUSED[what]
    save(table())
    assert said in refusal(*FIT, "--dask", *more)
    assert [path.name for path in Path().iterdir()] == ["table.parquet"]


def test_a_column_that_counts_within_parts_alone_is_a_feature(monkeypatch):
    monkeypatch.setattr("gnomon.tables._parquet.FEWEST_ROWS", 100)
    monkeypatch.setattr("gnomon.tables._parquet.PART", 1)
    save(columns() | {"x2": np.tile(np.arange(100.0), N // 100)})
    run(*FIT, "--dask")
    assert metrics()["n_features"] == P


def test_only_parquet_is_read_from_disk():
    Path("table.csv").write_text("a,b\n1,2\n")
    assert "--dask and --scheduler read Parquet" in refusal("fit", "table.csv", "--target", "b", "--out", "o", "--dask")
    assert "does not exist" in refusal("fit", "none.parquet", "--target", "b", "--out", "o")


def test_files_that_differ_are_named():
    Path("parts").mkdir()
    table = columns()
    save(table, "parts/a.parquet")
    save({name: cells for name, cells in table.items() if name != "x4"}, "parts/b.parquet")
    wanted = "b.parquet lacks the column 'x4', which the first file has"
    assert wanted in refusal("fit", "parts", *FIT[2:], "--dask")
    assert wanted in refusal("fit", "parts", *FIT[2:])
    assert wanted in refusal("look", "parts")
    save(table | {"more": table["x4"]}, "parts/b.parquet")
    assert "b.parquet has the column 'more', which the first file lacks" in refusal("fit", "parts", *FIT[2:])


def test_the_damaged_file_of_a_folder_is_named():
    Path("parts").mkdir()
    save(columns(), "parts/a.parquet")
    Path("parts/b.parquet").write_bytes(Path("parts/a.parquet").read_bytes()[:500])
    assert "parts/b.parquet is not a Parquet file" in refusal("fit", "parts", *FIT[2:])


def test_row_groups_that_are_too_large_for_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(_large, "memory", lambda: 150 * P * 8)
    assert "has a row group of 150 rows" in refusal(*FIT)


def test_dask_that_is_not_installed_is_asked_for(monkeypatch):
    def none(part=""):
        raise ImportError(part)

    monkeypatch.setattr(large, "library", none)
    assert "pip install 'gnomon[dask]'" in refusal(*FIT, "--dask")


def test_a_stopped_command_goes_on():
    save(columns(2_000))
    words = [*FIT, "--dask", "--model", "sppca", "--set", "checkpoint=reads", "tol=1e-14", "max_iter=100000"]
    process = subprocess.Popen([sys.executable, "-m", "gnomon", *words], stderr=subprocess.PIPE)
    try:
        for _ in range(6000):
            if Path("reads").exists() and Path("reads").stat().st_size > 20_000:
                break
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1].decode().splitlines()
    assert said[-1] == "gnomon: stopped. The same command goes on from reads."
    assert process.returncode == 130
    assert sorted(path.name for path in Path().iterdir()) == ["reads", "table.parquet"]
    held = Path("reads").stat().st_size
    goes_on = [*FIT, "--dask", "--model", "sppca", "--set", "checkpoint=reads"]
    run(*goes_on)
    assert held > 20_000
    assert not Path("reads").exists()


def test_marks_are_emptied_on_disk_as_in_memory():
    table = with_marks(columns())
    table["kind"] = np.where(np.equal(table["kind"], None), np.nan, np.resize([1.5, 2.5, 4.0], N))
    table["kind"][np.flatnonzero(~np.isnan(table["kind"]))[:5]] = -999
    save(table)
    more = ("--missing=-999", "--missing=-9999", "--model", "sppca")
    (disk, cells, figures), (memory, same, wanted) = both(*more)
    for one, other in zip(disk, memory, strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    assert cells["labeled"] == same["labeled"]
    assert (figures["n_missing"], figures["n_labeled"]) == (wanted["n_missing"], wanted["n_labeled"])
    run(*FIT, "--dask", *more[2:], "--keep", "x2", "x5", "--unlabeled=-999")
    assert metrics()["n_missing"] == figures["n_missing"] - 3
