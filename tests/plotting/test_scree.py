"""Variances of components, as drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import KDA, PPCA, SPPCA
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


def test_a_model_without_variances_says_so():
    with pytest.raises(ValueError, match="KDA does not say how much variance"):
        ScreeDisplay.from_estimator(KDA(2).fit(WINE.data, WINE.target))
