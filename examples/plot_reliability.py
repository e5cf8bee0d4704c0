"""
Is it as sure as it is right?
=============================

Predictions of the digits whose labels were hidden, by how sure the model was. Points on the line are as often right
as the model said. Beside it, which digits are taken for which.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gnomon import GuidedProjection
from gnomon.datasets import make_partial
from gnomon.plotting import PredictionDisplay

X, truth = load_digits(return_X_y=True)
y = make_partial(truth, n_per_class=5, random_state=1)
model = GuidedProjection(n_components=2).fit(X, y)
hidden = y == -1

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
PredictionDisplay.from_estimator(model, X[hidden], truth[hidden], kind="reliability", ax=left)
display = PredictionDisplay.from_estimator(model, X[hidden], truth[hidden], target_name="digit", ax=right)
print(display.figures)
