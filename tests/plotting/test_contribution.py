"""What the columns of a row add to where it lies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import CPPCA, DPPCA, IFA, KDA, PPCA, SCL, SDRGLM, SPPCA, GuidedProjection, NeighborFeatures
from gnomon.plotting import ContributionDisplay
from gnomon.plotting import contribution as module
from gnomon.selection import GuidedSearch

X, y = load_iris(return_X_y=True)
PIPELINE = make_pipeline(StandardScaler(), SPPCA(2)).fit(X, y)


@pytest.mark.parametrize("dim", [0, 1])
def test_of_a_component_they_add_up(dim, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 9)  # a few columns at once
    display = ContributionDisplay.from_estimator(PIPELINE, X, 41, dim=dim)
    here, middle = PIPELINE.transform(np.stack([X[41], X.mean(axis=0)]))[:, dim]
    assert display.total == pytest.approx(here - middle)
    assert display.contributions.sum() == pytest.approx(here - middle)


LINEAR = {
    "PPCA": PPCA(2),
    "SPPCA": SPPCA(2),
    "CPPCA": CPPCA(2),
    "DPPCA": DPPCA(2),
    "SDRGLM": SDRGLM(2),
    "IFA": IFA(),
    "SCL": SCL(2),
    "KDA": KDA(2),
    "GuidedProjection of numbers": GuidedProjection(2),
    "search": GuidedSearch(["SPPCA"], preprocessing=["rows"], baselines=False, n_splits=1, n_permutations=0),
}


@pytest.mark.parametrize("name", LINEAR)
def test_of_every_linear_model_they_add_up_to_the_distance_from_the_reference(name):
    """The reference is the row of the means of the columns, wherever that lies: of class models not at zero."""
    targets = X[:, 3] + X[:, 0] if name.endswith("numbers") else np.where(np.arange(150) % 100 < 60, y, -1)
    model = clone(LINEAR[name]).fit(X, y if name == "KDA" else targets)
    table = X[:120]
    for row, dim in ((3, 0), (110, 0), (110, 1)):
        if dim < model.transform(table).shape[1]:
            display = ContributionDisplay.from_estimator(model, table, row, dim=dim)
            here, middle = model.transform(np.stack([table[row], table.mean(axis=0)]))[:, dim]
            lost = [here - model.transform(with_mean(table, row, j))[0, dim] for j in range(4)]
            assert_allclose(display.contributions, lost, atol=1e-9)
            assert display.contributions.sum() == pytest.approx(here - middle, abs=1e-9)
            assert display.total == pytest.approx(here - middle)
            title = display.ax_.get_title()
            assert title == f"row {row}: {display.total:+.3g} against the means of the columns"


def with_mean(table, row, column):
    moved = table[[row]].copy()
    moved[0, column] = table[:, column].mean()
    return moved


def test_of_a_curved_projection_they_add_up_along_the_way():
    """By definition: the integral of the slopes along the line from the means to the row."""
    model = KDA(2, kernel="rbf").fit(X, y)
    display = ContributionDisplay.from_estimator(model, X, 77)
    mean, step = X.mean(axis=0), 1e-5
    wanted = np.zeros(4)
    for t in (np.arange(400) + 0.5) / 400:
        at = mean + t * (X[77] - mean)
        up, down = (model.transform(at + sign * step * np.eye(4))[:, 0] for sign in (1, -1))
        wanted += (up - down) / (2 * step) * (X[77] - mean) / 400
    assert_allclose(display.contributions, wanted, atol=0.02 * np.abs(wanted).max())
    assert display.contributions.sum() == pytest.approx(display.total, rel=1e-4)


def test_of_many_columns_each_moves_alone_and_the_rest_is_said(monkeypatch):
    model = KDA(2, kernel="rbf").fit(X, y)
    whole = ContributionDisplay.from_estimator(model, X, 77)
    monkeypatch.setattr(module, "FEW", 3)
    display = ContributionDisplay.from_estimator(model, X, 77)
    assert_allclose(display.contributions, whole.contributions, atol=0.05 * np.abs(whole.contributions).max())
    monkeypatch.setattr(module, "MOST", 1)  # one step, in which a curve goes far from its slope
    rough = ContributionDisplay.from_estimator(model, X, 77)
    rest = rough.total - rough.contributions.sum()
    assert rough.ax_.get_title().endswith(f"\n{rest:+.3g} of it only by columns together")


def test_what_a_row_has_for_being_one_of_the_fit_is_of_no_column():
    """Neighbors give a row of the fit its own value, which it loses with any change: that is said apart."""
    model = make_pipeline(NeighborFeatures(n_components=3), PPCA(1)).fit(X)
    display = ContributionDisplay.from_estimator(model, X, 77)
    near = np.stack([X[77], X.mean(axis=0) + (1 - 1e-6) * (X[77] - X.mean(axis=0))])
    own, beside = model.transform(near)[:, 0]
    assert display.contributions.sum() == pytest.approx(display.total - (own - beside))


def test_missing_entries_are_missing_all_the_way():
    model, table = PPCA(2).fit(X[:80]), X.copy()  # whose middle is not that of the table
    table[5, 1] = np.nan
    display = ContributionDisplay.from_estimator(model, table, 5)
    means = np.where(np.isnan(table[5]), np.nan, np.nanmean(table, axis=0))
    here, middle = model.transform(np.stack([table[5], means]))[:, 0]
    assert display.contributions[1] == 0.0
    assert display.contributions.sum() == pytest.approx(here - middle)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_of_sparse_rows_whose_neighbors_are_looked_at(metric):
    words = sparse.random(80, 40, density=0.1, format="csr", random_state=0)
    model = make_pipeline(NeighborFeatures(metric=metric, n_components=3), PPCA(1)).fit(words)
    display = ContributionDisplay.from_estimator(model, words, 3)
    here, nothing = model.transform(words[[3]])[0, 0], model.transform(sparse.csr_matrix((1, 40)))[0, 0]
    assert display.total == pytest.approx(here - nothing)
    assert display.ax_.get_title().startswith(f"row 3: {display.total:+.3g} against a row of zeros")


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
        ({"row": None}, "row=None must be the number of a row of X"),
        ({"row": np.arange(150)}, r"row=array\(\[.{,40} must be the number of a row of X"),
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
