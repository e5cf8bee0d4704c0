"""Tables of cells: rows, their distance from what is printed, the best method, text and page."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ranksums

from gnomon.experiments._cells import Cell, Printed, Table, as_text, draws_of, pair, rows_of
from gnomon.experiments._page import page

DRAWS = {
    ("faces", "ours", 5): [0.20, 0.21, 0.22, 0.19, 0.20, 0.21, 0.18, 0.22],
    ("faces", "theirs", 5): [0.40, 0.42, 0.41, 0.39, 0.38, 0.40, 0.43, 0.41],
    ("faces", "whole", None): [0.30, 0.32, 0.31, 0.29, 0.28, 0.30, 0.33, 0.31],
}


def printed(task, method, k, score):
    return {"theirs": Printed(0.38, 0.04, 50), "whole": Printed(0.5, None, 20)}.get(method)


TABLE = Table("A paper, 2006", None, None, printed, remarks=lambda task, method, k: f"because of {method}")


def records(**more):
    return [
        {"task": task, "method": method, "k": k, "seed": seed, "scores": {"error": value}} | more
        for (task, method, k), values in DRAWS.items()
        for seed, value in enumerate(values)
    ]


def test_rows_are_means_beside_the_printed_number_in_standard_errors():
    ours, theirs, whole = rows_of(records(), TABLE)
    assert_allclose(ours.mean, np.mean(DRAWS["faces", "ours", 5]))
    assert ours.z is None
    sd = np.std(DRAWS["faces", "theirs", 5], ddof=1)
    assert_allclose(theirs.z, (theirs.mean - 0.38) / np.sqrt(sd**2 / 8 + 0.04**2 / 50))
    assert_allclose(whole.z, (whole.mean - 0.5) / whole.se)


def test_of_one_draw_the_deviation_is_the_printed_one():
    one = [record for record in records() if record["seed"] == 0]
    _, theirs, whole = rows_of(one, TABLE)
    assert_allclose(theirs.z, 0.02 / np.sqrt(0.04**2 + 0.04**2 / 50))
    assert whole.z is None


@pytest.mark.parametrize(("better", "best"), [("smaller", "ours"), ("larger", "theirs")])
def test_the_best_is_better_than_each_other_one_by_rank_sums(better, best):
    rows = rows_of(records(), TABLE._replace(better=better))
    assert [row.method for row in rows if row.best] == [best]
    close = [r | {"scores": {"error": 0.2}} if r["method"] == "theirs" else r for r in records()]
    assert ranksums(DRAWS["faces", "ours", 5], [0.2] * 8, "less").pvalue > 0.01
    assert not any(row.best for row in rows_of(close, TABLE))


def test_failures_are_counted_and_shown():
    failing = [*records(), {"task": "faces", "method": "third", "k": 5, "seed": 0, "error": "ValueError: no"}]
    rows = rows_of(failing, TABLE)
    assert (rows[-1].n_draws, rows[-1].n_failed) == (0, 1)
    assert as_text(rows).splitlines()[-1].endswith("1 failed")
    assert "1 draws failed" in page("About", TABLE, rows, "gnomon reproduce it", {})
    assert as_text([]) == "no cell is finished"


def test_the_page_says_what_differs_and_why():
    text = page("About it", TABLE, rows_of(records(), TABLE), "gnomon reproduce it", {"numpy": "2"})
    lines = {line.split(" | ")[1]: line for line in text.splitlines() if line.startswith("| faces")}
    assert "A paper, 2006" in text
    assert "`gnomon reproduce it` with numpy 2" in text
    assert "0 of 2 numbers" in text
    assert lines["theirs"].endswith("| because of theirs |")
    assert "0.3800 ± 0.0400" in lines["theirs"]
    assert "![" not in text
    assert "](it.svg)" in page("", TABLE, rows_of(records(), TABLE), "", {}, picture="it.svg")
    took = [page("", TABLE, [], "", {}, seconds=seconds) for seconds in (8000.0, 7000.0, 100.0)]
    for text, said in zip(took, ("2.22 hours", "117 minutes", "100 seconds"), strict=True):
        assert f"took {said} of one core" in text
    silent = TABLE._replace(remarks=lambda *_: "")
    assert "not explained" in page("", silent, rows_of(records(), silent), "", {})


@pytest.mark.parametrize(("printed", "said"), [(0.5, "| because of a |"), (0.25, "|  |")])
def test_a_number_without_a_deviation_is_explained_where_it_differs(printed, said):
    table = TABLE._replace(printed=lambda *_: Printed(printed, None, 1), remarks=lambda task, *_: f"because of {task}")
    record = {"task": "a", "method": "x", "k": None, "seed": 0, "scores": {"error": 0.25}, "seconds": 1.0}
    assert page("", table, rows_of([record], table), "", {}).splitlines()[-1].endswith(said)


def test_draws_come_one_after_the_other():
    cells = draws_of([("a", "x", None), ("b", "x", 5)], lambda task, *_: {"a": 3, "b": 1}[task])
    assert cells == [Cell("a", "x", None, 0), Cell("b", "x", 5, 0), Cell("a", "x", None, 1), Cell("a", "x", None, 2)]


def test_counts_have_no_decimals():
    assert [pair(165.0, None), pair(165.0, np.nan), pair(165.0, 0.0)] == ["165", "165", "165.0000 ± 0.0000"]
    assert [pair(1.0, None), pair(97.7778, None)] == ["1.0000", "97.7778"]
