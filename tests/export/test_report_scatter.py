"""The rows of a report that are looked into: the data of the page are those of the model, and its script is its own."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import scale

from gnomon import KDA, PPCA, SPPCA, GuidedProjection
from gnomon.export import _report_scatter as scatter
from gnomon.export import write_report
from gnomon.export._report_page import beside

EVIL = "</script><script>alert('x')</script><!--"


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    names = np.array(["barolo", "grignolino", EVIL], dtype=object)[y]
    seen = np.where(np.arange(178) % 12 == 0, names, None)
    return X, seen, GuidedProjection(3).fit(X, seen)


def page_of(path, model, X, y=None, **more):
    return write_report(path / "r.html", estimator=model, X=X, y=y, **more).read_text(encoding="utf-8")


def data_of(text):
    found = re.findall(r'<script type="application/json" id="scatter-rows">(.*?)</script>', text, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def column(data, name):
    (found,) = [one for one in data["columns"] if one["name"] == name]
    assert len(found.get("values", data["ids"] or range(data["n"]))) == data["n"]
    return found


def test_the_page_lets_the_script_run_that_is_in_it_and_no_other(wine, tmp_path):
    X, seen, model = wine
    text = page_of(tmp_path, model, X, seen)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode("utf-8")).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)[1]
    assert len(scripts) == 1
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert scripts[0].isascii()
    for banned in ("eval(", "innerHTML", "fetch(", "XMLHttpRequest", "import(", "Worker(", "<!--"):
        assert banned not in scripts[0]


def test_the_data_are_those_of_the_model(wine, tmp_path):
    X, seen, model = wine
    data = data_of(page_of(tmp_path, model, X, seen, row_ids=[f"w{i}" for i in range(178)], target_names="wine"))
    Z, found = model.transform(X), model.predict(X)
    labeled = np.array([label is not None for label in seen])
    assert data["n"] == 178
    assert data["ids"] == [f"w{i}" for i in range(178)]
    assert_array_equal(data["labeled"], np.flatnonzero(labeled))
    for j in range(3):
        assert_allclose(column(data, f"component {j + 1}")["values"], Z[:, j], rtol=5e-4)
    shown = column(data, "wine, given")
    assert [None if code is None else shown["classes"][code] for code in shown["values"]] == list(seen)
    first, second = column(data, "wine, given or predicted")["either"]
    assert data["columns"][first] == shown
    assert data["columns"][second]["name"] == "wine, predicted"
    shown = column(data, "wine, predicted")
    assert [shown["classes"][code] for code in shown["values"]] == list(found)
    proba = model.predict_proba(X).max(axis=1)
    assert_allclose(column(data, "wine, probability")["values"], proba, rtol=5e-4)
    assert_allclose(column(data, "typicality")["values"], model.typicality(X), rtol=5e-4)
    shown = [data["columns"][data[key]]["name"] for key in ("x", "y", "color")]
    assert shown == ["component 1", "component 2", "wine, given or predicted"]
    assert data["components"] == 3
    assert data["label"] == "Scatter plot of 178 rows, 15 of them labeled"


def test_no_text_of_the_user_ends_the_data(wine, tmp_path):
    X, seen, model = wine
    text = page_of(tmp_path, model, X, seen, row_ids=[f"{EVIL}{i}" for i in range(178)], target_names=EVIL)
    data = data_of(text)
    assert data["ids"][7] == f"{EVIL}7"
    assert EVIL in column(data, f"{EVIL}, given")["classes"]
    assert text.count("<script") == text.count("</script") == 2


def test_numbers_have_their_deviations(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X, seen = scale(X), np.where(np.arange(len(y)) % 4, np.nan, y)
    model = SPPCA(1).fit(X, seen)
    data = data_of(page_of(tmp_path, model, X, seen))
    mean, std = model.predict(X, return_std=True)
    assert_allclose(column(data, "y, predicted")["values"], mean, rtol=5e-4)
    assert_allclose(column(data, "y, ± std")["values"], std, rtol=5e-4)
    given = np.array(column(data, "y, given")["values"], dtype=float)
    assert_array_equal(given, seen)
    assert data["columns"][data["y"]]["name"] == "y, given or predicted"  # beside the only component
    assert data["ids"] is None


def test_all_of_several_targets_are_there_but_of_large_tables(tmp_path, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, *X[:, 4:].T])  # seven numbers
    model, names = SPPCA(2).fit(X[:, :4], Y), [f"t{j}" for j in range(7)]
    whole = page_of(tmp_path, model, X[:, :4], Y, target_names=names)
    assert column(data_of(whole), "t6, predicted")
    assert "targets are in the picture" not in whole
    monkeypatch.setattr(scatter, "LARGE", 400)
    some = page_of(tmp_path, model, X[:, :4], Y, target_names=names, replace=True)
    assert [one["name"] for one in data_of(some)["columns"] if "predicted" in one["name"]] == [
        f"t{j}, predicted" for j in range(4)
    ]
    assert "The first 4 of 7 targets are in the picture." in some


def test_what_is_given_or_predicted_is_said_of_every_row(wine, tmp_path):
    """No column mixes the two without a name that says so, and none is of rows that have no such thing."""
    X, seen, model = wine
    full = np.array(["barolo", "grignolino", EVIL], dtype=object)[load_wine(return_X_y=True)[1]]
    for y, wanted in ((None, ["predicted"]), (full, ["given", "predicted"])):
        data = data_of(page_of(tmp_path, model, X, y))
        names = [one["name"] for one in data["columns"]]
        assert names[3:] == [*(f"y, {word}" for word in wanted), "y, probability", "typicality"]
        assert names[data["color"]] == f"y, {wanted[0]}"
    data = data_of(page_of(tmp_path, KDA(2).fit(X, full), X, full))
    assert "y, given" in [one["name"] for one in data["columns"]]


def keys_of(data):
    for key, value in data.items():
        yield key
        for part in value if isinstance(value, list) else [value]:
            yield from keys_of(part) if isinstance(part, dict) else []


def test_every_key_of_the_data_is_in_the_documentation(wine, tmp_path, monkeypatch):
    X, seen, model = wine
    monkeypatch.setattr(scatter, "MAX_ROWS", 40)
    data = data_of(page_of(tmp_path, model, X, seen))
    assert None not in (data["rows"], data["top"], data["regions"])
    docs = (Path(__file__).parents[2] / "docs/files.md").read_text(encoding="utf-8")
    picture = docs.partition("## The picture of a report")[2].partition("\n## ")[0]
    keys = set(keys_of(data))
    assert {"either", "classes", "covariances", "added"} < keys
    assert [key for key in sorted(keys) if not re.search(rf"`[^`]*\b{key}\b[^`]*`", picture)] == []
    methods = re.findall(r"^ \*   (\w+)\(", beside("scatter.js"), re.MULTILINE)
    assert {"find", "view", "outlined"} < set(methods)
    assert [name for name in methods if f"`{name}(" not in picture] == []
    assert "`data-row`" in picture


def test_a_model_without_targets_has_two_axes_too(wine, tmp_path):
    data = data_of(page_of(tmp_path, PPCA(1).fit(wine[0]), wine[0]))
    assert [one["name"] for one in data["columns"]] == ["component 1", "place in the table"]
    assert data["labeled"] == []
    assert max(data["x"], data["y"], data["color"]) < 2


def test_ten_thousand_rows_stay_below_six_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, size=10_000)
    X = rng.normal(size=(10_000, 30)) + 3 * rng.normal(size=(10, 30))[y]
    seen = np.where(rng.random(10_000) < 0.1, y, -1)
    model = GuidedProjection(8).fit(X[:400], seen[:400])
    text = page_of(tmp_path, model, X, seen, n_fitted=400, row_ids=[f"sample-{i:08d}" for i in range(10_000)])
    assert data_of(text)["n"] == 10_000
    assert len(text.encode()) < 6e6


def test_rows_that_the_page_names_have_their_numbers(wine, tmp_path):
    """In the tables and in the sentences on odd rows and on those to label."""
    X, seen, model = wine
    odd = X.copy()
    odd[[5, 170]] *= 40
    text = page_of(tmp_path, model, odd, seen, row_ids=[f"<w{i}>" for i in range(178)])
    named = [(int(i), name) for i, name in re.findall(r'<span data-row="(\d+)">(.*?)</span>', text)]
    assert all(name == f"&lt;w{i}&gt;" for i, name in named)
    parts = dict(re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|</main>)", text, re.DOTALL))
    numbers = {name: set(map(int, re.findall(r'data-row="(\d+)"', part))) for name, part in parts.items()}
    assert numbers["Rows unlike the rest"] >= {5, 170}
    labeled = {i for i, label in enumerate(seen) if label is not None}
    assert len(numbers["Rows to label next"]) > 2
    assert not numbers["Rows to label next"] & labeled
    assert len(numbers["Predictions for the unlabeled rows"]) > 10
    plain = page_of(tmp_path, model, odd, seen)
    assert '<span data-row="170">170</span>' in plain


def test_of_too_many_rows_the_labeled_ones_are_kept(wine, tmp_path, monkeypatch):
    X, seen, model = wine
    monkeypatch.setattr(scatter, "MAX_ROWS", 40)
    data = data_of(page_of(tmp_path, model, X, seen))
    labeled = np.flatnonzero([label is not None for label in seen])
    assert data["n"] == len(data["ids"]) == 40
    assert_array_equal(np.array(data["ids"])[data["labeled"]], labeled)
    assert_allclose(column(data, "component 1")["values"], model.transform(X)[data["ids"], 0], rtol=5e-4)
    monkeypatch.setattr(scatter, "MAX_ROWS", 5)
    assert len(data_of(page_of(tmp_path, model, X, seen))["labeled"]) == 5


def test_numbers_keep_four_digits_or_what_sets_them_apart():
    rng = np.random.default_rng(0)
    for values in (
        rng.normal(size=200),
        1e-9 * rng.normal(size=200),
        1e6 + rng.normal(size=200),
        np.geomspace(1e-8, 1e8),
    ):
        short = np.array(scatter.short_numbers(values))
        # 10^span is at most ten spans; half a unit of its fourth digit is the most that rounding moves a number
        assert (np.abs(short - values) <= 5e-4 * np.minimum(np.abs(values), np.ptp(values))).all()
    assert scatter.short_numbers(np.array([np.nan, np.inf, 0.0, 5.0])) == [None, None, 0, 5]
    assert scatter.short_numbers(np.full(3, 2.5)) == [2.5] * 3
