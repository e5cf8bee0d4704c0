"""
Is it as sure as it is right?
=============================

Predictions of the digits whose labels were hidden, by how sure the model was. Points on the line are as often right
as the model said. Below it, which digits are taken for which.
"""

from sklearn.datasets import load_digits

from gnomon import GuidedProjection
from gnomon.datasets import make_partial
from gnomon.plotting import PredictionDisplay

X, truth = load_digits(return_X_y=True)
y = make_partial(truth, n_per_class=5, random_state=1)
model = GuidedProjection(n_components=2).fit(X, y)
hidden = y == -1

PredictionDisplay.from_estimator(model, X[hidden], truth[hidden], kind="reliability")

# %%
display = PredictionDisplay.from_estimator(model, X[hidden], truth[hidden], target_name="digit")
print(display.figures)
