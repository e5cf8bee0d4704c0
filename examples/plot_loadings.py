"""
What a component is made of
===========================

The loadings of SPPCA on the wine data, largest first: what one unit of a component adds to each column.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gnomon import SPPCA
from gnomon.plotting import LoadingsDisplay

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
model = SPPCA(2).fit(X, wine.target)
LoadingsDisplay.from_estimator(model, feature_names=wine.feature_names)
