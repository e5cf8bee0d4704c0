"""
Has the fit settled?
====================

The likelihood of SPPCA by steps of its solver, on digits of which every fourth is labeled.
"""

import numpy as np
from sklearn.datasets import load_digits

from gnomon import SPPCA
from gnomon.plotting import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
model = SPPCA(5, solver="em").fit(X, np.where(np.arange(len(X)) % 4 == 0, y, -1))
ConvergenceDisplay.from_estimator(model)
