"""
Is this row like those of the fit?
==================================

The model learns from iris flowers. Typicality of new flowers is spread evenly between 0 and 1; flowers measured in
millimeters by mistake have almost none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from gnomon import GuidedProjection

X, y = load_iris(return_X_y=True)
fit = np.arange(150) % 3 > 0
model = GuidedProjection(n_components=2).fit(X[fit], y[fit])
new = X[~fit]

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
bins = np.linspace(0, 1, 11)
ax.hist(model.typicality(new), bins, alpha=0.8, label="new flowers")
ax.hist(model.typicality(10 * new), bins, alpha=0.6, label="the same in millimeters")
ax.set(xlabel="typicality", ylabel="rows")
ax.legend(frameon=False)
