"""The picture of a table: the number of every cell against the printed one, with one deviation of each over draws."""

import numpy as np

from gnomon._files import new_file
from gnomon.plotting._style import class_style, literal, plain_axes, pyplot

SIZE = 4.2  # inches of a panel


def picture(rows):
    """A panel for each score that has printed numbers, a color for each method; None where nothing is printed."""
    told = [row for row in rows if row.printed is not None and row.n_draws]
    scores, methods = (list(dict.fromkeys(getattr(row, name) for row in told)) for name in ("score", "method"))
    if not told:
        return None
    figure, axes = pyplot().subplots(
        1, len(scores), figsize=(SIZE * len(scores) + 1.8, SIZE), squeeze=False, layout="constrained"
    )
    for ax, score in zip(axes[0], scores, strict=True):
        for code, method in enumerate(methods):
            _draw(ax, [row for row in told if (row.score, row.method) == (score, method)], method, code)
        ax.axline((0.5, 0.5), slope=1.0, color="black", linewidth=0.8, zorder=0)
        ax.set(title=score, xlabel="printed", ylabel="ours", aspect="equal", adjustable="datalim")
        plain_axes(ax)
    handles = {name: one for ax in axes[0] for one, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    if len(handles) > 1:
        legend = figure.legend(handles.values(), handles, loc="outside right upper", fontsize="small", frameon=False)
        literal(legend.get_texts())
    return figure


def _draw(ax, rows, method, code):
    if rows:
        color, marker = class_style(code)
        printed, ours = np.array([row.printed.mean for row in rows]), np.array([row.mean for row in rows])
        spread = [[row.printed.sd or 0.0 for row in rows], np.nan_to_num([row.sd for row in rows])]
        dots = {"fmt": marker, "color": color, "markersize": 4, "elinewidth": 0.6, "alpha": 0.8, "label": method}
        ax.errorbar(printed, ours, xerr=spread[0], yerr=spread[1], **dots)


def save_picture(figure, path):
    """Write a picture as SVG, the same bytes for the same numbers, and close it."""
    plt = pyplot()
    with new_file(path) as stream, plt.rc_context({"svg.hashsalt": "gnomon"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
