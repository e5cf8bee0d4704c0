"""`gnomon reproduce`: the experiments by name, and what is said when one cannot run."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from gnomon.cli import main
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


def test_an_experiment_runs_as_its_module_does(monkeypatch):
    seen = []
    monkeypatch.setattr(_registry.runpy, "run_module", lambda name, **options: seen.append((name, options["run_name"])))
    assert CliRunner().invoke(main, ["reproduce", "sppca-table2"]).exit_code == 0
    assert seen == [("gnomon.experiments.sppca_table2", "__main__")]


def test_unknown_names_and_missing_data_are_one_line(monkeypatch):
    with pytest.raises(ValueError, match="there is no experiment 'table-9'; known: amazon"):
        _registry.run("table-9")
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    unset = "GNOMON_DATA is not set"
    unknown = ("table-9", "there is no experiment 'table-9'")
    for name, message in (unknown, ("amazon", unset), ("multi-label-table", unset)):
        command = [sys.executable, "-c", "from gnomon.cli import main; main(prog_name='gnomon')", "reproduce", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr
