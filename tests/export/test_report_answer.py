"""The first part of a report: what came out, counted again from the model."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from gnomon import KDA, PPCA, SPPCA, GuidedProjection
from gnomon.describe import describe
from gnomon.export import write_report
from gnomon.export._report_answer import answer
from gnomon.selection import compare

X, y = load_wine(return_X_y=True)
X = scale(X)
SEEN = np.where(np.arange(178) % 12 == 0, y, -1)
NONE = np.zeros(0, dtype=int)


def said(model, X=X, y=SEEN, names=("cultivar",), *, y_true=None, comparison=None, wanted=NONE, row_ids=None):
    page = answer(describe(model), X, y, y_true, row_ids, list(names), comparison, wanted)
    return [unescape(re.sub("<[^>]*>", "", item)) for item in re.findall("<li>(.*?)</li>", page)]


def test_how_many_rows_are_predicted_and_how_surely():
    model = GuidedProjection(2).fit(X, SEEN)
    largest = model.predict_proba(X)[SEEN < 0].max(axis=1)
    first, *_ = said(model)
    assert first == (
        f"163 rows without a label have a predicted cultivar, with a probability of {largest.mean():.2f} on average; "
        f"{(largest < 0.8).sum()} below 0.8."
    )
    right = 100 * (model.predict(X) == y)[SEEN < 0].mean()
    assert f"{right:.1f} % agree with the hidden truth." in said(model, y_true=y)[0]


def test_names_are_shown_as_they_are():
    model = SPPCA(2).fit(X, SEEN)
    assert "have a predicted shelf at -20 C, with" in said(model, names=["shelf at -20 C"])[0]
    comparison = compare(X, SEEN, y_true=y, random_state=0)
    rows = [row | {"target": "shelf at -20 C"} for row in comparison.rows]
    verdict = "On shelf at -20 C it is worse, by -2.5 points. More."
    named = replace(comparison, rows=rows, verdict=verdict)
    assert said(model, names=["shelf at -20 C"], comparison=named)[1] == (
        "On shelf at -20 C it is worse, by \u22122.5 points."
    )


def test_numbers_have_the_median_of_their_deviations():
    half = np.where(np.arange(178) < 177, X[:, 0], np.nan)
    model = SPPCA(2).fit(X[:, 1:], half)
    std = model.predict(X[177:, 1:], return_std=True)[1][0]
    (first, *_) = said(model, X[:, 1:], half, ["alcohol"])
    assert first == (
        f"1 row without a label has a predicted alcohol, give or take {std:.3g} (the median of their standard "
        "deviations)."
    )


def test_numbers_that_the_same_rows_have_are_in_one_sentence():
    Y = np.where(np.arange(178)[:, None] % 2 == 0, X[:, :6], np.nan)
    model = SPPCA(2).fit(X[:, 6:], Y)
    typical = np.median(model.predict(X[:, 6:], return_std=True)[1][1::2], axis=0)
    (first, *_) = said(model, X[:, 6:], Y, list("abcdef"))
    each = ", ".join(f"{name} {one:#.3g}" for name, one in zip("abcde", typical))
    assert first == (
        f"89 rows without a label have predictions, give or take {each}, \u2026 (the medians of their standard "
        "deviations)."
    )


def test_numbers_that_other_rows_have_are_answered_one_by_one(tmp_path):
    Y = np.where([[i % 2 == 0, i % 3 > 0] for i in range(178)], X[:, :2], np.nan)  # most rows have one of the two
    model = SPPCA(2).fit(X[:, 2:], Y)
    names = ["alcohol", "acid"]
    first, second, *_ = said(model, X[:, 2:], Y, names)
    assert first.startswith("89 rows without a label have a predicted alcohol, give or take")
    assert second.startswith("60 rows without a label have a predicted acid, give or take")
    page = write_report(tmp_path / "r.html", estimator=model, X=X[:, 2:], y=Y, target_names=names).read_text()
    assert "<h3>alcohol</h3><p>89 rows had no label." in page
    assert "<h3>acid</h3><p>60 rows had no label." in page


def test_whether_labels_helped_is_the_first_sentence_of_the_verdict():
    found = compare(X, SEEN, n_components=2, estimators={"SPPCA": SPPCA(2)}, n_splits=2, random_state=0)
    one = said(SPPCA(2).fit(X, SEEN), comparison=found)[1]
    assert found.verdict.startswith(one)
    assert one.endswith(")." if "(" in one else ".")
    two = np.array(["abc"[code] for code in y], dtype=object)[:, None].repeat(2, axis=1)
    two[SEEN < 0] = None
    model = GuidedProjection(2)
    found = compare(X, two, n_components=2, estimators={"guided": model}, n_splits=1, random_state=0)
    sentence = said(model.fit(X, two), y=two, names=["a", "b"], comparison=found)[2]
    assert sentence.startswith("Whether the labels helped, by target: ")
    assert all(word in sentence for word in found.labels)


def test_rows_to_label_and_rows_unlike_the_rest_are_named():
    model = GuidedProjection(2).fit(X, SEEN)
    names = [f"wine <{i}>" for i in range(178)]
    _, label, unlike = said(model, wanted=np.arange(7), row_ids=names)
    assert label == "Label next, to teach it most: wine <0>, wine <1>, wine <2>, wine <3>, wine <4>."
    assert unlike == "No row is unlike the rest."
    odd = X.copy()
    odd[[5, 170]] *= 40
    assert said(model, odd, row_ids=names)[-1].startswith("2 rows of 178 are unlike the rest: wine <")


def test_what_a_model_cannot_say_is_left_out():
    assert len(said(KDA(2).fit(X, SEEN))) == 1


def test_without_labels_it_is_what_the_components_hold_and_what_labels_would_do():
    model = PPCA(1).fit(X)
    held = 1 - 13 * model.noise_variance_ / X.var(axis=0).sum()
    first, second, last = said(model, y=None, names=())
    assert first == f"1 component holds {100 * held:.1f} % of the variance of the 13 columns; the rest counts as noise."
    t2, spe = model.hotelling_t2(X), model.spe(X)
    limits = model.control_limits(0.01)
    odd = np.flatnonzero((t2 > limits[0]) | (spe > limits[1]))
    assert second.startswith(f"{len(odd)} rows of 178 are unlike the rest, beyond a 99 % limit: ")
    assert set(re.findall(r"\d+", second.partition("limit: ")[2])) <= set(map(str, odd))
    assert last == "Next: label a few rows of each kind; a fit with them as the target predicts the rest."
    assert said(SPPCA(2).fit(X, SEEN), X[:9], SEEN[:9])[-1] == "No row is unlike the rest, beyond a 99 % limit."


def test_how_good_predictions_are_is_said_where_it_was_measured():
    found = compare(X, SEEN, n_components=2, estimators={"SPPCA": SPPCA(2)}, n_splits=2, random_state=0)
    sentence = said(SPPCA(2).fit(X, SEEN), comparison=found)[2]
    assert sentence.startswith("The predictions of SPPCA itself err on ")
    assert found.verdict.endswith(sentence)
    bare = replace(found, verdict=found.verdict.removesuffix(sentence).rstrip())
    assert len(said(SPPCA(2).fit(X, SEEN), comparison=bare)) == len(said(SPPCA(2).fit(X, SEEN), comparison=found)) - 1
