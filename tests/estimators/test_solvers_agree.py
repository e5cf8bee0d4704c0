"""Different routes, one answer: solvers, storages, weights, the order of rows, threads, precision, magnitude."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from estimators.support import assert_same_fit, entries_missing, load, oracle, quietly
from gnomon import CPPCA, PPCA, SPPCA
from oracles import closed_forms, em, gaussian

NAMES = ("iris", "wine", "diabetes")


@cache
def fitted(name, hidden, **settings):
    """The fit of two components that others are compared with; read only."""
    return SPPCA(2, **settings).fit(*load(name, hidden))


def hidden_for(solver):
    """The share of targets that a test of any solver hides: "ratio" takes labeled rows only."""
    return 0.0 if solver == "ratio" else 0.5


def em_fit(X, y, k=2):
    """EM from a few starts, as it is a local method: the best one."""
    starts = [{"init": "pca"}, *({"init": "random", "random_state": s} for s in range(3))]
    fits = [quietly(SPPCA(k, solver="em", max_iter=5000, tol=1e-9, **start), X, y) for start in starts]
    return max(fits, key=lambda m: m.log_likelihood_)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 2])
def test_all_solvers_agree_on_labeled_rows(name, k):
    X, y = load(name)
    ratio = SPPCA(k, solver="ratio", tol=1e-9).fit(X, y)
    assert SPPCA(k).fit(X, y).solver_ == "ratio"
    for other in (
        SPPCA(k, solver="moments", tol=1e-9).fit(X, y),
        SPPCA(k, solver="subspace", tol=1e-9).fit(X, y),
        em_fit(X, y, k),
    ):
        assert_same_fit(other, ratio)


@pytest.mark.parametrize("hidden", [0.3, 0.8])
@pytest.mark.parametrize("name", NAMES)
def test_all_solvers_agree_on_partly_labeled_rows(name, hidden):
    X, y = load(name, hidden)
    moments = SPPCA(2, solver="moments", tol=1e-9).fit(X, y)
    assert SPPCA(2).fit(X, y).solver_ == "moments"
    assert_same_fit(SPPCA(2, solver="subspace", tol=1e-9).fit(X, y), moments)
    assert_same_fit(em_fit(X, y), moments)


@pytest.mark.parametrize("solver", ["moments", "subspace", "em"])
def test_nearly_as_many_components_as_features_of_very_different_size(solver):
    X, _ = load("wine")
    model = PPCA(12, solver=solver).fit(X)
    assert_allclose(model.log_likelihood_, gaussian.log_density(closed_forms.ppca(X, 12), X).sum(), atol=1e-5)


def test_all_solvers_agree_with_single_outputs_missing():
    X, Y = entries_missing()
    moments = SPPCA(2, solver="moments", tol=1e-9).fit(X, Y)
    assert_same_fit(SPPCA(2, solver="subspace", tol=1e-9).fit(X, Y), moments)
    assert_same_fit(em_fit(X, Y), moments)


@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("targets", ["classes", "numbers"])
def test_fewer_labeled_rows_than_dimensions(targets, k):
    """They leave the outputs' loadings free along most dimensions, while the outputs' noise falls to its floor."""
    X, y = (part[:150] for part in load_digits(n_class=4, return_X_y=True))
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    labeled = np.isin(np.arange(150), [0, 1, 2, 3])
    if targets == "numbers":
        y = np.column_stack([X.sum(axis=1), X[:, 20] - X[:, 42]])
        few = np.where(labeled[:, None], y, np.nan)
    else:
        few = np.where(labeled, y, -1)
    fits = [SPPCA(k, solver=solver, max_iter=150).fit(X, few) for solver in ("moments", "subspace", "em")]
    fits.append(CPPCA(k, solver="em", max_iter=150).fit(X, few))
    assert all(fit.converged_ for fit in fits)
    for fit in fits[1:3]:
        assert_allclose(fit.log_likelihood_, fits[0].log_likelihood_, rtol=1e-9)


def test_many_patterns_of_missing_outputs(rng):
    X = rng.normal(size=(90, 6)) @ rng.normal(size=(6, 6))
    Y = X @ rng.normal(size=(6, 5)) + rng.normal(size=(90, 5))
    Y[rng.random(Y.shape) < 0.4] = np.nan
    subspace = SPPCA(2, solver="subspace", tol=1e-9).fit(X, Y)
    assert_allclose(subspace.log_likelihood_, gaussian.log_density(oracle(subspace), X, Y).sum(), rtol=1e-9)
    assert_same_fit(em_fit(X, Y), subspace, tol=1e-5)
    moments = SPPCA(2, tol=1e-9).fit(X, Y)
    assert moments.solver_ == "moments"
    assert_same_fit(moments, subspace, tol=1e-5)


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_more_features_than_rows(rng, targets):
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 80)) + 0.5 * rng.normal(size=(30, 80))
    Y = X[:, :5] @ rng.normal(size=(5, 2)) + rng.normal(size=(30, 2))
    if targets == "semi":
        Y[::2] = np.nan
    elif targets == "entries":
        Y[rng.random(Y.shape) < 0.4] = np.nan
    best = SPPCA(2, tol=1e-9).fit(X, Y)
    assert best.solver_ == ("ratio" if targets == "labeled" else "moments")
    assert_allclose(best.log_likelihood_, gaussian.log_density(oracle(best), X, Y).sum(), rtol=1e-9)
    assert_same_fit(SPPCA(2, solver="subspace", tol=1e-9).fit(X, Y), best)
    assert_same_fit(em_fit(X, Y), best, tol=1e-5)


@pytest.mark.parametrize("name, hidden", [("iris", 0.0), ("iris", 0.5), ("diabetes", 0.5)])
def test_literal_em_of_the_paper_ends_no_higher(name, hidden):
    X, y = load(name, hidden)
    model = SPPCA(2, tol=1e-9).fit(X, y)
    Y = y[:, None] if name == "diabetes" else closed_forms.code(y, [0, 1, 2])
    at_optimum = em.em_step(oracle(model), X, Y)
    assert_allclose(at_optimum.W_x @ at_optimum.W_x.T, model.components_.T @ model.components_, rtol=1e-5, atol=1e-7)
    assert_allclose(at_optimum.s2_y, model.y_noise_variance_, rtol=1e-6)
    Xs, Ys = X / X.std(), Y / np.nanstd(Y)
    shift = len(X) * X.shape[1] * np.log(X.std()) + (~np.isnan(Y)).sum() * np.log(np.nanstd(Y))
    _, path = em.fit(em.start(np.random.default_rng(0), Xs, Ys, 2), Xs, Ys, 20)
    assert (np.diff(path) > -1e-9 * np.abs(path[:-1])).all()
    assert path[0] - shift < path[-1] - shift < model.log_likelihood_ + 1e-6


def test_literal_em_of_the_paper_arrives():
    X, y = load("iris", 0.5)
    keep = np.arange(0, 150, 3)
    X, y = X[keep], y[keep]
    model = SPPCA(1, tol=1e-9).fit(X, y)
    Y = closed_forms.code(y, [0, 1, 2])
    found, path = em.fit(em.start(np.random.default_rng(0), X, Y, 1), X, Y, 150)
    assert_allclose(path[-1], model.log_likelihood_, atol=1e-5)
    assert_allclose(found.W_x @ found.W_x.T, model.components_.T @ model.components_, atol=1e-3)
    assert_allclose(found.m_x, model.mean_, atol=1e-3)


FORMS = {
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "fortran": np.asfortranarray,
    "coo": sp.coo_array,
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
def test_storage_does_not_matter(form, solver):
    X, y = load("wine", hidden_for(solver))
    reference = fitted("wine", hidden_for(solver), solver=solver, tol=1e-9)
    other = SPPCA(2, solver=solver, tol=1e-9).fit(FORMS[form](X), y)
    assert_same_fit(other, reference)
    assert_allclose(other.transform(FORMS[form](X)), reference.transform(X), atol=1e-6)
    assert_allclose(other.score_samples(FORMS[form](X), y), reference.score_samples(X, y), rtol=1e-6)
    assert_allclose(other.predict_proba(FORMS[form](X)), reference.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_weights_are_repeated_rows(name, solver):
    X, y = load(name, hidden_for(solver))
    w = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = SPPCA(2, solver=solver, tol=1e-9).fit(X, y, sample_weight=w)
    repeated = SPPCA(2, solver=solver, tol=1e-9).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_same_fit(weighted, repeated)
    plain = fitted(name, hidden_for(solver), solver=solver)
    assert np.abs(plain.mean_ - weighted.mean_).max() > 1e-3 * np.abs(weighted.components_).max()


def test_weights_are_repeated_rows_with_more_features_than_rows(rng):
    X = rng.normal(size=(20, 50))
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    y[::3] = np.nan
    w = rng.integers(1, 4, 20)
    weighted = SPPCA(2, solver="moments", tol=1e-9).fit(X, y, sample_weight=w)
    repeated = SPPCA(2, solver="moments", tol=1e-9).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_same_fit(weighted, repeated, tol=1e-5)


@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows_does_not_matter(name, solver):
    X, y = load(name, hidden_for(solver))
    order = np.random.default_rng(2).permutation(len(X))
    tol = 1e-10 if solver == "em" else 1e-8  # EM has no closed form or inner iterations to add digits
    model = SPPCA(2, solver=solver, tol=tol).fit(X, y)
    assert_same_fit(SPPCA(2, solver=solver, tol=tol).fit(X[order], y[order]), model, tol=1e-8)


@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
def test_number_of_threads_does_not_matter(solver):
    X, y = load("wine", hidden_for(solver))
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(SPPCA(2, solver=solver).fit(X, y))
    assert_same_fit(*fits, tol=1e-8)


@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace"])
def test_seed_does_not_matter(solver):
    X, y = load("wine", hidden_for(solver))
    fits = [SPPCA(2, solver=solver, random_state=seed).fit(X, y) for seed in (0, 1)]
    assert_same_fit(*fits, tol=1e-7)


@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_single_precision_is_kept_and_close(solver, form):
    X, y = load("wine", hidden_for(solver))
    X32 = form(X.astype(np.float32))
    single, double = SPPCA(2, solver=solver).fit(X32, y), fitted("wine", hidden_for(solver), solver=solver)
    assert_allclose(single.components_, double.components_, atol=1e-5 * np.abs(double.components_).max())
    assert_allclose(single.log_likelihood_, double.log_likelihood_, rtol=1e-5)
    results = [
        single.components_, single.mean_, single.y_loadings_, single.y_intercept_, single.transform(X32),
        *single.posterior(X32, y), single.predict_proba(X32),
    ]  # fmt: skip
    assert [r.dtype for r in results] == [np.float32] * len(results)
    assert single.score_samples(X32).dtype == np.float64
    assert_allclose(single.transform(X32), double.transform(X), atol=2e-4)
    assert_allclose(single.predict_proba(X32), double.predict_proba(X), atol=2e-4)
    assert_allclose(single.score_samples(X32, y), double.score_samples(X, y), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize("solver", ["ratio", "moments", "subspace", "em"])
def test_scaling_x_scales_the_components(solver, size):
    X, y = load("iris", hidden_for(solver))
    plain, scaled = fitted("iris", hidden_for(solver), solver=solver), SPPCA(2, solver=solver).fit(X * size, y)
    tol = 1e-7
    assert_allclose(scaled.components_ / size, plain.components_, atol=tol * np.abs(plain.components_).max())
    assert_allclose(scaled.mean_ / size, plain.mean_, rtol=tol)
    assert_allclose(scaled.noise_variance_ / size / size, plain.noise_variance_, rtol=tol)
    assert_allclose(scaled.y_loadings_, plain.y_loadings_, atol=tol)
    shift = X.size * np.log(size)
    assert_allclose(scaled.log_likelihood_, plain.log_likelihood_ - shift, rtol=1e-9)
    assert_allclose(scaled.transform(X * size), plain.transform(X), atol=1e-6)
    shifted = plain.score_samples(X, y) - X.shape[1] * np.log(size)
    assert_allclose(scaled.score_samples(X * size, y), shifted, rtol=1e-7)
    assert (scaled.predict(X * size) == plain.predict(X)).all()


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_scaling_y_scales_the_predictions(size):
    X, y = load("diabetes", 0.5)
    plain, scaled = fitted("diabetes", 0.5), SPPCA(2).fit(X, y * size)
    assert_allclose(scaled.components_, plain.components_, atol=1e-7)
    assert_allclose(scaled.predict(X) / size, plain.predict(X), rtol=1e-6)
    shift = (~np.isnan(y)).sum() * np.log(size)
    assert_allclose(scaled.log_likelihood_, plain.log_likelihood_ - shift, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_ppca_scales(size):
    X, _ = load("iris")
    plain, scaled = PPCA(2).fit(X), PPCA(2).fit(X * size)
    assert_allclose(scaled.components_ / size, plain.components_, atol=1e-9)
    assert_allclose(scaled.score_samples(X * size), plain.score_samples(X) - 4 * np.log(size), rtol=1e-9)


def test_moving_x_moves_the_mean_only():
    X, y = load("wine", 0.5)
    plain, moved = fitted("wine", 0.5), SPPCA(2).fit(X + 1e5, y)
    assert_allclose(moved.mean_ - 1e5, plain.mean_, atol=1e-4)
    assert_allclose(moved.components_, plain.components_, atol=1e-5 * np.abs(plain.components_).max())
    assert_allclose(moved.log_likelihood_, plain.log_likelihood_, rtol=1e-8)


def test_turning_x_turns_the_components():
    X, y = load("iris", 0.5)
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    plain, turned = fitted("iris", 0.5), SPPCA(2).fit(X @ R, y)
    assert_allclose(np.abs(turned.components_), np.abs(plain.components_ @ R), atol=1e-7)
    assert_allclose(turned.log_likelihood_, plain.log_likelihood_, rtol=1e-9)


@pytest.mark.parametrize("factor", [0.7, 0.99, 1.01, 1.4])
@pytest.mark.parametrize("name, hidden", [("iris", 0.0), ("iris", 0.7), ("diabetes", 0.5)])
def test_no_nearby_point_is_better(name, hidden, factor):
    X, y = load(name, hidden)
    best = oracle(fitted(name, hidden))
    Y = y[:, None] if name == "diabetes" else closed_forms.code(y, [0, 1, 2])
    value = gaussian.log_density(best, X, Y).sum()
    rng = np.random.default_rng(0)

    def near(name):
        a, s2 = getattr(best, name), best.s2_x if name.endswith("x") else best.s2_y[0]
        return best._replace(**{name: a + (factor - 1.0) * np.sqrt(s2) * rng.normal(size=a.shape)})

    others = [best._replace(s2_x=best.s2_x * factor), best._replace(s2_y=best.s2_y * factor)]
    others += [near(name) for name in ("W_x", "W_y", "m_x", "m_y") for _ in range(3)]
    values = [gaussian.log_density(other, X, Y).sum() for other in others]
    assert max(values) < value
