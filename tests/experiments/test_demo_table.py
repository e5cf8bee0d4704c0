"""The tables of the demo over draws: every method, from the same labels."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from gnomon import GuidedProjection
from gnomon.datasets import load_wine, make_partial
from gnomon.experiments.demo_table import OWN, format_table, reproduce


def test_the_table_is_of_hidden_labels():
    records = list(reproduce(("wine",), n_draws=2))
    assert [r["method"] for r in records] == ["GuidedProjection", "PCA", "LDA", "PLS", "all features", OWN]
    X, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    errors = []
    for seed in (0, 1):
        seen = make_partial(y, n_per_class=5, random_state=seed)
        errors.append(np.mean(GuidedProjection(2).fit(X, seen).predict(X[seen == -1]) != y[seen == -1]))
    assert records[-1]["mean"] == np.mean(errors)
    assert format_table(records).splitlines()[1].startswith("wine")
