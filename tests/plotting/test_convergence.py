"""The path of the objective as the model recorded it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import KDA, SEPCA, SPPCA
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


def test_one_step_is_said_as_a_number():
    display = ConvergenceDisplay(path=np.array([-1234.56])).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["-1,234.6 after the one step that there was"]
    assert display.ax_.get_xticks().tolist() == [1]
    assert not ConvergenceDisplay(path=np.array([-2.0, -1.0])).plot().ax_.texts


def test_a_fit_that_stopped_early_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        model = SPPCA(2, solver="em", init="random", tol=1e-12, max_iter=2).fit(X, np.where(np.arange(150) % 3, y, -1))
    title = ConvergenceDisplay.from_estimator(model).ax_.get_title()
    assert "not converged" in title
    assert f"{model.n_passes_:.3g} passes" in title


def test_what_is_climbed_is_named():
    X, y = load_iris(return_X_y=True)
    display = ConvergenceDisplay.from_estimator(make_pipeline(StandardScaler(), SEPCA(2)).fit(X, y))
    assert display.ax_.get_ylabel() == "best lower bound in nats"


def test_a_fit_without_steps_has_no_path():
    with pytest.raises(ValueError, match="KDA has no path to draw"):
        ConvergenceDisplay.from_estimator(KDA(2).fit(*load_iris(return_X_y=True)))
