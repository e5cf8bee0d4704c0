"""gnomon report: the page of a stored model and a table, without fitting again."""

import hashlib
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from commands import refusal, run
from gnomon import KDA, SPPCA
from gnomon.datasets import load_iris, make_partial
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

IRIS = load_iris()
X, Y = IRIS.data[::3], np.array(IRIS.target_names, dtype=object)[IRIS.target[::3]]
PARTIAL = make_partial(Y, n_per_class=6, random_state=0)
NAMES = ["a", "b", "c", "d"]
FIT = ("fit", "t.csv", "--target", "kind", "--model")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    table("t.csv", {"kind": PARTIAL})


def table(name, more, rows=X):
    write_table(name, {name: rows[:, j] for j, name in enumerate(NAMES)} | more)


def page(name="r.html"):
    return Path(name).read_text(encoding="utf-8")


def parts(text):
    """The page without what differs from one writing to the next."""
    return re.sub(r"Written by .* UTC|<p>Shown here.*</p>\n", "", text)


def test_of_the_table_of_the_fit_it_is_the_report_of_the_fit(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    run(*FIT, "kda", "--scale", "standard", "--out", "out")
    assert run("report", "out", "t.csv", "--out", "r.html") == "reported on 50 rows of t.csv; wrote r.html\n"
    assert parts(page()) == parts(page("out/report.html"))
    assert "<h2>Comparison</h2>" in page()
    assert "Shown here: 50 rows, 18 of them with a label." in page()


def test_the_command_its_table_and_times_are_told():
    run(*FIT, "kda", "--no-compare", "--out", "out")
    run("report", "out", "t.csv", "--out", "r.html")
    cells = dict(re.findall("<tr><td>(.*?)</td><td>(.*?)</td></tr>", page()))
    figures = json.loads(Path("out/metrics.json").read_text(encoding="utf-8"))
    assert unescape(cells["command"]) == figures["call"]
    assert cells["sha256 of the table"] == hashlib.sha256(Path("t.csv").read_bytes()).hexdigest()
    assert cells["begun"] == figures["times"]["began"]
    assert float(cells["seconds of reading the table"]) >= 0.0
    older = {name: figures[name] for name in figures if name not in ("call", "table_sha256", "times")}
    Path("out/metrics.json").write_text(json.dumps(older), encoding="utf-8")
    run("report", "out", "t.csv", "--out", "s.html")
    assert "sha256 of the table" not in page("s.html")


def test_refits_give_bounds_on_what_columns_go_with():
    run(*FIT, "sppca", "--no-compare", "--out", "out")
    run("report", "out", "t.csv", "--refits", 12, "--out", "r.html")
    assert "fits to labels drawn anew" in page()
    table("bare.csv", {})
    said = refusal("report", "out", "bare.csv", "--refits", 12, "--out", "s.html")
    assert said == "gnomon: bare.csv: --refits fits to labels that are drawn anew, and no row has one.\n"
    assert not Path("s.html").exists()


def test_loadings_are_images_where_the_shape_is_given(monkeypatch):
    run(*FIT, "sppca", "--no-compare", "--out", "out")
    run("report", "out", "t.csv", "--out", "bars.html")
    run("report", "out", "t.csv", "--shape", "2x2", "--out", "r.html")
    assert page("bars.html").count('<div class="bars">') > page().count('<div class="bars">') == 0
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    run(*FIT, "sppca", "--no-compare", "--shape", "2x2", "--out", "images")
    run("report", "images", "t.csv", "--out", "again.html")
    assert page("images/report.html").count('<div class="bars">') == page("again.html").count('<div class="bars">') == 0
    assert "<tr><td>shape</td><td>2x2</td></tr>" in page("again.html")


@pytest.mark.parametrize("command", [(*FIT, "sppca"), (*FIT, "sppca", "--dry-run"), ("report", "out", "t.csv")])
def test_a_shape_that_rows_do_not_have_is_refused(command):
    run(*FIT, "sppca", "--no-compare", "--out", "out")
    said = refusal(*command, "--shape", "3x2", "--out", "s.html")
    assert said == "gnomon: t.csv: --shape 3x2 is of images of 6 pixels, and rows have 4 features.\n"
    assert not Path("s.html").exists()
    assert "'4' is no height and width; 32x24 is wanted" in refusal(*command, "--shape", "4", "--out", "s.html")
    assert "'0x4' is no height and width" in refusal(*command, "--shape", "0x4", "--out", "s.html")


def test_nothing_is_fitted(monkeypatch):
    run(*FIT, "kda", "--no-compare", "--out", "out")
    monkeypatch.setattr(KDA, "fit", None)
    run("report", "out", "t.csv", "--out", "r.html")
    assert "50 rows of 4 columns in 2 components, by KDA; 18 of them with a label" in page()


def test_other_rows_are_shown_as_such():
    run(*FIT, "sppca", "--no-compare", "--out", "out")
    new = X[10:30] + 0.01
    table("new.csv", {"kind": ["?"] * 15 + list(Y[25:30])}, new)
    run("report", "out", "new.csv", "--unlabeled", "?", "--out", "r.html")
    text = page()
    assert "by SPPCA; 18 of them with a label of one of 3 classes." in text
    assert "Shown here: 20 rows, 5 of them with a label." in text
    assert "15 rows had no label." in text
    assert "Scatter plot of 20 rows, 5 of them labeled" in text
    assert "<h1>new.csv</h1>" in text
    proba = SPPCA(2).fit(X, PARTIAL).predict_proba(new[:15]).max(axis=1)
    assert f"{proba.min():.3f}" in text
    write_table("bare.csv", {name: new[:, j] for j, name in enumerate(NAMES)})
    run("report", "out/model.gnomon", "bare.csv", "--out", "bare.html")
    assert "Shown here: 20 rows, none of them with a label." in page("bare.html")
    assert "model_asked_for" not in page("bare.html")  # settings are beside the model, not in it


def test_labels_may_come_from_a_file_of_their_own():
    run(*FIT, "sppca", "--no-compare", "--out", "out")
    run("report", "out", "t.csv", "--out", "whole.html")
    table("bare.csv", {})
    Path("labels.txt").write_text("".join(f"{label or ''}\n" for label in PARTIAL))
    run("report", "out", "bare.csv", "--labels", "labels.txt", "--out", "r.html")
    assert parts(page()) == parts(page("whole.html")).replace(">t.csv", ">bare.csv")
    Path("labels.txt").write_text("setosa\n" * 49)
    said = refusal("report", "out", "bare.csv", "--labels", "labels.txt", "--out", "none.html")
    assert said == "gnomon: labels.txt: 49 labels for the 50 rows of bare.csv; one a line was wanted.\n"
    run("fit", "bare.csv", "--model", "ppca", "--out", "plain")
    said = refusal("report", "plain", "bare.csv", "--labels", "labels.txt", "--out", "none.html")
    assert said == "gnomon: --labels: the file has one target, and the model none.\n"
    assert not Path("none.html").exists()


def test_targets_of_every_kind_are_read_as_the_model_names_them():
    rng = np.random.default_rng(0)
    code, size = rng.integers(0, 2, 50), X[:, 3] + 0.05
    write_table("two.csv", {name: X[:, j] for j, name in enumerate(NAMES[:3])} | {"code": code, "size": size})
    words = ("--model", "cppca", "--components", 1, "--set", "max_iter=2", "--no-compare", "--out", "out")
    run("fit", "two.csv", "--target", "code", "size", *words)
    some = {"code": [1, None] * 25, "size": [None] * 20 + [1.5] * 30}
    write_table("new.csv", {name: X[:, j] for j, name in enumerate(NAMES[:3])} | some)
    run("report", "out", "new.csv", "--out", "r.html")
    assert "Scatter plot of 50 rows, 25 of them labeled" in page()
    assert "Scatter plot of 50 rows, 30 of them labeled" in page()
    assert "Shown here: 50 rows, 40 of them with a label." in page()
    write_table("one.csv", {name: X[:, j] for j, name in enumerate(NAMES[:3])} | {"size": some["size"]})
    run("report", "out", "one.csv", "--out", "one.html")
    assert "Shown here: 50 rows, 30 of them with a label." in page("one.html")


def test_bad_input_is_one_line_and_nothing_is_written():
    run(*FIT, "kda", "--no-compare", "--out", "out")
    table("emu.csv", {"kind": ["emu"] * 50})
    table("ids.csv", {"kind": PARTIAL, "junk": ["x"] * 50})
    Path("old.html").write_text("mine", encoding="utf-8")
    before = sorted(Path().iterdir())

    def said(*words):
        return refusal("report", *words).removeprefix("gnomon: ").strip()

    assert said("out", "t.csv", "--out", "r.txt") == (
        "r.txt: a report is a page of HTML; choose a name that ends in .html."
    )
    kept = "old.html exists and was kept; choose another --out, or add --force to replace it."
    assert said("out", "t.csv", "--out", "old.html") == kept
    assert said("out", "t.csv", "--out", "no/r.html") == "no/r.html: the folder no does not exist; make it first."
    assert said("none", "t.csv", "--out", "r.html") == "none does not exist."
    assert said("out", "emu.csv", "--out", "r.html") == (
        "emu.csv, row 1 (line 2), column 'kind': emu is none of the model's classes setosa, versicolor, virginica; add "
        "--unlabeled emu if it means that the row has none."
    )
    assert said("out", "ids.csv", "--out", "r.html") == (
        "ids.csv: the model does not know 'junk': leave out with --drop."
    )
    assert sorted(Path().iterdir()) == before
    run("report", "out", "ids.csv", "--drop", "junk", "--out", "old.html", "--force")
    figures = json.loads(Path("out/metrics.json").read_text(encoding="utf-8"))
    Path("out/metrics.json").write_text(json.dumps(figures | {"choice": 7}), encoding="utf-8")
    assert said("out", "t.csv", "--out", "r.html").startswith("out/metrics.json is not what gnomon fit wrote (")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    run(*FIT, "kda", "--no-compare", "--out", "out")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert "pip install 'gnomon[plot]'" in refusal("report", "out", "t.csv", "--out", "r.html")
