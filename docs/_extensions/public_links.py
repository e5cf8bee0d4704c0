"""Names of the library that a page writes as code lead to their pages of the reference."""

import importlib
import re
from functools import cache

from docutils import nodes
from reference_pages import PACKAGES
from sphinx.addnodes import pending_xref

CALLED = re.compile(r"([\w.]+)(?:\(.*\))?")
ELSEWHERE = ("reference/", "gallery/", "command_line", "changes")  # where links are, or words are those of commands


@cache
def public():
    """Full names by the short ones."""
    lists = {package: importlib.import_module(package).__all__ for package in PACKAGES}
    return {name: f"{package}.{name}" for package, names in lists.items() for name in names if name != "__version__"}


def target(text):
    """The full name of what code stands for: of a name, a method of it, or a call of either; None of anything else."""
    found = CALLED.fullmatch(text)
    if found is None:
        return None
    first, _, rest = found[1].partition(".")
    if first == "gnomon":
        return found[1] if found[1] in public().values() else None
    full = public().get(first)
    if full is None or not rest:
        return full
    package, _, short = full.rpartition(".")
    return f"{full}.{rest}" if hasattr(getattr(importlib.import_module(package), short), rest) else None


def link(app, doctree):
    """Turn code into links where it is no link and no heading."""
    page = app.env.docname
    if page.startswith(ELSEWHERE):
        return
    for code in list(doctree.findall(nodes.literal)):
        full = target(code.astext())
        if full is None or linked(code):
            continue
        marks = {"refdomain": "py", "reftype": "obj", "reftarget": full, "refdoc": page, "refexplicit": True}
        reference = pending_xref("", refwarn=True, **marks)
        code.replace_self(reference)
        reference += code


def linked(node):
    """Whether a node stands in a link or a heading."""
    while node is not None:
        if isinstance(node, (nodes.reference, nodes.title, pending_xref)) or node.tagname == "download_reference":
            return True
        node = node.parent
    return False


def setup(app):
    """Change pages between parsing and writing."""
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
