"""
Fifty digits of 1,797 are labeled
=================================

Five labeled images of each digit, 64 pixels each. The first two of the nine dimensions of the projection are drawn,
by the digit that is predicted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gnomon import GuidedProjection
from gnomon.plotting import ProjectionDisplay

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
labeled = np.concatenate([rng.choice(np.flatnonzero(truth == c), 5, replace=False) for c in range(10)])
y = np.full(len(X), -1)
y[labeled] = truth[labeled]
model = GuidedProjection(n_components=9).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ProjectionDisplay.from_estimator(model, X, y, ax=ax)
hidden = y == -1
accuracy = (model.predict(X)[hidden] == truth[hidden]).mean()
ax.set_title(f"{accuracy:.0%} of the unlabeled digits are predicted correctly")
