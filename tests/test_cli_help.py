"""Every command says how it is used, and what it says runs."""

import gzip
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.io import mmwrite

from commands import run
from gnomon.cli import main
from gnomon.datasets import load_iris, make_partial
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")
COMMANDS = sorted(set(main.commands) - {"reproduce"})  # whose examples take long; tests/experiments has them
IRIS = load_iris()
SPECIES = np.array(IRIS.target_names, dtype=object)[IRIS.target]


def examples(command):
    """The lines of a help text that are commands."""
    text = CliRunner().invoke(main, [command, "--help"], terminal_width=400).output
    return re.findall(r"^  (gnomon .*)$", text, re.MULTILINE)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, partial = IRIS.data[::2], make_partial(SPECIES[::2], n_per_class=5, random_state=0)
    features = {name: X[:, j] for j, name in enumerate("abcd")}
    row = np.arange(1, len(X) + 1)
    write_table("flowers.csv", {"flower": row} | features | {"species": partial})
    write_table("more.csv", {"flower": row} | features)
    numbers = {"moisture": X[:, 0] + 1.0, "oil": X[:, 1] * 2.0}
    write_table("corn.csv", {"sample": [f"s{i}" for i in row]} | features | numbers)
    write_table("rings.csv", features | {"ring": SPECIES[::2]})
    write_table("crabs.csv", features | {"sex": np.resize(["m", "f"], len(X)), "species": SPECIES[::2]})
    write_table("patients.csv", features | {"sex": np.resize(["m", "f"], len(X)), "age": X[:, 2] * 10.5})
    answers = {"region": np.resize(["north", "south", "east"], len(X)), "smokes": np.resize(["yes", "no"], len(X))}
    write_table("survey.csv", features | answers | {"income": X[:, 0] * 1000.0})
    genes = rng.poisson(3.0, size=(30, 40))
    mmwrite("matrix.mtx", sparse.csr_matrix(genes))
    Path("matrix.mtx.gz").write_bytes(gzip.compress(Path("matrix.mtx").read_bytes()))
    Path("cell_types.csv").write_text("\n".join("AB"[i % 2] for i in range(30)) + "\n")
    Path("spectra").mkdir()
    for i, spectrum in enumerate(X):
        Path(f"spectra/{i}.txt").write_text("\n".join(f"{1100 + 2 * j} {value}" for j, value in enumerate(spectrum)))
    write_table("moisture.csv", {"file": [f"{i}.txt" for i in range(len(X))], "moisture": X[:, 0] * 1.5})
    names = [f"s{i}" for i in range(30)]
    write_table("expression.csv", {"gene": [f"g{j}" for j in range(40)]} | dict(zip(names, genes * 1.0, strict=True)))
    write_table("tumors.csv", {"sample": names, "tumor": np.resize(["A", "B"], 30)})
    return tmp_path


def with_anndata_and_sheets(rng):
    anndata, openpyxl = pytest.importorskip("anndata"), pytest.importorskip("openpyxl")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"type": np.resize(["A", "B"], 30)}, index=[f"c{i}" for i in range(30)])
    data = anndata.AnnData(rng.normal(size=(30, 5)), obs=obs, layers={"counts": rng.poisson(2.0, size=(30, 5)) * 1.0})
    data.write_h5ad("cells.h5ad")
    data.write_h5ad("more.h5ad")
    book = openpyxl.Workbook()
    sheet = book.create_sheet("May")
    for row in (["a", "b"], [1, 2], [3, 4]):
        sheet.append(row)
    book.save("results.xlsx")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_of_a_help_text_runs(command, files, monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    if command == "demo":  # whose comparison takes long
        monkeypatch.setattr("gnomon._cli.fitting.compare_with_baselines", lambda *_: None)
    lines = examples(command)
    assert any(line.split()[1] == command for line in lines), command
    pytest.importorskip("pyarrow")
    pytest.importorskip("onnx" if command == "export" else "matplotlib")
    write_table("genes.parquet", {f"g{j}": np.random.default_rng(j).normal(size=30) for j in range(8)})
    if any("h5ad" in line for line in lines):
        with_anndata_and_sheets(np.random.default_rng(0))
        run("fit", "cells.h5ad", "--target", "type", "--model", "sppca", "--no-compare", "--out", "cells")
    if "gnomon fit" not in lines[0]:
        run("fit", "flowers.csv", "--target", "species", "--id", "flower", "--no-compare", "--out", "flowers")
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])[1:]
        run(*words, *(["--no-compare"] if words[0] == "fit" else []))
