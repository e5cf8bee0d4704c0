"""
Filling missing entries
=======================

A fifth of the entries of the wine data is taken away. The model fills them with what it expects given the others; the
mean of the column knows nothing of the row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA

X = StandardScaler().fit_transform(load_wine().data)
gone = np.random.default_rng(0).random(X.shape) < 0.2
holed = np.where(gone, np.nan, X)
filled = PPCA(3).fit(holed).impute(holed)
by_mean = np.where(gone, np.nanmean(holed, axis=0), X)

figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
ax.plot(X[gone], by_mean[gone], ".", ms=4, color="0.6", label="mean of the column")
ax.plot(X[gone], filled[gone], ".", ms=4, color="tab:blue", label="PPCA")
ax.axline((0, 0), slope=1, color="black", lw=0.8)
ax.set(xlabel="true, in deviations of the column", ylabel="filled in")
ax.legend(frameon=False)
for name, guess in (("mean of the column", by_mean), ("PPCA", filled)):
    print(f"{name}: root mean squared error {np.sqrt(np.mean((guess - X)[gone] ** 2)):.2f}")
