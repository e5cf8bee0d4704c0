"""Which columns go with the predictions, as a report says it, and how sure that is."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

from gnomon import DPPCA, KDA, PPCA, SPPCA, GuidedProjection
from gnomon.describe import describe
from gnomon.export import write_report
from gnomon.export._report_importance import HELD, importance, refitted, resampled

WINE, WINE_Y = load_wine(return_X_y=True)
WINE = scale(WINE)
SEEN = np.where(np.arange(178) % 6, -1, WINE_Y)
NAMES = [f"column {j}" for j in range(13)]
TITLE = "<h2>Columns that go with the predictions</h2>"


def section(page):
    return page.partition(TITLE)[2].partition("<h2>")[0]


def written(tmp_path, model, X, y, **options):
    return write_report(tmp_path / "r.html", estimator=model, X=X, y=y, **options).read_text(encoding="utf-8")


def test_it_is_the_correlation_with_the_predictions():
    model = DPPCA(2).fit(WINE, SEEN)
    P = model.predict_proba(WINE)
    squares = np.array([[np.corrcoef(x, p)[0, 1] ** 2 for p in P.T] for x in WINE.T]) @ P.var(axis=0)
    found = importance(describe(model), WINE)
    assert_allclose(found, np.sqrt(squares / squares.mean()))
    assert (found**2).mean() == pytest.approx(1.0)


def test_columns_that_say_nothing_come_last(rng):
    X = np.hstack([rng.normal(size=(200, 4)), np.zeros((200, 1))])
    y = np.where(np.arange(200) < 60, X[:, 0] - 2.0 * X[:, 1] + rng.normal(0, 0.1, 200), np.nan)
    found = importance(describe(SPPCA(1).fit(X, y)), X)
    assert np.argsort(-found)[:2].tolist() == [1, 0]
    assert found[4] == 0.0


def test_several_numbers_count_alike_whatever_their_units(rng):
    X = rng.normal(size=(200, 4))
    targets = np.where(np.arange(200)[:, None] < 80, X[:, :2] + rng.normal(0, 0.1, (200, 2)), np.nan)
    found = [importance(describe(SPPCA(2).fit(X, targets * units)), X) for units in ([1.0, 1.0], [1e3, 1e-3])]
    assert_allclose(found[0], found[1], rtol=0.05)
    assert_allclose(found[0][:2], np.sqrt(2.0), rtol=0.2)


def test_labels_are_drawn_class_by_class_and_no_label_is_made_up(rng):
    said = describe(DPPCA(2).fit(WINE, SEEN))
    X, y = resampled(said, WINE, SEEN, rng)
    assert np.bincount(y[y >= 0]).tolist() == np.bincount(SEEN[SEEN >= 0]).tolist()
    for row, label in zip(X, y, strict=True):
        own = np.flatnonzero((row == WINE).all(axis=1))[0]
        assert label in (-1, SEEN[own])
    lost = {tuple(row) for row in X[y < 0]}
    assert {tuple(row) for row in WINE[SEEN < 0]} < lost  # some labeled rows have lost their label
    assert not lost & {tuple(row) for row in X[y >= 0]}
    frame = pd.DataFrame(WINE, columns=NAMES)
    every = describe(DPPCA(2).fit(frame, WINE_Y))
    X, y = resampled(every, frame, WINE_Y, rng)
    assert (len(X), list(X.columns), (y >= 0).all()) == (178, NAMES, True)


@pytest.mark.parametrize("model", [DPPCA(2), KDA(2)], ids=["DPPCA", "KDA"])
def test_refits_say_how_sure_it_is(tmp_path, model):
    y = SEEN if isinstance(model, DPPCA) else WINE_Y
    model.fit(WINE, y)
    said = describe(model)
    found = section(written(tmp_path, model, WINE, y, n_refits=6, feature_names=NAMES))
    values, refits = importance(said, WINE), refitted(model, said, WINE, y, 6)
    assert refits.shape == (6, 13)
    assert (refits.std(axis=0) > 0).all()
    top = np.argsort(-values)
    assert re.findall(r"<span>(column \d+)</span>", found) == [NAMES[j] for j in top]
    low, high = np.percentile(refits, HELD, axis=0)
    said = [(float(a), float(b)) for a, b in re.findall(r"\(([\d.]+) to ([\d.]+)\)", found)]
    assert_allclose(said, np.column_stack([low, high])[top], atol=0.006)
    assert "In brackets is what holds 90 % of 6 fits to labels drawn anew" in found
    few = section(written(tmp_path, model, WINE, y, n_refits=2))
    assert "Of 2 fits to labels that were drawn anew too few" in few
    assert " to " not in re.sub(r"<p>.*?</p>", "", few)


def test_spectra_and_images_are_drawn_as_such(tmp_path):
    X, y = (table[:150] for table in load_digits(return_X_y=True))
    page = section(written(tmp_path, DPPCA(2).fit(X, y), X, y, shape=(8, 8)))
    assert 'alt="Importance of the pixels"' in page
    frame = pd.DataFrame(WINE, columns=[str(1000 + 4 * j) for j in range(13)])
    page = section(written(tmp_path, DPPCA(2).fit(frame, WINE_Y), frame, WINE_Y, n_refits=5))
    assert 'alt="Importance of the columns as a curve"' in page
    assert "The band is what holds 90 % of 5 fits" in page


def test_a_model_without_labels_has_none_and_refits_need_them(tmp_path):
    model = PPCA(2).fit(WINE)
    assert TITLE not in written(tmp_path, model, WINE, None)
    for one, y in ((model, None), (model, SEEN), (GuidedProjection(2).fit(WINE, SEEN), None)):
        with pytest.raises(ValueError, match="n_refits=3 draws labels anew; y must be given"):
            write_report(tmp_path / "none.html", estimator=one, X=WINE, y=y, n_refits=3)
    grams = WINE @ WINE.T
    assert TITLE not in written(tmp_path, KDA(kernel="precomputed").fit(grams, WINE_Y), grams, WINE_Y)
