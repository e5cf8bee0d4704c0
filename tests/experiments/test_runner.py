"""The runner of cells: what is finished is never made again, and whatever stops it, the table is the same."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from commands import refusal
from gnomon.experiments import _registry, _runner, ssifa_table2
from gnomon.experiments._cells import Cell, Printed, Table, draws_of


def cells(n_draws=None, *, quick=False):
    return draws_of([("a", "x", 5), ("a", "y", None), ("b", "x", 5)], lambda *_: n_draws or 4)


def scores(cell):
    if cell == Cell("a", "y", None, 2):
        raise ValueError("no answer")
    return {"error": float(np.random.default_rng(cell.seed).random())}


@pytest.fixture
def table(monkeypatch):
    """A table of twelve cells in place of a real one; the cells that were made."""
    made = []
    counted = Table("A paper", cells, lambda cell: made.append(cell) or scores(cell), lambda *_: Printed(0.5, 0.1, 4))
    monkeypatch.setattr(ssifa_table2, "TABLE", counted, raising=False)
    return made


def test_every_cell_is_made_once_and_a_failure_is_kept(table, tmp_path, capsys):
    file = tmp_path / "cells.jsonl"
    first = _runner.run_cells("ssifa-table2", cells(), file)
    assert table == cells()
    assert [one.get("error") for one in first if one["seed"] == 2] == [None, "ValueError: no answer", None]
    assert "failed: a y None, seed 2: ValueError: no answer" in capsys.readouterr().err
    assert _runner.run_cells("ssifa-table2", cells(), file) == first
    assert len(table) == 12
    more = _runner.run_cells("ssifa-table2", cells(5), file)
    assert table[12:] == cells(5)[12:]
    assert more[:12] == first


def test_cells_of_other_versions_are_made_anew(table, tmp_path, monkeypatch):
    file = tmp_path / "cells.jsonl"
    _runner.run_cells("ssifa-table2", cells(1), file)
    monkeypatch.setattr(_runner, "made_by", lambda: "gnomon 99")
    found = _runner.run_cells("ssifa-table2", cells(1), file)
    assert len(table) == 6
    assert {one["made_by"] for one in found} == {"gnomon 99"}
    assert len(file.read_text().splitlines()) == 7  # the others stay


def test_an_interrupted_run_keeps_and_prints_what_is_finished(table, tmp_path, monkeypatch, capsys):
    file, stopped = tmp_path / "cells.jsonl", cells()[7]

    def stop(cell):
        if cell == stopped:
            raise KeyboardInterrupt
        return scores(cell)

    monkeypatch.setattr(ssifa_table2, "TABLE", ssifa_table2.TABLE._replace(scores=stop))
    with pytest.raises(KeyboardInterrupt):
        _runner.run_cells("ssifa-table2", cells(), file)
    assert len(file.read_text().splitlines()) == 8
    file.unlink()
    with pytest.raises(KeyboardInterrupt):
        _registry.run("ssifa-table2", file, page=tmp_path / "page.md")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["a", "x", "5", "error"]
    assert lines[-1] == f"Partial: 7 of 12 cells are finished; the same command goes on from {file}."
    assert "5 cells were not finished" in (tmp_path / "page.md").read_text()


def test_a_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "cells.jsonl"
    for text in ("no line of ours", json.dumps({"table": "other"})):
        file.write_text(text)
        with pytest.raises(_runner.WrongFile, match="does not hold cells of ssifa-table2; name another file"):
            _runner.read("ssifa-table2", file)


def test_the_time_left_is_told(table, monkeypatch, capsys):
    monkeypatch.setattr(_runner, "SAID", 0.0)
    _runner.run_cells("ssifa-table2", cells())
    assert capsys.readouterr().err.splitlines()[-1] == "12 of 12 cells, 0:00:00 left"


def test_cells_are_chosen_by_task_method_and_size():
    some = _registry.chosen(cells(), ("a", "K=5"))
    assert {cell[:3] for cell in some} == {("a", "x", 5)}
    assert _registry.chosen(cells(), ()) == cells()
    with pytest.raises(_registry.NoFindings, match="there is no 'c' in the table; known: a, b, x, y, K=5"):
        _registry.chosen(cells(), ("c",))


def test_bad_requests_are_one_line(tmp_path):
    said = refusal("reproduce", "breadth", "--jobs", "2", "--page", str(tmp_path / "page.md"))
    assert "breadth is no table of a paper: it takes no --jobs and no --page" in said
    assert "there is no 'mars' in the table; known: beef, coffee" in refusal("reproduce", "breadth", "--only", "mars")
    assert "there is no 'mars' in the table" in refusal("reproduce", "ssifa-table2", "--only", "mars")


COMMAND = "reproduce ssifa-table2 --only iris --only IFA --draws 6"


def run(file, page, *more):
    command = [sys.executable, "-m", "gnomon", *COMMAND.split(), "--keep", str(file), "--page", str(page), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1")])
def test_a_stopped_command_prints_what_is_finished_and_how_to_go_on(number, jobs, tmp_path):
    file, words = tmp_path / "cells.jsonl", ["reproduce", "ssifa-table2", "--only", "iris", "--jobs", jobs]
    command = [sys.executable, "-m", "gnomon", *words, "--keep", str(file), "--page", str(tmp_path / "page.md")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = (text.decode().splitlines() for text in process.communicate(timeout=60))
    assert process.returncode == 128 + number
    assert "gnomon: stopped." in err
    n_kept = len(file.read_text().splitlines()) - 1
    assert n_kept > 0
    assert out[1].startswith("iris, 0 %")
    n_cells = len(_registry.chosen(ssifa_table2.cells(), ["iris"]))
    assert out[-1] == f"Partial: {n_kept} of {n_cells} cells are finished; the same command goes on from {file}."
    assert f"{n_cells - n_kept} cells were not finished" in (tmp_path / "page.md").read_text()


@pytest.mark.slow
def test_killed_at_ten_random_moments_the_table_is_that_of_one_run(tmp_path, rng):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    begun = time.monotonic()
    assert run(whole, tmp_path / "whole.md").wait() == 0
    lasts = time.monotonic() - begun
    for moment in rng.uniform(0.2, 0.8, size=10):
        process = run(parts, tmp_path / "parts.md", "--jobs", "2")
        time.sleep(moment * lasts)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert run(parts, tmp_path / "parts.md").wait() == 0
    pages = [(tmp_path / f"{name}.md").read_text().replace(f"{name}.svg", "a.svg") for name in ("parts", "whole")]
    pages, times = zip(*(re.subn(r"Its cells took [\d.]+ \w+ of one core\.", "", one) for one in pages), strict=True)
    assert pages[0] == pages[1]
    assert times == (1, 1)
    assert (tmp_path / "parts.svg").read_bytes() == (tmp_path / "whole.svg").read_bytes()


def test_the_page_has_its_numbers_beside_it(table, tmp_path, capsys):
    _registry.run("ssifa-table2", None, draws=3, page=tmp_path / "table.md")
    assert "](table.svg)" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "table.svg").read_bytes().startswith(b"<?xml")
    kept = json.loads((tmp_path / "table.json").read_text())
    assert kept["command"] == "gnomon reproduce ssifa-table2 --draws 3"
    row = dict(zip(kept["fields"], kept["rows"][0], strict=True))
    values = [scores(cell)["error"] for cell in cells(3) if cell[:3] == ("a", "x", 5)]
    assert row["mean"] == pytest.approx(np.mean(values), abs=1e-6)
    assert row["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-6)
    assert (row["n_draws"], row["n_failed"]) == (3, 0)
    assert kept["rows"][1][-2:] == [2, 1]
