"""The table of the intervals of errors: its protocol on small data, and what it says of real data."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from gnomon import SPPCA
from gnomon.experiments import breadth, breadth_intervals
from gnomon.experiments.breadth_intervals import format_table, holds, reproduce


def test_a_record_has_the_interval_and_the_error_of_the_unlabeled_rows(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(breadth, "load", lambda name: (X, y))
    records = list(reproduce(("wine",), labels=(5, "unequal, balanced labels"), n_draws=1, models=(SPPCA,)))
    assert [r["score"] for r in records] == ["score", "prediction"] * 2
    assert all(0 <= r["low"] <= r["value"] <= r["high"] <= 1 for r in records)
    labeled = breadth_intervals.draw("wine", 5, 300)[2]
    assert np.bincount(y[labeled]).tolist() == [5, 5, 5]
    fitted = SPPCA(5).fit(X, np.where(labeled, y, -1))
    assert records[1]["error"] == np.mean(fitted.predict(X[~labeled]) != y[~labeled])
    text = format_table([{**records[0], "error": 1.0, "high": 0.5}, {**records[0], "error": records[0]["value"]}])
    assert text.splitlines()[1].split()[3:6] == ["2", "0.500", "0.500"]


@pytest.mark.realdata
@pytest.mark.slow
def test_the_interval_of_an_error_holds_that_of_the_unlabeled_rows():
    records = list(reproduce(n_draws=1))
    for score in ("score", "prediction"):
        found = [holds(r) for r in records if (r["method"], r["score"]) == ("GuidedProjection", score)]
        assert len(found) > 80
        assert np.mean(found) >= 0.9, format_table(records)
