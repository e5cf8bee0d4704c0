"""Figures 1 and 2 of the SEPCA paper: projections of test rows of two synthetic experiments, class by class, as PNG.

Protocol (Guo, NIPS 2008, section 5.1). Experiment 1: four normal clusters in the plane, one per class, and a third
column drawn uniformly; 80 rows to learn from, 120 to project. Experiment 2: two circles, one inside the other, one per
class, and a uniform third column; 95 rows to learn from, 120 to project, Gaussian kernel of width 1. Not said: the
sizes. Here centers are at (+-2, +-2), the deviation of a cluster is 0.5, the third column runs from -4 to 4; the
circles have radii 1 and 2 with noise 0.1, the third column runs from -2 to 2. SDR-GLM has the paper's alpha = 1e-4;
colored MVU projects by the pseudo-inverse, as there, and so does "SEPCA, pinv". Our SEPCA projects by kernel ridge
regression.

Beside the pictures, the percentage of test rows whose nearest training row in the projection is of their class, over 20
draws; docs/theory/sepca.md has the figures.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from gnomon import KDA, SDRGLM, SEPCA, SPPCA, ColoredMVU, KernelSPPCA
from gnomon.experiments._record import save_figure
from gnomon.plotting._style import class_style, pyplot

FOLDER = "gnomon-figures"
PAPER_DRAWS = 20
QUICK = {"n_draws": 2}
N_TEST = 120
RBF = {"kernel": "rbf", "gamma": 0.5}  # width 1


def clusters(n, rng):
    """Four normal clusters and a uniform third column: rows (n, 3), classes (n,)."""
    y = np.arange(n) % 4
    centers = np.array([[2, 2], [-2, 2], [-2, -2], [2, -2]])
    return np.column_stack([centers[y] + 0.5 * rng.normal(size=(n, 2)), rng.uniform(-4, 4, n)]), y


def circles(n, rng):
    """Two circles, one inside the other, and a uniform third column: rows (n, 3), classes (n,)."""
    angle, y = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    radius = np.where(y, 1.0, 2.0) + 0.1 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-2, 2, n)]), y


EXPERIMENTS = {
    "figure1": (
        clusters,
        80,
        {
            "SEPCA": SEPCA(2),
            "SEPCA, pinv": SEPCA(2, projection_ridge="pinv"),
            "SDR-GLM": SDRGLM(2, alpha=1e-4),
            "SPPCA": SPPCA(2),
            "LDA": KDA(2),
            "Colored MVU": ColoredMVU(2, kernel="linear", projection_ridge=0),
        },
    ),
    "figure2": (
        circles,
        95,
        {
            "SEPCA": SEPCA(2, **RBF),
            "SEPCA, pinv": SEPCA(2, projection_ridge="pinv", **RBF),
            "SPPCA": KernelSPPCA(2, **RBF),
            "KDA": KDA(1, **RBF),
            "Colored MVU": ColoredMVU(2, projection_ridge=0, **RBF),
        },
    ),
}


def projections(name, random_state=0):
    """One draw of an experiment: {method: (projected training rows, projected test rows)}, and both sets of classes."""
    draw, n, methods = EXPERIMENTS[name]
    rng = np.random.default_rng(random_state)
    (X, y), (X_test, y_test) = draw(n, rng), draw(N_TEST, rng)
    found = {}
    for method, model in methods.items():
        if isinstance(model, ColoredMVU) and find_spec("clarabel") is None:
            continue
        model.fit(X, y)
        found[method] = model.transform(X), model.transform(X_test)
    return found, y, y_test


def accuracies(name, n_draws=PAPER_DRAWS):
    """{method: share (n_draws,) of test rows whose nearest training row in the projection is of their class}."""
    found = {}
    for seed in range(n_draws):
        pairs, y, y_test = projections(name, seed)
        for method, (Z, Z_test) in pairs.items():
            share = KNeighborsClassifier(1).fit(Z, y).score(Z_test, y_test)
            found.setdefault(method, []).append(share)
    return {method: np.array(shares) for method, shares in found.items()}


def draw_figure(name):
    """Picture of the test rows under every method, a panel each; a single direction is drawn against the row number."""
    found, _, y_test = projections(name)
    plt = pyplot()
    n_rows = -(-len(found) // 3)
    figure, axes = plt.subplots(n_rows, 3, figsize=(9.0, 3.0 * n_rows), layout="constrained")
    for ax in axes.flat[len(found) :]:
        ax.remove()
    for ax, (method, (_, Z)) in zip(axes.flat, found.items(), strict=False):
        height = Z[:, 1] if Z.shape[1] > 1 else np.arange(len(Z))
        for label in np.unique(y_test):
            color, marker = class_style(label)
            rows = y_test == label
            ax.scatter(Z[rows, 0], height[rows], color=color, marker=marker, s=12)
        ax.set_title(method)
        if Z.shape[1] == 1:
            ax.set_ylabel("row", fontsize="small")
        ax.tick_params(labelsize="small")
    return figure


def reproduce(folder=FOLDER, *, n_draws=PAPER_DRAWS):
    """Write the pictures to a folder; yield figure, file, {method: accuracies} of each."""
    for name in EXPERIMENTS:
        file = Path(folder) / f"sepca-{name}.png"
        save_figure(draw_figure(name), file)
        yield {"figure": name, "file": str(file), "accuracies": accuracies(name, n_draws)}


def format_table(made):
    """Return what `reproduce` made as text."""
    lines = [f"{'figure':9}{'method':14}test rows next to their class, percent"]
    for one in made:
        for method, shares in one["accuracies"].items():
            lines.append(f"{one['figure']:9}{method:14}{100 * shares.mean():6.1f} ± {100 * shares.std(ddof=1):4.1f}")
        lines.append(f"{one['figure']:9}{one['file']}")
    return "\n".join(lines)
