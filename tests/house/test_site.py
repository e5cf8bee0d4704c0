"""The site: every public name has a page, formulas are MathML, nothing is asked of the network, no warning."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docstrings import as_written, escape, settle
from gallery_order import ORDER, in_order
from public_links import target
from reference_pages import PACKAGES, pages
from section_pages import add_pages, with_pages

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"")
FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)


def public_names():
    return (ROOT / "tests/contract/public_api.txt").read_text(encoding="utf-8").split()


def methods(name):
    """Full names of the public methods of a class, inherited ones too."""
    package, _, short = name.rpartition(".")
    thing = getattr(importlib.import_module(package), short)
    public = [m for m in dir(thing) if not m.startswith("_")] if inspect.isclass(thing) else []
    return [f"{name}.{m}" for m in public if callable(getattr(thing, m))]


def test_every_public_name_has_a_page_and_stands_in_the_index():
    texts = pages()
    assert {f"{name}.rst" for name in public_names()} | {"index.rst"} == set(texts)
    for name in public_names():
        assert f":py:obj:`{name.rpartition('.')[2]} <{name}>`" in texts["index.rst"]
    assert "     - Supervised probabilistic PCA: one latent space" in texts["index.rst"]
    assert {name.rpartition(".")[0] for name in public_names()} == set(PACKAGES)


def test_prose_of_docstrings_is_escaped_and_code_is_not():
    assert as_written("mean_ of |x|, ``mean_`` and `a|b`") == r"mean\_ of \|x\|, ``mean_`` and `a|b`"
    assert as_written("`GuidedSearch`, `mean_`") == ":py:obj:`GuidedSearch <gnomon.selection.GuidedSearch>`, `mean_`"
    assert as_written(":py:obj:`SPPCA <gnomon.SPPCA>`") == ":py:obj:`SPPCA <gnomon.SPPCA>`"
    lines = ["n_labeled_", ">>> model.mean_", "mean_", "", "mean_"]
    escape(None, "class", "name", None, None, lines)
    assert lines == [r"n_labeled\_", ">>> model.mean_", "mean_", "", r"mean\_"]


def test_signatures_have_a_word_for_what_is_left_as_it_is():
    found = settle(None, "method", "name", None, None, "(*, y: bool | None | str = '$UNCHANGED$')", "")
    assert found == ("(*, y: bool | None | str = unchanged)", "")
    assert settle(None, "module", "name", None, None, None, None) is None


@pytest.mark.parametrize(
    "code, full",
    [
        ("SPPCA", "gnomon.SPPCA"),
        ("SPPCA(5).fit(X, y)", "gnomon.SPPCA"),
        ("compare", "gnomon.selection.compare"),
        ("gnomon.export.to_onnx", "gnomon.export.to_onnx"),
        ("GuidedProjection.pupil()", "gnomon.GuidedProjection.pupil"),
        ("GuidedProjection.nothing", None),
        ("gnomon.selection", None),
        ("transform", None),
        ("SPPCA or PPCA", None),
    ],
)
def test_code_in_pages_leads_to_the_reference(code, full):
    assert target(code) == full


def test_every_example_has_a_place_in_the_gallery():
    files = [file.name for file in (ROOT / "examples").glob("plot_*.py")]
    assert sorted(map(in_order, files)) == list(range(len(ORDER)))


def test_formulas_have_signs_and_spaces():
    pytest.importorskip("latex2mathml", reason="the site needs the extra `docs`")
    from mathml import mathml

    assert "<mo>&#x0223C;</mo>" in mathml(r"z \sim N")
    assert '<mi>d</mi><mspace width="0.17em" /><mi>log</mi><mspace width="0.17em" /><mn>2</mn>' in mathml(r"d \log 2")
    assert "<mi>log</mi><mo" in mathml(r"\log (x)")
    assert mathml("|x|").count('lspace="0"') == 2


def test_blocks_of_code_end_where_the_code_ends():
    source = ["```python\n>>> 1\n1\n\n```\n"]
    add_pages(None, "page", source)
    assert source == ["```python\n>>> 1\n1\n```\n"]


def test_a_section_lists_the_pages_that_its_readme_links_to():
    text = with_pages("[b](b.md#x) [a](a.md) [b](b.md) [out](../c.md) [code](d.py)")
    assert text.endswith(":::{toctree}\n:hidden:\n\nb <b>\na <a>\n:::\n")
    for folder in ("guides", "theory", "results"):
        readme = ROOT / "docs" / folder / "README.md"
        listed = re.findall(r"<([\w-]+)>", with_pages(readme.read_text(encoding="utf-8")).split(":hidden:")[1])
        assert {file.stem for file in readme.parent.glob("*.md")} == {*listed, "README"}


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="the site needs the extra `docs`")
    from sphinx.util.inventory import InventoryFile

    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-E",
        "-q",
        "-d",
        tmp_path / "trees",
        ROOT / "docs",
        tmp_path / "site",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    html = {file: file.read_text(encoding="utf-8") for file in (tmp_path / "site").rglob("*.html")}
    formulas = [formula for text in html.values() for formula in FORMULA.findall(text)]
    assert len(formulas) > 500
    assert [formula for formula in formulas if "\\" in formula] == []
    assert [outside for text in html.values() for outside in OUTSIDE.findall(text)] == []
    assert [file for file, text in html.items() if "$UNCHANGED$" in text] == []
    with open(tmp_path / "site" / "objects.inv", "rb") as file:
        known = set().union(*InventoryFile.load(file, "", lambda base, page: page).values())
    wanted = {name for public in public_names() for name in (public, *methods(public))}
    assert len(wanted) > 300
    assert wanted - known == set()
