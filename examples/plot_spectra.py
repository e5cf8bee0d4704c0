"""
Twenty reference values for 200 spectra
=======================================

Planted spectra: five overlapping peaks, a sloping baseline, noise. The amount of one substance is measured for 20 of
them. Predictions of the others come with 95 % intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from gnomon import GuidedProjection

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
mean, deviation = model.predict(X[20:], return_std=True)
within = np.abs(mean - truth[20:]) < 1.96 * deviation

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(waves, X[:20].T, lw=0.7, color="tab:blue")
left.set(xlabel="wavelength", ylabel="absorbance", title="the 20 spectra with a reference value")
right.errorbar(truth[20:], mean, 1.96 * deviation, fmt="o", ms=3, lw=0.6, color="tab:blue")
right.axline((12, 12), slope=1, color="black", lw=0.8)
right.set(xlabel="measured", ylabel="predicted, with 95 % interval", title=f"{within.mean():.0%} of 180 intervals hold")
