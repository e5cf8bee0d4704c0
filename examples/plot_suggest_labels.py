"""
Which rows to label next
========================

Two flowers of each species are labeled. The rows whose labels would teach most lie where the doubt is large and many
rows are near.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from gnomon import GuidedProjection
from gnomon.plotting import ProjectionDisplay
from gnomon.selection import suggest_labels

X, truth = load_iris(return_X_y=True)
y = np.where(np.arange(150) % 50 < 2, truth, -1)
model = GuidedProjection(n_components=2).fit(X, y)
rows = suggest_labels(model, n=5)

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ProjectionDisplay.from_estimator(model, X, y, ax=ax)
Z = model.transform(X)
ax.plot(*Z[rows, :2].T, "s", ms=13, mfc="none", mec="black", mew=1.5)
ax.set_title("squares: label these next")
