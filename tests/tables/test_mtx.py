"""Matrix Market files and matrices as scipy saves them: the matrix, its names, and what is refused."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from scipy import io, sparse

from gnomon.tables import TableError, read_cells, read_table

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0], [0.0, 4.0, 0.5]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("make", [sparse.coo_matrix, sparse.coo_array])
def test_save_npz_in_every_form(tmp_path, form, make):
    sparse.save_npz(tmp_path / "x.npz", make(X).asformat(form))
    table = read_table(tmp_path / "x.npz")
    assert sparse.issparse(table.X)
    assert table.feature_names == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(table.X.toarray(), X)


def test_a_square_matrix_saved_by_columns_is_not_turned_round(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csc_matrix(X[:3]))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npz").X.toarray(), X[:3])


@pytest.mark.parametrize("part", ["indices", "indptr", "data", "format"])
def test_a_damaged_matrix_of_scipy_is_refused(tmp_path, part):
    sparse.save_npz(tmp_path / "x.npz", sparse.csc_matrix(X))
    arrays = dict(np.load(tmp_path / "x.npz"))
    arrays[part] = np.array(b"odd") if part == "format" else arrays[part] + 99 if part != "data" else arrays[part][:2]
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(TableError, match="save_npz") as error:
        read_table(tmp_path / "x.npz")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz", "matrix.mtx"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, np.asarray])
def test_matrix_market_has_samples_as_rows(tmp_path, name, make):
    write(tmp_path / name, make(X))
    table = read_table(tmp_path / name)
    assert sparse.issparse(table.X) == (make is sparse.csr_matrix)
    np.testing.assert_array_equal(sparse.csr_matrix(table.X).toarray(), X)
    assert table.feature_names == ["x0", "x1", "x2"]
    assert table.ids is None


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("start", ["", "GSM1_"])
@pytest.mark.parametrize("genes", ["features.tsv", "genes.tsv"])
def test_names_beside_turn_the_matrix_round(tmp_path, packed, start, genes):
    tenx(tmp_path, packed, start, genes)
    table = read_table(tmp_path / f"{start}matrix.mtx{packed}")
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert table.feature_names == ["G1", "G2", "G3"]
    assert table.ids.tolist() == ["AAA", "AAC", "AAG", "AAT"]
    assert table.id_name == "barcode"
    assert "turned round" in table.assumed


def test_columns_are_found_by_name(tmp_path):
    tenx(tmp_path)
    path = tmp_path / "matrix.mtx"
    np.testing.assert_array_equal(read_table(path, id="barcode", drop=["G2"]).X.toarray(), X[:, [0, 2]])
    found = read_table(path, features=["G3", "G1", "G2"])
    np.testing.assert_array_equal(found.X.toarray(), X[:, [2, 0, 1]])
    for target in "G1", "cell", "barcode":
        with pytest.raises(TableError, match=f"no labels, so there is no '{target}' for --target; .* --labels FILE"):
            read_table(path, targets=[target])
    with pytest.raises(TableError, match="'G1' is a column of the matrix, which holds no names of rows"):
        read_table(path, id="G1")


def test_cells_to_look_at(tmp_path):
    tenx(tmp_path)
    cells = read_cells(tmp_path / "matrix.mtx", 2)
    assert cells.columns == {"barcode": ["AAA", "AAC"], "G1": [0.0, 2.0], "G2": [1.5, 0.0], "G3": [0.0, 0.0]}
    assert cells.sparse
    assert not cells.whole


def test_names_that_do_not_fit_are_refused(tmp_path):
    tenx(tmp_path)
    path = tmp_path / "matrix.mtx"
    (tmp_path / "barcodes.tsv").write_text("AAA\nAAC\n")
    with pytest.raises(TableError, match=r"4 columns, and .*barcodes.tsv names 2"):
        read_table(path)
    (tmp_path / "barcodes.tsv").unlink()
    with pytest.raises(TableError, match=r"features.tsv lies beside it, and barcodes.tsv does not"):
        read_table(path)
    (tmp_path / "barcodes.tsv.gz").write_bytes(b"not packed")
    with pytest.raises(TableError, match="cannot be unpacked"):
        read_table(path)
    (tmp_path / "barcodes.tsv").write_bytes(b"\xff\xfe\n" * 4)
    with pytest.raises(TableError, match="not UTF-8"):
        read_table(path)


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        HEAD,
        HEAD + "2 2 2\n1 1 1\n",
        HEAD + "2 2 1\n3 1 1\n",
        HEAD + "2 2 1\n0 1 1\n",
        HEAD + "2 2 1\n1 1 one\n",
        HEAD + "2 2 1\n1 1 nan\n",
        HEAD + "2 2 1\n1 1 1e200\n",
        HEAD + "0 2 0\n",
        HEAD.replace("real", "complex") + "2 2 1\n1 1 1 2\n",
    ],
)
def test_a_damaged_matrix_market_file_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "x.mtx").write_text(text)
    with pytest.raises(TableError) as error:
        read_table(tmp_path / "x.mtx")
    assert "\n" not in str(error.value)
    assert "x.mtx" in str(error.value)


@pytest.mark.parametrize("text", ["1 1 1.0 ", "1 1 1.0 x", "1 1.2\x11", "1 1 1.0 \0\n"])
def test_what_follows_the_last_number_ends_no_process(tmp_path, text):
    """scipy reads past the end of a text whose last line holds more than it should and has no end, or a NUL."""
    (tmp_path / "x.mtx").write_text(HEAD + "3 4 1\n" + text)
    read = f"import sys; from gnomon.tables import read_table; print(read_table({str(tmp_path / 'x.mtx')!r}).X.shape)"
    done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1:]
    assert done.stdout == "(3, 4)\n" or (done.returncode == 1 and "TableError" in said[0])


def test_a_file_cut_short_is_refused(tmp_path):
    write(tmp_path / "x.mtx.gz", sparse.csr_matrix(X))
    (tmp_path / "x.mtx.gz").write_bytes((tmp_path / "x.mtx.gz").read_bytes()[:-12])
    with pytest.raises(TableError) as error:
        read_table(tmp_path / "x.mtx.gz")
    assert "x.mtx.gz" in str(error.value)


def write(path, matrix):
    io.mmwrite(path.with_name("plain.mtx"), matrix)
    content = path.with_name("plain.mtx").read_bytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def tenx(folder, packed="", start="", genes="features.tsv"):
    """The files of a 10x folder."""
    write(folder / f"{start}matrix.mtx{packed}", sparse.csr_matrix(X.T))
    texts = {"barcodes.tsv": "AAA\nAAC\nAAG\nAAT\n", genes: "G1\tone\tExpr\nG2\ttwo\tExpr\nG3\tthree\tExpr\n"}
    for name, text in texts.items():
        content = text.encode()
        (folder / f"{start}{name}{packed}").write_bytes(gzip.compress(content) if packed else content)
