"""The table of few labels on many kinds of data: its protocol on small data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from gnomon import GuidedProjection
from gnomon.experiments import breadth
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments.breadth import errors_of_draw, format_table, reproduce, scaled


@pytest.fixture
def two_sets(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, X[:, ::-1] ** 2])
    monkeypatch.setattr(breadth, "load", lambda name: (sp.csr_array(X) if name == "sparse" else X, y))
    return X, y


def test_no_hidden_label_reaches_a_method(two_sets):
    X, y = two_sets
    labeled = draw_labeled(y, 5, 100)
    found = errors_of_draw(X, y, labeled, (2, 5))
    predictors = {"logistic", "ridge LDA", "PLS", "self-training", "label spreading"}
    seen_in = {f"{name} 1-NN {k}" for name in ("PCA", "ridge LDA", "PLS", "NCA") for k in (2, 5)}
    ours = {f"{model.__name__}{score}" for model in breadth.MODELS for score in ("", " 1-NN 2", " 1-NN 5")}
    assert set(found) >= predictors | seen_in | ours
    hidden = np.where(labeled, y, (y + 1) % 3)  # names of the hidden rows are turned round
    turned = errors_of_draw(X, hidden, labeled, (2, 5))
    model = GuidedProjection(5).fit(X, np.where(labeled, y, -1))
    predicted = model.predict(X[~labeled])
    assert_allclose(found["GuidedProjection"], np.mean(predicted != y[~labeled]))
    assert_allclose(turned["GuidedProjection"], np.mean(predicted != hidden[~labeled]))


def test_the_table_says_who_won(two_sets):
    records = list(reproduce(("dense", "sparse"), n_labels=(4,), dims=(2,), n_draws=2))
    assert {r["scaling"] for r in records if r["data"] == "sparse"} == {"as given", "unit rows"}
    lines = format_table(records).splitlines()
    assert lines[0] == "10 draws of 5 cells"
    assert [line for line in lines if line.endswith("mean error")] == ["1-NN 2: mean error", "predictions: mean error"]
    mean = np.mean([r["errors"]["DPPCA 1-NN 2"] for r in records])
    row = next(line.split() for line in lines if line.startswith("DPPCA"))
    assert row[1] == row[2] == f"{mean:.3f}"
    assert sum(line.startswith("scale unknown") or "minus scale unknown" in line for line in lines) == 2


def test_pairs_ranks_and_regrets_of_a_table_by_hand():
    """Two sets in two scalings: ours errs .1 and .4, PCA .2 on rows as given and .3 on unit rows, LDA .5 and .3."""
    records = [
        {
            "data": name,
            "scaling": scaling,
            "n_labels": 2,
            "seed": 100,
            "errors": {"GuidedProjection": ours, "PCA": pca, "LDA": 0.5 if name == "a" else 0.3},
        }
        for name, ours in (("a", 0.1), ("b", 0.4))
        for scaling, pca in (("as given", 0.2), ("unit rows", 0.3))
    ]
    lines = format_table(records).splitlines()
    assert lines[4].split() == ["GuidedProjection", "0.250", "0.250", "2.00"]
    assert lines[5].split() == ["LDA", "0.400", "0.400", "2.38", "2:2", "1", "+0.100"]
    assert lines[6].split() == ["PCA", "0.250", "0.250", "1.62", "2:2", "1", "+0.200"]
    assert lines[7].endswith("in hindsight: +0.000")
    assert lines[8].startswith("minus PCA, the best fixed method: +0.000, worst set b +0.150")
    assert "scale unknown: PCA on rows as given, the best fixed one: +0.050, worst set b +0.200" in lines[9]


def test_what_is_done_is_not_done_again(two_sets):
    few = {"n_labels": (4,), "dims": (2,), "n_draws": 2, "scalings": ("as given", "unit rows")}
    records = list(reproduce(("dense",), **few))
    rest = list(reproduce(("dense",), **few, done=records[:3]))
    assert rest == records[3:]


def test_scalings(two_sets):
    X, _ = two_sets
    constant = np.column_stack([X, np.ones(len(X))])
    assert_allclose(scaled(constant, "standardized").std(axis=0), np.ones(8))
    assert_allclose(np.linalg.norm(scaled(X, "unit rows"), axis=1), 1.0)


def test_without_data_it_says_so(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GNOMON_DATA is not set"):
        breadth.load("khan")
