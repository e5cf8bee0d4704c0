"""Where Yu et al. 2006 print a wrong formula: the printed one fails, and the library's agrees with the definition.

The numbers here are those of docs/theory/sppca.md.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from estimators.support import coded, load, oracle, quietly
from gnomon import SPPCA, KernelSPPCA
from gnomon.models.linear import units
from gnomon.numerics.linear_gaussian import Params
from oracles import closed_forms, dual, em, gaussian, printed


def orthogonal(rng, k):
    return np.linalg.qr(rng.normal(size=(k, k)))[0]


def wine_with_few_labels():
    """Standardized wine, with 20, 3 and 3 labels of the three classes."""
    X, y = load("wine")
    rng = np.random.default_rng(0)
    kept = np.concatenate([rng.choice(np.flatnonzero(y == c), m, replace=False) for c, m in enumerate((20, 3, 3))])
    few = np.full(len(y), -1)
    few[kept] = y[kept]
    return scale(X), few


def test_eq_12_lacks_the_noise_variance():
    X, y = load("iris", 0.5)
    model = SPPCA(2).fit(X, y)
    W, s2 = model.components_.T, model.noise_variance_
    by_definition = np.eye(2) - W.T @ np.linalg.solve(W @ W.T + s2 * np.eye(4), W)
    assert_allclose(model.posterior(X, uncertainty="plug-in")[1], by_definition, atol=1e-12)
    as_printed = printed.covariance_12(W, s2)
    assert_allclose(s2 * as_printed, by_definition, atol=1e-12)
    assert np.linalg.eigvalsh(as_printed).max() > 5.0  # no posterior is wider than the prior, whose variance is one
    assert np.linalg.eigvalsh(by_definition).max() < 1.0


def test_eq_12_as_printed_makes_em_fall():
    X, y = load("iris", 0.5)
    model = SPPCA(2, tol=1e-10).fit(X, y)
    Y = coded(model, y)
    top = gaussian.log_density(oracle(model), X, Y).sum()
    corrected, as_printed = (
        gaussian.log_density(step(oracle(model), X, Y), X, Y).sum() for step in (em.em_step, printed.em_step_12)
    )
    assert_allclose(corrected, top, atol=1e-6)
    assert as_printed < top - 50.0


@pytest.mark.parametrize("n", [40, 160])
def test_theorem_3_ii_lacks_a_factor(rng, n):
    X, Y = gaussian.draw(rng, gaussian.random_model(rng, 60, 3, 2), n + 7)
    X_new = X[n:] - X[:n].mean(axis=0)
    X, Y = X[:n] - X[:n].mean(axis=0), Y[:n] - Y[:n].mean(axis=0)
    primal = closed_forms.theorem_2(X, Y, 3, 0.25, 0.35)
    W_x = X.T @ dual.theorem_3_loadings(X @ X.T, Y, 3, 0.25, 0.35)
    x_hat = gaussian.posterior(primal, X_new)[0] @ primal.W_x.T  # free of the rotation
    Z = dual.theorem_3(X @ X.T, Y, 3, 0.25, 0.35, X_new @ X.T)[1]
    assert_allclose(Z @ W_x.T, x_hat, atol=1e-9)
    as_printed = printed.theorem_3_ii(X @ X.T, Y, 3, 0.25, 0.35, X_new @ X.T)
    signs = np.sign((as_printed * Z).sum(axis=0))
    assert np.abs(as_printed * signs - Z).max() > 1e-3


def test_section_5_1_rotation_needs_the_noise_variances(rng):
    """Loadings of theorem 2 in an arbitrary rotation: the corrected matrix finds theirs, the printed one does not."""
    X, y = load("wine")
    model = SPPCA(3).fit(scale(X), y)
    W_x, W_y, s2_x, s2_y = model.components_.T, model.y_loadings_, model.noise_variance_, model.y_noise_variance_
    gram = W_x.T @ W_x / s2_x + W_y.T @ W_y / s2_y
    whitened = np.hstack([scale(X) / np.sqrt(s2_x), (coded(model, y) - model.y_intercept_) / np.sqrt(s2_y)])
    values = np.linalg.eigvalsh(whitened.T @ whitened / len(X))[::-1]
    assert_allclose(gram, np.diag(values[:3] - 1.0), atol=1e-6)
    turn = orthogonal(rng, 3)
    turned = Params(W_x @ turn, np.zeros(13), s2_x, W_y @ turn, np.zeros(2), np.full(2, s2_y))
    assert_allclose(turn @ units.rotation_of(turned, 3, turned.W_x), np.eye(3), atol=1e-9)
    back = turn @ printed.rotation(turned.W_x, turned.W_y)
    assert np.abs(np.abs(back) - np.eye(3)).max() > 0.1
    in_other_units = turn @ printed.rotation(0.1 * turned.W_x, turned.W_y)
    assert np.abs(np.abs(in_other_units) - np.abs(back)).max() > 0.1  # the printed one depends on the unit of x


def test_eqs_17_and_18_fail_below_the_noise():
    X, y = load("iris")
    Y = closed_forms.code(y, [0, 1, 2])
    Y = Y - Y.mean(axis=0)
    X = X - X.mean(axis=0)
    s2_x, s2_y = 1.0, 1.0  # the second eigenvalue of the covariance in these units is below one
    assert np.isnan(printed.theorem_2(X, Y, 2, s2_x, s2_y).W_x).any()
    best = closed_forms.theorem_2(X, Y, 2, s2_x, s2_y)
    found = dual.theorem_3_loadings(X @ X.T, Y, 2, s2_x, s2_y)
    assert_allclose(X.T @ found @ found.T @ X, best.W_x @ best.W_x.T, atol=1e-9)
    assert_allclose(best.W_x[:, 1], 0.0)
    value, rng = gaussian.log_density(best, X, Y).sum(), np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1, 0.5):
        for _ in range(5):
            near = best._replace(
                W_x=best.W_x + size * rng.normal(size=(4, 2)), W_y=best.W_y + size * rng.normal(size=(2, 2))
            )
            assert gaussian.log_density(near, X, Y).sum() < value


def test_eq_7_is_not_maximum_likelihood_with_unlabeled_rows():
    X, y = wine_with_few_labels()
    free, fixed = SPPCA(2).fit(X, y), SPPCA(2, means="fixed").fit(X, y)
    for model in (free, fixed):
        brute = gaussian.log_density(oracle(model), X, coded(model, y)).sum()
        assert_allclose(model.log_likelihood_, brute, rtol=1e-9)
    assert_allclose(fixed.y_intercept_, np.nanmean(coded(fixed, y), axis=0), atol=1e-12)
    assert round(free.log_likelihood_ - fixed.log_likelihood_, 1) == 19.5
    labeled = load("wine")[1]
    both = [SPPCA(2, means=means).fit(X, labeled).log_likelihood_ for means in ("ml", "fixed")]
    assert_allclose(*both, rtol=1e-10)  # with every row labeled the sample means are right


def test_eq_25_has_no_divisor_for_an_rbf_kernel():
    X, y = load("wine", 0.5)
    X = scale(X)
    models = [KernelSPPCA(2, kernel="rbf", gamma=0.05, effective_dimension=d).fit(X, y) for d in ("rank", 1e4, 1e5)]
    assert models[0].effective_dimension_ == 177
    noises = np.array([m.noise_variance_ for m in models])
    assert_allclose(noises[1] / noises[2], 10.0, rtol=1e-2)  # nothing is left as the dimension grows
    Y = coded(models[0], y)[y >= 0]
    order = np.argsort(y < 0, kind="stable")
    K = rbf_kernel(X[order], gamma=0.05)
    center = np.eye(178) - 1.0 / 178
    K, Y = center @ K @ center, Y - Y.mean(axis=0)
    Z = np.random.default_rng(0).normal(size=(178, 2))
    start = dual.Dual(Z, 178 * np.eye(2), len(Y) * np.eye(2), 0.5, 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        as_printed = dual.algorithm_3(start, K, Y, np.inf)
        assert as_printed.s2_x == 0.0
        assert not np.isfinite(dual_step(as_printed, K, Y, np.inf))
    assert np.isfinite(dual_step(dual.algorithm_3(start, K, Y, 177.0), K, Y, 177.0))


def dual_step(state, K, Y, dimension):
    """Sum of the projections after one more iteration; NaN where its matrices are singular."""
    try:
        return dual.algorithm_3(state, K, Y, dimension).Z.sum()
    except np.linalg.LinAlgError:
        return np.nan


def test_em_has_local_maxima_on_labeled_rows():
    """Algorithm 1 from random starts ends in two different maxima, at both of which the literal EM stands still."""
    X, y = load("iris")
    found = []
    for seed in (3, 0):
        literal = SPPCA(2, solver="paper", max_iter=20_000, tol=1e-7, random_state=seed)
        model = quietly(literal, X, y)
        assert model.converged_
        found.append(round(model.log_likelihood_, 2))
        step = em.em_step(oracle(model), X, coded(model, y))
        assert_allclose(step.W_x @ step.W_x.T, model.components_.T @ model.components_, atol=1e-5)
        value, best, rng = model.log_likelihood_, oracle(model), np.random.default_rng(0)
        for _ in range(10):
            near = best._replace(
                W_x=best.W_x + 1e-2 * rng.normal(size=best.W_x.shape),
                W_y=best.W_y + 1e-2 * rng.normal(size=best.W_y.shape),
                s2_x=best.s2_x * np.exp(1e-2 * rng.normal()),
                s2_y=best.s2_y * np.exp(1e-2 * rng.normal()),
            )
            assert gaussian.log_density(near, X, coded(model, y)).sum() < value
    assert found == [-548.15, -507.38]
    optima = SPPCA(2).fit(X, y).certificate_["optima"]
    assert [round(v, 2) for v in optima] == found[::-1]
