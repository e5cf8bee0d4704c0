"""AnnData files: X, columns of obs as targets and id, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from commands import column, run
from gnomon.tables import TableError, _h5ad, read_cells, read_table

anndata = pytest.importorskip("anndata")
pytestmark = pytest.mark.usefixtures("few_splits")
X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0], [0.0, 4.0, 0.5]])


@pytest.fixture
def written(tmp_path):
    def write(matrix=X, genes=("G1", "G2", "G3"), **obs):
        import pandas as pd

        n = 4 if matrix is None else matrix.shape[0]
        frame = pd.DataFrame(obs, index=[f"cell{i}" for i in range(n)])
        anndata.AnnData(matrix, obs=frame, var=pd.DataFrame(index=list(genes))).write_h5ad(tmp_path / "t.h5ad")
        return tmp_path / "t.h5ad"

    return write


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_x_and_the_names_of_its_rows(written, make, dtype):
    table = read_table(written(make((2 * X).astype(dtype))))
    assert sparse.issparse(table.X) == (make is not np.asarray)
    assert table.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(sparse.csr_matrix(table.X).toarray(), 2 * X)
    assert table.feature_names == ["G1", "G2", "G3"]
    assert table.id_name == "obs_names"
    assert table.ids.tolist() == ["cell0", "cell1", "cell2", "cell3"]


def test_columns_of_obs_are_targets(written):
    import pandas as pd

    path = written(kind=pd.Categorical(["B", None, "T", "B"]), age=[1.0, np.nan, 2.5, 3.0], well=["a", "b", "c", "d"])
    table = read_table(path, targets=["kind", "age"], id="well")
    assert table.targets["kind"].tolist() == ["B", None, "T", "B"]
    assert table.targets["age"].tolist() == [1.0, None, 2.5, 3.0]
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert table.feature_names == ["G1", "G2", "G3"]
    assert list(read_cells(path, 2).columns) == ["obs_names", "kind", "age", "well", "G1", "G2", "G3"]


def test_columns_are_found_by_name(written):
    path = written(sparse.csr_matrix(X), kind=["B", "T", "T", "B"])
    np.testing.assert_array_equal(read_table(path, drop=["G2"]).X.toarray(), X[:, [0, 2]])
    found = read_table(path, features=["G3", "G1", "G2"], ignore=["kind"])
    np.testing.assert_array_equal(found.X.toarray(), X[:, [2, 0, 1]])


@pytest.mark.parametrize(
    "matrix, genes, roles, said",
    [
        (X, ("G1", "G2", "G3"), {"targets": ["G1"]}, "'G1' is a column of X; --target takes a column of obs"),
        (X, ("G1", "G2", "G3"), {"id": "G1"}, "'G1' is a column of X; --id takes a column of obs"),
        (X, ("G1", "G2", "G3"), {"targets": ["kin"]}, "Did you mean 'kind'"),
        (X, ("kind", "G2", "G3"), {"targets": ["kind"]}, "column of obs and of X as well"),
        (X, ("G1", "G1", "G3"), {}, "several columns are called 'G1'"),
        (np.where(X > 3, np.inf, X), ("G1", "G2", "G3"), {}, "not a finite number"),
        (None, (), {}, "has no X"),
        (X[:, :0], (), {}, "X is empty"),
    ],
)
def test_what_cannot_be_used_is_refused(written, matrix, genes, roles, said):
    with pytest.warns(UserWarning, match="not unique") if len(set(genes)) < len(genes) else np.errstate():
        path = written(matrix, genes, kind=["B", "T", "T", "B"])
    with pytest.raises(TableError, match=said) as error:
        read_table(path, **roles)
    assert "\n" not in str(error.value)


def test_damaged_files_and_a_missing_package(written, tmp_path, monkeypatch):
    path = written()
    (tmp_path / "cut.h5ad").write_bytes(path.read_bytes()[:3000])
    (tmp_path / "text.h5ad").write_text("a,b\n1,2\n")
    for name in "cut.h5ad", "text.h5ad":
        with pytest.raises(TableError, match="not an AnnData file") as error:
            read_table(tmp_path / name)
        assert "\n" not in str(error.value)
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(TableError, match=r"pip install 'gnomon\[anndata\]'"):
        read_table(path)


def test_fit_and_predict(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = np.repeat(["B", "T"], 20).astype(object)
    matrix = rng.normal(size=(40, 3)) + 4.0 * (kinds == "T")[:, None]
    known = kinds.copy()
    known[10:20] = known[30:] = None
    written(matrix, kind=known)
    run("fit", "t.h5ad", "--target", "kind", "--model", "dppca", "--out", "out")
    run("predict", "out", "t.h5ad", "--out", "answers.csv")
    assert np.mean(np.array(column("answers.csv", "predicted")) == kinds) > 0.9
    assert column("answers.csv", "obs_names")[:2] == ["cell0", "cell1"]


@pytest.mark.parametrize("code", ["import os; os.abort()", "while True: pass"])
def test_a_file_on_which_hdf5_ends_the_process_or_never_ends_is_one_line(written, monkeypatch, code):
    path = written()
    monkeypatch.setattr(_h5ad, "LOOK", code)
    monkeypatch.setattr(_h5ad, "PATIENCE", 2.0)
    with pytest.raises(TableError, match="is damaged: HDF5 cannot read how it is built") as caught:
        read_table(str(path))
    assert "\n" not in str(caught.value)


def test_the_structure_of_a_file_is_read_to_its_end(written, tmp_path):
    path = written(kind=list("abab"))
    h5py = pytest.importorskip("h5py")
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, one: found.append(name))
    assert "obs/_index" in found
    told = _h5ad.LOOK.replace("dict(found.attrs).clear()", "print(name)")
    said = subprocess.run([sys.executable, "-c", told, path], capture_output=True, text=True, check=True).stdout.split()
    assert said == found
    (tmp_path / "no.h5ad").write_text("text")
    with pytest.raises(TableError, match="is not an AnnData file that can be read"):
        read_table(str(tmp_path / "no.h5ad"))
