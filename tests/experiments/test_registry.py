"""`gnomon reproduce`: the experiments by name, and what is said when one cannot run."""

import functools
import importlib
import inspect

import pytest
from click.testing import CliRunner

from commands import refusal
from gnomon.cli import main
from gnomon.experiments import _registry, ssifa_table2


def test_every_experiment_is_listed_with_its_first_line():
    known = _registry.experiments()
    assert {"sppca-table2", "amazon"} <= set(known)
    assert not any(name.startswith(("_", "-")) for name in known)
    result = CliRunner().invoke(main, ["reproduce"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == list(known)
    assert any("Table 2 of the SPPCA paper" in line for line in lines)


def test_an_experiment_prints_its_table_and_how_it_was_made(monkeypatch):
    quick = functools.partial(ssifa_table2.reproduce, ["iris"], shares=(20,), n_draws=2)
    monkeypatch.setattr(ssifa_table2, "reproduce", quick)
    result = CliRunner().invoke(main, ["reproduce", "ssifa-table2"])
    assert result.exit_code == 0
    assert result.stdout.startswith(ssifa_table2.format_table(list(quick())))
    assert "'versions'" in result.stdout.splitlines()[-1]
    assert result.stderr.splitlines()[0].startswith("iris IFA 20")


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
    assert capsys.readouterr().out.startswith("numbers [0, 1]")
    assert len(file.read_text().splitlines()) == 3
    _registry.run("counted", file)
    assert capsys.readouterr().out.startswith("numbers [0, 1, 2]")
    assert module.made == [0, 1, 2]
    with pytest.raises(_registry.NoFindings, match="does not hold findings of other"):
        _registry.run("other", file)
    file.write_text("no line of ours")
    with pytest.raises(_registry.NoFindings, match="name another file"):
        _registry.run("counted", file)


def test_an_experiment_without_parts_keeps_no_file(tmp_path):
    said = refusal("reproduce", "ssifa-table2", "--keep", str(tmp_path / "found.jsonl"))
    assert "ssifa-table2 has no parts to keep" in said


def test_every_experiment_has_what_is_called():
    for name in _registry.experiments():
        module = importlib.import_module(f"gnomon.experiments.{name.replace('-', '_')}")
        assert inspect.isgeneratorfunction(module.reproduce)
        assert callable(module.format_table)


def test_unknown_names_and_missing_data_are_one_line(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    unset = "GNOMON_DATA is not set"
    unknown = ("table-9", "there is no experiment 'table-9'")
    for name, message in (unknown, ("amazon", unset)):
        assert message in refusal("reproduce", name)
