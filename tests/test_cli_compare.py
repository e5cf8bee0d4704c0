"""gnomon compare: the comparison of the library on a table, for one model or several."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from commands import column, metrics, refusal, run
from gnomon import DPPCA, KDA
from gnomon.cli import main
from gnomon.datasets import load_iris, make_partial
from gnomon.selection import GuidedSearch, compare
from gnomon.tables import write_table

IRIS = load_iris()
X, Y = IRIS.data[::3], np.array(IRIS.target_names, dtype=object)[IRIS.target[::3]]
PARTIAL = make_partial(Y, n_per_class=6, random_state=0)
NAMES = ["a", "b", "c", "d"]
COMPARE = ("compare", "t.csv", "--target", "kind")
QUICKLY = partial(GuidedSearch, n_splits=1, n_permutations=0, preprocessing=["rows"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    write_table("t.csv", {name: X[:, j] for j, name in enumerate(NAMES)} | {"kind": PARTIAL})


@pytest.mark.usefixtures("few_splits")
def test_the_scores_are_those_of_the_library_for_each_model():
    text = run(*COMPARE, "--model", "kda", "dppca", "--seed", 3, "--out", "s.csv")
    models = {"KDA": KDA(2), "DPPCA": DPPCA(2, random_state=3)}
    expected = compare(X, PARTIAL, estimators=models, n_components=2, n_splits=2, random_state=3)
    assert column("s.csv", "method") == [row["method"] for row in expected.rows]
    assert column("s.csv", "score") == [str(row["score"]) for row in expected.rows]
    assert column("s.csv", "prediction")[2] == ""  # principal components predict nothing
    assert set(column("s.csv", "target")) == {"kind"}
    assert " ".join(expected.verdict.split()) in " ".join(text.split())
    assert "t.csv: 50 rows, 4 features\n" in text
    assert "KDA: 2 components, scale none\n" in text
    assert text.endswith("\nWrote the scores to s.csv.\n")


def test_it_is_what_fit_prints():
    words = ("t.csv", "--target", "kind", "--scale", "standard", "--model", "kda")
    fitted, compared = run("fit", *words, "--out", "out"), run("compare", *words)

    def table(text):  # without the seconds, which may be "< 0.001"
        return [
            line.rstrip().rsplit("  ", 1)[0].rstrip()
            for line in text.splitlines()
            if re.search(r"\(\d\.\d\d to ", line)
        ]

    assert len(table(compared)) >= 5
    assert table(compared) == table(fitted)[: len(table(compared))]
    assert metrics()["comparison"]["rows"][0]["target"] == "kind"


@pytest.mark.usefixtures("few_splits")
def test_the_chosen_model_is_compared_beside_named_ones(monkeypatch):
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", QUICKLY)
    monkeypatch.setattr("gnomon._cli.choosing.STORED", {"classes": ("SPPCA",)})
    text = run(*COMPARE, "--model", "search", "sppca", "kda", "--out", "s.tsv")
    assert re.search(r"Chosen: SPPCA( \(label_weight=\d+\))? on rows", " ".join(text.split()))
    lines = Path("s.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in lines[1:4]] == ["SPPCA", "SPPCA (sppca)", "KDA"]


def test_targets_of_several_kinds_have_their_names():
    table = {name: X[:, j] for j, name in enumerate(NAMES[:3])}
    write_table("two.csv", table | {"kind": PARTIAL, "size": X[:, 3] + 0.05})
    words = ("--target", "kind", "size", "--model", "cppca", "--components", 1, "--set", "max_iter=3")
    text = run("compare", "two.csv", *words, "--out", "s.csv")
    assert set(column("s.csv", "target")) == {"kind", "size"}
    said = " ".join(text.split())
    assert re.search("column 'kind': (The labels|It cannot be told)", said)
    assert re.search("column 'size': (The labels|It cannot be told)", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "pca"), "'pca' is not one of 'auto', 'search', 'cppca'"),
        (("--model", "ppca"), "--model ppca: it ignores the target, and PCA is compared in any case; leave it out."),
        (("--model", "kda", "sppca", "--set", "kernel=rbf"), "--set is of one model; name one by --model."),
        (("--model", "kda", "--out", "s.xlsx"), "s.xlsx: .xlsx is not a kind of table that can be written"),
        (("--model", "kda", "--out", "t.csv", "--force"), "t.csv is the input; choose another --out."),
        (("--model", "kda", "--drop", "kind"), "column 'kind' is named for --target and for --drop"),
        (("--model", "sppca", "cppca", "--target", "a"), "sppca and cppca read several targets in different ways"),
        (("--model", "kda", "--components", "9", "--keep", "e"), "--keep names 'e', which is not a feature"),
    ],
)
def test_what_cannot_be_compared_is_refused(words, said):
    assert said in refusal(*COMPARE, *words)
    assert sorted(path.name for path in Path().iterdir()) == ["t.csv"]


def test_labels_are_needed():
    assert "--target is missing; a comparison is made by labels." in refusal("compare", "t.csv")
    labels = np.full(50, None)
    labels[[0, 20, 40]] = IRIS.target_names
    write_table("few.csv", {name: X[:, j] for j, name in enumerate(NAMES)} | {"kind": labels})
    said = refusal("compare", "few.csv", "--target", "kind", "--model", "sppca")
    assert "few.csv: no comparison: y has one labeled row in each class" in said


def test_the_options_are_those_of_fit():
    texts = {}
    for command in ("fit", "compare"):
        help_text = CliRunner().invoke(main, [command, "--help"], terminal_width=400).output
        lines = [line.split(None, 1) for line in help_text.splitlines() if line.startswith("  --")]
        texts[command] = {name: text for name, text in lines if name not in ("--model", "--out", "--force")}
    for name in ("--compare", "--dask", "--scheduler", "--dry-run", "--config", "--shape"):
        del texts["fit"][name]
    assert texts["compare"] == texts["fit"]
    assert len(texts["fit"]) > 8


def test_processes_give_the_same_scores(monkeypatch):
    monkeypatch.setattr("gnomon._cli.choosing.GuidedSearch", QUICKLY)
    for jobs in (1, 2):
        run(*COMPARE, "--model", "kda", "auto", "--jobs", jobs, "--out", f"{jobs}.csv")
    for name in ("method", "score", "prediction"):
        assert column("1.csv", name) == column("2.csv", name)


@pytest.mark.usefixtures("few_splits")
def test_rows_of_one_id_are_held_out_together():
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    names = np.array([f"plant {i // 5}" for i in range(len(X))], dtype=object)
    write_table("t.csv", {"plant": names} | columns | {"kind": PARTIAL})
    text = " ".join(run(*COMPARE, "--model", "kda", "--id", "plant").split())
    labeled = pd.Series(PARTIAL).notna().to_numpy()
    n = len(set(names[labeled]))
    assert f"They are {n} groups, of which each was held out as a whole." in text
    kda = next(part for part in text.split("KDA")[2:] if part[0] == " ")
    expected = compare(X, PARTIAL, estimators={"KDA": KDA(2)}, groups=names, n_components=2, n_splits=2, random_state=0)
    assert kda.split()[1] == f"{expected.rows[0]['score']:.3f}"
