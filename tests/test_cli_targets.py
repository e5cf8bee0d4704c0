"""How the command line reads targets: as `gnomon.targets` reads the same cells, told in words of the command line."""

import numpy as np
import pytest

from commands import column, refusal, run
from gnomon._cli.commands import InputError
from gnomon._cli.targets import check_guides, read_targets
from gnomon.export import load_model
from gnomon.tables import Table, write_table

pytestmark = pytest.mark.usefixtures("few_splits")


def table_of(**targets):
    columns = {name: np.array([*cells, None], dtype=object)[:-1] for name, cells in targets.items()}
    n = len(next(iter(columns.values())))
    return Table("t.csv", np.ones((n, 2)), ["a", "b"], columns, lines=np.arange(2, n + 2))


@pytest.mark.parametrize(
    "cells, options, kind, y",
    [
        (["a", None, "b"], {}, "classes", ["a", None, "b"]),
        ([True, None, False], {}, "classes", [True, None, False]),
        ([3, None, 1], {}, "classes", [3, None, 1]),
        ([1, 2.5, None], {}, "real", [1, 2.5, np.nan]),
        ([1, 2, None], {"kind": "real"}, "real", [1, 2, np.nan]),
        ([1, 2, None], {"kind": "counts"}, "counts", [1, 2, np.nan]),
        ([0.5, 2, None], {"kind": "classes"}, "classes", [0.5, 2.0, None]),
        (["a", "?", "b"], {"unlabeled": "?"}, "classes", ["a", None, "b"]),
        ([0, -1, 1], {"unlabeled": "-1"}, "classes", [0, None, 1]),
        ([0, -1, None], {}, "classes", [0, None, None]),
        ([1, -1, 1], {"unlabeled": ""}, "classes", [1, -1, 1]),
        ([1, -1, 99], {"unlabeled": "99", "kind": "real"}, "real", [1, -1, np.nan]),
        (list(range(21)), {}, "classes", list(range(21))),
    ],
)
def test_kinds_of_targets(cells, options, kind, y):
    targets = read_targets(table_of(y=cells), **options)
    assert targets.kind == kind
    np.testing.assert_array_equal(targets.given(), np.array(y, dtype=targets.given().dtype))
    assert targets.labeled.tolist() == [value is not None and value == value for value in y]


def test_several_targets_are_numbers_or_columns():
    cells = {"u": [1, None, None], "v": [2, 3, None]}
    numbers = read_targets(table_of(**cells))
    np.testing.assert_array_equal(numbers.given(), [[1, 2], [np.nan, 3], [np.nan, np.nan]])
    assert numbers.asked == "real"
    columns = read_targets(table_of(w=["a", None, "b"], x=[0.5, 1.5, None]), several="columns")
    assert columns.given().tolist() == [["a", 0.5], [None, 1.5], ["b", None]]
    assert columns.asked == ["classes", "real"]


def test_what_guides_nothing_is_refused():
    for cells, said in [([None, None], "t.csv: no row has a value in 'y'"), (["a", None], "only the value a in 1")]:
        table = table_of(y=cells)
        with pytest.raises(InputError, match=said):
            check_guides(table, read_targets(table))


@pytest.fixture
def ages(tmp_path, monkeypatch):
    """A table of 60 rows with 42 different ages, seen by a column of noise and two that know."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 60)
    X = np.column_stack([age, -age, np.zeros(60)]) + rng.normal(size=(60, 3))
    write_table(
        "t.csv", {name: X[:, j] for j, name in enumerate("abc")} | {"age": age, "sign": np.where(age > 50, 1, -1)}
    )
    return age


def test_what_was_decided_is_a_note_in_words_of_the_command_line(ages):
    words = ["fit", "t.csv", "--target", "age", "--drop", "sign", "--model", "sppca", "--no-compare"]
    text = " ".join(run(*words, "--out", "out").split())
    n = len(set(ages.tolist()))
    assert text.count(f"note: column 'age' holds {n} different integers in 60 labeled rows, read as classes.") == 1
    assert "--target-kind real for numbers such as ages or prices" in text
    assert "target='" not in text
    assert "note" not in run(*words, "--target-kind", "real", "--out", "real")


def test_what_may_be_read_amiss_is_a_note_with_its_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = np.where(np.arange(40) % 4, "-1", np.array(["oak", "elm"])[np.arange(40) // 4 % 2])
    prices = np.where(np.arange(40) % 4, "", rng.integers(100, 2000, 40).astype(str))
    write_table("t.csv", {name: rng.normal(size=40) for name in "abc"} | {"kind": kinds, "price": prices})
    kind = " ".join(run("fit", "t.csv", "--target", "kind", "--drop", "price", "--out", "x", "--dry-run").split())
    assert "column 'kind' holds the text '-1' in 30 of 40 labeled rows, which is a class" in kind
    assert "no label, say --unlabeled=-1; if not, --unlabeled=." in kind
    for option in ("--unlabeled=-1", "--unlabeled="):
        assert "note" not in run(
            "fit", "t.csv", "--target", "kind", "--drop", "price", "--out", "x", "--dry-run", option
        )
    price = " ".join(run("fit", "t.csv", "--target", "price", "--drop", "kind", "--out", "x", "--dry-run").split())
    assert "note: column 'price' holds 10 different integers in 10 labeled rows, read as classes." in price


def test_a_class_that_is_minus_one(ages):
    words = ["fit", "t.csv", "--target", "sign", "--drop", "age", "--model", "sppca", "--out", "out"]
    assert "pass --unlabeled= if -1 is a class" in refusal(*words)
    run(*words, "--unlabeled=")
    run("predict", "out", "t.csv", "--out", "p.csv")
    assert set(column("p.csv", "predicted")) == {"-1", "1"}
    assert column("out/projection.csv", "labeled") == ["True"] * 60
    assert load_model("out/model.gnomon")[-1].unlabeled is None


def test_a_noise_floor_is_a_note_that_names_the_scale(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    columns = {"income": rng.lognormal(10.3, 0.6, 80)} | {name: rng.normal(size=80) for name in "abc"}
    write_table("t.csv", columns)
    words = ["fit", "t.csv", "--model", "ppca", "--components", "2", "--no-compare", "--out", "out"]
    text = " ".join(run(*words).split())
    assert "PPCA holds noise_variance_ at its floor" in text
    assert "Bring columns of different units to one scale, by --scale standard." in text
    assert "floor" not in run(*words, "--scale", "standard", "--force")
