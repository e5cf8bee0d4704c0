"""Variances of components, as drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import DPPCA, IFA, KDA, PPCA, SPPCA, GuidedProjection
from gnomon.plotting import ScreeDisplay

DIGITS, WINE = load_digits(), load_wine()


def test_of_ppca_they_are_the_eigenvalues_of_the_covariance():
    display = ScreeDisplay.from_estimator(PPCA(4).fit(DIGITS.data))
    wanted = np.linalg.eigvalsh(np.cov(DIGITS.data.T, bias=True))[::-1]
    assert_allclose(display.variances[:4], wanted[:4], rtol=1e-6)
    assert len(display.variances) > 6
    assert_allclose(display.variances[4:7], wanted[4:7], rtol=0.02)
    assert (display.variances[4:] > display.noise_variance).all()
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert_allclose(heights, display.variances)


def test_of_a_guided_model_behind_a_scaler():
    model = make_pipeline(StandardScaler(), SPPCA(3)).fit(WINE.data, WINE.target)
    display = ScreeDisplay.from_estimator(model)
    assert display.n_components == 3
    assert (np.diff(display.variances[:3]) < 0).all()
    assert display.noise_variance == model[-1].noise_variance_


def test_of_classes_they_are_how_far_these_lie_apart():
    """In units of the variance within a class, along all directions that may separate some."""
    model = DPPCA(3, unlabeled_weight=1.0, shrinkage=0.0).fit(DIGITS.data, DIGITS.target)
    display = ScreeDisplay.from_estimator(model)
    assert (display.n_components, len(display.variances), display.noise_variance) == (3, 9, 1.0)
    Z = model.transform(DIGITS.data)
    means = np.array([Z[DIGITS.target == c].mean(axis=0) for c in range(10)])
    within = np.mean((Z - means[DIGITS.target]) ** 2, axis=0)
    between = np.mean((means[DIGITS.target] - Z.mean(axis=0)) ** 2, axis=0)
    assert_allclose(display.variances[:3], 1.0 + between / within, rtol=0.02)
    assert (np.diff(display.variances) < 0).all()
    assert display.ax_.get_ylabel() == "variance, within a class 1"


def test_of_numbers_they_are_those_of_the_predictions():
    y = np.column_stack([WINE.data[:, 0], WINE.data[:, 12] / 300.0, WINE.data[:, 0]])
    model = GuidedProjection(2).fit(WINE.data[:, 1:12], np.where(np.arange(178)[:, None] % 3, np.nan, y))
    display = ScreeDisplay.from_estimator(model)
    assert (display.n_components, display.noise_variance, display.of) == (2, None, "predictions")
    told = model.predict(WINE.data[:, 1:12]) / np.nanstd(np.where(np.arange(178)[:, None] % 3, np.nan, y), axis=0)
    assert_allclose(display.variances.sum(), told.var(axis=0).sum(), rtol=0.1)
    assert display.variances[2] < 1e-3 * display.variances[0]  # two targets are the same


def test_a_variance_of_rounding_alone_takes_no_room():
    display = ScreeDisplay(variances=np.array([2.0, 0.01, 1e-17]), n_components=2).plot()
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylim()[0] == 0.005
    whole = ScreeDisplay(variances=np.array([2.0, 0.01, 1e-7]), n_components=2).plot()
    assert whole.ax_.get_ylim()[0] < 1e-7
    flat = ScreeDisplay(variances=np.array([2.0, 1.0, 0.0]), n_components=2).plot()
    assert flat.ax_.get_yscale() == "linear"


def test_noise_of_independent_factors_is_drawn_beside_them():
    model = IFA(2, noise="isotropic", pca_components=2, max_iter=5, tol=1.0).fit(WINE.data[:, :5])
    display = ScreeDisplay.from_estimator(model)
    assert_allclose(display.variances.sum(), (model.mixing_**2).sum() + 2 * model.noise_variance_)
    assert display.noise_variance == model.noise_variance_


def test_a_model_without_variances_says_so():
    with pytest.raises(ValueError, match="KDA does not say how much variance"):
        ScreeDisplay.from_estimator(KDA(2).fit(WINE.data, WINE.target))
