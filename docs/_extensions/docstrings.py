"""Docstrings are written to be read as plain text; here they become what Sphinx reads without complaint."""

import re

ROLE = re.compile(r":(?:ref|term|doc):`([^`<]*?)(?:\s*<[^`>]*>)?`")
CODE = re.compile(r"((?<!:)`+[^`]*`+)")  # but for the text of a role
NAME = re.compile(r"`[\w.]+`")
MARK = re.compile(r"(?<=\w)_(?!\w)|(?<!\\)\|")


def unlink(app, what, name, obj, options, lines):
    """Keep the words of a link to a page of scikit-learn's own site, and drop the link."""
    lines[:] = ROLE.sub(r"\1", "\n".join(lines)).split("\n")


def as_written(line):
    """Escape what is no markup in prose: the underscore that ends an attribute, the bars of a norm.

    A public name in backticks leads to its page, whichever package the docstring is of.
    """
    return "".join(named(part) if part.startswith("`") else MARK.sub(r"\\\g<0>", part) for part in CODE.split(line))


def named(code):
    """A link where code is a public name; as it is otherwise."""
    from public_links import target

    full = target(code[1:-1]) if NAME.fullmatch(code) else None
    return code if full is None else f":py:obj:`{code[1:-1]} <{full}>`"


def escape(app, what, name, obj, options, lines):
    """Do so outside examples, which reach from a prompt to the next empty line."""
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            lines[i] = as_written(line)


def settle(app, what, name, obj, options, signature, returned):
    """Show what scikit-learn's requests of metadata leave as it is by a word, not by the mark that stands for it."""
    return (signature.replace("'$UNCHANGED$'", "unchanged"), returned) if signature else None


def setup(app):
    """Come before numpydoc with the one, after it with the other."""
    app.connect("autodoc-process-docstring", unlink, priority=100)
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("autodoc-process-signature", settle, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
