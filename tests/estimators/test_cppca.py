"""CPPCA: likelihood and posterior from the definition, a monotone objective, predictions."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from estimators.support import quietly
from gnomon import CPPCA, PPCA, SPPCA
from gnomon.estimators.cppca import MOST_JUDGED
from gnomon.models.linear import conditioning as predictor_file
from gnomon.models.linear import cppca as model_file
from oracles import cppca as oracle


def binary(rng, n=80, p=5, labeled=0.5, strength=2.0):
    X, Z = oracle.draw(rng, n, p)
    y = (rng.random(n) < 1 / (1 + np.exp(-(strength * Z[:, 0] - Z[:, 1] + 0.5)))).astype(int)
    y[rng.random(n) > labeled] = -1
    return X, y


@pytest.mark.parametrize("family", ["logit", "probit"])
def test_quadrature_is_the_integral_over_the_latent_plane(rng, family):
    X, y = binary(rng)
    model = CPPCA(2, families=family, uncertainty="plug-in").fit(X, y)
    assert model.inference_ == "quadrature"
    X, Y = X[:12], np.where(y[:12, None] >= 0, y[:12, None], np.nan)
    logs, mean, cov = oracle.rows(oracle.of(model), X, Y)
    found = model.posterior(X, y[:12], uncertainty="plug-in")
    assert_allclose(found[0], mean, atol=1e-7)
    assert_allclose(found[1], cov, atol=1e-7)
    assert_allclose(model.score_samples(X, y[:12]), logs, rtol=1e-8)
    ones = oracle.rows(oracle.of(model), X, np.ones((12, 1)))[0] - oracle.rows(oracle.of(model), X)[0]
    assert_allclose(model.predict_proba(X)[:, 1], np.exp(ones), rtol=1e-6)


def test_without_labels_it_is_ppca(rng):
    X, _ = binary(rng)
    a, b = CPPCA(2, tol=1e-8).fit(X), PPCA(2).fit(X)
    assert_allclose(a.components_, b.components_, atol=1e-5)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9)
    assert_allclose(a.score_samples(X), multivariate_normal(a.mean_, a.get_covariance()).logpdf(X), rtol=1e-9)


@pytest.mark.parametrize("acceleration", [None, "alternating"])
def test_the_objective_is_the_likelihood_and_never_falls(rng, acceleration):
    X, y = binary(rng)
    model = CPPCA(2, acceleration=acceleration).fit(X, y)
    path = model.objective_path_
    assert (np.diff(path) >= -1e-10 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 1e-3
    assert_allclose(model.score_samples(X, y).sum(), model.log_likelihood_, rtol=1e-10)
    assert_allclose(model.log_likelihood_ - model.objective_, 0.05 * (model.y_loadings_**2).sum(), rtol=1e-8)


def objective(model, X, y, **changes):
    """Objective of a model some attributes of which are replaced."""
    other = quietly(CPPCA(**model.get_params()), X, y)
    for name, value in changes.items():
        setattr(other, name, value)
    return other.score_samples(X, y).sum() - 0.5 * model.label_ridge * (other.y_loadings_**2).sum()


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_no_nearby_point_is_better(rng, missing):
    X, y = binary(rng, 60)
    X = holes(rng, X) if missing else X
    model = CPPCA(2, tol=1e-9).fit(X, y)
    best = objective(model, X, y)
    assert_allclose(best, model.objective_, rtol=1e-10)
    for name in ("components_", "y_loadings_", "y_intercept_", "mean_", "noise_variance_"):
        value = np.asarray(getattr(model, name))
        direction = rng.normal(size=value.shape)
        h = 1e-3 * (np.abs(value).max() + 0.1)
        up, down = (objective(model, X, y, **{name: value + s * h * direction}) for s in (1, -1))
        assert up < best, name
        assert down < best, name
        assert abs(up - down) < 1e-2 * (2 * best - up - down) + 1e-6, name  # the slope is zero beside the curvature


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(5)
    X, y = binary(rng, 6000, labeled=1.0)
    known = np.where(np.arange(6000) < 600, y, -1)
    proba = CPPCA(2).fit(X, known).predict_proba(X[600:])
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    for low in np.arange(0.0, 1.0, 0.2):
        some = (proba[:, 1] >= low) & (proba[:, 1] < low + 0.2)
        share, n = y[600:][some].mean(), some.sum()
        assert n > 100
        assert abs(share - proba[some, 1].mean()) < 3.5 / np.sqrt(4 * n) + 0.03


def test_separable_labels_stay_finite(rng):
    X, y = binary(rng, strength=0.0)
    y = np.where(y < 0, -1, (X[:, 0] > np.median(X[:, 0])).astype(int))
    X[:, 0] += 50.0 * (X[:, 0] > np.median(X[:, 0]))
    model = CPPCA(2).fit(X, y)
    assert model.converged_
    assert np.isfinite(model.y_loadings_).all()
    assert (model.predict(X)[y >= 0] == y[y >= 0]).all()


def holes(rng, X, share=0.2):
    """X with a share of its entries missing, some rows complete."""
    lost = rng.random(X.shape) < share
    lost[::7] = False
    lost[:, 0] &= lost[:, 1]
    return np.where(lost, np.nan, X)


@pytest.mark.parametrize("family", ["logit", "probit"])
def test_missing_entries_against_the_latent_plane(rng, family):
    """Fit, density, posterior, projection, probabilities and imputation of rows that miss entries."""
    X, y = binary(rng)
    H = holes(rng, X)
    model = CPPCA(2, families=family, tol=1e-8, uncertainty="plug-in").fit(H, y)
    assert model.converged_
    assert model.inference_ == "quadrature"
    assert model.solver_ == "em"
    path = model.objective_path_
    assert (np.diff(path) >= -1e-10 * np.abs(path[:-1])).all()
    assert_allclose(model.score_samples(H, y).sum(), model.log_likelihood_, rtol=1e-10)
    some = np.arange(12)
    truth, Y = oracle.of(model), np.where(y[some, None] >= 0, y[some, None], np.nan)
    logs, mean, cov = oracle.rows(truth, H[some], Y)
    found = model.posterior(H[some], y[some], uncertainty="plug-in")
    assert_allclose(found[0], mean, atol=1e-7)
    assert_allclose(found[1], cov, atol=1e-7)
    assert_allclose(model.score_samples(H[some], y[some]), logs, rtol=1e-8)
    plain, center, spread = oracle.rows(truth, H[some])
    Z, wide = model.transform(H[some], return_cov=True, uncertainty="plug-in")
    assert_allclose(Z, center, atol=1e-7)
    assert_allclose(wide, spread, atol=1e-7)
    ones = oracle.rows(truth, H[some], np.ones((12, 1)))[0]
    assert_allclose(model.predict_proba(H[some])[:, 1], np.exp(ones - plain), rtol=1e-6)
    filled = model.impute(H[some], y[some])
    expected = mean @ model.components_ + model.mean_
    assert_allclose(filled, np.where(np.isnan(H[some]), expected, H[some]), atol=1e-6)
    assert not np.isnan(model.sample(5, random_state=0)).any()


@pytest.mark.parametrize("options", [{}, {"prior_precision": 3.0}, {"means": "fixed"}], ids=str)
def test_missing_entries_beside_a_number_are_sppca(rng, options):
    """One real output: the same model as SPPCA, over incomplete rows and complete ones."""
    X, Y = several(rng)
    y = (Y[:, 3:] - np.nanmean(Y[:, 3])) / np.nanstd(Y[:, 3])
    for rows in (holes(rng, X), X):
        a, b = CPPCA(2, tol=1e-9, **options).fit(rows, y), SPPCA(2, tol=1e-9, **options).fit(rows, y)
        assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9)
        assert_allclose(a.objective_, b.objective_path_[-1], rtol=1e-9)
        assert_allclose(a.predict(rows), b.predict(rows), atol=1e-4)
        assert_allclose(a.impute(rows), b.impute(rows), atol=1e-4)


def test_several_outputs_with_missing_entries(rng):
    X, Y = several(rng)
    H = holes(rng, X)
    model = CPPCA(2, families=KINDS).fit(H, Y)
    assert model.converged_
    logs, mean, _ = oracle.rows(oracle.of(model), H[:10], Y[:10])
    assert_allclose(model.score_samples(H[:10], Y[:10]), logs, atol=0.1)
    assert_allclose(model.posterior(H[:10], Y[:10], uncertainty="plug-in")[0], mean, atol=0.05)
    assert_allclose(model.score_samples(H, Y).sum(), model.log_likelihood_, rtol=1e-9)
    assert [None if t is None else t.shape for t in model.predict_proba(H)] == [(90, 2), (90, 3), None, None]
    mean, std = model.predict(H, return_std=True)
    assert mean.shape == std.shape == (90, 4)
    assert np.isfinite(std[:, 2:]).all()
    with pytest.raises(ValueError, match="complete rows"):
        CPPCA(2, solver="subspace").fit(H, Y)


def several(rng, n=90, p=6, labeled=0.6):
    """A label, a class of three, a count and a number, entries missing."""
    X, Z = oracle.draw(rng, n, p, 0.3)
    Y = np.column_stack([
        rng.random(n) < 1 / (1 + np.exp(-2 * Z[:, 0])),
        (Z @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n, 3))).argmax(axis=1),
        rng.poisson(np.exp(0.6 * Z[:, 1])),
        30.0 + 5.0 * Z[:, 0] + rng.normal(size=n),
    ]).astype(float)  # fmt: skip
    Y[rng.random(Y.shape) > labeled] = np.nan
    return X, Y


KINDS = ["logit", "categorical", "poisson", "gaussian"]


@pytest.mark.parametrize("inference", ["variational", "laplace"])
def test_several_outputs_against_the_latent_plane(rng, inference):
    X, Y = several(rng)
    model = CPPCA(2, families=KINDS, inference=inference, uncertainty="plug-in").fit(X, Y)
    assert model.converged_
    X, Y = X[:10], Y[:10]
    logs, mean, cov = oracle.rows(oracle.of(model), X, Y)
    found = model.posterior(X, Y, uncertainty="plug-in")
    close = {"variational": (0.03, 0.05, 1e-3), "laplace": (0.1, 0.25, 0.1)}[inference]
    assert_allclose(found[0], mean, atol=close[0])
    assert_allclose(found[1], cov, atol=close[1])
    assert_allclose(model.score_samples(X, Y), logs, atol=close[2])
    proba = model.predict_proba(X)
    assert [None if t is None else t.shape for t in proba] == [(10, 2), (10, 3), None, None]
    plain = oracle.rows(oracle.of(model), X)[0]
    for c in range(3):
        with_class = np.full((10, 4), np.nan)
        with_class[:, 1] = c
        expected = np.exp(oracle.rows(oracle.of(model), X, with_class)[0] - plain)
        assert_allclose(proba[1][:, c], expected, atol=1e-6)
    assert_allclose(proba[1].sum(axis=1), 1.0, atol=1e-12)


def bound_alone(monkeypatch):
    """Leave the label parameters of classes where the bound has them, and report the bound."""
    for file in (model_file, predictor_file):
        monkeypatch.setattr(file, "applies", lambda *_: False)


def test_the_bound_never_falls_and_no_nearby_point_is_better(rng, monkeypatch):
    bound_alone(monkeypatch)
    X, Y = several(rng)
    options = {"families": KINDS, "inference": "variational"}
    for acceleration in (None, "alternating"):
        path = CPPCA(2, acceleration=acceleration, **options).fit(X, Y).objective_path_
        assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
        assert path[-1] > path[0] + 0.1
    model = CPPCA(2, tol=1e-8, **options).fit(X, Y)

    def value(**changes):
        for name, new in changes.items():
            setattr(other, name, new)
        total = other.score_samples(X, Y).sum()
        other.__dict__.update({name: getattr(model, name) for name in changes})
        return total

    other = CPPCA(2, tol=1e-8, **options).fit(X, Y)
    best, penalty = value(), model.log_likelihood_ - model.objective_
    assert_allclose(best, model.log_likelihood_, rtol=1e-9)
    for name in ("components_", "y_intercept_", "mean_", "noise_variance_"):  # y_loadings_ has the ridge on it
        old = np.asarray(getattr(model, name))
        direction = rng.normal(size=old.shape) * 1e-3 * (np.abs(old).max() + 0.1)
        up, down = value(**{name: old + direction}), value(**{name: old - direction})
        assert max(up, down) < best, name
        assert abs(up - down) < 1e-2 * (2 * best - up - down) + 1e-6, name
    assert penalty > 0


def test_classes_end_at_the_integrated_likelihood_above_the_bound(rng, monkeypatch):
    X, Y = several(rng)
    y = np.where(np.isnan(Y[:, 1]), -1, Y[:, 1]).astype(int)
    for outputs, kinds in ((Y, KINDS), (y, None)):
        model = CPPCA(2, families=kinds).fit(X, outputs)
        path, ridge = model.objective_path_, model.log_likelihood_ - model.objective_
        assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
        assert path[-1] == model.objective_
        assert_allclose(model.score_samples(X, outputs).sum(), model.log_likelihood_, rtol=1e-10)
        assert ridge > 0
        with monkeypatch.context() as only:
            bound_alone(only)
            bound = CPPCA(2, families=kinds).fit(X, outputs)
        assert_allclose(bound.objective_path_, path[:-1], rtol=1e-12)
        assert_allclose(bound.components_, model.components_, rtol=1e-12)  # x is explained as before
        moved = np.abs(model.y_loadings_ - bound.y_loadings_).max(axis=1) > 1e-5
        assert moved.tolist() == ([False] + [True] * 3 + [False] * 2 if kinds else [True] * 3)


def test_several_classes_have_the_density_of_the_latent_plane(rng):
    X, Y = several(rng)
    y = np.where(np.isnan(Y[:, 1]), -1, Y[:, 1]).astype(int)
    model = CPPCA(2, uncertainty="plug-in").fit(X, y)
    logs = oracle.rows(oracle.of(model), X[:12], np.where(y[:12, None] < 0, np.nan, y[:12, None]))[0]
    assert_allclose(model.score_samples(X[:12], y[:12]), logs, atol=2e-3)
    plain = model.score_samples(X[:12])
    found = np.column_stack([np.exp(model.score_samples(X[:12], np.full(12, c)) - plain) for c in range(3)])
    assert_allclose(found, model.predict_proba(X[:12]), atol=1e-3)  # two ways to the same integral


def test_real_outputs_alone_are_sppca(rng):
    X, Y = several(rng)
    Y = Y[:, 3:]
    for inference in ("variational", "laplace", "ep", "auto"):
        model = CPPCA(2, inference=inference, tol=1e-8).fit(X, Y)
        other = SPPCA(2).fit(X, Y)
        assert_allclose(model.log_likelihood_, other.log_likelihood_, rtol=1e-8)
        assert_allclose(
            np.abs(model.y_loadings_ @ model.components_), np.abs(other.y_loadings_ @ other.components_), rtol=1e-3
        )
        assert_allclose(model.y_noise_variance_, other.y_noise_variance_, rtol=1e-3)
        assert_allclose(model.predict(X), other.predict(X), rtol=1e-4)
        assert_allclose(model.score_samples(X, Y), other.score_samples(X, Y), atol=1e-3)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_no_approximation_falls(rng, inference):
    """On tables where the posteriors of EM are not those of the objective, loadings being long and ridges weak."""
    for scale in (1.0, 3.0):
        X, Z = oracle.draw(rng, 60, 5)
        A = scale * (Z @ rng.normal(size=(2, 4)))
        Y = np.column_stack([A[:, :2] + rng.normal(size=(60, 2)) > 0, A[:, 2], A[:, 3] > 0]).astype(float)
        if inference == "laplace":
            Y[:, 1] = rng.poisson(np.exp(np.minimum(A[:, 1], 3.0)))
        Y[rng.random(Y.shape) < 0.5] = np.nan
        families = ["logit", "poisson" if inference == "laplace" else "probit", "gaussian", "logit"]
        model = quietly(CPPCA(2, inference=inference, families=families, label_ridge=0.01), X, Y)
        path = model.objective_path_
        assert (np.diff(path) >= -1e-9 * (1.0 + np.abs(path[:-1]))).all()
        assert model.converged_ == (model.objective_residual_ <= model.tol)
        assert model.converged_ or scale > 1.0


def test_two_classes_are_one_label_however_they_are_given(rng):
    X, y = binary(rng)
    table = np.where(y < 0, np.nan, y)
    fits = [
        CPPCA(2).fit(X, y),
        CPPCA(2).fit(X, table),
        CPPCA(2, families="categorical").fit(X, y),
        CPPCA(2, families=["logit"]).fit(X, table[:, None]),
        CPPCA(2).fit(X, np.where(y < 0, None, np.where(y == 1, "yes", "no"))),
        CPPCA(2, inference="ep").fit(X, y),
    ]
    for model in fits[1:]:
        assert_allclose(model.y_loadings_, fits[0].y_loadings_, rtol=1e-4, atol=1e-5)
        assert_allclose(model.predict_proba(X), fits[0].predict_proba(X), atol=1e-5)
        assert_allclose(model.objective_, fits[0].objective_, rtol=1e-9)
    assert list(fits[4].classes_) == ["no", "yes"]
    for inference in ("variational", "laplace"):
        near = CPPCA(2, inference=inference).fit(X, y)
        assert_allclose(
            near.predict_proba(X), fits[0].predict_proba(X), atol=0.02 if inference == "variational" else 0.1
        )
        assert near.inference_ == inference


def test_one_label_in_a_table_of_missing_others_is_the_binary_model(rng):
    """An output that almost never is observed leaves the others as they are."""
    X, y = binary(rng, 120, labeled=0.7)
    Y = np.column_stack([np.where(y < 0, np.nan, y), np.full(120, np.nan)])
    Y[:2, 1] = [0.0, 1.0]
    alone = CPPCA(2, inference="variational").fit(X, y)
    both = CPPCA(2, inference="variational").fit(X, Y)
    assert_allclose(both.predict_proba(X)[0], alone.predict_proba(X), atol=0.02)


def test_several_probit_labels_take_ep(rng):
    X, Z = oracle.draw(rng, 150, 6)
    Y = (Z @ rng.normal(size=(2, 4)) * 2 + rng.normal(size=(150, 4)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    model = CPPCA(2, families="probit").fit(X, Y)
    assert model.inference_ == "ep"
    assert model.converged_
    logs, mean, cov = oracle.rows(oracle.of(model), X[:8], Y[:8])
    assert_allclose(model.score_samples(X[:8], Y[:8]), logs, atol=0.02)
    assert_allclose(model.posterior(X[:8], Y[:8], uncertainty="plug-in")[0], mean, atol=0.02)
    assert_allclose(model.posterior(X[:8], Y[:8], uncertainty="plug-in")[1], cov, atol=0.02)
    right = np.nanmean(np.where(np.isnan(Y), np.nan, model.predict(X) == Y))
    assert right > 0.75


def test_softmax_is_calibrated_and_recovers_classes():
    rng = np.random.default_rng(0)
    X, Z = oracle.draw(rng, 4000, 8, 0.3)
    y = (Z @ np.array([[3, 0, -3, 1.0], [0, 3, -1, -2]]) + rng.gumbel(size=(4000, 4))).argmax(axis=1)
    model = CPPCA(2).fit(X, np.where(np.arange(4000) < 400, y, -1))
    proba = model.predict_proba(X[400:])
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        some = (proba >= low) & (proba < low + 0.2)
        assert abs((y[400:, None] == np.arange(4))[some].mean() - proba[some].mean()) < 0.05


def test_label_weight_repeats_labeled_rows(rng):
    X, y = binary(rng)
    known = np.flatnonzero(y >= 0)
    repeated = np.concatenate([np.arange(len(y)), known, known])
    a, b = CPPCA(2, label_weight=3, tol=1e-8).fit(X, y), CPPCA(2, tol=1e-8).fit(X[repeated], y[repeated])
    assert_allclose(a.objective_, b.objective_, rtol=1e-10)
    assert_allclose(a.components_, b.components_, atol=1e-5)
    assert_allclose(a.y_loadings_, b.y_loadings_, atol=1e-4)
    c = CPPCA(2, tol=1e-8).fit(X, y, sample_weight=np.where(y >= 0, 3.0, 1.0))
    assert_allclose(a.y_loadings_, c.y_loadings_, atol=1e-6)
    d = CPPCA(2).fit(X, y, sample_weight=(np.arange(len(y)) < 60).astype(float))
    assert_allclose(d.components_, CPPCA(2).fit(X[:60], y[:60]).components_, atol=1e-8)


def test_private_dimensions_explain_x_alone(rng):
    X, y = binary(rng, 200, 8)
    X += 5.0 * rng.normal(size=(200, 1)) @ rng.normal(size=(1, 8))  # strong structure that the label does not share
    model = CPPCA(1, n_private=2, tol=1e-8).fit(X, y)
    assert model.transform(X).shape == (200, 3)
    assert not model.y_loadings_[:, 1:].any()
    assert model.y_loadings_[0, 0] != 0
    other = CPPCA(3, tol=1e-8).fit(X, y)  # v has one direction in any case: the rest is a rotation
    assert_allclose(model.objective_, other.objective_, rtol=1e-8)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
def test_wide_tall_sparse_and_float32_agree(rng, solver):
    for n, p in ((60, 150), (150, 120)):
        X, Z = oracle.draw(rng, n, p)
        X[rng.random(X.shape) < 0.5] = 0.0
        y = (Z[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
        y[n // 2 :] = -1
        base = CPPCA(3, solver=solver, tol=1e-7).fit(X, y)
        assert base.converged_
        other = CPPCA(3, solver="subspace" if solver == "moments" else "moments", tol=1e-7).fit(sp.csr_array(X), y)
        assert_allclose(base.objective_, other.objective_, rtol=1e-8)
        assert_allclose(base.predict_proba(X), other.predict_proba(sp.csr_array(X)), atol=1e-4)
        single = CPPCA(3, solver=solver).fit(X.astype(np.float32), y)
        assert single.transform(X.astype(np.float32)).dtype == np.float32
        assert_allclose(single.predict_proba(X), base.predict_proba(X), atol=1e-3)


def test_rows_repeat_and_their_order_does_not_matter(rng):
    X, y = binary(rng)
    order = rng.permutation(len(y))
    a, b = CPPCA(2, tol=1e-8).fit(X, y), CPPCA(2, tol=1e-8).fit(X[order], y[order])
    assert_allclose(a.components_, b.components_, atol=1e-5)
    assert_allclose(a.y_loadings_, b.y_loadings_, atol=1e-4)


def test_sample_looks_like_the_rows(rng):
    X, Y = several(rng, 400)
    model = CPPCA(2, families=KINDS).fit(X, Y)
    drawn, outputs = model.sample(4000, return_y=True, random_state=1)
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.3)
    assert_allclose(outputs.mean(axis=0), np.nanmean(Y, axis=0), atol=0.5)
    assert model.sample(3).shape == (3, 6)
    assert np.isfinite(model.bic(X, Y))
    labels = CPPCA(2).fit(X, np.where(np.isnan(Y[:, 1]), -1, Y[:, 1]).astype(int)).sample(50, return_y=True)[1]
    assert set(labels) <= {0, 1, 2}


def test_families_are_one_for_all_columns_or_one_for_each(rng):
    X, y = binary(rng)
    Y = np.column_stack([np.where(y < 0, np.nan, y), X[:, 0] > 0])
    one, each = CPPCA(2, families="probit").fit(X, Y), CPPCA(2, families=("probit", "logit")).fit(X, Y)
    assert (one.families_, each.families_) == (["probit"] * 2, ["probit", "logit"])
    assert_allclose(CPPCA(2, families=["probit"] * 2).fit(X, Y).y_loadings_, one.y_loadings_)
    assert np.abs(each.y_loadings_ - one.y_loadings_).max() > 0.01
    assert CPPCA(2, families=["probit"]).fit(X).families_ == []


def test_frames_choose_the_families(rng):
    X, Y = several(rng)
    frame = pd.DataFrame({"sold": Y[:, 0], "color": pd.Series(Y[:, 1]).map({0: "red", 1: "green", 2: "blue"}),
                          "price": Y[:, 3]})  # fmt: skip
    model = CPPCA(2).fit(X, frame)
    assert model.families_ == ["logit", "categorical", "gaussian"]
    assert model.classes_[1].tolist() == ["blue", "green", "red"]
    assert model.classes_[2] is None
    assert model.target_kind_ == "mixed"
    predicted = model.predict(X)
    assert predicted.shape == (90, 3)
    assert set(predicted[:, 1]) <= {"red", "green", "blue"}
    assert np.isfinite(model.score_samples(X, frame)).all()


def test_order_of_more_rows_than_are_judged_decides_nothing(rng):
    X, y = binary(rng, n=MOST_JUDGED + 500, labeled=0.02)
    order, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one = CPPCA(2).fit(X, y)
    for other, mine in ((CPPCA(2).fit(X[order], y[order]), X), (CPPCA(2).fit(X[:, columns], y), X[:, columns])):
        assert_allclose(other.calibration_["confidence"], one.calibration_["confidence"], rtol=1e-6)
        assert_allclose(other.predict_proba(mine), one.predict_proba(X), atol=1e-5)
