"""Figures 2 to 8 of the semi-supervised IFA paper: projections, detection rates and CPU time, as PNG.

Protocol (Oukhellou, Come, Aknin and Denoeux, 2010, section 4); data, draws and rates are those of `ssifa_table2`.

- 2, 5 and 7: two principal components beside the first two latents; crabs with 20 % of labels, iris with 10 %, the
  first two of five faces with 40 %. Solid points with an edge are labeled.
- 3, 6a and 8a: box plots over 30 draws of the rate of right components among the unlabeled rows, for each class
  variable, by share of labeled rows. Without labels components have no names: the best ones are given.
- 4, 6b and 8b: CPU seconds by share of labeled rows, for one draw: the paper's GEM with 20 random starts beside the
  default solver. Here every start of GEM runs to the tolerance, or to 5,000 steps.
"""

from pathlib import Path

import numpy as np

from gnomon import IFA
from gnomon.datasets import make_partial
from gnomon.experiments import ssifa_table2 as table
from gnomon.experiments._record import save_figure
from gnomon.plotting._style import class_style, pyplot
from gnomon.selection.baselines import pca_map

FOLDER = "gnomon-figures"
QUICK = {"figures": ("figure2", "figure3", "figure4", "figure5"), "shares": (0, 50), "n_draws": 2, "n_gem": 1}
CLASS_NAMES = {
    "crabs": ["blue female", "blue male", "orange female", "orange male"],
    "iris": ["setosa", "versicolor", "virginica"],
    "yaleb5": [f"face {person}" for person in range(1, 6)],
}
CLASS_VARIABLES = {
    "crabs": ["sex", "species"],
    "iris": ["species"],
    "yaleb5": CLASS_NAMES["yaleb5"],
}


def projections(name, share, random_state=0):
    """One draw: {panel: projected rows (n, 2)}, plain classes (n,), labeled rows (n,)."""
    X, Y, classes = table.load(name)
    labeled = make_partial(classes, share=share / 100, random_state=[random_state, share]) >= 0
    model = IFA(Y.max(axis=0) + 1, init="labels", random_state=random_state).fit(X, np.where(labeled[:, None], Y, -1))
    found = {"PCA": pca_map(X, 2).project(X), f"IFA, {share} % labeled": model.transform(X)[:, :2]}
    return found, classes, labeled


def draw_projections(name, share, random_state=0):
    """Picture of two principal components beside the first two latents of IFA."""
    found, classes, labeled = projections(name, share, random_state)
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, (panel, Z) in zip(axes, found.items(), strict=True):
        for label in np.unique(classes):
            color, marker = class_style(label)
            rows = classes == label
            hidden, shown = Z[rows & ~labeled], Z[rows & labeled]
            ax.scatter(*hidden.T, s=14, marker=marker, color=color, alpha=0.5, linewidth=0)
            edge = {"edgecolor": "black", "linewidth": 0.8, "label": CLASS_NAMES[name][label]}
            ax.scatter(*shown.T, s=24, marker=marker, color=color, **edge)
        ax.set_title(panel)
    axes[0].set(xlabel="component 1", ylabel="component 2")
    axes[1].set(xlabel="latent 1", ylabel="latent 2")
    axes[1].legend(fontsize="small")
    return figure


def draw_rates(name, *, shares=table.SHARES, n_draws=table.N_DRAWS):
    """Picture of box plots of the detection rate by share of labeled rows, a panel for each class variable."""
    rates = []
    for share in shares:
        method = "IFA" if share else "IFA matched"
        rates.append(100.0 * table.detection_rates(name, share, methods=(method,), n_draws=n_draws)[method])
    titles = CLASS_VARIABLES[name]
    width = max(5.0, 3.2 * len(titles))
    figure, axes = pyplot().subplots(
        1, len(titles), figsize=(width, 3.5), sharey=True, squeeze=False, layout="constrained"
    )
    for s, ax in enumerate(axes[0]):
        ax.boxplot([values[:, s] for values in rates], tick_labels=list(map(str, shares)))
        ax.set(title=titles[s], xlabel="labeled rows, %")
    axes[0, 0].set(ylabel="right components, %")
    return figure


def draw_seconds(name, *, shares=table.SHARES, n_gem=table.GEM_STARTS):
    """Picture of CPU seconds of the solvers by share of labeled rows, on a log scale."""
    found = [table.compare_solvers(name, share, n_gem=n_gem) for share in shares]
    figure, ax = pyplot().subplots(figsize=(5, 3.5), layout="constrained")
    gem, natural = (f"GEM{kind}, {n_gem} starts" for kind in ("", " by the natural gradient"))
    for solver, words in (("gem", gem), ("gem-natural", natural), ("profile", "default solver")):
        ax.semilogy(shares, [one[solver]["seconds"] for one in found], marker="o", label=words)
    ax.set(xlabel="labeled rows, %", ylabel="CPU seconds", title=name)
    ax.legend()
    return figure


FIGURES = {
    "figure2": (draw_projections, "crabs", {"share": 20}),
    "figure3": (draw_rates, "crabs", {}),
    "figure4": (draw_seconds, "crabs", {}),
    "figure5": (draw_projections, "iris", {"share": 10}),
    "figure6a": (draw_rates, "iris", {}),
    "figure6b": (draw_seconds, "iris", {}),
    "figure7": (draw_projections, "yaleb5", {"share": 40}),
    "figure8a": (draw_rates, "yaleb5", {}),
    "figure8b": (draw_seconds, "yaleb5", {}),
}


def reproduce(
    folder=FOLDER, *, figures=tuple(FIGURES), shares=table.SHARES, n_draws=table.N_DRAWS, n_gem=table.GEM_STARTS
):
    """Write the pictures to a folder, which is made, and yield figure and file of each."""
    given = {"shares": shares, "n_draws": n_draws, "n_gem": n_gem}
    for name in figures:
        draw, data, options = FIGURES[name]
        more = {key: value for key, value in given.items() if key in (draw.__kwdefaults__ or {})}
        file = Path(folder) / f"ssifa-{name}-{data}.png"
        save_figure(draw(data, **options, **more), file)
        yield {"figure": name, "file": str(file)}


def format_table(made):
    """Return the names of the files, a line each."""
    return "\n".join(one["file"] for one in made)
