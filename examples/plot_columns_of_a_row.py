"""
Which columns put a row where it is
===================================

A biplot shows which columns go with the two components; the bars say what the columns of one wine, the one farthest
from the middle of its model, add to its distance.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import SPPCA
from gnomon.datasets import make_partial
from gnomon.plotting import BiplotDisplay, ContributionDisplay, ScreeDisplay

wine = load_wine()
y = make_partial(wine.target, n_per_class=5, random_state=0)
model = make_pipeline(StandardScaler(), SPPCA(n_components=2)).fit(wine.data, y)
BiplotDisplay.from_estimator(model, wine.data, y, feature_names=wine.feature_names)

# %%
# Two components are drawn; more would have something to say:
ScreeDisplay.from_estimator(model)

# %%
far = int(np.argmax(model[-1].hotelling_t2(model[:-1].transform(wine.data))))
ContributionDisplay.from_estimator(model, wine.data, far, of="t2", feature_names=wine.feature_names)
