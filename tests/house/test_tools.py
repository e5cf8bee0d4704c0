"""The scripts behind `make check` find what they are there to find."""

import datetime

import pytest

import import_check
import news
import size_check


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


@pytest.mark.parametrize(
    ("name", "text", "n_found"),
    [
        ("float32-kept.fixed.md", "float32 stays float32.\n", 0),
        ("float32-kept.fixed.md", "", 1),
        ("Float32.fixed.md", "float32 stays float32.", 1),
        ("float32.news.md", "float32 stays float32.", 1),
        ("float32.fixed.md", "long " * 100 + ".", 1),
    ],
)
def test_news_check(tmp_path, name, text, n_found):
    (tmp_path / name).write_text(text)
    assert len(news.complaints(tmp_path / name)) == n_found


def test_release_joins_fragments_by_kind_and_keeps_older_sections(tmp_path, monkeypatch):
    monkeypatch.setattr(news, "ROOT", tmp_path)
    (tmp_path / "changes").mkdir()
    for name, text in {"b.fixed.md": "It\nworks.", "a.added.md": "It is new.", "README.md": "Rules."}.items():
        (tmp_path / "changes" / name).write_text(text)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.1 (2026-01-01)\n")
    news.release("0.1.0")
    day = datetime.date.today().isoformat()
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        f"# Changelog\n\n## 0.1.0 ({day})\n\n### Added\n\n- It is new.\n\n### Fixed\n\n- It works.\n"
        "\n## 0.0.1 (2026-01-01)\n"
    )
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]
