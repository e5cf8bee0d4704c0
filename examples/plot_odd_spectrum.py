"""
What is odd about a spectrum
============================

120 planted spectra without reference values. Variances show how many components the plane needs; one spectrum with a
spike of five wavelengths is far from the plane, and the contributions say where the spike is.
"""

import numpy as np

from gnomon import PPCA
from gnomon.plotting import ContributionDisplay, OutlierDisplay, ScreeDisplay

rng = np.random.default_rng(0)
waves = np.linspace(1100, 2500, 150)
centers, widths = rng.uniform(1200, 2400, (5, 1)), rng.uniform(60, 150, (5, 1))
X = rng.uniform(0, 1, (120, 5)) @ np.exp(-(((waves - centers) / widths) ** 2))
X += rng.normal(0, 0.3, (120, 1)) * (waves - 1800) / 700 + rng.normal(0, 0.02, (120, 150))
odd = X[20:40].copy()
odd[1, 70:75] += 0.5

ScreeDisplay.from_estimator(PPCA(8).fit(X))

# %%
# Six components stand out: five substances and the baseline.
plane = PPCA(6).fit(X)
display = OutlierDisplay.from_estimator(plane, odd)
print("beyond the limits:", display.beyond.tolist())

# %%
names = [f"{wave:.0f} nm" for wave in waves]
rows = np.vstack([X, odd[1:2]])
ContributionDisplay.from_estimator(plane, rows, 120, of="spe", n_top=10, feature_names=names, row_name="1")
