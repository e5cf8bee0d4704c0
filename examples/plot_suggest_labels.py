"""
Which rows to label next
========================

Two wines of each cultivar are labeled. The rows whose labels would teach most lie where the doubt is large and many
rows are near.
"""

import matplotlib.pyplot as plt

from gnomon import GuidedProjection
from gnomon.datasets import load_wine, make_partial
from gnomon.plotting import ProjectionDisplay
from gnomon.selection import suggest_labels

wine = load_wine()
y = make_partial(wine.target, n_per_class=2, random_state=0)
model = GuidedProjection(n_components=2).fit(wine.data, y)
rows = suggest_labels(model, n=5)

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ProjectionDisplay.from_estimator(model, wine.data, y, ax=ax)
Z = model.transform(wine.data)
ax.plot(*Z[rows].T, "s", ms=13, mfc="none", mec="black", mew=1.5)
ax.set_title("squares: label these next")
