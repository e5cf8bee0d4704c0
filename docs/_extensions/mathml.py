"""Formulas as MathML, which browsers draw by themselves: a page needs no script and sends no request for them."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def mathml(formula, display="inline"):
    """Return a LaTeX formula as MathML; the converter does not know the name of one function."""
    return convert(formula.replace(r"\arg", r"\mathrm{arg}"), display=display)


def inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext()))
    raise SkipNode


def block(writer, node):
    """Write a formula of its own."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def setup(app):
    """Register the renderer under the name that `html_math_renderer` takes."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
