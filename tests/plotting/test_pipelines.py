"""Every display takes a model, a pipeline and a choice of either, fitted to arrays or frames, without a warning."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from commands import run
from gnomon import CPPCA, DPPCA, SPPCA, GuidedProjection, plotting
from gnomon.export import load_model
from gnomon.selection import GuidedSearch

pytestmark = pytest.mark.filterwarnings("error::UserWarning")
pd = pytest.importorskip("pandas")
IRIS = load_iris()
NAMES = ["sepal length", "sepal $width", "petal_length", "petal width"]
SEEN = np.where(np.arange(150) % 5 == 0, IRIS.target_names[IRIS.target].astype(object), None)
NUMBERS = np.where(np.arange(150) % 5 == 0, IRIS.data[:, 3] + 0.01, np.nan)

TABLES = {
    "array": lambda: IRIS.data,
    "frame": lambda: pd.DataFrame(IRIS.data, columns=NAMES, index=[f"flower {i}" for i in range(150)]),
    "frame of single precision": lambda: TABLES["frame"]().astype(np.float32),
    "gaps": lambda: TABLES["frame"]().mask(np.random.default_rng(0).random((150, 4)) < 0.05),
    "sparse": lambda: sp.csr_array(IRIS.data),
}


def search():
    return GuidedSearch(
        [("SPPCA", SPPCA(2))], preprocessing=["rows"], baselines=False, n_splits=1, n_permutations=0, n_components=2
    )


MODELS = {
    "SPPCA": lambda: SPPCA(2),
    "pipeline": lambda: make_pipeline(MaxAbsScaler(), SPPCA(2)),
    "pipeline of frames": lambda: make_pipeline(StandardScaler().set_output(transform="pandas"), SPPCA(2)),
    "columns": lambda: make_pipeline(
        ColumnTransformer([("all", StandardScaler(), [0, 1, 2, 3])], verbose_feature_names_out=False), SPPCA(2)
    ),
    "CPPCA": lambda: make_pipeline(MaxAbsScaler(), CPPCA(2)),
    "DPPCA": lambda: make_pipeline(MaxAbsScaler(), DPPCA(2)),
    "GuidedProjection": lambda: GuidedProjection(2),
    "search": search,
    "pipeline of a search": lambda: make_pipeline(StandardScaler(), search()),
    "grid": lambda: GridSearchCV(make_pipeline(MaxAbsScaler(), SPPCA(2)), {"sppca__n_private": [0]}, cv=2),
}
# A sparse table is never centered, missing entries ask for a model with a likelihood of them.
CANNOT = {
    ("gaps", "DPPCA"), ("gaps", "GuidedProjection"), ("gaps", "grid"), ("gaps", "search"),
    ("gaps", "pipeline of a search"), ("sparse", "pipeline of frames"), ("sparse", "columns"),
    ("sparse", "pipeline of a search"),
}  # fmt: skip


ALL = {"Projection", "Biplot", "Contribution", "Prediction", "Loadings", "Scree", "Convergence", "Outlier"}
HAS_NO = {
    ("GuidedProjection", "classes"): {"Convergence"},
    ("GuidedProjection", "numbers"): {"Convergence"},
    ("DPPCA", "classes"): {"Outlier"},
}


def drawn(name, model, X, y):
    display = getattr(plotting, f"{name}Display")
    given = {"Contribution": (X, 3), "Outlier": (X,), "Loadings": (), "Scree": (), "Convergence": ()}.get(name, (X, y))
    return display.from_estimator(model, *given)


@pytest.mark.parametrize("targets", ["classes", "numbers"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", MODELS)
def test_every_display_takes_it(kind, table, targets):
    if (table, kind) in CANNOT or (targets == "numbers" and kind == "DPPCA"):
        pytest.skip("the model does not take this table")
    X, y = TABLES[table](), SEEN if targets == "classes" else NUMBERS
    rows = slice(None) if kind != "grid" else np.flatnonzero(np.arange(150) % 5 == 0)
    X, y = (X.iloc[rows] if hasattr(X, "iloc") else X[rows]), y[rows]
    model = MODELS[kind]().fit(X, y)
    without = HAS_NO.get((kind, targets), set())
    for name in sorted(ALL - without):
        display = drawn(name, model, X, y)
        display.figure_.canvas.draw()
        plt.close(display.figure_)
        if name == "Biplot" and hasattr(X, "columns") and kind != "columns":
            assert list(display.feature_names) == NAMES
    for name in sorted(without):
        with pytest.raises(ValueError, match=r"has no|does not say"):
            drawn(name, model, X, y)


def test_a_model_of_a_table_takes_the_table_with_its_other_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = TABLES["frame"]().assign(kind=SEEN, name=[f"flower {i}" for i in range(150)])
    table.to_csv("t.csv", index=False)
    run("fit", "t.csv", "--target", "kind", "--id", "name", "--model", "sppca", "--no-compare", "--out", "out")
    model = load_model("out")
    frame = pd.read_csv("t.csv")[["kind", "name", *NAMES[::-1]]]
    bare = frame[NAMES]
    both = [plotting.BiplotDisplay.from_estimator(model, one) for one in (frame, bare)]
    assert both[0].feature_names == both[1].feature_names == NAMES
    assert_allclose(both[0].correlations, both[1].correlations)
    both = [plotting.ContributionDisplay.from_estimator(model, one, 3) for one in (frame, bare)]
    assert both[0].feature_names == NAMES
    assert_allclose(both[0].contributions, both[1].contributions)
