"""One page for every public name, with its inherited methods; written to docs/reference before each build."""

import importlib
import inspect
from pathlib import Path

from docstrings import as_written

PACKAGES = {
    "gnomon": "Models",
    "gnomon.selection": "Choosing, comparing, testing",
    "gnomon.plotting": "Pictures",
    "gnomon.export": "Reports and model files",
    "gnomon.anndata": "Single cells",
    "gnomon.datasets": "Data sets",
}


def heading(text, line="="):
    """Return a title with its line below."""
    return f"{text}\n{line * len(text)}\n\n"


def row(package, name):
    """Return the row of a table with a name and the first sentence of what it says of itself."""
    lines = (inspect.getdoc(getattr(importlib.import_module(package), name)) or "").split("\n\n")[0]
    said = as_written(" ".join(lines.split())) if name != "__version__" else "The version, as text."
    return f"   * - :py:obj:`{name} <{package}.{name}>`\n     - {said}\n"


def page(package, name):
    """Return the page of one public name."""
    thing = getattr(importlib.import_module(package), name)
    kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
    return heading(f"{package}.{name}") + f".. currentmodule:: {package}\n\n.. auto{kind}:: {name}\n"


def pages():
    """Return the texts of the reference by file name."""
    texts, index = {}, heading("Reference")
    for package, title in PACKAGES.items():
        names = sorted(importlib.import_module(package).__all__, key=lambda name: (name[0] == "_", name.lower()))
        texts.update({f"{package}.{name}.rst": page(package, name) for name in names})
        index += heading(f"{title}: {package}", "-") + ".. list-table::\n   :widths: 28 72\n\n"
        index += "".join(row(package, name) for name in names) + "\n.. toctree::\n   :hidden:\n\n"
        index += "".join(f"   {name} <{package}.{name}>\n" for name in names) + "\n"
    return {"index.rst": index, **texts}


def write(app):
    """Write what has changed, and remove pages of names that are gone."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    texts = pages()
    for file in folder.glob("*.rst"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app):
    """Write the pages when the build begins."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
