"""Tests marked `realdata` are skipped without GNOMON_DATA, and can be made compulsory; torture runs by its marker."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"
WITH_DATA = "import pytest\n\n@pytest.mark.realdata\ndef test_file(data_dir):\n    assert data_dir.is_absolute()\n"
WITHOUT = "def test_nothing():\n    assert True\n"


@pytest.fixture
def project(pytester, monkeypatch):
    """A small project of its own under the same rule; `run` runs its tests and returns exit code and text."""
    shutil.copy(CONFTEST, pytester.path)
    pytester.makeini("[pytest]\nmarkers = realdata: reads files\n")

    def run(test, data, required):
        pytester.makepyfile(test_it=test)
        monkeypatch.setenv("GNOMON_DATA", data)
        monkeypatch.setenv("GNOMON_REQUIRE_REALDATA", required)
        done = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider")
        return done.ret, done.stdout.str() + done.stderr.str()

    return run


@pytest.mark.parametrize(
    ("test", "data", "required", "code", "line"),
    [
        (WITH_DATA, "", "", 0, "GNOMON_DATA is unset"),
        (WITH_DATA, "", "1", 1, "GNOMON_REQUIRE_REALDATA=1, and no realdata test ran"),
        (WITH_DATA, ".", "1", 0, "realdata tests that ran: 1"),
        (WITHOUT, ".", "1", 1, "GNOMON_REQUIRE_REALDATA=1, and no realdata test ran"),
        (WITHOUT, "nowhere", "", 4, "GNOMON_DATA=nowhere is not a folder"),
    ],
)
def test_realdata_rule(project, test, data, required, code, line):
    found, text = project(test, data, required)
    assert found == code, text
    assert line in text


def test_tests_of_other_processes_count(tmp_path):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = realdata: reads files\n")
    (tmp_path / "test_it.py").write_text(WITH_DATA)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    env |= {"GNOMON_DATA": ".", "GNOMON_REQUIRE_REALDATA": "1"}
    command = [sys.executable, "-m", "pytest", "-n", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "realdata tests that ran: 1" in done.stdout


@pytest.mark.parametrize(
    ("words", "passed"), [((), 0), (("-m", "not slow"), 0), (("test_it.py",), 0), (("-m", "torture"), 1)]
)
def test_torture_runs_only_where_its_marker_is_asked_for(pytester, words, passed):
    shutil.copy(CONFTEST, pytester.path)
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    torture: torture\n")
    pytester.makepyfile(test_it="import pytest\n\n@pytest.mark.torture\ndef test_kill():\n    assert True\n")
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)
    done.assert_outcomes(passed=passed, deselected=1 - passed)
