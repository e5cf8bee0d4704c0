"""GuidedProjection and DPPCA beside UMAP, scANVI and MOFA-FLEX, where these are installed, and beside PCA, LDA and PLS.

Protocol: the sets of `breadth`, their rows as given, at most 3,000 random ones; three labeled rows of each class, draws
by the seeds 100, 101, ...; as many dimensions as classes, at least 2 and at most 10. "1-NN" is the share of unlabeled
rows whose nearest labeled row there is of another class, "predictions" that of wrong answers of the method itself, and
"seconds" what all fits of a draw took. UMAP knows the labels of the labeled rows, with its defaults. MOFA-FLEX sees
genes and cells: a factor for each class, guided by whether a labeled row is of it, and a free one, started at the
principal components, with a rate of .01 and no more than 1,000 epochs. scANVI sees cells: counts, taken back from their
logs, with its defaults.
"""

import tempfile
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import numpy as np

from gnomon import DPPCA, GuidedProjection
from gnomon.experiments._draw import draw_labeled, one_nn_error
from gnomon.experiments.breadth import (
    FIRST_SEED,
    SETS,
    load,
    path_of,
    predictions_of_others,
    projections_of_others,
    some_rows,
)
from gnomon.selection.baselines import NotApplicable

N_LABELS = 3
MOST_DIMS = 10
GENES = ("golub", "khan", "lymphoma", "tox171")
CELLS = ("pbmc68k",)
QUICK = {"sets": ("khan",), "n_draws": 1}
MOST_EPOCHS, RATE = 1000, 0.01
OTHERS = ("PCA", "ridge LDA", "PLS", "UMAP")
METHODS = ("GuidedProjection", "DPPCA", *OTHERS, "MOFA-FLEX", "scANVI", "logistic")


def counts_of(name):
    """Counts of cells, whose logs are stored."""
    with np.load(path_of(name), allow_pickle=False) as arrays:
        return np.rint(np.expm1(arrays["raw"]))


def of_gnomon(model, X, y, labeled, k):
    """(all rows in k dimensions, classes of the unlabeled rows)."""
    fitted = model(k).fit(X, np.where(labeled, y, -1))
    return fitted.transform(X), fitted.predict(X[~labeled])


def of_mofa_flex(X, y, labeled):
    """All rows in one dimension more than classes, and no classes."""
    import anndata
    import mofaflex
    import pandas as pd

    guides = {f"class {c}": np.where(labeled, (y == c).astype(float), np.nan) for c in np.unique(y)}
    obs = pd.DataFrame(guides, index=[f"row {i}" for i in range(len(y))])
    table = anndata.AnnData(np.asarray(X, dtype=np.float32), obs=obs)
    with tempfile.TemporaryDirectory() as folder:
        model = mofaflex.MOFAFLEX(
            {"rows": {"columns": table}},
            mofaflex.DataOptions(guiding_vars_obs_keys=list(guides), plot_data_overview=False),
            mofaflex.ModelOptions(n_factors=1, guiding_vars_likelihoods="Bernoulli", init_factors="pca"),
            mofaflex.TrainingOptions(
                device="cpu", seed=0, max_epochs=MOST_EPOCHS, lr=RATE, save_path=str(Path(folder) / "model.h5")
            ),
        )
        return np.asarray(next(iter(model.get_factors("numpy").values()))), None


def of_scanvi(counts, y, labeled, k):
    """(all rows in k dimensions, classes of the unlabeled rows)."""
    import anndata
    import scvi

    scvi.settings.seed = 0
    table = anndata.AnnData(np.asarray(counts, dtype=np.float32))
    table.obs["class"] = np.where(labeled, y.astype(str), "unknown")
    scvi.model.SCANVI.setup_anndata(table, labels_key="class", unlabeled_category="unknown")
    model = scvi.model.SCANVI(table, n_latent=k)
    model.train(accelerator="cpu", enable_progress_bar=False)
    return model.get_latent_representation(), np.asarray(model.predict())[~labeled].astype(int)


def methods_for(name, X, counts, y, labeled, k):
    """{method: a function that gives projected rows and predicted classes, either of them None}."""
    others, predict = projections_of_others(X, y, labeled, k), predictions_of_others(X, y, labeled)
    found = {
        "GuidedProjection": lambda: of_gnomon(GuidedProjection, X, y, labeled, k),
        "DPPCA": lambda: of_gnomon(DPPCA, X, y, labeled, k),
    }
    for method in OTHERS:
        if method in others:
            own = predict.get(method, lambda: None)
            found[method] = lambda method=method, own=own: (others[method](), own())
    if name in GENES + CELLS:
        found["MOFA-FLEX"] = lambda: of_mofa_flex(X, y, labeled)
    if counts is not None:
        found["scANVI"] = lambda: of_scanvi(counts, y, labeled, k)
    return found | {"logistic": lambda: (None, predict["logistic"]())}


def reproduce(sets=SETS, *, n_draws=3, done=()):
    """Run the protocol; yield one record for each draw and set that is not in `done`."""
    known = {(one["data"], one["seed"]) for one in done}
    for seed in range(FIRST_SEED, FIRST_SEED + n_draws):
        for name in sets:
            if (name, seed) not in known:
                X, y = load(name)
                some = some_rows(len(y), seed)
                counts = counts_of(name)[some] if name in CELLS else None
                yield {"data": name, "seed": seed, "found": _of_draw(name, X[some], counts, y[some], seed)}


def _of_draw(name, X, counts, y, seed):
    """{method: [error of 1-NN, error of predictions, seconds]}, without methods that are not installed."""
    labeled, k = draw_labeled(y, N_LABELS, seed), int(np.clip(len(np.unique(y)), 2, MOST_DIMS))
    found = {}
    for method, fit in methods_for(name, X, counts, y, labeled, k).items():
        with suppress(NotApplicable, ImportError), warnings.catch_warnings(action="ignore"):
            begun = time.perf_counter()
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                Z, predicted = fit()
            seconds = time.perf_counter() - begun
            near = None if Z is None else one_nn_error(Z, y, labeled)
            wrong = None if predicted is None else float(np.mean(predicted != y[~labeled]))
            found[method] = [near, wrong, seconds]
    return found


def format_table(records):
    """Return the records as text: errors of every method on the sets that all of a table have, and by set."""
    sets = list(dict.fromkeys(one["data"] for one in records))
    absent = [m for m in ("UMAP", "MOFA-FLEX", "scANVI") if not any(m in one["found"] for one in records)]
    lines = [f"{len(records)} draws of {len(sets)} sets"]
    if absent:
        lines.append(f"not installed, or without a set: {', '.join(absent)}")
    groups = {"all sets": sets, **{name: [name] for name in (*GENES, *CELLS) if name in sets}}
    for group, names in groups.items():
        some = [one["found"] for one in records if one["data"] in names]
        lines += ["", f"{group:20}{'1-NN':>8}{'predictions':>13}{'seconds':>9}"]
        for method in METHODS:
            if all(method in found for found in some):
                lines.append(f"{method:20}" + _numbers(np.array([found[method] for found in some], dtype=float)))
    return "\n".join(lines)


def _numbers(values):
    """Mean errors, and the median of the seconds, of draws (n, 3)."""
    near, wrong = (f"{column.mean():.3f}" if np.isfinite(column).all() else "" for column in values[:, :2].T)
    return f"{near:>8}{wrong:>13}{np.median(values[:, 2]):>9.1f}"
