"""
What was tried, and what was chosen
===================================

GuidedSearch fits each candidate to one half of the labels and to the other, and scores how well the two agree.
"""

import numpy as np
from sklearn.datasets import load_wine

from gnomon.plotting import SelectionDisplay
from gnomon.selection import GuidedSearch

X, truth = load_wine(return_X_y=True)
y = np.where(np.arange(len(X)) % 8 == 0, truth, -1)
search = GuidedSearch(preprocessing=["rows", "unit rows"], n_splits=2, n_permutations=0, random_state=0).fit(X, y)
SelectionDisplay.from_search(search)
