"""
Twenty reference values for 200 spectra
=======================================

Planted spectra: five overlapping peaks, a sloping baseline, noise. The amount of one substance is measured for 20 of
them. Predictions of the others come with 95 % intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from gnomon import GuidedProjection
from gnomon.plotting import PredictionDisplay

rng = np.random.default_rng(0)
waves = np.linspace(1100, 2500, 300)
centers, widths = rng.uniform(1200, 2400, 5), rng.uniform(60, 150, 5)
peaks = np.exp(-(((waves - centers[:, None]) / widths[:, None]) ** 2))
amounts = rng.uniform(0, 1, (200, 5))
X = amounts @ peaks + rng.normal(0, 0.3, (200, 1)) * (waves - 1800) / 700 + rng.normal(0, 0.02, (200, 300))
truth = 10 + 5 * amounts[:, 2]
y = np.full(200, np.nan)
y[:20] = truth[:20]

model = GuidedProjection(n_components=2).fit(X, y)

figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.plot(waves, X[:20].T, lw=0.7, color="tab:blue")
ax.set(xlabel="wavelength", ylabel="absorbance", title="the 20 spectra with a reference value")

# %%
# The other 180: how far predictions are off, and how many of their intervals hold the value.
display = PredictionDisplay.from_estimator(model, X[20:], truth[20:], target_name="amount")
print(display.figures)
