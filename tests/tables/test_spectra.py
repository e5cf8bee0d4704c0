"""A folder of one spectrum a file, of two columns or of JCAMP-DX, as a table."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, refusal, run
from gnomon.tables import TableError, read_table, sha256_of

WAVES = np.arange(1100.0, 1160.0, 2.0)
RNG = np.random.default_rng(0)
AMOUNT = RNG.uniform(0.0, 1.0, 24)
X = AMOUNT[:, None] * np.exp(-(((WAVES - 1120.0) / 10.0) ** 2)) + RNG.normal(0.0, 0.01, (24, 30))
X = X.round(5)
JDX = """##TITLE=s{i}
##JCAMP-DX=4.24
##XUNITS=NANOMETERS
##YUNITS={units}
##YFACTOR=1e-5
##FIRSTX={first}
##LASTX={last}
##NPOINTS=30
##XYDATA=(X++(Y..Y))
{lines}
##END=
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    Path("s").mkdir()


def write_text(i, name=None, axis=WAVES, values=None, between="\t", head="", decimal="."):
    rows = zip(axis, X[i] if values is None else values, strict=True)
    lines = [f"{place:g}{between}{value:.5f}".replace(".", decimal) for place, value in rows]
    Path("s", name or f"s{i:02}.txt").write_text(head + "\n".join(lines) + "\n")


def write_jcamp(i, name=None, units="ABSORBANCE", back=False):
    axis, values = (WAVES[::-1], X[i][::-1]) if back else (WAVES, X[i])
    whole = np.rint(values * 1e5).astype(int)
    lines = "\n".join(f"{axis[j]:g} {' '.join(map(str, whole[j : j + 8]))}" for j in range(0, 30, 8))
    text = JDX.format(i=i, units=units, first=axis[0], last=axis[-1], lines=lines)
    Path("s", name or f"s{i:02}.jdx").write_text(text)


def test_files_are_rows_and_wavelengths_columns():
    write_text(0, head="Instrument: m5\nWavelength\tAbsorbance\n")
    write_text(1, between=";", decimal=",", head="nm;A\n")
    write_text(2, between="  ")
    write_text(3, "s03.csv", between=",")
    write_text(4, "s04.csv", axis=WAVES[::-1], values=X[4][::-1])
    write_jcamp(5)
    write_jcamp(6, back=True)
    Path("s/.hidden").write_text("x")
    found = read_table("s")
    assert found.feature_names == [f"{wave:g}" for wave in WAVES]
    assert (found.ids.tolist(), found.id_name) == ([f"s{i:02}" for i in range(7)], "file")
    assert_allclose(found.X, X[:7], atol=1e-9)
    assert found.assumed == "as 7 spectra of 30 values from 1100 to 1158"
    assert read_table("s/s05.jdx").ids.tolist() == ["s05"]
    before = sha256_of("s")
    write_text(0)
    assert sha256_of("s") != before


def test_from_a_folder_to_predictions_for_another():
    for i in range(20):
        write_text(i)
    lab = [f"s{i:02}{'.txt' if i % 2 else ''},{9 + AMOUNT[i]:.4f}" for i in range(20) if i % 5]
    Path("lab.csv").write_text("\n".join(["sample,water", *lab]) + "\n")
    assert "30 features" in run("fit", "s", "--labels", "lab.csv", "--no-compare", "--out", "out", "--model", "sppca")
    run("look", "s")
    for path in Path("s").iterdir():
        path.unlink()
    for i in range(20, 24):
        write_jcamp(i)
    run("predict", "out", "s", "--out", "p.csv")
    assert column("p.csv", "file") == ["s20", "s21", "s22", "s23"]
    assert_allclose(np.array(column("p.csv", "predicted"), dtype=float), 9 + AMOUNT[20:], atol=0.05)
    said = refusal("fit", "s", "--target", "water", "--out", "again")
    assert "spectra hold no labels, so there is no 'water' for --target; give them in a text file" in said


@pytest.mark.parametrize(
    "write, said",
    [
        (lambda: write_text(1, axis=WAVES + 1), "s/s01.txt has 30 values from 1101 to 1159, and s/s00.txt has 30 "
         "values from 1100 to 1158; interpolate all to one axis (numpy.interp)."),
        (lambda: write_text(1, axis=WAVES[:9], values=X[1, :9]), "s/s01.txt has 9 values from 1100 to 1116, and"),
        (lambda: write_text(1, axis=np.r_[WAVES[:29], 1100.0]), "neither rise nor fall throughout"),
        (lambda: Path("s/t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n"), "line 2: '1,2,3' is no wavelength and value; in "
         "a folder each file is a spectrum"),
        (lambda: Path("s/t.csv").write_text("a,b\n1,2\n4,x\n"), "line 3: '4,x' is no wavelength and value"),
        (lambda: Path("s/t.txt").write_text("nothing here\n"), "s/t.txt is no spectrum: two columns of numbers"),
        (lambda: write_jcamp(1, "s00.jdx"), "s: two spectra are called 's00'; rename a file."),
        (lambda: Path("s/readme.pdf").write_text(""), "s is a folder; name a table file in it, or"),
        (lambda: Path("s/t.jdx").write_text("##TITLE=x\n##END=\n"), "s/t.jdx holds no spectrum"),
    ],
)  # fmt: skip
def test_what_makes_no_table_is_said_in_one_line(write, said):
    write_text(0)
    write()
    with pytest.raises(TableError) as caught:
        read_table("s")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_units_must_be_alike():
    write_jcamp(0)
    write_jcamp(1, units="TRANSMITTANCE")
    with pytest.raises(TableError, match=r"s01\.jdx is in TRANSMITTANCE, and s/s00\.jdx in ABSORBANCE; convert one"):
        read_table("s")


def test_options_that_say_nothing_here_are_refused():
    write_text(0)
    with pytest.raises(TableError, match="--form says how text is written; a folder of spectra says so itself"):
        read_table("s", form=["no-header"])
    with pytest.raises(TableError, match="a folder of spectra has numbers alone"):
        read_table("s", categorical=["1100"])
    with pytest.raises(TableError, match="'1100' is a column of the spectra, which are named by their files"):
        read_table("s", id="1100")
