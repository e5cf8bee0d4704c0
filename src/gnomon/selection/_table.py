"""One way to show a table of results, as text and as HTML, and to store it."""

from dataclasses import asdict
from html import escape

from gnomon._text import text_table


class Table:
    """A dataclass of results with `cells()`, `notes` and `verdict`: how it prints, and how it is stored."""

    def to_dict(self):
        """Return plain numbers, text and lists, ready for JSON.

        Returns
        -------
        dict
            One entry per attribute; the class makes the same results of them.
        """
        return asdict(self)

    @property
    def _remarks(self):
        return self.notes

    def __repr__(self):
        return "\n".join([*text_table(*self.cells()), *self._remarks, self.verdict])

    def _repr_html_(self):
        header, body = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
        said = "".join(f"<p>{escape(note)}</p>" for note in self._remarks)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
        return f"<p><strong>{escape(self.verdict)}</strong></p>{table}{said}"
