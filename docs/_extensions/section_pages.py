"""The README of a folder is the first page of its section: the pages that it links to come below it."""

import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]*)\]\(([\w-]+)\.md[)#]")


def with_pages(text):
    """Return a README with a hidden list of the pages beside it, in the order of its links and by their words."""
    words: dict[str, str] = {}
    for label, page in LINK.findall(text):
        words.setdefault(page, label)
    names = "\n".join(f"{label} <{page}>" for page, label in words.items())
    return f"{text}\n\n:::{{toctree}}\n:hidden:\n\n{names}\n:::\n"


def add_pages(app, docname, source):
    """Do so for the READMEs of folders; and end blocks of code where the code ends, not an empty line later."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")
    if Path(docname).name == "README":
        source[0] = with_pages(source[0])


def setup(app):
    """Change the text between reading and parsing; the file stays as it is."""
    app.connect("source-read", add_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
