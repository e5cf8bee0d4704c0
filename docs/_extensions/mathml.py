"""Formulas as MathML, which browsers draw by themselves: a page needs no script and sends no request for them."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

THIN = '<mspace width="0.17em" />'
FUNCTION = r"<mi>(?:log|exp|tanh|sinh)</mi>"
SPACED = (  # what the converter takes for letters, or gives spaces that are not due
    (re.compile("<mi>&#x0007E;</mi>"), "<mo>&#x0223C;</mo>"),
    (re.compile("<mi>&#x000B1;</mi>"), "<mo>&#x000B1;</mo>"),
    (re.compile('<mo stretchy="false">&#x0007C;</mo>'), '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'),
    (re.compile(rf'({FUNCTION})(?!<mo stretchy="false"[^>]*>&#x00028;)(?=<m)'), rf"\1{THIN}"),
    (re.compile(rf"(</(?:mi|mn|mrow|msub|msup|msubsup)>)(?={FUNCTION})"), rf"\1{THIN}"),
)


def mathml(formula, display="inline"):
    """Return a LaTeX formula as MathML; the converter does not know the name of one function."""
    found = convert(formula.replace(r"\arg", r"\mathrm{arg}"), display=display)
    for pattern, text in SPACED:
        found = pattern.sub(text, found)
    return found


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
