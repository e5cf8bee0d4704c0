"""How the fit of CPPCA begins, and what it holds."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from gnomon import CPPCA
from gnomon.likelihoods.layout import Layout
from gnomon.likelihoods.softmax_rows import SoftmaxRows
from gnomon.models.linear import cppca as model_file
from gnomon.models.linear.basis import Basis
from gnomon.models.linear.cppca import ByRow
from gnomon.models.linear.evidence import Coded, LabeledRows
from gnomon.models.linear.in_basis import BasisEM
from gnomon.numerics.linear_gaussian import Params, given_x
from gnomon.rows.local import LocalRows
from oracles import cppca as oracle
from rows.copied import copied_rows


def test_many_labeled_rows_start_from_a_few_and_end_at_the_same_maximum(rng, monkeypatch):
    X, Z = oracle.draw(rng, 1800, 6, 0.5)
    y = (Z @ rng.normal(size=(2, 3)) * 2 + rng.gumbel(size=(1800, 3))).argmax(axis=1)
    assert len(y) >= model_file.MANY_LABELED
    sizes = []
    first = model_file.OutputsInBasis._first

    def counted(model, em):
        sizes.append(len(em.labels.Y))
        return first(model, em)

    monkeypatch.setattr(model_file.OutputsInBasis, "_first", counted)
    few = CPPCA(2, tol=1e-8).fit(X, y)
    assert (np.diff(few.objective_path_) >= -1e-10 * abs(few.objective_)).all()
    monkeypatch.setattr(model_file, "MANY_LABELED", 10**9)
    every = CPPCA(2, tol=1e-8).fit(X, y)
    assert sizes == [400, 1800]
    assert_allclose(few.objective_, every.objective_, rtol=1e-10)
    assert_allclose(few.y_loadings_, every.y_loadings_, atol=1e-4)


@pytest.mark.parametrize("inference", ["auto", "laplace"])
def test_private_dimensions_are_found_in_few_steps_and_rounding_decides_nothing(inference):
    X, y = load_wine(return_X_y=True)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.2, y, -1)
    fits = [CPPCA(2, n_private=1, inference=inference, tol=1e-9).fit(x, y) for x in (X, X * (1.0 + 1e-13))]
    want, got = (fit.transform(X) for fit in fits)
    assert_allclose(got, want, rtol=0, atol=1e-7 * np.abs(want).max())
    assert fits[0].n_iter_ < 40


def test_starts_of_private_dimensions_are_compared_when_it_is_known_where_they_lead(monkeypatch):
    rng, n = np.random.default_rng(73), 150
    centers, classes = rng.standard_normal((4, 6)) * np.linspace(0.5, 3.0, 6), rng.integers(0, 4, n)
    Z = centers[classes] + rng.standard_normal((n, 6)) * np.linspace(3.0, 0.7, 6)
    X = Z @ rng.standard_normal((6, 30)) / 3.0 + 0.5 * rng.standard_normal((n, 30))
    y = np.where(rng.random(n) < 0.4, classes, -1)
    found, each = CPPCA(1, n_private=2).fit(X, y).log_likelihood_, []
    for ratio in model_file.START_LOG_RATIOS:
        monkeypatch.setattr(model_file, "START_LOG_RATIOS", np.array([ratio]))
        each.append(CPPCA(1, n_private=2).fit(X, y).log_likelihood_)
    assert max(each) - min(each) > 1.0
    assert found > max(each) - 1e-2


def test_many_predictors_begin_with_a_fit_to_some_rows_and_end_at_the_same_maximum(rng, monkeypatch):
    X, Z = oracle.draw(rng, 900, 120, 0.5)
    y = (Z @ rng.normal(size=(2, 3)) * 2 + rng.gumbel(size=(900, 3))).argmax(axis=1)
    every = CPPCA(2, tol=1e-8, solver="subspace").fit(X, y)
    monkeypatch.setattr(model_file, "SEVERAL_LABELED", 300)
    monkeypatch.setattr(model_file, "MANY_PREDICTORS", 1800)
    sizes, step = [], BasisEM.e_step

    def counted(em, *rest):
        sizes.append(len(em.labels.Y))
        return step(em, *rest)

    monkeypatch.setattr(BasisEM, "e_step", counted)
    some = CPPCA(2, tol=1e-8, solver="subspace").fit(X, y)
    assert sizes == sorted(sizes)
    assert set(sizes) == {300, 900}
    assert some.converged_
    assert (np.diff(some.objective_path_) >= -1e-10 * abs(some.objective_)).all()
    assert_allclose(some.objective_, every.objective_, rtol=1e-10)
    assert_allclose(some.y_loadings_, every.y_loadings_, atol=1e-4)


def test_labels_that_some_rows_learned_by_heart_are_no_start(monkeypatch):
    """Labels that x says nothing of: a fit to some of them ends where no climb of all leads out of."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 60)), rng.integers(0, 2, 2000)
    every = CPPCA(4).fit(X, y)
    monkeypatch.setattr(model_file, "SEVERAL_LABELED", 300)
    monkeypatch.setattr(model_file, "MANY_PREDICTORS", 1000)
    begun, begin = [], model_file.OutputsInBasis._begin
    monkeypatch.setattr(
        model_file.OutputsInBasis, "_begin", lambda model, em, start: begun.append(start) or begin(model, em, start)
    )
    some = CPPCA(4).fit(X, y)
    assert begun == [None, None]
    assert some.converged_
    assert_allclose(some.objective_, every.objective_, rtol=1e-9)


def test_many_rows_of_two_classes_begin_with_some_and_none_is_copied(rng, monkeypatch):
    X = rng.normal(size=(17_000, 6)) * np.sqrt([8.0, 5.0, 1.0, 1.0, 1.0, 1.0])
    y = (X[:, 1] + rng.normal(size=17_000) > 0).astype(int)
    sizes, sums, taken, take = [], LabeledRows.sums, [], LocalRows.take

    def counted(labels, *rest):
        sizes.append(len(labels.Y))
        return sums(labels, *rest)

    def counted_take(rows, some):
        taken.append(len(some))
        return take(rows, some)

    monkeypatch.setattr(LabeledRows, "sums", counted)
    monkeypatch.setattr(LocalRows, "take", counted_take)
    few = CPPCA(2).fit(X, y)
    assert set(sizes) == {400, 2_000, 17_000}
    assert sizes == sorted(sizes, key=lambda size: size == 17_000)
    assert max(taken) <= 2_000
    monkeypatch.setattr(model_file, "MANY_PREDICTORS", 1 << 20)
    assert_allclose(few.objective_, CPPCA(2).fit(X, y).objective_, rtol=1e-10)


def test_some_rows_stand_for_all_outside_the_basis(rng):
    """Where all rows are alike, what some say is what all do."""
    X, Y = (
        np.repeat(rng.normal(size=(10, 6)), 4, axis=0),
        np.repeat(rng.integers(0, 3, (10, 1)), 4, axis=0).astype(float),
    )
    layout, at = Layout(("categorical",), (3,)), np.arange(0, 40, 4)
    products = model_file.products_of(copied_rows(X), np.arange(40), np.zeros((40, 0)), held=True)[0]
    labels = partial(LabeledRows, weights=np.ones(40), Y=Y, layout=layout, sites=SoftmaxRows(layout))
    every = ByRow(Basis(products, 3), labels, Coded.of(np.zeros((40, 0)), np.zeros((40, 0), dtype=bool), np.ones(40)))
    every.basis.expand(np.eye(6)[:, :3])
    p = Params(rng.normal(size=(3, 2)), np.zeros(3), 0.5, rng.normal(size=(2, 2)), np.zeros(2), np.ones(1))
    x, crosses = given_x(p), []
    for data in (every, every.few(at)):
        crosses.append(data.cross(p, x, data.labels().sums(p, x, None, 1e-9)[1]))
    assert_allclose(crosses[1], crosses[0], atol=1e-9)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
def test_rows_that_are_read_are_not_copied(rng, monkeypatch, solver):
    """Coordinates in all directions would be the rows themselves, which may be on a device."""
    X, Z = oracle.draw(rng, 120, 40)
    begun = []
    start = Basis.start
    monkeypatch.setattr(Basis, "start", lambda basis, *rest: start(basis, *rest) or begun.append(basis.whole))
    CPPCA(2, solver=solver).fit(X, Z[:, 0] > 0)
    assert begun == [solver == "moments"]
