"""EM over the rows: its E-step is that of the moments, its floors and starts are as promised."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.models.linear.patterns import group_outputs
from gnomon.models.linear.row_em import RowEM
from gnomon.numerics.linear_gaussian import e_step
from numerics import build
from oracles import gaussian
from rows.copied import copied_rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("targets", build.TARGETS)
def test_e_step_over_rows_is_that_of_the_moments(rng, targets, form):
    _, X, Y = build.draw(rng, targets=targets)
    w = rng.uniform(0.5, 2, len(X))
    rows = copied_rows(form(X), w)
    source = rows.standard(rows.summarize())
    params = build.params(gaussian.random_model(rng, 5, 2, Y.shape[1]))
    found = RowEM(source, group_outputs(Y, w)).e_step(params)
    expected = e_step(params, build.moments((X - source.mean) / source.scale, Y, w))
    for name, a, b in zip(found._fields, found, expected, strict=True):
        if name == "y_zz" and not len(a):
            continue
        assert_allclose(*np.broadcast_arrays(a, b), rtol=1e-8, atol=1e-8, err_msg=name)


def test_one_pass_an_e_step(rng):
    _, X, Y = build.draw(rng)
    rows = copied_rows(X)
    source = rows.standard(rows.summarize())
    before = source.reads
    RowEM(source, group_outputs(Y, np.ones(len(X)))).e_step(build.params(gaussian.random_model(rng, 5, 2, 3)))
    assert source.reads == before + 1
