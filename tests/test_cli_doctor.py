"""`gnomon doctor`: versions of what is installed, and what is amiss."""

import numpy as np
from click.testing import CliRunner

from gnomon._cli import doctor
from gnomon.cli import main


def run():
    result = CliRunner().invoke(main, ["doctor"])
    return result.exit_code, dict(line.split(None, 1) for line in result.stdout.splitlines() if line)


def test_versions_and_the_machine_are_told(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    code, found = run()
    assert code == 0
    assert found["numpy"] == np.__version__
    assert int(found["cores"]) >= 1
    assert found["memory"].endswith("GiB")
    assert found["GNOMON_DATA"] == "not set (data sets)"
    assert "pytest" not in found


def test_what_is_not_installed_says_how_it_comes(monkeypatch):
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "matplotlib" else version(name))
    assert run()[1]["matplotlib"] == "not installed: pip install 'gnomon[plot]'"


def test_what_is_amiss_is_named(monkeypatch, tmp_path):
    version = doctor._version
    old = {"numpy": "1.26.4", "click": None}
    monkeypatch.setattr(doctor, "_version", lambda name: old.get(name, version(name)))
    monkeypatch.setenv("GNOMON_DATA", str(tmp_path / "none"))
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert "amiss: numpy 1.26.4: 2.0 is needed." in result.stdout
    assert "amiss: click is missing: 8.2 is needed." in result.stdout
    assert "is no folder" in result.stdout


def test_versions_are_compared_as_numbers():
    assert doctor._older("1.9.3", "1.13")
    assert not doctor._older("1.13.0rc1", "1.13")
    assert not doctor._older("2.0", "")
