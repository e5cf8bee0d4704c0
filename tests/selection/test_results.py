"""The verdict says what the table holds."""

import pytest

from gnomon.selection.results import verdict

ROW = {"preprocessing": "rows", "settings": {}, "agreement": 0.8, "error": 0.1, "seconds": 0.1, "note": None}


def rows(ours, theirs):
    return [
        {**ROW, "model": "SPPCA", "score": ours, "baseline": False},
        {**ROW, "model": "PLS", "score": theirs, "baseline": True},
    ]


@pytest.mark.parametrize(
    "ours, theirs, words",
    [
        (0.7, 0.8, "That is 0.100 below the best baseline, PLS on rows."),
        (0.9, 0.8, "That is 0.100 above the best baseline, PLS on rows."),
        (0.7001, 0.7, "Tied with the best baseline, PLS on rows (difference < 0.001)."),
    ],
)
def test_the_verdict_says_how_the_best_baseline_does(ours, theirs, words):
    said = verdict(rows(ours, theirs), 0, "classes", None)
    assert f"Chosen: SPPCA on rows, score {ours:.3f}" in said
    assert said.endswith(words)


def test_the_verdict_says_what_the_score_is_made_of():
    said = verdict(rows(0.7, 0.6), 0, "classes", None)
    assert "Cohen's kappa of 0.80, and err on 10.0 % of the held-out labels, averaged over classes" in said
    said = verdict(rows(0.7, 0.6), 0, "real", None)
    assert "correlate at 0.80, and leave 10 % of the variance of held-out targets" in said
