"""The mutant runner tells edits that a test catches from those that none does."""

import ast
from functools import cache
from pathlib import Path

import pytest

import mutants

TEST = "tests/test_it.py::test_add"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small project of its own, whose package has the name of the installed one."""
    for folder in ("src/gnomon", "tests", "tools"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "src/gnomon/__init__.py").write_text("def add(a, b):\n    return a + b  # sum\n")
    (tmp_path / "tests/test_it.py").write_text("import gnomon\n\ndef test_add():\n    assert gnomon.add(2, 3) == 5\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "caught", "text"),
    [
        ("a + b", "a - b", True, "caught"),
        ("# sum", "# total", False, "SURVIVED"),
        ("a", "b", False, "STALE: old text found 3 times"),
        ("a * b", "a - b", False, "STALE: old text found 0 times"),
        ("def add", "def plus add", False, "BROKEN: pytest ended with 4"),
    ],
)
def test_outcome(tree, monkeypatch, old, new, caught, text):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none is needed, and they take time to load
    result = mutants.outcome(mutants.Mutant("src/gnomon/__init__.py", old, new, [TEST]))
    assert (result.caught, result.text) == (caught, text)
    assert "a + b" in (tree / "src/gnomon/__init__.py").read_text()


def test_unchanged_copy_must_pass(tree):
    mutant = mutants.Mutant("src/gnomon/__init__.py", "a + b", "a - b", [TEST])
    mutants.check_unchanged([mutant])
    (tree / "src/gnomon/__init__.py").write_text("def add(a, b):\n    return a * b\n")
    with pytest.raises(SystemExit, match="must pass before anything is edited"):
        mutants.check_unchanged([mutant])


def test_installed_package_is_refused(tree):
    (tree / "src/gnomon/__init__.py").unlink()
    (tree / "src/gnomon").rmdir()
    with pytest.raises(SystemExit, match="and not the edited copy"):
        mutants.check_unchanged([mutants.Mutant("src/gnomon/__init__.py", "a + b", "a - b", [TEST])])


@pytest.mark.parametrize(
    "entry",
    [
        'file = "f"\nold = "a"\nnew = "b"\ntests = []',
        'file = "f"\nold = "a"\nnew = "a"\ntests = ["t"]',
        'file = "f"\nold = "a"\ntests = ["t"]',
    ],
)
def test_entries_without_meaning_are_refused(tmp_path, entry):
    (tmp_path / "mutants.toml").write_text(f"[[mutant]]\n{entry}\n")
    with pytest.raises(SystemExit, match="mutant 1: give file, old, a different new, and at least one test"):
        mutants.load(tmp_path / "mutants.toml")


@cache
def named_tests(path):
    """Names of the classes and functions of a test file, as pytest spells them."""
    names = {""}
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return names


def stale(mutant):
    """Say what keeps an entry from being run, if anything does."""
    source = ROOT / mutant.file
    count = source.read_text(encoding="utf-8").count(mutant.old) if source.is_file() else 0
    found = [] if count == 1 else [f"{mutant.file}: {mutant.old!r} occurs {count} times"]
    for test in mutant.tests:
        path, _, name = test.partition("::")
        if not (ROOT / path).is_file() or name.partition("[")[0] not in named_tests(ROOT / path):
            found.append(f"{mutant.file}: no test {test}")
    return found


def test_no_entry_is_stale():
    assert [line for mutant in mutants.load(mutants.LIST) for line in stale(mutant)] == []
