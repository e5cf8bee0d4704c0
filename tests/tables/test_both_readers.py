"""CSV: what pyarrow reads of large files is what the csv module reads, in each cell, each line and each complaint."""

import csv

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gnomon.tables import TableError
from gnomon.tables import _text as text_module
from gnomon.tables._table import Wanted

pytest.importorskip("pyarrow")

PLAIN = [
    "1",
    "-2.5",
    "3e-7",
    ".5",
    "1.",
    "0",
    "-0.0",
    "1e-400",
    " 4 ",
    "",
    "NA",
    "nan",
    "NULL",
    "0.1000000000000000055511151",
]
ODD = [
    "+1",
    "NAN",
    "-nan",
    "nan(1)",
    " NA ",
    "N/A",
    "inf",
    "1e400",
    "1e151",
    "1_000",
    "0x10",
    "1,5",
    "1d3",
    "\u0661",
    "1\u00a0",
]
ODD += [
    "true",
    "text",
    "#2",
    '"3"',
    '"4',
    'a"b',
    '"a\nb"',
    "\0",
    "\ufeff5",
    "\u20281",
    "\x1c6",
    "1e",
    "--1",
    "1 2",
    "\t7",
]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\n \n", "\r\r\n"]
HEADERS = [
    "a,b,kind",
    "a,b,kind\n",
    "\ufeffa,b,kind",
    '"a",b,kind',
    " a , b,kind",
    "a,a,kind",
    ",b,kind",
    "a;b;kind",
    "a,b",
]
ROLES = [Wanted(["kind"]), Wanted(["kind"], id="b"), Wanted(drop=["kind"]), Wanted(["kind"], features=["b", "a"])]


def outcome(path, wanted):
    try:
        return text_module.read_text(path, wanted)
    except TableError as error:
        return str(error)


def assert_alike(path, wanted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "LARGE", 0)
        found = outcome(path, wanted)
        patch.setattr(text_module, "has_pyarrow", lambda: False)
        expected = outcome(path, wanted)
    assert type(found) is type(expected)
    if isinstance(expected, str):
        assert found == expected
        return
    assert found.X.tobytes() == expected.X.tobytes()  # signs of zeros and kinds of NaN too
    assert_array_equal(found.lines, expected.lines)
    assert found.lines.dtype == expected.lines.dtype
    assert (found.feature_names, found.id_name, found.path) == (expected.feature_names, expected.id_name, path)
    assert found.targets.keys() == expected.targets.keys()
    columns = [(found.targets[name], expected.targets[name]) for name in expected.targets]
    for mine, other in columns if expected.ids is None else [*columns, (found.ids, expected.ids)]:
        assert [(type(cell), repr(cell)) for cell in mine] == [(type(cell), repr(cell)) for cell in other]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "t.csv"


def table_of(cells):
    rows = st.lists(st.tuples(cells, cells, st.sampled_from(["x", "", "NA", "1", "2.0", " y ", "é"])), max_size=6)
    return rows.map(lambda rows: [",".join(row) for row in rows])


@settings(deadline=None)
@given(lines=table_of(st.sampled_from(PLAIN)), role=st.sampled_from(ROLES), end=st.sampled_from(["\n", "\r\n"]))
def test_clean_tables_are_read_alike(file, lines, role, end):
    file.write_bytes(end.join(["a,b,kind", *lines, ""]).encode())
    assert_alike(str(file), role)


@settings(deadline=None)
@given(
    lines=table_of(st.one_of(st.sampled_from(PLAIN), st.sampled_from(ODD), st.text(max_size=3))),
    role=st.sampled_from(ROLES),
    header=st.sampled_from(HEADERS),
    end=st.sampled_from(ENDS),
    last=st.sampled_from(["", "\n", "\n\n", "1", "1,2,3,4", "1,2,x", '"', "\r"]),
)
@example(lines=["1,2,x"], role=ROLES[0], header="a,b,kind", end="\n", last="\n\n")
def test_odd_tables_are_read_or_refused_alike(file, lines, role, header, end, last):
    file.write_bytes((end.join([header, *lines]) + end + last).encode("utf-8", "surrogatepass"))
    assert_alike(str(file), role)


@pytest.mark.parametrize("cell", PLAIN + ODD)
def test_each_cell_is_read_or_refused_alike(file, cell):
    for row in (f"{cell},2,x", f"1,2,{cell}"):
        file.write_text(f"a,b,kind\n1,2,x\n{row}\n3,4,y\n", encoding="utf-8", newline="")
        assert_alike(str(file), ROLES[0])


@settings(deadline=None)
@given(
    bits=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20),
    form=st.sampled_from("regf"),
)
def test_numbers_are_read_to_the_last_bit(file, bits, form):
    written = [repr(x) if form == "r" else format(x, f".17{form}") for x in bits]
    file.write_text("a,b,kind\n" + "".join(f"{cell},1,x\n" for cell in written))
    assert_alike(str(file), ROLES[0])


@pytest.mark.parametrize("byte", [b"\xff", b"\xed\xa0\x80", b"\xc0\x80"])
def test_bytes_that_are_no_text_are_refused_alike(file, byte):
    for row in (byte + b",2,x\n", b"1,2," + byte + b"\n"):
        file.write_bytes(b"a,b,kind\n1,2,x\n" + row)
        for role in ROLES:
            assert_alike(str(file), role)


def test_cells_longer_than_the_csv_module_takes_are_refused_alike(file):
    file.write_text("a,b,kind\n1,2," + "x" * (csv.field_size_limit() + 1) + "\n")
    for role in ROLES:
        assert_alike(str(file), role)


def test_large_clean_tables_leave_the_csv_module_alone(file, monkeypatch, rng):
    X = rng.standard_normal((30_000, 3))
    file.write_text("id,a,b,c\n" + "".join(f"r{i},{a!r},{b!r},{c!r}\n" for i, (a, b, c) in enumerate(X.tolist())))
    assert file.stat().st_size > text_module.LARGE
    monkeypatch.setattr(text_module, "BLOCK", 1 << 18)  # several blocks
    monkeypatch.setattr(text_module, "collect", None)
    table = text_module.read_text(str(file), Wanted(id="id"))
    assert_array_equal(table.X, X)
    assert_array_equal(table.lines, np.arange(2, 30_002))
    assert table.ids[-1] == "r29999"
