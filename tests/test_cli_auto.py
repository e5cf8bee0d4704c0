"""gnomon fit as it is without --model, or with --model search: it says how, and the result serves like any other."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_moons
from sklearn.pipeline import Pipeline

from commands import column, metrics, refusal, run
from gnomon import CPPCA, DPPCA, PPCA, SPPCA, GuidedProjection
from gnomon.datasets import load_iris, make_partial
from gnomon.export import load_model
from gnomon.selection import GuidedSearch, suggest_labels
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

IRIS = load_iris()
X_IRIS, SPECIES = IRIS.data[::2].copy(), np.array(IRIS.target_names, dtype=object)[IRIS.target[::2]]
PARTIAL = make_partial(SPECIES, n_per_class=8, random_state=0)
NAMES = ["a", "b", "c", "d"]
QUICKLY = partial(GuidedSearch, n_splits=1, n_permutations=2)
PLAIN = ["--target", "y", "--no-compare", "--out", "out"]
QUICK = [*PLAIN, "--model", "search"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", QUICKLY)


def table(name, X, y=None):
    columns = {NAMES[j]: X[:, j] for j in range(X.shape[1])}
    write_table(name, columns | ({} if y is None else {"y": y}))


def moons():
    X, y = make_moons(120, noise=0.05, random_state=0)
    table("t.csv", X, make_partial(np.array(["north", "south"], dtype=object)[y], n_per_class=10, random_state=0))
    return X


def test_the_choice_is_that_of_the_library_and_is_written_down(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    table("t.csv", X_IRIS, PARTIAL)
    text = run("fit", "t.csv", *QUICK)
    search = QUICKLY(["DPPCA", "CPPCA", "SPPCA"], n_components=2).fit(X_IRIS, PARTIAL)
    choice = search.results_
    assert choice.verdict.split(":")[0] in " ".join(text.split())
    kept = metrics()["choice"]
    assert [row["score"] for row in kept["rows"]] == [row["score"] for row in choice.rows]
    assert kept["verdict"] == choice.verdict
    assert metrics()["settings"]["model_asked_for"] == "search"
    assert metrics()["settings"]["preprocessing"] == choice.chosen_row["preprocessing"]
    assert column("out/projection.csv", "predicted") == search.predict(X_IRIS).tolist()
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "How the model was chosen" in page
    assert "half-label models agree" in page


def test_a_model_behind_a_preparation_is_stored_as_one_and_takes_new_tables():
    X = moons()
    text = run("fit", "t.csv", *QUICK)
    assert "PCA on neighbors" in text
    stored = load_model("out/model.gnomon")
    assert isinstance(stored, Pipeline)
    run("predict", "out", "t.csv", "--out", "p.csv")
    run("transform", "out", "t.csv", "--out", "z.csv")
    assert column("p.csv", "predicted") == column("out/projection.csv", "predicted")
    assert column("z.csv", "z1") == column("out/projection.csv", "z1")
    assert_allclose(np.array(column("z.csv", "z1"), dtype=float), stored.transform(X)[:, 0])


def test_empty_cells_of_new_tables_are_filled_before_a_preparation():
    X = moons()
    run("fit", "t.csv", *QUICK)
    holes = X.copy()
    holes[::9, 1] = np.nan
    table("new.csv", holes)
    run("predict", "out", "new.csv", "--out", "p.csv")
    run("impute", "out", "new.csv", "--out", "filled.csv")
    filled = PPCA(1).fit(X).impute(holes)
    assert_allclose(np.array(column("filled.csv", "b"), dtype=float), filled[:, 1])
    assert column("p.csv", "predicted") == load_model("out/model.gnomon").predict(filled).tolist()


def test_with_every_row_labeled_nothing_is_said_to_agree(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    quickly = partial(QUICKLY, preprocessing=["rows"])
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", quickly)
    table("t.csv", X_IRIS, SPECIES)
    text = " ".join(run("fit", "t.csv", *QUICK).split())
    assert "(every row is labeled, so agreement does not count)" in text
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "The score is with every row labeled, minus their error on each other&#x27;s labels" in page
    for said in (text, page):
        assert "agree on" not in said
        assert "agreement on unlabeled rows" not in said


@pytest.mark.parametrize("per_class", [1, 8])
def test_classes_are_taught_by_many_models(per_class, monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    labels = make_partial(SPECIES, n_per_class=per_class, random_state=0)
    X = X_IRIS * [1.0, 1.0, 1.0, 1000.0]
    table("t.csv", X, labels)
    text = run("fit", "t.csv", *PLAIN)
    assert "GuidedProjection: 2 components, scale none; taught by " in " ".join(text.split())
    assert "decides the projection" not in text
    alone = GuidedProjection(2).fit(X, labels)
    assert column("out/projection.csv", "predicted") == alone.predict(X).tolist()
    assert metrics()["choice"] is None
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "standardized columns" in page
    holes = X.copy()
    holes[::9, 1] = np.nan
    table("new.csv", holes)
    run("predict", "out", "new.csv", "--out", "p.csv")
    assert column("p.csv", "predicted") == alone.predict(holes).tolist()


def test_too_few_labels_to_choose_are_a_note():
    labels = np.full(75, None, dtype=object)
    labels[[0, 30, 60]] = IRIS.target_names
    table("t.csv", X_IRIS, labels)
    text = run("fit", "t.csv", *QUICK)
    assert "note: no choice, so SPPCA: every class of y has one labeled row at most" in " ".join(text.split())
    assert isinstance(load_model("out/model.gnomon")[-1], SPPCA)
    assert metrics()["choice"] is None


@pytest.mark.parametrize("name, cls", [("dppca", DPPCA), ("cppca", CPPCA)])
def test_models_may_be_named(name, cls):
    table("t.csv", X_IRIS, PARTIAL)
    run("fit", "t.csv", *PLAIN, "--model", name)
    assert_array_equal(load_model("out/model.gnomon")[-1].components_, cls(2).fit(X_IRIS, PARTIAL).components_)
    assert metrics()["choice"] is None


def test_real_targets_choose_too():
    X, y = load_diabetes(return_X_y=True)
    table("t.csv", X[:150, :4], np.where(np.arange(150) % 3 == 0, y[:150] + 0.5, np.nan))
    text = run("fit", "t.csv", *QUICK)
    assert "correlation" in text
    assert metrics()["choice"]["target_kind"] == "real"
    assert "predicted_std" in Path("out/projection.csv").read_text(encoding="utf-8").splitlines()[0]


def test_missing_entries_leave_models_that_take_them(monkeypatch):
    once = partial(QUICKLY, n_permutations=0, preprocessing=["rows"])
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", once)
    monkeypatch.setattr("gnomon._cli.choosing.STORED", {"classes": ("DPPCA", "CPPCA")})
    X = X_IRIS.copy()
    X[::5, 2] = np.nan
    table("t.csv", X, PARTIAL)
    text = " ".join(run("fit", "t.csv", *QUICK).split())
    assert "CPPCA: 2 components" in text
    run("impute", "out", "t.csv", "--out", "filled.csv", "--drop", "y")


def test_the_same_command_writes_the_same_results():
    moons()
    run("fit", "t.csv", *QUICK)
    run("fit", "t.csv", "--target", "y", "--no-compare", "--model", "search", "--out", "again")
    for name in ("model.gnomon", "projection.csv"):
        assert Path("out", name).read_bytes() == Path("again", name).read_bytes()
    old, new = (json.loads(Path(folder, "metrics.json").read_text()) for folder in ("out", "again"))
    own = {"sha256": None, "call": None, "times": None}
    assert old | own == new | own


@pytest.mark.parametrize("model", ["auto", "search"])
@pytest.mark.parametrize("kind", ["constant", "duplicated", "percent"])
def test_tables_of_less_than_full_rank_fit(kind, model, monkeypatch):
    if kind != "percent":
        monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", partial(QUICKLY, preprocessing=["rows"]))
    data = IRIS
    X = np.column_stack([data.data, {"constant": np.full(150, 7.0)}.get(kind, data.data[:, 0])])
    X = 100 * X / X.sum(axis=1, keepdims=True) if kind == "percent" else X
    target = np.where(np.arange(150) % 5 == 0, np.array(data.target_names)[data.target], "")
    columns = {f"x{j}": X[:, j] for j in range(5)}
    write_table("t.csv", columns | {"species": target})
    words = ("--components", "9", "--no-compare", "--model", model, "--out", "out")
    text = run("fit", "t.csv", "--target", "species", *words)
    found = metrics()["settings"]["components"]
    graph = kind == "percent" and model == "search"
    assert found == 9 if graph else found <= 4  # the graph of neighbors has 60 columns, the rows 4
    assert (found < 9) == (f"has {found} components, not the 9 of --components" in " ".join(text.split()))
    X[::7, 0] = np.nan
    write_table("holes.csv", {f"x{j}": X[:, j] for j in range(5)})
    run("predict", "out", "holes.csv", "--out", "p.csv")
    run("impute", "out", "holes.csv", "--out", "filled.csv")
    assert "" not in column("filled.csv", "x0")


# ------------------------------------------------------------------------------------------- suggest


def suggested(*arguments):
    return [line.split(",") for line in run("suggest", "out", "t.csv", *arguments).splitlines()]


def test_suggest_names_rows_without_a_label(tmp_path):
    table("t.csv", X_IRIS, PARTIAL)
    run("fit", "t.csv", *PLAIN)
    header, *rows = suggested("--count", "4")
    assert header[:2] == ["row", "predicted"]
    chosen = [int(row[0]) - 1 for row in rows]
    model = load_model("out/model.gnomon")
    unlabeled = np.flatnonzero(PARTIAL == None)  # noqa: E711
    assert_array_equal(chosen, unlabeled[suggest_labels(model[-1], 4, X_IRIS[unlabeled])])
    assert_array_equal([row[1] for row in rows], model[-1].predict(X_IRIS[chosen]))
    assert run("suggest", "out", "t.csv", "--out", "s.csv") == "suggested 10 of 75 rows of t.csv; wrote s.csv\n"
    assert len(column("s.csv", "row")) == 10


def test_a_table_without_targets_is_all_candidates():
    table("t.csv", X_IRIS, PARTIAL)
    run("fit", "t.csv", *PLAIN)
    table("t.csv", X_IRIS[:5])
    assert sorted(row[0] for row in suggested()[1:]) == ["1", "2", "3", "4", "5"]
    Path("labels.txt").write_text("setosa\n\n\nvirginica\n\n")
    assert sorted(row[0] for row in suggested("--labels", "labels.txt")[1:]) == ["2", "3", "5"]


def test_a_table_and_its_labels_do_not_both_come_from_a_pipe():
    said = refusal("fit", "-", "--labels", "-", "--out", "out")
    assert "--labels and TABLE cannot both be standard input; name a file for one of them." in said


@pytest.mark.parametrize(
    ("fitted", "shown", "words"),
    [
        (["--model", "ppca"], PARTIAL, "PPCA suggests no rows"),
        ([], SPECIES, "every row has a label"),
    ],
)
def test_suggest_says_why_not(fitted, shown, words):
    table("t.csv", X_IRIS, PARTIAL)
    run("fit", "t.csv", *PLAIN, *fitted)
    table("t.csv", X_IRIS, shown)
    more = ["--drop", "y"] if fitted else []
    assert words in refusal("suggest", "out", "t.csv", *more)


def test_the_report_names_rows_to_label(monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: True)
    table("t.csv", X_IRIS, PARTIAL)
    run("fit", "t.csv", *PLAIN)
    names = ", ".join(row[0] for row in suggested()[1:])
    text = re.sub("<[^>]+>", "", Path("out/report.html").read_text())
    assert f"these would teach most, the first one first: {names}." in text
