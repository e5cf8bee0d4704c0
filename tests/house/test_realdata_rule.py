"""Tests marked `realdata` are skipped without GNOMON_DATA, and can be made compulsory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
WITH_DATA = "import pytest\n\n@pytest.mark.realdata\ndef test_file(data_dir):\n    assert data_dir.is_absolute()\n"
WITHOUT = "def test_nothing():\n    assert True\n"


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
def test_realdata_rule(tmp_path, test, data, required, code, line):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = realdata: reads files\n")
    (tmp_path / "test_it.py").write_text(test)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    env |= {"GNOMON_DATA": data, "GNOMON_REQUIRE_REALDATA": required}
    command = [sys.executable, "-m", "pytest", "-rs", "-n", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert line in done.stdout + done.stderr
