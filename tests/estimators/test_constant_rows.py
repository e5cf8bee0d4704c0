"""Rows that are all the same: an error, whatever the weights and the solver, and no fit to what rounding left."""

import numpy as np
import pytest

from gnomon import CPPCA, DPPCA, PPCA, SPPCA, GuidedProjection, MixturePPCA

WEIGHTS = np.linspace(0.1, 1.1, 20)
Y = np.arange(20) % 3
WEIGHTED = [
    *(PPCA(1, solver=solver) for solver in ("auto", "subspace", "moments", "em")),
    *(SPPCA(1, solver=solver) for solver in ("auto", "subspace", "moments", "em")),
    *(CPPCA(1, solver=solver) for solver in ("auto", "subspace", "moments", "em")),
    *(MixturePPCA(2, 1, solver=solver) for solver in ("moments", "latent")),
]


@pytest.mark.parametrize("shape", [(20, 6), (20, 40)])
@pytest.mark.parametrize("value", [0.1, 2.5])
@pytest.mark.parametrize("model", WEIGHTED, ids=repr)
def test_a_noise_of_rounding_is_not_fitted(model, value, shape):
    for weights in (None, WEIGHTS):
        with pytest.raises(ValueError, match="must be less than the rank of X"):
            model.fit(np.full(shape, value), None if type(model) in (PPCA, MixturePPCA) else Y, sample_weight=weights)


@pytest.mark.parametrize("shape", [(20, 6), (20, 40)])
@pytest.mark.parametrize("model", [DPPCA(), GuidedProjection(1)], ids=repr)
def test_models_of_classes_say_that_rows_do_not_vary(model, shape):
    with pytest.raises(ValueError, match="X is constant: all rows are equal"):
        model.fit(np.full(shape, 0.1), Y)


def test_rows_from_dask_that_do_not_vary():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.full((20, 6), 0.1), chunks=(7, 6))
    with pytest.raises(ValueError, match="X is constant: all rows are equal"):
        DPPCA().fit(X, Y)


def test_as_many_components_as_the_rank_of_complete_rows_are_refused_by_em_too(rng):
    X = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 6))
    with pytest.raises(ValueError, match="must be less than the rank of X, 2"):
        CPPCA(2, solver="em").fit(X, Y)
