"""The pages of the documentation: Python blocks run, links lead somewhere, formulas parse, names exist."""

import ast
import doctest
import re
import shlex
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.mathtext import MathTextParser

from gnomon.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)
NAME = re.compile(r"`(\w+)`")
FETCH = re.compile(r"\bfetch_\w+\(")  # a block that calls such a function needs a file that is not in the tree
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def python_blocks(page):
    """Line numbers and text of the Python blocks of a page."""
    text = page.read_text()
    return [(text[: m.start()].count("\n") + 1, m[2]) for m in FENCE.finditer(text) if m[1] == "python"]


FETCHING = [page for page in PAGES if any(FETCH.search(block) for _, block in python_blocks(page))]


def prose(page):
    """A page without its blocks."""
    return FENCE.sub("", page.read_text())


@cache
def names_in(path):
    """Names that a Python file defines: functions, classes, methods and constants."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))
    return found


def problems_of_links(page):
    """What is wrong with the relative links of a page."""
    for label, target in LINK.findall(prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target} does not exist"
            continue
        name = NAME.fullmatch(label)
        if name and file.suffix == ".py" and name[1] not in names_in(file):
            yield f"{path} does not define {name[1]}"
        if anchor and anchor not in anchors(file):
            yield f"{target} has no such heading"


def anchors(page):
    """Anchors of the headings of a page, as GitHub writes them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


def problems_of_formulas(text):
    """What keeps the formulas of a page from being shown."""
    text = re.sub(r"`[^`\n]*`", "code", text)
    if text.count("$") % 2:
        yield "a $ without its other half"
    for match in FORMULA.finditer(text):
        formula = (match[1] or match[2]).strip()
        around = text[max(match.start() - 1, 0) : match.start()] + text[match.end() : match.end() + 1]
        if "\n" in formula:
            yield f"{formula} breaks over lines"
        elif not re.fullmatch(r"[\s(|]?[\s)|.,;:]?", around):
            yield f"{formula} touches a word"
        else:
            try:
                MathTextParser("agg").parse(f"${formula}$")
            except ValueError as error:
                yield str(error)


def run_blocks(page, blocks):
    """Run blocks one after the other; lines with a prompt must print what is written below them."""
    namespace, runner, parser = (
        {"__name__": "page"},
        doctest.DocTestRunner(optionflags=OPTIONS),
        doctest.DocTestParser(),
    )
    for line, block in blocks:
        if ">>>" not in block:
            exec(compile("\n" * line + block, str(page), "exec"), namespace)
            continue
        test = parser.get_doctest(block, namespace, page.name, str(page), line)
        report = []
        assert runner.run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
        namespace.update(test.globs)


def test_the_readme_shows_what_its_program_prints(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = (block[2] for block in FENCE.finditer(text) if block[1] == "text")
    run_blocks(ROOT / "README.md", python_blocks(ROOT / "README.md"))
    assert capsys.readouterr().out == shown


@pages
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Those that need no file from elsewhere."""
    monkeypatch.chdir(tmp_path)
    run_blocks(page, [(line, block) for line, block in python_blocks(page) if not FETCH.search(block)])


@pytest.mark.realdata
@pytest.mark.parametrize("page", FETCHING, ids=lambda page: page.stem)
def test_blocks_that_fetch_run(page, tmp_path, monkeypatch):
    """They stand last on their page, so that what comes before them is there."""
    monkeypatch.chdir(tmp_path)
    fetching = [bool(FETCH.search(block)) for _, block in python_blocks(page)]
    assert fetching == sorted(fetching)
    run_blocks(page, python_blocks(page))


def test_commands_run_and_write_the_files_that_are_named(tmp_path, monkeypatch):
    """The shell blocks of the page run one after the other in one folder."""
    page = ROOT / "docs/command_line.md"
    monkeypatch.chdir(tmp_path)
    lines = [line for block in FENCE.finditer(page.read_text()) if block[1] == "sh" for line in block[2].splitlines()]
    commands = set(main.commands)
    if find_spec("onnx") is None:
        lines, commands = [line for line in lines if "--onnx" not in line], commands - {"export"}
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "gnomon"
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"{line}: {result.output}"
    assert {line.split()[1] for line in lines} == commands
    named = set(re.findall(r"`([\w/]+\.(?:csv|html|json|gnomon|parquet))`", prose(page)))
    assert len(named) == 10
    assert {name for name in named if not (tmp_path / name).is_file()} == set()


@pages
def test_links_lead_somewhere(page):
    assert list(problems_of_links(page)) == []


@pages
def test_names_of_tests_exist(page):
    known = set().union(*(names_in(path) for path in (ROOT / "tests").rglob("test_*.py")))
    assert {name for name in NAME.findall(prose(page)) if name.startswith("test_")} <= known


@pages
def test_paths_exist(page):
    """Paths of files of the project that stand in code font."""
    for path in re.findall(r"`((?:src|tests|tools|examples|docs|benchmarks)/[\w./-]+\.\w+)`", prose(page)):
        assert (ROOT / path).exists(), path


@pages
def test_formulas_parse(page):
    assert list(problems_of_formulas(prose(page))) == []


def test_the_extras_are_those_that_can_be_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (ROOT / "docs/faq.md").read_text(encoding="utf-8").split("| extra | for |\n|---|---|\n")[1]
    told = [name for line in table.splitlines() for name in NAME.findall(line.split("|")[1])]
    assert sorted(told) == sorted(project["optional-dependencies"])


def test_the_checks_find_something():
    theory = [page for page in PAGES if page.parent.name == "theory"]
    assert len(theory) >= 5
    assert sum(len(python_blocks(page)) for page in theory) >= 10
    assert sum(len(LINK.findall(prose(page))) for page in theory) >= 50
    assert len(FETCHING) >= 5


def test_what_is_wrong_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# A\n[`nothing`](a.py) [x](b.py) [y](#a) [z](#b)\n```python\n>>> 1 + 1\n3\n```\n")
    (tmp_path / "a.py").write_text("something = 1\n")
    assert list(problems_of_links(page)) == [
        "a.py does not define nothing",
        "b.py does not exist",
        "#b has no such heading",
    ]
    with pytest.raises(AssertionError, match="Expected"):
        test_python_blocks_run(page, tmp_path, monkeypatch)
    for wrong in ("an $x", r"$\nothing$", "one-of-$C$", "$a +\nb$"):
        assert len(list(problems_of_formulas(wrong))) == 1
    assert list(problems_of_formulas("$a$, ($b$) and `$HOME`\n\n$$c^2$$\n")) == []
