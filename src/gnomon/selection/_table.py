"""One way to show a table of results: as text, and as HTML."""

from html import escape


def text_table(header, body):
    """Return lines of text with aligned columns.

    Examples
    --------
    >>> text_table(["model", "score"], [["PCA", "0.9"]])
    ['model  score', 'PCA    0.9']
    """
    widths = [max(map(len, column)) for column in zip(header, *body)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in [header, *body]]
    return [line.rstrip() for line in lines]


def html_table(verdict, header, body, notes):
    """Return the verdict, the table and its notes as HTML, with every text escaped.

    Examples
    --------
    >>> html_table("Done.", ["a"], [["<1"]], [])
    '<p><strong>Done.</strong></p><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f"<p><strong>{escape(verdict)}</strong></p>{table}{said}"
