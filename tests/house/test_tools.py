"""The scripts behind `make check` find what they are there to find."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dead_check
import decision_figure
import gnomon
import home_check
import import_check
import lowest
import repro_check
import size_check
from gnomon.experiments._cells import Row

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("path", "line", "n_found"),
    [
        ("src/gnomon/models/a.py", "from scipy import sparse", 1),
        ("src/gnomon/models/a.py", "import scipy.sparse as sp", 1),
        ("src/gnomon/models/a.py", "from scipy.sparse import csr_array", 1),
        ("src/gnomon/solvers/a.py", "from scipy.sparse.linalg import eigsh", 0),
        ("src/gnomon/rows/a.py", "from scipy import sparse", 0),
        ("tests/a.py", "from scipy import sparse", 0),
        ("tests/a.py", "from sklearn.utils._testing import ignore_warnings", 1),
        ("tests/a.py", "from sklearn.decomposition._base import _BasePCA", 1),
        ("src/gnomon/estimators/a.py", "from sklearn import __version__", 0),
        ("src/gnomon/estimators/a.py", "from sklearn.base import BaseEstimator", 0),
        ("src/gnomon/estimators/a.py", "sparse = hasattr(X, 'tocsr')", 1),
        ("src/gnomon/rows/kind.py", "sparse = hasattr(X, 'tocsr')", 0),
        ("src/gnomon/models/a.py", "found = is_foreign(X)", 1),
        ("src/gnomon/models/a.py", "from sklearn.metrics.pairwise import rbf_kernel", 1),
        ("src/gnomon/estimators/a.py", "from sklearn.metrics.pairwise import rbf_kernel", 0),
        ("src/gnomon/rows/a.py", "found = is_foreign(X)", 0),
        ("src/gnomon/models/a.py", "out = rows.X @ V", 1),
        ("src/gnomon/models/a.py", "out = self.rows.X @ V", 1),
        ("src/gnomon/models/a.py", "out = step.X", 1),
        ("src/gnomon/estimators/a.py", "out = whatever().X", 1),
        ("src/gnomon/selection/a.py", "out = self.X", 0),
        ("src/gnomon/estimators/a.py", "import narwhals as nw", 1),
        ("src/gnomon/rows/frames.py", "import narwhals as nw", 0),
        ("src/gnomon/rows/a.py", "out = block.X @ V", 0),
        ("src/gnomon/export/a.py", "open(path, 'w', encoding='utf-8')", 1),
        ("src/gnomon/export/a.py", "open(path, mode='xb')", 1),
        ("src/gnomon/export/a.py", "Path(path).open('a')", 1),
        ("src/gnomon/export/a.py", "Path(path).write_text(text)", 1),
        ("src/gnomon/export/a.py", "np.savez(path, X=X)", 1),
        ("src/gnomon/export/a.py", "os.replace(a, b)", 1),
        ("src/gnomon/export/a.py", "shutil.rmtree(folder)", 1),
        ("src/gnomon/export/a.py", "figure.savefig(path)", 1),
        ("src/gnomon/export/a.py", "open(path, encoding='utf-8', newline='')", 0),
        ("src/gnomon/export/a.py", "open(path, 'rb')", 0),
        ("src/gnomon/export/a.py", "text.replace('a', 'b')", 0),
        ("src/gnomon/_files.py", "os.replace(a, b)", 0),
        ("tests/a.py", "Path(path).write_text(text)", 0),
    ],
)
def test_import_check(path, line, n_found):
    assert len(import_check.complaints(path, line)) == n_found


def function_of(n_lines):
    return '"""Text."""\n\ndef f(x):\n    """Text.\n\n    More."""\n' + "    # why\n\n    x += 1\n" * (n_lines - 1)


def test_size_check_counts_code_only():
    assert size_check.complaints("a.py", function_of(40)) == []
    assert size_check.complaints("a.py", function_of(41)) == ["a.py:3: f has 41 lines of code, at most 40"]


def test_size_check_counts_every_line_of_a_call_over_several_lines():
    body = "    f(\n" + "        1,\n" * 38 + "    )\n"
    assert size_check.complaints("a.py", f"def f(*x):\n{body}") == ["a.py:1: f has 41 lines of code, at most 40"]


def test_size_check_counts_the_code_of_a_file():
    text = '"""Text.\n\nMore.\n"""\n\n'
    assert size_check.complaints("a.py", text + "x = 1  # why\n\n# why\n" * 400) == []
    assert size_check.complaints("a.py", text + "x = 1\n" * 401) == [
        "a.py: 401 lines of code, at most 400: split it by idea"
    ]


def test_news_of_a_release_is_grouped_by_kind(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "changes").mkdir()
    shutil.copy(ROOT / "changes/template.jinja", tmp_path / "changes")
    for name, text in {"b.fixed.md": "It\nworks.", "a.added.md": "It is new."}.items():
        (tmp_path / "changes" / name).write_text(text)
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.0", "--date", "2030-01-01"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines == ["## 9.0 (2030-01-01)", "### Added", "- It is new.", "### Fixed", "- It", "  works."]


def test_news_is_short_and_ends_in_a_full_stop():
    kinds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]["type"]
    known = {kind["directory"] for kind in kinds}
    for path in (ROOT / "changes").glob("*.md"):
        if path.name != "README.md":
            text = path.read_text(encoding="utf-8").strip()
            assert path.name.split(".")[1] in known, path.name
            assert len(text) <= 400, path.name
            assert text.endswith("."), path.name


@pytest.fixture
def package(tmp_path):
    """Write a package whose files are given as `folder__file="text"` and return the folder it lies in."""

    def write(**files):
        for name, text in {"__init__": "__all__ = []\n", **files}.items():
            path = tmp_path / "gnomon" / f"{name.replace('__', '/') if name != '__init__' else name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_dead_check_finds_what_no_public_name_leads_to(package):
    low = "def used():\n    return helper()\n\ndef helper(): ...\n\ndef alone():\n    return alone()\n"
    low += "\nclass Record:\n    def named(self): ...\n    def unnamed(self): ...\n"
    high = (
        "from ..numerics import low\n__all__ = ['face']\n\ndef face():\n    return low.used(), low.Record().named()\n"
    )
    trees = dead_check.modules(package(numerics__low=low, selection__high=high))
    assert dead_check.unreachable(trees) == ["gnomon.numerics.low:6: alone cannot be reached"]
    assert dead_check.unnamed_methods(trees) == ["gnomon.numerics.low:11: nothing names Record.unnamed"]


def test_home_check_finds_what_serves_one_estimator(package):
    files = {f"estimators__{name}": f"from ..solvers import {solver}\n" for name, solver in (("a", "x"), ("b", "y"))}
    files |= {"solvers__x": "from ..numerics import z\n", "solvers__y": "from ..numerics.z import f\n"}
    assert home_check.complaints(package(**files, numerics__z="def f(): ...\n", numerics__w="")) == [
        "gnomon.numerics.w: used by no estimator; it belongs in that model's folder",
        "gnomon.solvers.x: used by a alone; it belongs in that model's folder",
        "gnomon.solvers.y: used by b alone; it belongs in that model's folder",
    ]


def test_lowest_versions_are_read_from_the_project():
    text = """[project]
name = "gnomon"
dependencies = ["numpy>=2.0"]
[project.optional-dependencies]
plot = []
anndata = []
data = []
io = ["pyarrow>=17,<99"]
convex = []
onnx = []
dask = ["dask[frame,array]>=2025.1"]
test = ["gnomon[io]", "pytest>=8.3"]
"""
    assert lowest.pins(text) == ["numpy==2.0", "pyarrow==17", "dask[array,frame]==2025.1", "pytest==8.3"]
    with pytest.raises(ValueError, match="not enough values"):
        lowest.pins(text.replace(">=2.0", ""))


def test_repro_check_finds_the_cell_that_moved():
    kept = {
        "fields": ["task", "method", "k", "score", "mean", "sd", "n_draws", "n_failed"],
        "rows": [["iris", "IFA", None, "rate", 95.0, 1.0, 30, 0], ["iris", "PCA", 2, "rate", None, None, 0, 3]],
    }
    near, far = (Row("iris", "IFA", None, "rate", mean, 1.0, 2, 0, None, False) for mean in (95.5, 90.0))
    ((distance, _, _),) = repro_check.compared(kept, [near, near._replace(method="other")])
    assert distance == pytest.approx(0.5 / (1 / 2 + 1 / 30) ** 0.5)
    assert distance < repro_check.FAR < next(repro_check.compared(kept, [far]))[0]


def test_the_decision_figure_is_what_its_script_draws_and_names_public_models():
    assert decision_figure.FILE.read_text(encoding="utf-8") == decision_figure.figure()
    names = re.findall(
        r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z]*\b", " ".join(a for _, some in decision_figure.QUESTIONS for a in some)
    )
    assert len(names) > 8
    assert set(names) <= set(gnomon.__all__)
    assert decision_figure.WIDTH <= 390
