"""IFA at its edges: one label, excluded components, tiny units, limits that run out, other arithmetic."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from gnomon import IFA, datasets
from gnomon.models.ifa import profile, starts, whitening


def table(rng, n=150, p=4):
    ids = rng.integers(0, 2, (n, 2))
    Z = rng.normal(size=(n, p))
    Z[:, :2] += 3.5 * ids
    return Z @ rng.normal(size=(p, p)) + rng.normal(size=p), ids


def test_labels_too_large_for_a_signed_number_are_classes(rng):
    X, truth = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    names = np.array([3, 2**63 + 1, 2**64 - 1], dtype=np.uint64)
    model = IFA(n_init=1).fit(X + truth[:, None], names[truth])
    assert_array_equal(model.classes_, names)
    assert set(model.predict(X)) <= set(names)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_a_latent_with_one_label_predicts_it(seed, label):
    X, _ = table(np.random.default_rng(seed))
    model = IFA(2).fit(X, np.full(len(X), label))
    assert (model.predict(X) == label).all()
    assert_allclose(model.mix_weights_[0], np.eye(2)[label])


@pytest.mark.parametrize("noise", ["none", "isotropic"])
def test_a_component_that_every_row_excludes_has_no_weight(rng, noise):
    X, ids = table(rng)
    pl = np.ones((150, 3))
    pl[:, 1] = 0.0
    pl[:30] = np.eye(3)[2 * ids[:30, 0]]
    model = IFA(noise=noise).fit(X, plausibilities=[pl])
    assert model.mix_weights_[0][1] == 0.0
    assert_allclose(model.predict_proba(X)[0][:, 1], 0.0)
    y = np.where(np.arange(150) < 30, 2 * ids[:, 0], -1)
    assert_allclose(model.score_samples(X, y).sum(), model.log_likelihood_, rtol=1e-9)
    assert np.isneginf(model.score_samples(X[:1], [1])).all()
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize("noise", ["none", "isotropic"])
def test_units_change_nothing_else(rng, scale, noise):
    X, ids = table(rng)
    y = np.where(rng.random(150) < 0.3, ids[:, 0], -1)
    plain = IFA(noise=noise, tol=1e-8).fit(X, y)
    if noise == "isotropic" and scale < 1e-150:  # squared units of X are below the smallest float
        with pytest.raises(ValueError, match="variance"):
            IFA(noise=noise).fit(X * scale, y)
        return
    scaled = IFA(noise=noise, tol=1e-8).fit(X * scale, y)
    assert_allclose(scaled.log_likelihood_, plain.log_likelihood_ - 600 * np.log(scale), rtol=1e-9)
    assert_allclose(scaled.transform(X * scale), plain.transform(X), atol=1e-6)
    assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-6)
    assert_allclose(scaled.score(X * scale), plain.score(X) - 4 * np.log(scale), rtol=1e-9)
    assert_allclose(scaled.mixing_ / scale, plain.mixing_, atol=1e-6)
    assert_allclose(scaled.unmixing_ * scale, plain.unmixing_, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"max_iter": 1}, {"solver": "gem", "max_iter": 1}, {"noise": "isotropic", "max_iter": 1}, {"tol": 1e-300}],
    ids=str,
)
def test_convergence_is_said_as_it_is(rng, settings):
    X, ids = table(rng)
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        model = IFA(**settings).fit(X, np.where(rng.random(150) < 0.2, ids[:, 0], -1))
    assert not model.converged_
    assert model.objective_residual_ > model.tol


def test_principal_components_that_are_not_found_are_said(rng, monkeypatch):
    monkeypatch.setattr(whitening, "SIDE", 0)
    monkeypatch.setattr(whitening, "MAX_BLOCKS", 1)
    X = rng.normal(size=(90, 40)) * np.linspace(1.0, 1.5, 40)
    with pytest.warns(ConvergenceWarning):
        model = IFA(2, pca_components=3).fit(X)
    assert not model.converged_
    assert model.objective_residual_ > model.tol


def test_few_sweeps_change_no_truth(rng, monkeypatch):
    monkeypatch.setattr(profile, "N_SWEEPS", 1)
    monkeypatch.setattr(starts, "N_SCREENED", 1)
    model = IFA(2).fit(table(rng)[0])
    assert model.converged_ == (model.objective_residual_ <= model.tol)


def scores(X):
    centered = X - X.mean(axis=0)
    return centered @ np.linalg.svd(centered, full_matrices=False)[2].T


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 1e-8 is what the arithmetic reaches
@pytest.mark.parametrize(
    "settings, labeled",
    [({}, True), ({}, False), ({"tied": True}, True), ({"tied": True}, False), ({"pca_components": 6}, True)],
    ids=str,
)
def test_uncorrelated_columns_are_not_decided_by_rounding(settings, labeled):
    X, y = load_wine(return_X_y=True)
    X, rng = scores(X / X.std(axis=0)), np.random.default_rng(0)
    known = np.where(rng.random(len(y)) < 0.1 * labeled, y, -1)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    names = np.array([1, 2, 0, -1])  # of the labels 0, 1, 2, -1

    def fit(X, y):
        return IFA(3, tol=1e-8, **settings).fit(X, y)

    plain = fit(X, known)
    latents, posterior = plain.transform(X), plain.predict_proba(X)
    for A, labels, back in [
        (X * (1 + 1e-13), known, slice(None)),
        (X[rows], known[rows], rows),
        (X[:, columns], known, slice(None)),
    ]:
        other = fit(A, labels)
        assert_allclose(other.log_likelihood_, plain.log_likelihood_, rtol=1e-9)
        assert_allclose(other.transform(A), latents[back], atol=1e-6)
        assert_allclose(other.predict_proba(A), posterior[back], atol=1e-6)
    if labeled:
        renamed = fit(X, names[known])
        assert_allclose(renamed.predict_proba(X)[:, names[:3]], posterior, atol=1e-6)


@pytest.mark.slow
@pytest.mark.realdata
def test_crabs_without_labels_reach_the_same_maximum_from_every_seed():
    X = datasets.fetch_crabs().data
    found = [IFA([2, 2], random_state=seed).fit(X).log_likelihood_ for seed in range(10)]
    assert max(found) - min(found) < 1.0


ISOTROPIC_3 = {"noise": "isotropic", "pca_components": 3}


@pytest.mark.parametrize("labeled", [True, False], ids=["labeled", "unlabeled"])
@pytest.mark.parametrize(
    "settings", [{}, {"tied": True}, {"solver": "gem", "n_init": 1}, {"noise": "isotropic"}, ISOTROPIC_3], ids=str
)
def test_legal_values_raise_no_warnings_of_numpy(rng, settings, labeled):
    X, ids = table(rng)
    smallest = 1e-100 if "noise" in settings else 1e-300
    for scale in (smallest, 1e-100, 1e-50, 1e140):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = IFA(max_iter=300, tol=1e-3, **settings).fit(X * scale, ids[:, 0] if labeled else None)
            far = X * scale
            far[0] = 1e150 * np.sign(far[0])
            near, there = model.transform(X * scale), model.transform(far)
            assert not np.isnan(there).any()
            assert_allclose(there[1:], near[1:], rtol=1e-9, atol=1e-9)
            assert np.abs(there[0]).max() > np.abs(near).max()
            assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)
            assert model.score_samples(far).argmin() == 0


@pytest.mark.parametrize("noise", ["none", "isotropic"])
def test_a_row_far_from_all_others_is_no_raw_error(rng, noise):
    X, _ = table(rng)
    X[0] *= 1e12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = IFA(noise=noise, max_iter=50).fit(X)
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize(
    "kernel", ["Prescott", *(pytest.param(name, marks=pytest.mark.slow) for name in ("Sandybridge", "Haswell"))]
)
def test_the_decisive_tests_hold_in_other_arithmetic(kernel):
    if os.environ.get("OPENBLAS_CORETYPE") == kernel:
        pytest.skip("this is the process that the test starts")
    names = (
        "test_ifa_rules.py::test_a_latent_with_one_label_predicts_it",
        "test_ifa_rules.py::test_uncorrelated_columns_are_not_decided_by_rounding[{}-False]",
        "test_ifa.py::test_all_rows_of_one_class_or_all_labeled_are_fitted",
    )
    tests = [str(Path(__file__).with_name(name)) for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "GNOMON_REQUIRE_REALDATA": ""}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-3000:]
