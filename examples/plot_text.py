"""
Texts as weighted counts
========================

Planted texts of three topics, a sparse table of weighted word counts, five labeled texts of each topic.
"""

import matplotlib.pyplot as plt
import numpy as np

from gnomon import GuidedProjection
from gnomon.datasets import make_text
from gnomon.plotting import ProjectionDisplay

texts = make_text(n_samples=400, n_features=1000, n_topics=3, random_state=0)
X, truth = texts.data, texts.target
labeled = np.concatenate([np.flatnonzero(truth == c)[:5] for c in range(3)])
y = np.full(X.shape[0], -1)
y[labeled] = truth[labeled]
model = GuidedProjection(n_components=2).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ProjectionDisplay.from_estimator(model, X, y, ax=ax)
hidden = y == -1
accuracy = (model.predict(X)[hidden] == truth[hidden]).mean()
ax.set_title(f"{accuracy:.0%} of the unlabeled texts are predicted correctly")
