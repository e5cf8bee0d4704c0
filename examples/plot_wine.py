"""
Fifteen labels guide a projection
=================================

178 wines, 13 chemical measurements, five labeled wines of each of three cultivars. PCA does not know of the labels,
GuidedProjection uses them and the unlabeled rows together. The figure is the one in the README, which
``python examples/plot_wine.py docs/images/wine.png`` writes.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA, GuidedProjection
from gnomon.datasets import make_partial
from gnomon.plotting import ProjectionDisplay

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
names = wine.target_names[wine.target].astype(object)
y = make_partial(names, n_per_class=5, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
ProjectionDisplay.from_estimator(PPCA(2).fit(X), X, y, ax=axes[0])
ProjectionDisplay.from_estimator(GuidedProjection(2).fit(X, y), X, y, ax=axes[1])
axes[0].set_title("PPCA: labels ignored")
axes[1].set_title("GuidedProjection: 15 labeled rows, 163 unlabeled")
if sys.argv[1:]:
    figure.savefig(sys.argv[1], dpi=110)
