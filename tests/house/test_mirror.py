"""Each model and each solver has a test file of its own, where its name says."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def files(folder):
    return [
        path
        for path in sorted((ROOT / "src/gnomon" / folder).rglob("*.py"))
        if any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]


def names(path):
    """The test files that may be a file's own: by its name, with its folder before it, or by the folder of a model."""
    found = {f"test_{path.stem}", f"test_{path.parent.name}_{path.stem}"}
    return found | ({f"test_{path.parent.name}"} if path.stem in ("model", "__init__") else set())


@pytest.mark.parametrize("folder", ["solvers", "models"])
def test_each_file_has_its_tests(folder):
    there = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    assert [str(path.relative_to(ROOT)) for path in files(folder) if not names(path) & there] == []
