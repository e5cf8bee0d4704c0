"""Every file of the inner levels that does something has a test file of its own, where its name says."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIRRORED = ("rows", "graphs", "targets", "numerics", "likelihoods", "solvers", "models")


def files(folder):
    return [
        path
        for path in sorted((ROOT / "src/gnomon" / folder).rglob("*.py"))
        if any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]


@pytest.mark.parametrize("folder", MIRRORED)
def test_each_file_has_its_tests(folder):
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    missing = [str(path.relative_to(ROOT)) for path in files(folder) if path.stem.removeprefix("_") not in tested]
    assert missing == []
