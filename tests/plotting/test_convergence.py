"""The path of the objective as the model recorded it."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from gnomon import SPPCA
from gnomon.plotting import ConvergenceDisplay


def test_the_line_is_the_recorded_path():
    X, y = load_iris(return_X_y=True)
    model = SPPCA(2, solver="em").fit(X, np.where(np.arange(150) % 3, y, -1))
    display = ConvergenceDisplay.from_estimator(model)
    (line,) = display.ax_.lines
    assert_allclose(line.get_ydata(), model.objective_path_)
    assert_array_equal(line.get_xdata(), np.arange(1, len(model.objective_path_) + 1))
    assert '"em"' in display.ax_.get_title()


def test_a_flat_path_is_not_blown_up():
    path = -500 + np.array([0.0, 1e-9, 2e-9])
    ax = plt.subplots()[1]
    display = ConvergenceDisplay(path=path).plot(ax=ax)
    assert display.ax_ is ax
    assert np.ptp(ax.get_ylim()) == 2


def test_a_fit_that_stopped_early_says_so():
    model = SimpleNamespace(objective_path_=[-9.0, -3.0], converged_=False, solver_="em", n_passes_=2.0)
    assert "not converged" in ConvergenceDisplay.from_estimator(model).ax_.get_title()
