"""
Is it as sure as it is right?
=============================

Predictions of the digits whose labels were hidden, by how sure the model was. Points on the line are as often right
as the model said.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gnomon import GuidedProjection

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(1)
labeled = np.concatenate([rng.choice(np.flatnonzero(truth == c), 5, replace=False) for c in range(10)])
y = np.full(len(X), -1)
y[labeled] = truth[labeled]
model = GuidedProjection(n_components=2).fit(X, y)
hidden = y == -1
top = model.predict_proba(X)[hidden].max(axis=1)
right = model.predict(X)[hidden] == truth[hidden]

bins = np.clip((top * 10).astype(int), 0, 9)
filled = [b for b in range(10) if (bins == b).sum() >= 10]
figure, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="black", lw=0.8)
ax.plot([top[bins == b].mean() for b in filled], [right[bins == b].mean() for b in filled], "o-")
ax.set(xlabel="probability of the predicted digit", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
