"""What the columns of a row add to where it lies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import KDA, PPCA, SPPCA
from gnomon.plotting import ContributionDisplay
from gnomon.plotting import contribution as module

X, y = load_iris(return_X_y=True)
PIPELINE = make_pipeline(StandardScaler(), SPPCA(2)).fit(X, y)


@pytest.mark.parametrize("dim", [0, 1])
def test_of_a_component_they_add_up(dim, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 9)  # a few columns at once
    display = ContributionDisplay.from_estimator(PIPELINE, X, 41, dim=dim)
    here, middle = PIPELINE.transform(np.stack([X[41], X.mean(axis=0)]))[:, dim]
    assert display.total == pytest.approx(here - middle)
    assert display.contributions.sum() == pytest.approx(here - middle)


@pytest.mark.parametrize("of", ["t2", "spe"])
def test_of_t2_and_spe_it_is_what_the_best_value_saves(of):
    model = SPPCA(2).fit(X, y)
    display = ContributionDisplay.from_estimator(model, X, 41, of=of, row_name="$odd$")
    method = model.hotelling_t2 if of == "t2" else model.spe
    for j in range(4):
        others = np.repeat(X[[41]], 4001, axis=0)
        others[:, j] += np.linspace(-20, 20, 4001)
        assert display.contributions[j] == pytest.approx(method(X[[41]]).item() - method(others).min(), abs=0.01)
    assert display.top.tolist() == np.argsort(-np.abs(display.contributions), kind="stable").tolist()
    display.figure_.canvas.draw()


@pytest.mark.parametrize("steps", [[], [StandardScaler()]])
def test_one_wrong_entry_has_the_most_of_spe(steps):
    rng = np.random.default_rng(0)
    table = (rng.normal(0, 1, (90, 3)) @ rng.normal(0, 1, (3, 12)) + rng.normal(0, 0.1, (90, 12))) * rng.uniform(
        1, 9, 12
    )
    model = make_pipeline(*steps, PPCA(3)).fit(table)
    for j in range(12):
        odd = np.vstack([table, table[7]])
        odd[90, j] += 2 * table[:, j].std()
        display = ContributionDisplay.from_estimator(model, odd, 90, of="spe")
        assert display.top[0] == j
        assert (display.contributions >= 0).all()


def test_of_sparse_rows_only_the_entries_that_are_there_are_asked():
    words = sparse.random(60, 40, density=0.1, format="csr", random_state=0)
    model = PPCA(2).fit(words)
    display = ContributionDisplay.from_estimator(model, words, 3)
    there = np.flatnonzero(words[[3]].toarray())
    assert set(np.flatnonzero(display.contributions)) <= set(there.tolist())
    assert_allclose(display.total, display.contributions.sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row": 150}, "row=150 must be the number of a row of X, from 0 to 149"),
        ({"row": 0, "dim": 2}, "dim=2 must be a component counted from 0, below 2"),
        ({"row": 0, "of": "dmodx"}, "of='dmodx' must be one of 'component', 't2', 'spe'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        ContributionDisplay.from_estimator(PIPELINE, X, **options)


def test_a_model_without_t2():
    with pytest.raises(ValueError, match="KDA has no T2 and SPE; of='component' is there"):
        ContributionDisplay.from_estimator(KDA(2).fit(X, y), X, 0, of="t2")
