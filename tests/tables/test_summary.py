"""Rows called Total or Mean: those that hold sums or means of others are asked about, samples of such names are not."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris, load_wine

from commands import refusal, run
from gnomon.tables import TableError, read_table
from gnomon.tables import _text as text_module
from gnomon.tables._summary import KINDS, candidates, kind_of_summary, summaries

X = load_iris().data[::7]
WAYS = "add --form no-summary to leave such rows out, or --form all-rows if they are samples."


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(foot, blank=0, name="t.csv"):
    """Flowers with rows below them: a name, and four numbers."""
    rows = [("flower", *"abcd", "kind"), *((f"f{i}", *x, "xy"[i % 2]) for i, x in enumerate(X))]
    rows += [("",) * 6] * blank + [(called, *(f"{value:.4g}" for value in values), "") for called, values in foot]
    Path(name).write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")


FOOT = [("TOTAL", X.sum(axis=0)), ("Average:", X.mean(axis=0)), ("Std. Dev. (n-1)", X.std(axis=0, ddof=1))]


@pytest.mark.parametrize("large", [1, 1 << 20], ids=["pyarrow", "standard library"])
def test_summaries_are_asked_about_and_left_out_on_request(large, monkeypatch):
    monkeypatch.setattr(text_module, "LARGE", large)
    write(FOOT)
    for roles in ({"id": "flower", "targets": ["kind"]}, {"drop": ["flower"], "targets": ["kind"]}):
        with pytest.raises(TableError) as caught:
            read_table("t.csv", **roles)
        assert str(caught.value) == (
            "t.csv, row 23 (line 24): 'TOTAL', 'Average:', 'Std. Dev. (n-1)' hold sums, means, deviations of "
            f"other rows; {WAYS}"
        )
        found = read_table("t.csv", **roles, form=["no-summary"])
        assert_array_equal(found.X, X)
        assert len(found.lines) == len(found.targets["kind"]) == len(X)
        assert found.assumed == "without 3 rows of summaries ('TOTAL', 'Average:', 'Std. Dev. (n-1)')"
        assert read_table("t.csv", **roles, form=["all-rows"]).X.shape == (len(X) + 3, 4)


def test_empty_rows_ahead_go_with_a_summary():
    write(FOOT[1:2], blank=2)
    found = read_table("t.csv", id="flower", targets=["kind"], form=["no-summary"])
    assert_array_equal(found.X, X)
    assert found.ids[-1] == "f21"


def test_sheets_are_asked_about_too():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("flower", "a"), *((f"f{i}", x) for i, x in enumerate(X[:, 0])), ("Mean", X[:, 0].mean())]:
        book.active.append(row)
    book.save("t.xlsx")
    with pytest.raises(TableError, match=r"t\.xlsx, row 23 \(line 24\): 'Mean' holds means of other rows"):
        read_table("t.xlsx", id="flower")


def test_totals_of_groups_hold_the_sums_of_the_rows_above_them():
    table = np.vstack([X[:5], X[:5].sum(axis=0), X[5:9], X[5:9].sum(axis=0), X[:9].sum(axis=0)])
    named = {5: "Subtotal", 10: "Subtotal", 11: "Grand total"}
    assert summaries(table, named) == dict.fromkeys(named, "sums")


def test_a_row_beside_a_summary_is_another():
    table = np.vstack([X, X.mean(axis=0), X[0] * 0.1])
    assert summaries(table, {len(X): "mean", len(X) + 1: "s.d."}) == {len(X): "means", len(X) + 1: "summaries"}


@pytest.mark.parametrize("name", ["Total", "mean", "SD", "var", "Median", "MIN", "max.", "n"])
def test_samples_of_such_names_stay(name):
    for data in (load_iris().data, load_wine().data, load_diabetes().data):
        assert not [i for i in range(len(data)) if summaries(data, {i: name})]


def test_what_is_not_there_tells_nothing():
    words = np.random.default_rng(0).poisson(0.02, size=(300, 100)).astype(float)
    assert not summaries(words, {3: "median", 4: "min", 9: "mean"})
    assert not summaries(np.ones((9, 3)), {3: "mean"})
    assert not summaries(np.vstack([X, X.mean(axis=0)]), dict.fromkeys(range(len(X) + 1), "mean"))


@pytest.mark.parametrize("text", ["f12", "Totals 2019", "summer", "northern", "max planck", "", "stdx", "n1"])
def test_other_names_are_none_of_a_summary(text):
    assert kind_of_summary(text) is None


@pytest.mark.parametrize(
    "text, kind",
    [("Std. Dev.", "deviations"), ("GRAND TOTAL:", "sums"), ("mean (n=5)", "means"), ("Std_Err", "deviations")],
)
def test_names_of_summaries_are_known_in_any_writing(text, kind):
    assert kind_of_summary(text) == kind
    assert candidates([["a", None, text]], first=10) == {12: text}
    assert kind in KINDS


def test_look_says_it_and_prints_a_command_that_runs():
    write([*FOOT, ("Max", X.max(axis=0))])
    said = run("look", "t.csv")
    assert "'TOTAL', 'Average:', 'Std. Dev. (n-1)', 'Max': rows that hold sums, means or the like of others" in said
    words = said.splitlines()[-1].split()
    assert words[:5] == ["gnomon", "fit", "t.csv", "--form", "no-summary"]
    assert "hold sums, means, deviations, highest values" in refusal(*words[1:3], *words[5:], "--model", "sppca")
    assert "22 rows, 4 features" in run(*words[1:], "--model", "sppca", "--dry-run")
    assert "rows that hold" not in run("look", "t.csv", "--form", "all-rows")
    assert "rows that hold" not in run("look", "t.csv", "--form", "no-summary")
