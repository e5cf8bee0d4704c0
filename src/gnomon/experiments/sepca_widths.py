"""Figure 1 of the SEPCA paper in numbers, by the width of its uniform column: accuracy of the nearest training row.

The paper prints pictures only, and does not say how wide the uniform third column is beside the four clusters, see
`sepca_figures`. At half-width 4 all but colored MVU separate the classes; the printed order, SEPCA before SDR-GLM,
SPPCA and colored MVU, appears where the column dominates the variance.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from gnomon.experiments._cells import Table, draws_of
from gnomon.experiments.sepca_figures import EXPERIMENTS, N_TEST

HALF_WIDTHS = (4, 8, 12, 20)
PAPER_DRAWS, QUICK_DRAWS = 20, 2


def cells(n_draws=None, *, quick=False):
    """Cells of the table, all of one draw before the next."""
    kinds = [(f"half-width {width}", method, 2) for width in HALF_WIDTHS for method in EXPERIMENTS["figure1"][2]]
    return draws_of(kinds, lambda *_: n_draws or (QUICK_DRAWS if quick else PAPER_DRAWS))


def scores(cell):
    """Share of test rows whose nearest training row in the projection is of their class, in percent."""
    draw, n, methods = EXPERIMENTS["figure1"]
    rng, width = np.random.default_rng(cell.seed), int(cell.task.split()[1])
    (X, y), (X_test, y_test) = (widened(draw(size, rng), width) for size in (n, N_TEST))
    model = methods[cell.method].fit(X, y)
    nearest = KNeighborsClassifier(1).fit(model.transform(X), y)
    return {"accuracy": 100.0 * float(nearest.score(model.transform(X_test), y_test))}


def widened(drawn, half_width):
    """Rows whose third column, uniform from -4 to 4 in `clusters`, runs to `half_width`."""
    X, y = drawn
    return X * [1.0, 1.0, half_width / 4.0], y


TABLE = Table(
    paper="Guo: Supervised exponential family principal component analysis via convex optimization, NIPS 2008, fig. 1",
    cells=cells,
    scores=scores,
    printed=lambda *_: None,
    better="larger",
    remarks=lambda task, method, k: "a picture only in the paper",
)
