"""
Two planes, two local models
============================

Rows lie near two lines. A mixture of PPCA finds one direction for each; a single PPCA has one direction for both.
"""

import matplotlib.pyplot as plt
import numpy as np

from gnomon import PPCA, MixturePPCA

rng = np.random.default_rng(0)
along = rng.normal(size=(300, 1))
X = np.where(np.arange(300)[:, None] < 150, along * [2.0, 1.0], along * [1.0, -2.0] + [5.0, 0.0])
X = X + rng.normal(0, 0.2, X.shape)
one, two = PPCA(1).fit(X), MixturePPCA(n_components=1, n_mixtures=2, random_state=0).fit(X)

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-6, 10, 120), np.linspace(-7, 7, 120)), axis=-1)
for ax, model, title in zip(panels, (one, two), ("PPCA", "MixturePPCA")):
    density = model.score_samples(grid.reshape(-1, 2)).reshape(120, 120)
    ax.contourf(grid[..., 0], grid[..., 1], np.exp(density), levels=12, cmap="Blues")
    ax.plot(*X.T, ".", ms=3, color="tab:orange")
    ax.set_title(f"{title}: {model.score(X):.2f} nats a row")
