"""The look of a report: one HTML page that needs nothing from outside. Every text is escaped here."""

import base64
import hashlib
import re
import warnings
from functools import cache
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import NamedTuple

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #17202a; --soft: #55606d; --line: #d9dee4; --tint: #f4f6f8;
  --blue: #0072b2; --orange: #d55e00; --wrong: #a33b00; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ecf0; --soft: #a4afbb;
  --line: #363e47; --tint: #1f252c; --blue: #56b4e9; --orange: #e69f00; --wrong: #ffa26b; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .7rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.soft { color: var(--soft); font-size: .92rem; }
.answer { border-left: 4px solid var(--blue); background: var(--tint); border-radius: 0 .4rem .4rem 0; margin: 1rem 0;
  padding: .6rem 1rem .6rem 2rem; overflow-wrap: anywhere; }
.verdict { border-left: 4px solid var(--blue); background: var(--tint); padding: .7rem 1rem; margin: 1.2rem 0;
  max-width: none; border-radius: 0 .4rem .4rem 0; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; background: #fff; border-radius: .3rem; }
figcaption { color: var(--soft); font-size: .92rem; max-width: 46rem; margin-top: .4rem; }
.wide { overflow-x: auto; background: linear-gradient(to right, var(--paper) 40%, transparent) 0 0 / 3rem 100% no-repeat
  local, linear-gradient(to left, var(--paper) 40%, transparent) 100% 0 / 3rem 100% no-repeat local,
  linear-gradient(to right, var(--line), transparent) 0 0 / 1.2rem 100% no-repeat scroll,
  linear-gradient(to left, var(--line), transparent) 100% 0 / 1.2rem 100% no-repeat scroll; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .32rem 1.4rem .32rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: break-word; max-width: 24rem; }
th { color: var(--soft); font-weight: 600; }
td.n, th.n { text-align: right; }
td.n { white-space: nowrap; }
tr.ours td { font-weight: 600; }
tr.wrong td { color: var(--wrong); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 2rem; }
.bars { display: grid; grid-template-columns: minmax(6rem, auto) minmax(4rem, 1fr) auto; gap: .2rem .6rem;
  align-items: center; font-size: .88rem; }
.bars > span:nth-child(3n+1) { overflow-wrap: anywhere; }
.bars > span:nth-child(3n) { text-align: right; font-variant-numeric: tabular-nums; }
.bar { position: relative; height: .85rem;
  background: linear-gradient(var(--line), var(--line)) 50% 0 / 1px 100% no-repeat; }
.bar i { position: absolute; top: 0; bottom: 0; }
.bar .up { left: 50%; background: var(--blue); } .bar .down { right: 50%; background: var(--orange); }
footer { margin-top: 3rem; padding-top: .8rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .85rem; }
@media (max-width: 34rem) { main { padding: .7rem 1rem 2rem; } h1 { font-size: 1.1rem; margin-bottom: .2rem; }
  h2 { margin: 1rem 0 .4rem; font-size: 1.1rem; padding-bottom: .1rem; } th, td { padding-right: .9rem; }
  .lead, .lead + p { font-size: .92rem; line-height: 1.35; margin: .2rem 0; }
  .answer, .verdict { margin: .4rem 0; padding: .3rem .6rem; font-size: .88rem; line-height: 1.3; }
  .answer { padding-left: 1.3rem; } }
.paper { display: none; }
@media print { @page { size: A4; margin: 12mm; } :root { font-size: 8pt; color-scheme: light; }
  body { font-size: 1rem; line-height: 1.3; }
  main { max-width: none; padding: 0; columns: 2; column-gap: 7mm; } h1 { font-size: 1.5rem; }
  h1, main > p, .answer { column-span: all; }
  section:has(.scatter, .panel + .panel, th:nth-child(5)) { column-span: all; }
  h2 { break-after: avoid; margin: 0 0 .3rem; font-size: 1.15rem; } section { padding-top: .7rem; }
  p, figcaption { max-width: none; margin: .2rem 0; } .wide { overflow: visible; background: none; }
  table { margin: .3rem 0; width: 100%; } th, td { padding: .05rem .5rem .05rem 0; overflow-wrap: anywhere; }
  figure { margin: .3rem 0; } h2 + p { break-after: avoid; }
  section:has(> figure, .panel:only-child):not(:has(table, figure ~ figure)) { break-inside: avoid; }
  figure img { max-height: 5.6cm; } section:has(.panel) + section img { max-height: 4.6cm; }
  section > figure:has(+ figure), section > figure + figure { display: inline-block; width: 48%; vertical-align: top; }
  section:has(> figure ~ figure ~ figure) > figure { width: 24%; }
  figcaption { margin-top: .1rem; } section:has(> h3 ~ .long ~ h3) { columns: 2; column-gap: 7mm; }
  .panels { grid-template-columns: repeat(auto-fit, minmax(5.5cm, 1fr)); gap: .4rem 1.2rem; }
  .panels:has(.panel:nth-child(4)) { grid-template-columns: repeat(4, 1fr); }
  .bars { gap: 0 .4rem; grid-template-columns: minmax(4rem, auto) minmax(2rem, 1fr) auto; } .bar { height: .7rem; }
  .answer, .verdict { margin: .4rem 0; padding: .3rem .7rem; } .answer { padding-left: 1.5rem; }
  footer { margin-top: .5rem; padding-top: .3rem; }
  .long tbody tr:nth-child(n+13) { display: none; }
  section:has(> .long ~ .long ~ .long) > .long tbody tr:nth-child(n+7) { display: none; }
  .paper { display: block; }
  figure, tr, .verdict, .answer, .panel { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
"""

SCRIPTS = ("scatter_marks.js", "scatter_picture.js", "scatter_regions.js", "scatter_words.js", "scatter.js")

# The policy makes a browser refuse any request, and any script but the one whose hash it holds, should one slip in.
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""


@cache
def beside(name):
    """Return the text of a file beside this one."""
    return files("gnomon.export").joinpath(name).read_text(encoding="utf-8")


def page(title, parts):
    """Return the page that holds the given parts, each HTML already."""
    script, style = "".join(map(beside, SCRIPTS)), STYLE + beside("scatter.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    first, *others = "\n".join(part for part in parts if part).split("<h2>")
    body = first + "".join(f"<section>\n<h2>{other}</section>\n" for other in others)
    return PAGE.format(title=escape(title), style=style, policy=policy, body=body, script=script)


class Row(NamedTuple):
    """The name of a row in a text, from which a script leads to the row in the picture."""

    number: int
    name: object

    @classmethod
    def named(cls, number, row_ids):
        """Return the row of a number, whose name is the number where rows have none."""
        return cls(int(number), number if row_ids is None else row_ids[number])


def tag(name, text, kind=""):
    """Return an element around a text, or around a list of texts and rows."""
    mark = f' class="{kind}"' if kind else ""
    if name != "th" and kind == "n" and isinstance(text, str):
        text = signed(text)
    return f"<{name}{mark}>{_inside(text)}</{name}>"


def signed(text, names=()):
    """Return a text of numbers with a minus sign for a hyphen before one, and none before zero; names stay as they are.

    Examples
    --------
    >>> ascii(signed("1-NN: -0.1 (-0.2 to -0.0)"))
    "'1-NN: \\\\u22120.1 (\\\\u22120.2 to 0.0)'"
    """
    kept = [re.escape(name) for name in sorted(names, key=len, reverse=True) if re.search(r"-\d", name)]
    if kept:
        parts = re.split(f"({'|'.join(kept)})", text)
        return "".join(part if i % 2 else signed(part) for i, part in enumerate(parts))
    return re.sub(r"(?<!\w)-(?=\d)", "\u2212", re.sub(r"(?<!\w)-(?=0(\.0*)?(?![\d.]))", "", text))


def targets_of(comparison):
    """Return the names of the targets that were compared."""
    return list(dict.fromkeys(str(row["target"]) for row in comparison.rows))


def _inside(text):
    if isinstance(text, list):
        return "".join(map(_inside, text))
    if isinstance(text, Row):
        return f'<span data-row="{text.number}">{escape(str(text.name))}</span>'
    return escape(str(text))


def listed(rows, row_ids, most=None, beside=None):
    """Return the names of rows, as many as `most`, as `tag` takes them, each with what stands beside it in brackets."""
    parts = []
    for i, row in enumerate(rows[:most]):
        parts += [", "] * (i > 0) + [Row.named(row, row_ids)] + ([] if beside is None else [f" ({beside[i]})"])
    return parts + [" and others"] * (most is not None and len(rows) > most)


PRINTED = 12  # lines of a table that are put on paper, half of them where a section has more; see the style


def table(header, rows, *, numeric=(), kinds=None):
    """Return a table of texts; `numeric` columns are set to the right, `kinds` are classes of rows."""

    def line(cells, cell_name, kind=""):
        cells = [tag(cell_name, cell, "n" if j in numeric else "") for j, cell in enumerate(cells)]
        return (f'<tr class="{kind}">' if kind else "<tr>") + "".join(cells) + "</tr>"

    kinds = kinds or [""] * len(rows)
    body = "\n".join(line(row, "td", kind) for row, kind in zip(rows, kinds))
    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    if len(rows) <= PRINTED or not header:
        return f'<div class="wide"><table>{head}<tbody>\n{body}\n</tbody></table></div>'
    note = tag("p", f"The first of {len(rows)} lines are here; the page on a screen has all.", "paper soft")
    return f'<div class="wide long"><table>{head}<tbody>\n{body}\n</tbody></table></div>{note}'


def bars(title, names, values, largest, beside=None):
    """Return signed horizontal bars on the scale of `largest`, with texts beside them in place of the numbers."""
    cells = []
    for name, value, said in zip(names, values, beside or [number(value, 3) for value in values]):
        side, width = ("up" if value >= 0 else "down"), 50 * min(abs(value) / largest, 1.0)
        bar = f'<span class="bar"><i class="{side}" style="width:{width:.2f}%"></i></span>'
        cells.append(f"{tag('span', name)}{bar}{tag('span', said)}")
    return f'<div class="panel">{tag("h3", title)}<div class="bars">{"".join(cells)}</div></div>'


def axes(width, height, n_rows=1, n_columns=1):
    """Return the axes of an empty picture of so many inches, or an array of them."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("A report needs matplotlib: pip install 'gnomon[plot]'.") from None
    return Figure(figsize=(width, height), layout="constrained").subplots(n_rows, n_columns, sharex=True)


def figure(ax, description, caption):
    """Return the picture that axes are in, inline, with its caption."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"svg.hashsalt": "gnomon"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in a script that the font lacks
        ax.figure.savefig(file, format="svg", dpi=170, metadata={"Date": None, "Creator": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    picture = f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{picture}{tag('figcaption', caption)}</figure>"


def folded(summary, content):
    """Return what is shown at once where there are no scripts; scatter.js folds it away behind its summary."""
    return f'<details class="still" open>{tag("summary", summary)}{content}</details>'


def number(value, digits=4):
    """Return a float as short text of so many digits."""
    return f"{value:#.{digits}g}".rstrip(".").replace("-", "\u2212")


def count(n, thing, things=None):
    """Return "1 row" or "1,234 rows"."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
