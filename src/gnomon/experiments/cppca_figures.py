"""Figures 1 to 4 of the CPPCA paper: accuracies of the twelve pairs of domains, with those within each domain, as PNG.

Figures 1 and 2 have six pairs each, by projections alone in 100 dimensions beside logistic regression on the features;
figures 3 and 4 the same pairs by projections beside the features and by structural correspondence learning. The line
behind a pair is the accuracy within its target domain, five folds of logistic regression on the features. Cells are
those of `amazon`, kept beside the pictures in amazon.jsonl, and made where they are not there yet, which takes hours.
"""

from pathlib import Path

import numpy as np

from gnomon.experiments import amazon
from gnomon.experiments._record import save_figure
from gnomon.experiments._runner import run_cells
from gnomon.plotting._style import pyplot

FOLDER = "gnomon-figures"
QUICK = {"quick": True}
ALONE = ("LR", "PPCA alone 100", "SPPCA alone 100", "CPPCA alone 100")
BESIDE = ("LR", "SCL", "SCL-MI", "CPPCA")
PAIRS = [f"{a} -> {b}" for b in amazon.NAMES for a in amazon.NAMES if a != b]  # those of one target together
FIGURES = {
    "figure1": (PAIRS[:6], ALONE),
    "figure2": (PAIRS[6:], ALONE),
    "figure3": (PAIRS[:6], BESIDE),
    "figure4": (PAIRS[6:], BESIDE),
}


def wanted(*, quick=False):
    """The cells of the figures; `quick` has those of logistic regression and one draw of each alone."""
    in_domain = {f"{name} in domain" for name in amazon.NAMES}
    return [
        cell
        for cell in amazon.cells(quick=quick)
        if cell.method in {*ALONE, *BESIDE} and (cell.method == "LR" or cell.task not in in_domain)
    ]


def means(records):
    """{(task, method): mean accuracy} of finished cells."""
    found = {}
    for one in records:
        if "scores" in one:
            found.setdefault((one["task"], one["method"]), []).append(one["scores"]["accuracy"])
    return {key: float(np.mean(values)) for key, values in found.items()}


def draw_figure(name, accuracy):
    """Bars of every method for each pair, and the line of its target domain."""
    pairs, methods = FIGURES[name]
    figure, ax = pyplot().subplots(figsize=(9, 3.5), layout="constrained")
    width = 0.8 / len(methods)
    for j, method in enumerate(methods):
        heights = [accuracy.get((pair, method), np.nan) for pair in pairs]
        ax.bar(np.arange(len(pairs)) + (j + 0.5) * width - 0.4, heights, width, label=method)
    for i, pair in enumerate(pairs):
        line = accuracy.get((f"{pair.partition(' -> ')[2]} in domain", "LR"), np.nan)
        ax.plot([i - 0.45, i + 0.45], [line, line], color="black", label="within the domain" if i == 0 else None)
    low = min([value for key, value in accuracy.items() if key[0] in pairs and key[1] in methods], default=0.5)
    names = [pair.replace(" -> ", "\n-> ") for pair in pairs]
    ax.set(xticks=range(len(pairs)), xticklabels=names, xlim=(-0.5, len(pairs) - 0.5))
    ax.set(ylabel="accuracy", ylim=(max(0.0, low - 0.05), None))
    ax.legend(fontsize="small", ncols=3)
    return figure


def reproduce(folder=FOLDER, *, n_jobs=1, quick=False):
    """Write the pictures to a folder, and yield figure, file and mean accuracy of each method over its pairs."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    accuracy = means(run_cells("amazon", wanted(quick=quick), Path(folder) / "amazon.jsonl", n_jobs))
    for name, (pairs, methods) in FIGURES.items():
        file = Path(folder) / f"cppca-{name}.png"
        save_figure(draw_figure(name, accuracy), file)
        found = {method: float(np.mean([accuracy.get((pair, method), np.nan) for pair in pairs])) for method in methods}
        yield {"figure": name, "file": str(file), "accuracy": found}


def format_table(made):
    """Return the mean accuracies as text."""
    lines = []
    for one in made:
        shown = ", ".join(f"{method} {value:.3f}" for method, value in one["accuracy"].items())
        lines += [f"{one['figure']}: {shown}", f"  {one['file']}"]
    return "\n".join(lines)
