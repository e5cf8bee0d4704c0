"""`gnomon reproduce`: the experiments by name, and what is said when one cannot run."""

import importlib
import inspect

import pytest
from click.testing import CliRunner

from commands import refusal
from gnomon.cli import main
from gnomon.datasets import _download
from gnomon.experiments import _registry


def test_every_experiment_is_listed_with_its_first_line():
    known = _registry.experiments()
    assert {"sppca-table2", "amazon"} <= set(known)
    assert not any(name.startswith(("_", "-")) for name in known)
    result = CliRunner().invoke(main, ["reproduce"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == list(known)
    assert any("Table 2 of the SPPCA paper" in line for line in lines)


def test_every_table_of_accuracy_has_what_a_reader_would_compare_with():
    """By the name that logistic regression on all features has there; tables of what is drawn are none of accuracy."""
    logistic = {"sepca-table1": "FULL", "amazon": "LR"}
    no_accuracy = {"sppca-table1", "cppca-table1", "sepca-widths"}  # sizes of the data; a figure's toy in two columns
    for name in _registry.experiments():
        module = importlib.import_module(f"gnomon.experiments.{name.replace('-', '_')}")
        if hasattr(module, "TABLE") and name not in no_accuracy:
            methods = {cell.method for cell in module.TABLE.cells()}
            assert {"GuidedProjection", "DPPCA", "LDA", logistic.get(name, "logistic")} - methods == set(), name


def test_a_table_prints_its_rows_and_how_they_were_made(tmp_path):
    page = tmp_path / "page.md"
    command = [
        "reproduce",
        "ssifa-table2",
        "--only",
        "iris, 20 %",
        "--only",
        "IFA",
        "--draws",
        "2",
        "--page",
        str(page),
    ]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:5] == ["iris,", "20", "%", "IFA", "rate"]
    assert "'versions'" in result.stdout.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("2 of 2 cells")
    assert "| iris, 20 % | IFA |" in page.read_text()


class Counted:
    """An experiment of three findings, which stops before the last the first time."""

    def __init__(self):
        self.made = []

    def reproduce(self, done=()):
        for i in range(len(done), 3):
            if i == 2 and not done:
                raise KeyboardInterrupt
            self.made.append(i)
            yield {"number": i}

    def format_table(self, found):
        return f"numbers {[one['number'] for one in found]}"


def test_an_interrupted_experiment_goes_on_where_it_was(monkeypatch, tmp_path, capsys):
    module, file = Counted(), tmp_path / "found.jsonl"
    monkeypatch.setattr(_registry, "import_module", lambda name: module)
    with pytest.raises(KeyboardInterrupt):
        _registry.run("counted", file)
    out = capsys.readouterr().out
    assert out.startswith("numbers [0, 1]")
    assert out.splitlines()[-1] == f"Partial: 2 findings are made; the same command goes on from {file}."
    with pytest.raises(KeyboardInterrupt):
        _registry.run("counted")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("nothing was kept; with --keep FILE the same command goes on where it was stopped.")
    assert len(file.read_text().splitlines()) == 3
    _registry.run("counted", file)
    assert capsys.readouterr().out.startswith("numbers [0, 1, 2]")
    assert module.made == [0, 1, 0, 1, 2]
    with pytest.raises(_registry.NoFindings, match="does not hold findings of other"):
        _registry.run("other", file)
    file.write_text("no line of ours")
    with pytest.raises(_registry.NoFindings, match="name another file"):
        _registry.run("counted", file)


def test_an_experiment_that_is_no_table_is_made_smaller_by_the_same_options(monkeypatch, capsys):
    class Asked:
        QUICK = {"sets": ("a",), "n_draws": 1}  # noqa: RUF012

        def reproduce(self, sets=("a", "b"), *, n_draws=5):
            yield {"sets": sets, "n_draws": n_draws}

        def format_table(self, found):
            return str(found)

    monkeypatch.setattr(_registry, "import_module", lambda name: Asked())
    for options, sets, n_draws in (
        ({}, ("a", "b"), 5),
        ({"quick": True}, ("a",), 1),
        ({"quick": True, "draws": 2}, ("a",), 2),
        ({"only": ("b",), "draws": 3}, ("b",), 3),
    ):
        _registry.run("asked", **options)
        assert str([{"sets": sets, "n_draws": n_draws}]) in capsys.readouterr().out


def test_an_experiment_without_parts_keeps_no_file(tmp_path):
    said = refusal("reproduce", "ssifa-figures", "--keep", str(tmp_path / "found.jsonl"))
    assert "ssifa-figures has no parts to keep" in said


def test_every_experiment_has_what_is_called():
    for name in _registry.experiments():
        module = importlib.import_module(f"gnomon.experiments.{name.replace('-', '_')}")
        if not hasattr(module, "TABLE"):
            assert inspect.isgeneratorfunction(module.reproduce)
            assert callable(module.format_table)
            assert set(module.QUICK) <= set(inspect.signature(module.reproduce).parameters), name


def test_unknown_names_and_missing_data_are_one_line(monkeypatch, tmp_path):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path))
    monkeypatch.setattr(_download, "BASE", "http://127.0.0.1:9/")
    unknown = ("table-9", "there is no experiment 'table-9'")
    for name, message in (unknown, ("breadth", "GNOMON_DATA is not set")):
        assert message in refusal("reproduce", name)
    assert "crabs could not be downloaded" in refusal("reproduce", "ssifa-table2", "--only", "crabs")
