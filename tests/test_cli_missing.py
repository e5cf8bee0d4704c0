"""Empty feature cells through the commands: fit, transform, predict, impute, and what is said about them."""

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import PPCA, SPPCA
from gnomon.cli import main
from gnomon.datasets import load_wine, make_partial
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

WINE = load_wine()
NAMES = [f"x{j}" for j in range(13)]
HOLES = np.random.default_rng(5).random(WINE.data.shape) < 0.1
HOLES[7] = True  # one row without any value
X = np.where(HOLES, np.nan, WINE.data)
LABELS = make_partial(np.array(WINE.target_names, dtype=object)[WINE.target], n_per_class=9, random_state=1)
SPREAD = np.nanstd(X, axis=0)


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty folder with the tables t.csv, t.tsv, t.parquet and t.npz, the same in each."""
    monkeypatch.chdir(tmp_path)
    for suffix in ("csv", "tsv", "parquet"):
        write_table(f"t.{suffix}", {name: X[:, j] for j, name in enumerate(NAMES)} | {"kind": LABELS})
    np.savez("t.npz", X=X, kind=np.array([label or "" for label in LABELS]))
    return tmp_path


@pytest.fixture
def no_report(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)


def call(*arguments):
    return CliRunner().invoke(main, [str(word) for word in arguments], prog_name="gnomon")


def run(*arguments):
    """Run a command that succeeds; a fit takes SPPCA unless another model is named."""
    if arguments[0] == "fit" and "--model" not in arguments:
        arguments = (*arguments, "--model", "sppca")
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refusal(*arguments):
    before = set(Path(".").rglob("*"))
    result = call(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    assert set(Path(".").rglob("*")) == before
    return result.stderr.removeprefix("gnomon: ").rstrip("\n")


def columns_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, map(list, zip(*rows))))


def numbers(table, *names):
    return np.array([[float(cell) for cell in table[name]] for name in names]).T


@cache
def of_the_library():
    """The model that every kind of table must give; read only."""
    return SPPCA(2).fit(X / SPREAD, LABELS)  # the spread of what is observed


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
def test_every_kind_of_table_gives_the_model_of_the_library(kind, no_report):
    text = run("fit", f"t.{kind}", "--target", "kind", "--no-compare", "--scale", "standard", "--out", "out")
    assert f"t.{kind}: 178 rows, 13 features; {HOLES.sum()} of 2314 feature cells empty\n" in text
    assert json.loads(Path("out/metrics.json").read_text())["n_missing"] == HOLES.sum()
    model = of_the_library()
    Z, cov = model.transform(X / SPREAD, return_cov=True)
    table = columns_of("out/projection.csv")
    assert_allclose(numbers(table, "z1", "z2"), Z, atol=1e-6)
    assert_allclose(numbers(table, "z1_std", "z2_std"), np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), rtol=1e-6)
    assert table["predicted"] == model.predict(X / SPREAD).tolist()
    assert_allclose(numbers(table, "z1", "z2")[7], 0, atol=1e-12)  # nothing is known of this row


def test_new_rows_with_empty_cells_for_a_model_of_complete_rows(no_report):
    write_table("whole.csv", {name: WINE.data[:, j] for j, name in enumerate(NAMES)} | {"kind": LABELS})
    run("fit", "whole.csv", "--target", "kind", "--no-compare", "--out", "out")
    run("transform", "out", "t.csv", "--out", "z.csv")
    run("predict", "out", "t.parquet", "--out", "p.csv")
    model = SPPCA(2).fit(WINE.data, LABELS)
    assert_allclose(numbers(columns_of("z.csv"), "z1", "z2"), model.transform(X), rtol=1e-8, atol=1e-10)
    answers = columns_of("p.csv")
    assert answers["predicted"] == model.predict(X).tolist()
    shares = numbers(answers, *(f"p_{name}" for name in model.classes_))
    assert_allclose(shares, model.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_a_column_may_be_empty_in_a_new_table(no_report):
    run("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out")
    columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"x3": [None] * 178}
    for name in ("new.csv", "new.parquet"):
        write_table(name, columns)
        run("transform", "out", name, "--out", f"z-{name}.csv")
    gone = np.where(np.arange(13) == 3, np.nan, X)
    expected = SPPCA(2).fit(X, LABELS).transform(gone)
    assert_allclose(numbers(columns_of("z-new.csv.csv"), "z1", "z2"), expected, rtol=1e-6, atol=1e-8)
    assert columns_of("z-new.parquet.csv") == columns_of("z-new.csv.csv")


def test_advice_on_a_fit_that_stopped_early_is_in_words_of_the_command_line(no_report):
    said = run("fit", "t.csv", "--target", "kind", "--model", "sppca", "--set", "max_iter=2", "--out", "out")
    assert "raise --set max_iter=N or loosen --set tol=X" in " ".join(said.split())


@pytest.mark.parametrize("scale, k", [("none", 2), ("standard", 3)])
def test_impute_fills_empty_cells_and_keeps_the_others(scale, k, no_report):
    run("fit", "t.csv", "--model", "ppca", "--drop", "kind", "--scale", scale, "--components", k, "--out", "out")
    assert run("impute", "out", "t.csv", "--out", "full.csv") == (
        f"filled {HOLES.sum()} empty cells in 178 rows of t.csv; wrote full.csv\n"
    )
    table = columns_of("full.csv")
    assert list(table) == [*NAMES, "kind"]
    filled = numbers(table, *NAMES)
    assert_array_equal(filled[~HOLES], X[~HOLES])
    units = SPREAD if scale == "standard" else 1.0
    expected = PPCA(k).fit(X / units).impute(X / units) * units
    assert_allclose(filled[HOLES], expected[HOLES], rtol=1e-5)
    if scale == "standard":  # it is worth something: closer to the truth than the means of the columns
        known = HOLES & (np.arange(178) != 7)[:, None]
        errors = [((guess - WINE.data) / SPREAD)[known].std() for guess in (filled, np.nanmean(X, axis=0))]
        assert errors[0] < 0.85 * errors[1]


def test_what_is_filled_ahead_of_a_model_is_in_the_units_of_the_table(no_report):
    write_table("whole.csv", {name: WINE.data[:, j] for j, name in enumerate(NAMES)} | {"kind": LABELS})
    words = ("--target", "kind", "--model", "dppca", "--no-compare", "--set", "n_factors=1", "shrinkage=0.1")
    run("fit", "whole.csv", *words, "--scale", "standard", "--out", "out")
    run("impute", "out", "t.csv", "--out", "full.csv")
    filled = numbers(columns_of("full.csv"), *NAMES)
    assert_allclose(filled[~HOLES], X[~HOLES], rtol=1e-12)
    units = WINE.data.std(axis=0)
    expected = PPCA(10).fit(WINE.data / units).impute(X / units) * units
    assert_allclose(filled[HOLES], expected[HOLES], rtol=1e-5)


def test_impute_of_complete_rows_changes_nothing(no_report):
    run("fit", "t.csv", "--target", "kind", "--no-compare", "--scale", "standard", "--out", "out")
    write_table("whole.csv", {name: WINE.data[:, j] for j, name in enumerate(NAMES)})
    run("impute", "out", "whole.csv", "--out", "full.csv")
    assert_array_equal(numbers(columns_of("full.csv"), *NAMES), WINE.data)


def test_impute_wants_a_dense_table(no_report):
    run("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out")
    parts = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 13], "feature_names": NAMES}
    np.savez("sparse.npz", **parts)
    assert refusal("impute", "out", "sparse.npz", "--out", "full.csv") == (
        "sparse.npz: a sparse table has no empty cells to fill; what it does not store is zero."
    )


def test_comparison_and_report_say_what_was_filled():
    text = run("fit", "t.csv", "--target", "kind", "--scale", "standard", "--out", "out")
    said = f"For the baselines {HOLES.sum()} missing entries of X had to be filled with column means."
    assert said in " ".join(text.split())
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert said in page
    assert f"{HOLES.sum()} entries of the table are missing." in page
    assert "per unit of a component in the mean, in standard deviations of the column" in page
    assert json.loads(Path("out/metrics.json").read_text())["comparison"]["n_filled"] == HOLES.sum()


def test_rows_of_length_one_must_be_complete():
    i, j = np.argwhere(HOLES)[0]
    message = refusal("fit", "t.csv", "--target", "kind", "--scale", "unit", "--out", "out")
    assert message == (
        f"t.csv, row {i + 1} (line {i + 2}), column 'x{j}': the cell is empty, and --scale unit divides a row by its "
        "length, which takes all cells; fill it, leave the row out, or fit with another --scale."
    )


@pytest.mark.parametrize("command", ["transform", "predict", "impute"])
def test_infinity_in_a_new_table_is_no_empty_cell(command, no_report):
    run("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out")
    rows = X.copy()
    rows[3, 2] = -np.inf
    write_table("new.csv", {name: rows[:, j] for j, name in enumerate(NAMES)})
    assert refusal(command, "out", "new.csv", "--out", "result.csv") == (
        "new.csv, row 4 (line 5), column 'x2': -inf is not a finite number; correct it, or leave the column out with "
        "--drop x2."
    )


def test_one_column_outweighs_the_others_though_cells_are_empty(no_report):
    text = run("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out")
    assert "note: x12 holds 99." in text
