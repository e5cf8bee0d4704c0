"""
Rows beyond their limits
========================

Hotelling's T2 says how far a row is from the middle within the plane of the model, SPE how far it is from the plane.
Three rows of the wine data are spoiled: the decimal point of one entry of each is misplaced.
The other rows beyond a limit are wines that were odd before.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA
from gnomon.plotting import OutlierDisplay

X = load_wine().data
scaler = StandardScaler().fit(X)
model = PPCA(3).fit(scaler.transform(X))
spoiled = X.copy()
for row, column in ((10, 3), (80, 9), (150, 0)):
    spoiled[row, column] *= 10

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
display = OutlierDisplay.from_estimator(model, scaler.transform(spoiled), ax=ax)
ax.set_title("Rows 10, 80 and 150 were spoiled")
print("beyond the limits:", display.beyond.tolist())
