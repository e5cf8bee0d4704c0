"""How the fit of CPPCA begins, and what it holds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA
from gnomon.models.linear import cppca as model_file
from gnomon.models.linear.basis import Basis
from oracles import cppca as oracle


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
    assert sizes == [450, 1800]
    assert_allclose(few.objective_, every.objective_, rtol=1e-10)
    assert_allclose(few.y_loadings_, every.y_loadings_, atol=1e-4)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
def test_rows_that_are_read_are_not_copied(rng, monkeypatch, solver):
    """Coordinates in all directions would be the rows themselves, which may be on a device."""
    X, Z = oracle.draw(rng, 120, 40)
    begun = []
    start = Basis.start
    monkeypatch.setattr(Basis, "start", lambda basis, *rest: start(basis, *rest) or begun.append(basis.whole))
    CPPCA(2, solver=solver).fit(X, Z[:, 0] > 0)
    assert begun == [solver == "moments"]
