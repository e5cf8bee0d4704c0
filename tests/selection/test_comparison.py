"""What a comparison says: intervals of scores and of differences, and whether the labels helped."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.selection.comparison import Losses, Outcome, summarize


def once(values):
    return Losses([np.arange(len(values))], [values], np.ones(len(values)), None)


def outcome(rate, n=200, flip=0, **more):
    losses = (np.roll(np.arange(n), flip) < rate * n).astype(float)
    return Outcome(dims=2, losses=[once(losses)], own_losses=[None], seconds=0.1, **more)


def told(outcomes, metric="error", n_tried=1, truth=True):
    problem = SimpleNamespace(
        tasks=[SimpleNamespace(metric=metric, name="y")], has_truth=truth, targets=SimpleNamespace(n_labeled=9)
    )
    return summarize(outcomes, ["SPPCA"], problem, n_tried=n_tried)


@pytest.mark.parametrize(
    "rates, word, words",
    [
        ({"SPPCA": 0.1, "PCA": 0.4}, "helped", "which ignores them, errs on 40.0 % of the rows: better by 30.0 points"),
        ({"SPPCA": 0.4, "PCA": 0.1}, "did not help", "errs on 10.0 % of the rows: worse by 30.0 points (95 %: 23.6 to"),
        ({"SPPCA": 0.2, "PCA": 0.2}, "did not help", "equal on every row"),
        (
            {"SPPCA": 0.1, "PCA": 0.4, "LDA": 0.3},
            "helped",
            "The best baseline, LDA, errs on 30.0 % of the rows: SPPCA is",
        ),
    ],
)
def test_verdict(rates, word, words):
    result = told({name: outcome(rate) for name, rate in rates.items()})
    assert result.labels == [word]
    assert words in result.verdict
    assert result.verdict.startswith(f"The labels {word}: SPPCA errs on ")


def test_the_best_baseline_may_be_pca():
    rates = {"SPPCA": 0.1, "PCA": 0.2, "LDA": 0.3}
    verdict = told({name: outcome(rate) for name, rate in rates.items()}).verdict
    assert "No other baseline does better than PCA." in verdict
    assert "LDA" not in verdict
    assert "baseline" not in told({name: outcome(rates[name]) for name in ("SPPCA", "PCA")}).verdict


def test_zero_has_no_sign_and_r2_is_at_most_one():
    values = np.random.default_rng(0).normal(size=99) ** 2
    outcomes = {name: outcome(0.5)._replace(losses=[once(1e-5 * values)]) for name in ("SPPCA", "PCA", "LDA")}
    outcomes["SPPCA"] = outcome(0.5)._replace(losses=[once(1e-5 * values[::-1])], own_losses=[once(np.r_[4.0, values])])
    result = told(outcomes, "R2")
    assert "level (95 %: 0.000 to 0.000)" in result.verdict
    assert "-0.000" not in result.verdict
    assert max(row["high"] for row in result.rows) <= 1.0


def test_a_small_difference_cannot_be_told():
    result = told({"SPPCA": outcome(0.20), "PCA": outcome(0.22, flip=100)}, n_tried=4, truth=False)
    assert result.labels == ["cannot be told"]
    assert result.verdict.startswith("It cannot be told with these labels whether they helped: ")
    assert "not clearly better, by 2.0 points (95 %: -7.1 to 11.1)" in result.verdict
    assert "in 4 splits" in result.protocol


@pytest.mark.parametrize("n, word", [(59, "cannot be told"), (60, "did not help")])
def test_of_few_rows_without_a_difference_it_cannot_be_told(n, word):
    result = told({name: outcome(0.0, n=n) for name in ("SPPCA", "PCA")})
    assert result.labels == [word]
    assert "equal on every row" in result.verdict


def test_a_projection_that_is_that_of_pca_was_not_helped():
    result = told({"SPPCA": outcome(0.1, turned=0.3), "PCA": outcome(0.4)})
    assert result.labels == ["did not help"]
    assert "Its components span what those of PCA span, but for 0.3 degrees; where scores differ" in result.verdict
    assert told({"SPPCA": outcome(0.1, turned=3.0), "PCA": outcome(0.4)}).labels == ["helped"]


def test_what_predicts_no_better_than_a_mean_was_not_helped():
    numbers = {
        name: outcome(0.5)._replace(losses=[once(np.full(99, loss))]) for name, loss in (("SPPCA", 1.01), ("PCA", 2.0))
    }
    assert told(numbers, "R2").labels == ["did not help"]
    numbers["SPPCA"] = numbers["SPPCA"]._replace(losses=[once(np.full(99, 0.9))])
    assert told(numbers, "R2").labels == ["helped"]


@pytest.mark.parametrize(
    "metric, words",
    [
        ("error", "itself err on 10.0 % of the rows (95 %: 6 to 15 %)."),
        ("R2", "itself reach R2 0.900 (95 %: 0.86 to 0.94)."),
    ],
)
def test_verdict_ends_with_the_models_own_predictions(metric, words):
    outcomes = {"SPPCA": outcome(0.3)._replace(own_losses=outcome(0.1).losses), "PCA": outcome(0.4)}
    assert told(outcomes, metric).verdict.endswith(words)


def test_no_error_among_fifteen_is_no_certainty():
    result = told({"SPPCA": outcome(0.0, n=15), "PCA": outcome(0.2, n=15)})
    assert (result.rows[0]["low"], round(result.rows[0]["high"], 3)) == (0.0, 0.206)
    assert "0.000 (0.00 to 0.21)" in repr(result)


def test_intervals_of_splits_are_those_of_nadeau_and_bengio():
    """Of four splits whose gains are .1, .2, .3 and .4, a quarter as many rows held out as learned from."""
    rows = [np.arange(10 * j, 10 * j + 10) for j in range(4)]
    ours = Losses(rows, [np.zeros(10)] * 4, np.ones(40), 0.25)
    theirs = ours._replace(values=[np.full(10, gain) for gain in (0.1, 0.2, 0.3, 0.4)])
    half = 3.182446 * np.sqrt((1 / 4 + 1 / 4) * np.var([0.1, 0.2, 0.3, 0.4], ddof=1))
    assert_allclose(ours.gain(theirs), [0.25, 0.25 - half, 0.25 + half], rtol=1e-6)
    alone = [losses._replace(rows=rows[:1], values=losses.values[:1]) for losses in (ours, theirs)]
    assert np.isnan(alone[0].gain(alone[1]).low)
