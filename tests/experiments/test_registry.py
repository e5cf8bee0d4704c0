"""`gnomon reproduce`: the experiments by name, and what is said when one cannot run."""

import functools
import importlib
import inspect

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
