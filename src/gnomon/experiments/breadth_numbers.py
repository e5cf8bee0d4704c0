"""Few labels that are numbers: GuidedProjection beside PLS, ridge regression and principal component regression.

Protocol: near-infrared spectra of GNOMON_DATA (gasoline, soil, glucose and ethanol, cereal, corn of two instruments),
one target at a time, its rows without a value left out; 12 to 100 random labeled rows, draws by the seeds 0, 1, ...;
the others are unlabeled, seen in the fit by GuidedProjection and SPPCA. Sizes of the others by five-fold
cross-validation among the labeled rows, the ridge by leaving one out. "in two dimensions" is what a straight line
through the labeled rows makes of the first two coordinates. All errors are relative to the deviation of the unlabeled
targets.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline

from gnomon import SPPCA, GuidedProjection
from gnomon.experiments._record import record

SETS = {
    "gasoline": ("breadth/gasoline", "X", (12, 25, 40)),
    "nirsoil": ("breadth/nirsoil", "X", (20, 50, 100)),
    "nir_glc": ("breadth/nir_glc", "X", (20, 50, 100)),
    "cereal": ("breadth/cereal", "X", (12,)),
    "corn m5": ("corn_nir", "X_m5", (25, 50)),
    "corn mp6": ("corn_nir", "X_mp6", (25, 50)),
}  # file, its rows, and numbers of labels
QUICK = {"sets": ("gasoline",), "n_draws": 1}
PEERS = ("PLS", "ridge", "PCR")
IN_TWO = tuple(f"{name} in two dimensions" for name in ("GuidedProjection", "PLS", "SPPCA", "PCA"))
METHODS = ("GuidedProjection", *PEERS, *IN_TWO)
COVER = "rows within the interval"
MOST = 20  # sizes of PLS and PCR
STRENGTHS = np.logspace(-9, 1, 21)  # of ridges, relative to the sum of the variances


def load(name):
    """Rows, targets and their names of one of `SETS`."""
    folder = os.environ.get("GNOMON_DATA")
    if not folder:
        raise FileNotFoundError("the spectra were not looked for, because GNOMON_DATA is not set.")
    file, rows, _ = SETS[name]
    with np.load(Path(folder) / f"{file}.npz", allow_pickle=False) as arrays:
        return arrays[rows], arrays["Y"], [str(label).strip() for label in arrays["target_names"]]


def errors_of_draw(X, y, labeled):
    """{method: root mean squared error of the unlabeled rows} of one draw, and the share within the 95 % interval."""
    seen, hidden = np.where(labeled, y, np.nan), y[~labeled]
    unit = hidden.std()

    def error(predicted):
        return float(np.sqrt(np.mean((np.ravel(predicted) - hidden) ** 2)) / unit)

    def straight(Z):
        return error(LinearRegression().fit(Z[labeled], y[labeled]).predict(Z[~labeled]))

    model = GuidedProjection(2, target="real").fit(X, seen)
    mean, std = model.predict(X[~labeled], return_std=True)
    found = {"GuidedProjection": error(mean), COVER: float(np.mean(np.abs(mean - hidden) < 1.96 * std))}
    for name, peer in _peers(X[labeled]).items():
        found[name] = error(peer.fit(X[labeled], y[labeled]).predict(X[~labeled]))
    pls = PLSRegression(2, scale=False).fit(X[labeled], y[labeled])
    sppca = SPPCA(2, target="real").fit(X, seen)
    for name, Z in zip(
        IN_TWO, (model.transform(X), pls.transform(X), sppca.transform(X), PCA(2).fit_transform(X)), strict=True
    ):
        found[name] = straight(Z)
    return found


def _peers(labeled_rows):
    n = len(labeled_rows)
    folds, sizes = KFold(5, shuffle=True, random_state=0), list(range(1, min(MOST, int(0.8 * n) - 2) + 1))
    how = {"cv": folds, "scoring": "neg_mean_squared_error"}
    pcr = Pipeline([("pca", PCA()), ("line", LinearRegression())])
    return {
        "PLS": GridSearchCV(PLSRegression(scale=False), {"n_components": sizes}, **how),
        "ridge": RidgeCV(STRENGTHS * labeled_rows.var(axis=0).sum()),
        "PCR": GridSearchCV(pcr, {"pca__n_components": sizes}, **how),
    }


def reproduce(sets=tuple(SETS), *, n_draws=8):
    """Run the table; yield one record for each target, number of labels and method."""
    for name in sets:
        X, Y, targets = load(name)
        for y, target in zip(Y.T, targets, strict=True):
            known = np.flatnonzero(~np.isnan(y))
            for n in SETS[name][2]:
                draws = []
                for seed in range(n_draws):
                    some = np.random.default_rng(seed).permutation(known)[:n]
                    with warnings.catch_warnings(action="ignore"):
                        draws.append(errors_of_draw(X[known], y[known], np.isin(known, some)))
                best = [min(found[peer] for peer in PEERS) for found in draws]
                for method in (*METHODS, COVER):
                    errors = [found[method] for found in draws]
                    ratio = float(np.mean(np.array(errors) / best))
                    yield record(errors, data=f"{name}, {target}", n_labels=n, method=method, ratio=ratio)


def format_table(records):
    """Return the records as text: errors task by task, and over all of them beside the best peer of every draw."""
    tasks = list(dict.fromkeys((r["data"], r["n_labels"]) for r in records))
    cells = {(r["data"], r["n_labels"], r["method"]): r for r in records}
    lines = [f"{'task':24}{'labels':>7}" + "".join(f"{method:>17}" for method in METHODS[:4]) + f"{'within':>9}"]
    for task in tasks:
        means = [cells[(*task, method)]["mean"] for method in (*METHODS[:4], COVER)]
        lines.append(f"{task[0]:24}{task[1]:>7}" + "".join(f"{m:>17.3f}" for m in means[:4]) + f"{means[4]:>9.2f}")
    for method in METHODS:
        found = [cells[(*task, method)] for task in tasks]
        ratios, error = np.array([r["ratio"] for r in found]), np.mean([r["mean"] for r in found])
        worst = tasks[int(ratios.argmax())]
        lines.append(
            f"{method}: mean error {error:.3f}; over the best of {', '.join(PEERS)} of every draw {ratios.mean():.2f}, "
            f"at worst {ratios.max():.2f} ({worst[0]}, {worst[1]} labels)"
        )
    within = np.array([cells[(*task, COVER)]["mean"] for task in tasks])
    lines.append(f"{COVER}: {within.mean():.3f}, at least {within.min():.2f}")
    return "\n".join(lines)
