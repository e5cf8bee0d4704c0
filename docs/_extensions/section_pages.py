"""The README of a folder is the first page of its section: the pages that it links to come below it."""

import re
from pathlib import Path

LINK = re.compile(r"\]\(([\w-]+)\.md[)#]")


def with_pages(text):
    """Return a README with a hidden list of the pages beside it, in the order of its links."""
    names = "\n".join(dict.fromkeys(LINK.findall(text)))
    return f"{text}\n\n:::{{toctree}}\n:hidden:\n\n{names}\n:::\n"


def add_pages(app, docname, source):
    """Do so for the READMEs of folders."""
    if Path(docname).name == "README":
        source[0] = with_pages(source[0])


def setup(app):
    """Change the text between reading and parsing; the file stays as it is."""
    app.connect("source-read", add_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
