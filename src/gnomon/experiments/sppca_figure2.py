"""Figure 2 of the SPPCA paper: directions of PCA, SPPCA and S2PPCA for a toy data set, as PNG.

The paper shows the picture alone. Here two classes of 100 rows each lie beside one another across a long direction that
tells nothing of them: deviations 1.5 along it and 0.6 across, means 1.5 apart. All rows are labeled on the left; on the
right five of each class, in the half of the plane where the long coordinate is positive. Noise of the targets is 0.01;
in S2PPCA a labeled row stands for twenty, so that labels weigh as much as rows do. Left SPPCA turns from the direction
of PCA to the one that tells the classes apart, right it follows the few rows it sees, and S2PPCA lies between.
"""

from pathlib import Path

import numpy as np

from gnomon import PPCA, SPPCA
from gnomon.experiments._record import save_figure
from gnomon.plotting._style import class_style, pyplot

FOLDER = "gnomon-figures"
QUICK: dict = {}  # it is
N_PER_CLASS, N_LABELED = 100, 5
TILT = np.deg2rad(30.0)
NOISE = 0.01


def toy(random_state=0):
    """Rows (200, 2), classes, and which rows are labeled on the right."""
    rng = np.random.default_rng(random_state)
    y = np.repeat([0, 1], N_PER_CLASS)
    own = np.column_stack([1.5 * rng.normal(size=len(y)), 0.6 * rng.normal(size=len(y)) + np.where(y, 0.75, -0.75)])
    turn = np.array([[np.cos(TILT), np.sin(TILT)], [-np.sin(TILT), np.cos(TILT)]])
    labeled = np.zeros(len(y), dtype=bool)
    for label in (0, 1):
        labeled[rng.permutation(np.flatnonzero((y == label) & (own[:, 0] > 0)))[:N_LABELED]] = True
    return own @ turn, y, labeled


def directions(X, y, labeled):
    """{method: unit direction (2,)}: of PCA, of SPPCA on the labeled rows, and of S2PPCA on all of them."""
    found = {"PCA": PPCA(1).fit(X), "SPPCA": SPPCA(1, output_noise=NOISE).fit(X[labeled], y[labeled])}
    if not labeled.all():
        model = SPPCA(1, output_noise=NOISE, label_weight=len(y) / labeled.sum())
        found["S2PPCA"] = model.fit(X, np.where(labeled, y, -1))
    return {name: model.components_[0] / np.linalg.norm(model.components_[0]) for name, model in found.items()}


def draw_figure(random_state=0):
    """The picture: rows by class, labeled ones solid, and a line along each direction."""
    X, y, some = toy(random_state)
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, labeled in zip(axes, (np.ones(len(y), dtype=bool), some), strict=True):
        for label in (0, 1):
            color, marker = class_style(label)
            for rows, alpha in ((labeled, 1.0), (~labeled, 0.25)):
                ax.scatter(*X[rows & (y == label)].T, color=color, marker=marker, s=14, alpha=alpha, linewidth=0)
        for i, (name, direction) in enumerate(directions(X, y, labeled).items()):
            ends = np.outer([-4.0, 4.0], direction) + X.mean(axis=0)
            ax.plot(*ends.T, color="black", linestyle=("-", "--", ":")[i], label=name)
        ax.set(title="all labeled" if labeled.all() else "partly labeled", aspect="equal")
        ax.set(xlim=(-4.6, 4.6), ylim=(-4.1, 4.1), xlabel="$x_1$", ylabel="$x_2$")
        ax.legend(loc="lower left", fontsize="small")
    return figure


def reproduce(folder=FOLDER):
    """Write the picture to a folder, and yield figure, file and the angles of all directions in degrees."""
    file = Path(folder) / "sppca-figure2.png"
    save_figure(draw_figure(), file)
    X, y, some = toy()
    for name, labeled in (("all labeled", np.ones(len(y), dtype=bool)), ("partly labeled", some)):
        angles = {m: float(np.rad2deg(np.arctan2(*d[::-1])) % 180.0) for m, d in directions(X, y, labeled).items()}
        yield {"figure": name, "file": str(file), "angles": angles}


def format_table(made):
    """Return the angles as text."""
    lines = [f"{'':16}" + "".join(f"{name:>9}" for name in ("PCA", "SPPCA", "S2PPCA")) + "   degrees"]
    for one in made:
        lines.append(f"{one['figure']:16}" + "".join(f"{angle:9.1f}" for angle in one["angles"].values()))
    return "\n".join([*lines, made[0]["file"]])
