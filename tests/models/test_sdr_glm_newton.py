"""Newton steps on scores and loadings: their Hessian against differences, and where they end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.sdr_glm import factors, model
from gnomon.models.sdr_glm.factors import loadings_terms, score_terms
from gnomon.models.sdr_glm.newton import Curvature, Step, newton_step
from models.sdr_glm_tables import ALPHA, RIDGE, K, pairs, problem, some_params

H = 1e-6


def slopes(params, views):
    """The gradient of J in scores, and in the loadings of both tables."""
    parts = [params.x, params.y]
    found = [view.strength * loadings_terms(view, params.U, part, RIDGE)[0] for view, part in zip(views, parts)]
    return [score_terms(list(views), parts, params.U, RIDGE)[0], *found]


def check_the_hessian(params, views, rng):
    """On the way of a step of the loadings, with scores following, the gradient in scores stays."""
    steps = [rng.normal(size=(K + 1, len(view.prior))) for view in views]
    found, dU = Curvature(params, views, RIDGE).times(steps)
    way = Step(dU, steps, bent=False)
    after, before = (slopes(way.taken(params, length), views) for length in (H, -H))
    of_scores, *of_loadings = ((one - other) / (2 * H) for one, other in zip(after, before))
    assert_allclose(of_scores, 0.0, atol=1e-6)
    for one, other in zip(of_loadings, found):
        assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pairs
def test_the_hessian_is_that_of_differences(families, rng, monkeypatch):
    _, _, views = problem(families, rng)
    monkeypatch.setattr(factors, "BLOCK", 60)
    check_the_hessian(some_params(views, rng), views, rng)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_entries_that_are_missing_have_no_curvature(family, rng):
    X, _, views = problem((family, "multinomial"), rng)
    holes = rng.random(X.shape) < 0.3
    views = (model.make_view(family, np.where(holes, 0.0, X), 1.0 - holes, ALPHA), views[1])
    check_the_hessian(some_params(views, rng), views, rng)


@pairs
def test_a_few_steps_from_near_a_minimum_end_at_it(families):
    rng = np.random.default_rng(2)
    _, _, views = problem(families, rng)
    params = model.solve(views, model.Options(K, ALPHA, RIDGE), np.random.default_rng(0)).value
    params = params._replace(U=params.U + 1e-5 * rng.normal(size=params.U.shape))
    for _ in range(4):
        step = newton_step(params, views, RIDGE)
        assert not step.bent
        params = step.taken(params)
    for slope in slopes(params, views):
        assert_allclose(slope, 0.0, atol=1e-9)


def test_a_step_from_where_the_objective_is_bent_downward_lowers_it(rng):
    """Between the two signs that scores may have, which are minima alike, they are zero."""
    _, _, views = problem(("gaussian", "multinomial"), rng)
    params = model.balanced(some_params(views, rng), ALPHA)
    small = params._replace(U=1e-3 * params.U, x=params.x._replace(V=1e-3 * params.x.V))
    small = small._replace(y=small.y._replace(V=1e-3 * small.y.V))
    step = newton_step(small, views, RIDGE)
    assert step.bent
    assert model.objective(step.taken(small, 0.01), views, RIDGE) < model.objective(small, views, RIDGE)
