"""
How many labels suffice?
========================

The error on rows whose labels were hidden, by the number of labels per class: five draws of labels each, on the wine
data. Ask the same of your own table before you label more of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from gnomon import GuidedProjection

X, truth = load_wine(return_X_y=True)
counts, n_draws = (1, 2, 5, 10), 5
errors = np.zeros((len(counts), n_draws))
for i, count in enumerate(counts):
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        labeled = np.concatenate([rng.choice(np.flatnonzero(truth == c), count, replace=False) for c in range(3)])
        y = np.full(len(X), -1)
        y[labeled] = truth[labeled]
        answers = GuidedProjection(n_components=2).fit(X, y).predict(X)
        errors[i, draw] = (answers != truth)[y == -1].mean()

figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.plot(counts, errors, "o", color="0.6", ms=4)
ax.plot(counts, errors.mean(axis=1), "o-", color="tab:blue", label="mean of five draws")
ax.set(xlabel="labels per class", ylabel="share of wrong rows", xscale="log", xticks=counts, ylim=0)
ax.set_xticklabels(counts)
ax.minorticks_off()
ax.legend(frameon=False)
