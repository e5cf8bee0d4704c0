"""The report is one page that needs nothing from outside, shows what the model says, and escapes every text."""

import re
import shutil
import socketserver
import subprocess
import threading
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import scale

from gnomon import KDA, PPCA, SPPCA, GuidedProjection, MixturePPCA
from gnomon.export import report, write_report
from gnomon.export._report_page import PRINTED, STYLE, signed, table
from gnomon.selection import Comparison, compare

EVIL = "<script>alert('x')</script>\"&"
VOID = {"meta", "link", "img", "br"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OWN_HOSTS = ("google.com", "googleapis.com")  # where the browser itself looks for updates


class Page(HTMLParser):
    """A page as its tags, their attributes, the text of its cells, and whether the tags balance."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.rows, self.balanced = [], [], [], True
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        inner = [tag for tag in self.open if tag != "span"]
        if inner and inner[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y]
    labeled = np.random.default_rng(3).random(len(y)) < 0.15
    seen = np.where(labeled, names, None)
    X = scale(X)
    return X, seen, names, SPPCA(2).fit(X, seen)


@pytest.fixture(scope="module")
def full_report(wine, tmp_path_factory):
    """Everything a report can hold, with markup in every text that a user supplies."""
    X, seen, names, _ = wine
    table = pd.DataFrame(X, columns=[f"{EVIL}{j}" for j in range(X.shape[1])])
    evil = np.array([None if s is None else s + EVIL for s in seen], dtype=object)
    model = SPPCA(2).fit(table, evil)
    comparison = compare(X, seen, estimators={EVIL: SPPCA(2)}, y_true=names, random_state=0)
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        estimator=model,
        X=table,
        y=evil,
        y_true=names + EVIL,
        row_ids=[f"{EVIL}{i}" for i in range(len(X))],
        target_names=EVIL,
        comparison=comparison,
        title=EVIL,
        settings={EVIL: [EVIL, 3]},
    )


def read(path):
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def predictions(page):
    start = next(i for i, row in enumerate(page.rows) if row[:1] == ["row"])
    stop = next((i for i, row in enumerate(page.rows) if row[:1] == ["solver"]), len(page.rows))
    return page.rows[start], page.rows[start + 1 : stop]


def test_nothing_comes_from_outside(full_report):
    text, page = read(full_report)
    assert page.balanced
    assert not page.open
    for tag, attrs in page.tags:
        assert tag not in {"iframe", "object", "embed", "base", "form"}
        assert tag != "script" or set(attrs) <= {"type", "id"}
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("src", "href", "srcset", "action", "xlink:href"):
            assert attrs.get(name, "data:").startswith("data:")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"https?://", text)


def test_every_text_of_the_user_is_escaped(full_report):
    text, page = read(full_report)
    assert re.findall("<script[^>]*>", text) == ['<script type="application/json" id="scatter-rows">', "<script>"]
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&amp;" in text
    shown = [cell for row in page.rows for cell in row]
    for wanted in (EVIL, f"barolo{EVIL}", f"{EVIL}, 3"):  # method and target, class, setting
        assert wanted in shown, wanted
    assert any(re.fullmatch(re.escape(EVIL) + r"\d+", cell) for cell in shown)  # a row
    assert text.count("<h1>&lt;script&gt;") == 1
    assert "<title>&lt;script&gt;" in text
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    assert len(pictures) == 5  # rows, their limits, variances, two of hidden truth, and no path of two points
    assert all(picture["alt"] for picture in pictures)


def test_it_says_what_was_fitted(wine, tmp_path):
    X, seen, _, model = wine
    text, page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen))
    n_labeled = sum(label is not None for label in seen)
    assert f"178 rows of 13 columns in 2 components, by SPPCA; {n_labeled} of them with a label" in text
    assert f"The other {178 - n_labeled} rows took part without one." in text
    cells = dict(row for row in page.rows if len(row) == 2)
    assert float(cells["noise variance of a column"]) == pytest.approx(model.noise_variance_, rel=1e-3)
    assert cells["solver"] == model.solver_
    assert cells["SPPCA.n_components"] == "2"
    assert cells["numpy"] == np.__version__
    signal = (model.components_**2).sum()
    share = 100 * signal / np.trace(model.get_covariance())
    assert float(cells["share of the columns' variance in the components"].split()[0]) == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("what", ["y", "y_true", "row_ids"])
def test_what_is_given_of_other_rows_is_refused(wine, tmp_path, what):
    X, seen, _, model = wine
    with pytest.raises(ValueError, match=f"{what} has 5 rows, X has 178; one for each row of X is wanted"):
        write_report(tmp_path / "r.html", estimator=model, X=X, **({"y": seen} | {what: seen[:5]}))
    assert not list(tmp_path.iterdir())


def test_predictions_of_unlabeled_rows_come_most_uncertain_first(wine, tmp_path):
    X, seen, names, model = wine
    page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, y_true=names))[1]
    header, rows = predictions(page)
    assert header == ["row", "y", "probability", "next", "its probability", "truth"]
    assert len(rows) == 50
    proba = model.predict_proba(X)
    found = np.array([int(row[0]) for row in rows])
    unlabeled = np.flatnonzero([label is None for label in seen])
    assert set(found) <= set(unlabeled)
    best = proba[found].max(axis=1)
    assert (np.diff(best) >= 0).all()
    assert best[-1] <= np.sort(proba[unlabeled].max(axis=1))[50]
    assert_allclose([float(row[2]) for row in rows], best, atol=5e-4)
    assert [row[1] for row in rows] == list(model.predict(X)[found])
    assert [row[5] for row in rows] == list(names[found])


def test_wrong_predictions_are_marked_and_counted(wine, tmp_path):
    X, seen, names, model = wine
    text, _ = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, y_true=np.roll(names, 59)))
    unlabeled = np.array([label is None for label in seen])
    right = (model.predict(X) == np.roll(names, 59))[unlabeled]
    assert f"{100 * right.mean():.1f} % of the predictions agree" in text
    assert text.count('<tr class="wrong">') > 30


def test_hidden_truth_is_drawn_beside_predictions(wine, tmp_path):
    X, seen, names, model = wine
    text, _ = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, y_true=names))
    unlabeled = np.array([label is None for label in seen])
    right = (model.predict(X) == names)[unlabeled]
    assert f'alt="confusion of y: {right.mean():.1%} of {len(right)} rows right"' in text
    assert f'alt="reliability of y: right {right.mean():.1%}, sure' in text
    text, _ = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen))
    assert "beside the hidden truth" not in text


def test_a_model_without_variances_has_no_picture_of_them(wine, tmp_path):
    X, seen, _, _ = wine
    text, _ = read(write_report(tmp_path / "r.html", estimator=KDA(2).fit(X, seen), X=X, y=seen))
    assert "Bars of the variance" not in text


def test_real_targets_have_standard_deviations_and_coverage(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X, seen = scale(X), np.where(np.arange(len(y)) % 4, np.nan, y)
    model = SPPCA(3).fit(X, seen)
    path = tmp_path / "r.html"
    text, page = read(write_report(path, estimator=model, X=X, y=seen, y_true=y, target_names="progression"))
    header, rows = predictions(page)
    assert header == ["row", "progression", "± std", "true progression"]
    mean, std = model.predict(X, return_std=True)
    found = np.array([int(row[0]) for row in rows])
    assert_allclose([float(row[1]) for row in rows], mean[found], rtol=1e-3)
    assert_allclose([float(row[2]) for row in rows], std[found], rtol=1e-3)
    assert_allclose([float(row[3]) for row in rows], y[found], rtol=1e-3)
    inside = (np.abs(y - mean) < 1.96 * std)[np.isnan(seen)].mean()
    assert f"{100 * inside:.1f} % of the hidden values lie in the 95 % interval" in text
    assert 'alt="numbers of progression: RMSE' in text
    assert 'alt="Bars of the variance along each direction"' in text
    assert "with a value of progression" in text
    assert "The 50 most uncertain are shown" in text


def test_several_outputs_are_named(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    Y[20:] = np.nan
    text, page = read(
        write_report(tmp_path / "r.html", estimator=SPPCA(2).fit(X, Y), X=X, y=Y, target_names=["a", "b"])
    )
    assert predictions(page)[0] == ["row", "a", "± std", "b", "± std"]
    assert {"noise variance of a", "noise variance of b"} <= {row[0] for row in page.rows}
    assert "with a value of a, b" in text


def test_models_without_targets_and_fully_labeled_rows_predict_nothing(wine, tmp_path):
    X, _, names, _ = wine
    for model, y in ((PPCA(1).fit(X), None), (SPPCA(2).fit(X, names), names)):
        text, page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=y))
        assert "Predictions" not in text
        assert page.balanced
    assert "all of them with a label" in text


@pytest.mark.filterwarnings("ignore:y marks every row as unlabeled")
@pytest.mark.parametrize("y", [np.full(178, -1), np.full(178, np.nan)])
def test_a_model_that_saw_no_label_is_reported_as_unsupervised(wine, tmp_path, y):
    X = wine[0]
    text, page = read(write_report(tmp_path / "r.html", estimator=SPPCA(2).fit(X, y), X=X, y=y))
    assert "178 rows of 13 columns in 2 components, by SPPCA, without labels." in text
    assert "Predictions" not in text
    assert page.balanced


@pytest.mark.filterwarnings("ignore:y holds the single class")
def test_a_single_class_is_predicted_everywhere(wine, tmp_path):
    X = wine[0]
    y = np.where(np.arange(178) < 5, "only", None)
    page = read(write_report(tmp_path / "r.html", estimator=SPPCA(2).fit(X, y), X=X, y=y))[1]
    header, rows = predictions(page)
    assert header == ["row", "y", "probability"]
    assert {tuple(row[1:]) for row in rows} == {("only", "1.000")}


def test_loadings_are_the_largest_with_their_names(wine, tmp_path):
    X, seen, _, model = wine
    names = [f"column {j}" for j in range(13)]
    text, _ = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, feature_names=names))
    panel = text[text.index("Component 1</h3>") : text.index("Component 2</h3>")]
    order = np.argsort(-np.abs(model.components_[0]), kind="stable")
    assert re.findall(r"<span>(column \d+)</span>", panel) == [names[j] for j in order]
    widths = np.array(re.findall(r"width:([\d.]+)%", panel), dtype=float)
    assert_allclose(widths, 50 * np.abs(model.components_[0, order]) / np.abs(model.components_).max(), atol=0.01)
    sides = re.findall(r'class="(up|down)"', panel)
    assert_array_equal(np.array(sides) == "up", model.components_[0, order] >= 0)


def test_the_comparison_and_its_verdict_are_shown(wine, tmp_path):
    X, seen, names, model = wine
    comparison = compare(X, seen, y_true=names, random_state=0)
    pages = [
        read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, comparison=given))[0]
        for given in (comparison, comparison.to_dict(), None)
    ]
    strip = re.compile(r"Written by.*?UTC")
    assert strip.sub("", pages[0]) == strip.sub("", pages[1])
    assert signed(comparison.verdict) in pages[0]
    assert "A lower error is better" in pages[0]
    assert "Comparison" not in pages[2]


def test_predictions_of_rows_held_out_are_drawn(wine, tmp_path):
    X, seen, names, model = wine
    comparison = compare(X, seen, estimators={"SPPCA": SPPCA(2)}, n_splits=2, random_state=0)
    text, page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, comparison=comparison.to_dict()))
    assert "Labeled rows, held out in turn" in text
    drawn = [attributes["alt"] for tag, attributes in page.tags if tag == "img"]
    held = comparison.held_out[0]
    right = np.mean(np.array(held["truth"]) == held["predicted"])
    assert f"confusion of y: {right:.1%} of {len(held['rows'])} rows right" in drawn
    assert any(
        one.startswith(f"reliability of y: right {right:.1%}, sure {np.mean(held['doubt']):.1%}") for one in drawn
    )
    few = [held | {name: held[name][:9] for name in ("rows", "truth", "predicted", "doubt")}]
    again = replace(comparison, held_out=few)
    assert (
        "held out in turn</h3>"
        not in read(write_report(tmp_path / "s.html", estimator=model, X=X, y=seen, comparison=again))[0]
    )


def test_methods_that_do_not_apply_have_their_reason(wine, tmp_path):
    X, seen, _, model = wine
    row = {"method": "LDA", "dims": None, "score": None, "standard_error": None, "prediction": None}
    comparison = Comparison(
        [row | {"prediction_error": None, "target": "y", "metric": "R2", "seconds": None, "note": "it needs classes"}],
        "R2",
        "v",
    )
    text, page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, comparison=comparison))
    assert "LDA does not apply: it needs classes." in text
    assert ["LDA", "-", "-", "-", "-"] in page.rows
    assert "A higher R2 is better" in text


def test_what_says_nothing_is_left_out(wine, tmp_path):
    """Neither settings that were not given, nor the picture of a path of two points."""
    X, seen, _, model = wine
    assert len(model.objective_path_) < 3
    asked = {"seed": 0, "drop": [], "id": None, "set": ()}
    text, page = read(write_report(tmp_path / "r.html", estimator=model, X=X, y=seen, settings=asked))
    cells = dict(row for row in page.rows if len(row) == 2)
    assert cells["seed"] == "0"
    assert not {"drop", "id", "set"} & set(cells)
    assert cells["passes over the data"] == f"{model.n_passes_:.3g}"
    assert "after each iteration" not in text
    slow = SPPCA(2, solver="em", tol=1e-8).fit(X, seen)
    text, _ = read(write_report(tmp_path / "r.html", estimator=slow, X=X, y=seen))
    assert "Log-likelihood after each iteration, in nats" in text


def test_sparse_rows(tmp_path):
    X = sp.random(80, 40, density=0.2, random_state=0, format="csr")
    y = np.where(np.arange(80) < 20, np.arange(80) % 2, -1)
    page = read(write_report(tmp_path / "r.html", estimator=SPPCA(2).fit(X, y), X=X, y=y))[1]
    assert len(predictions(page)[1]) == 50


def test_a_report_that_fails_leaves_the_old_one(wine, tmp_path, monkeypatch):
    X, seen, _, model = wine
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def broken(*args):
        raise RuntimeError("no page")

    monkeypatch.setattr(report.html, "page", broken)
    with pytest.raises(RuntimeError, match="no page"):
        write_report(path, estimator=model, X=X, y=seen)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


class Proxy:
    """A web proxy that answers nothing and keeps the first line of every request."""

    def __enter__(self):
        seen = self.requests = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                seen.append(self.rfile.readline().decode("latin-1").strip())
                self.wfile.write(b"HTTP/1.1 502 none\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()

    @property
    def foreign(self):
        hosts = [re.sub(r"^\w+ (https?://)?", "", line) for line in self.requests]
        hosts = [re.split(r"[:/ ]", host)[0] for host in hosts]
        return [line for line, host in zip(self.requests, hosts) if not host.endswith(OWN_HOSTS)]


def browse(path, profile):
    """Open a page in headless Chromium; return its document, its console messages and requests to anywhere."""
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    with Proxy() as proxy:
        route = [f"--proxy-server=http://127.0.0.1:{proxy.server.server_address[1]}", "--proxy-bypass-list=<-loopback>"]
        show = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
        command = [BROWSER, *show, *quiet, *route, f"--user-data-dir={profile}", "--dump-dom", path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line], proxy.foreign


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_opens_it_without_a_request_or_an_error(full_report, tmp_path):
    document, console, requests = browse(full_report, tmp_path / "profile")
    assert "Settings and versions" in document
    assert console == []
    assert requests == []


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_request_and_an_error_would_be_noticed(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text('<script>missing()</script><img src="http://example.org/x.png">', encoding="utf-8")
    _, console, requests = browse(page, tmp_path / "profile")
    assert "missing is not defined" in console[0]
    assert requests == ["GET http://example.org/x.png HTTP/1.1"]


def test_rows_unlike_the_rest_are_named(tmp_path):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    guided = GuidedProjection(2).fit(X, np.where(np.arange(178) % 12 == 0, y, -1))
    odd = np.vstack([X[:40], 8.0 * X[40:42]])
    ids = [f"w{i}" for i in range(42)]
    text, _ = read(write_report(tmp_path / "r.html", estimator=guided, X=odd, row_ids=ids))
    text = re.sub("</?span[^>]*>", "", text)
    assert "2 rows of 42 lie so far from the others that fewer than one in a hundred would: w4" in text
    assert "w40 (under 0.0001)" in text
    text, _ = read(write_report(tmp_path / "s.html", estimator=guided, X=X[:40]))
    assert "No row lies so far from the others" in text
    text, _ = read(write_report(tmp_path / "t.html", estimator=SPPCA(2).fit(X, y), X=X))
    assert "from the others" not in text
    text = re.sub("</?span[^>]*>", "", text)
    assert re.search(r"here \d rows? of 178 \([0-3]\.\d %\) (are|is) beyond that of T2 or of SPE", text)


def test_what_matters_of_the_fit_is_said_in_a_sentence(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + 4.0 * rng.integers(0, 3, size=(60, 1))
    y = np.where(np.arange(60) < 40, X.mean(axis=1) + 2.0 * rng.normal(size=60), np.nan)
    path = tmp_path / "r.html"

    def said(model):
        return read(write_report(path, estimator=model, X=X, y=y))[0]

    plain = said(SPPCA(1).fit(X, y))
    short = said(SPPCA(1, solver="em", max_iter=1).fit(X, y))
    assert "(max_iter=1) before it converged" in short
    assert "before it converged" not in plain
    exact = SPPCA(1).fit(X, y)
    exact.noise_floors_ = ("y",)
    assert "Noise was held at its floor (y)" in said(exact)
    assert "held at its floor" not in plain
    mixture = MixturePPCA(2, n_components=1, n_init=3, random_state=0).fit(X)
    for optima, alone in (([-10.0, -12.5, -14.0], True), ([-10.0, -10.2, -14.0], False)):
        mixture.optima_ = np.array(optima)
        text = read(write_report(path, estimator=mixture, X=X))[0]
        assert ("Of 3 starts one alone led to the best log-likelihood" in text) == alone
        assert ("2.500 nats above the next" in text) == alone


def test_columns_of_the_table_of_a_fit_are_explained(wine, tmp_path):
    X, seen, *_ = wine
    text, _ = read(write_report(tmp_path / "r.html", estimator=GuidedProjection(2).fit(X, seen), X=X, y=seen))
    said = text.index("Each line is a model (teacher) whose predictions count by its weight")
    assert said < text.index(">kappa</th>")


def test_only_long_tables_with_headers_are_cut_on_paper():
    rows = [["a", str(i)] for i in range(PRINTED + 1)]
    assert f"nth-child(n+{PRINTED + 1})" in STYLE
    assert 'class="wide long"' in table(["name", "value"], rows)
    assert f"The first of {PRINTED + 1} lines are here" in table(["name", "value"], rows)
    for others in (table([], rows), table(["name", "value"], rows[1:])):
        assert "long" not in others
        assert "paper" not in others
