"""JCAMP-DX: each form of numbers of the standard, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.tables import TableError
from gnomon.tables._jcamp import ordinates, read_jcamp

VALUES = [1, 2, 3, 3, 2, 1, 0, -1, -2, -3]  # the example of the standard (McDonald and Wilks 1988)
HEAD = """##TITLE= one $$ a remark
##JCAMP-DX=4.24
##DATA TYPE=INFRARED SPECTRUM
##X UNITS=1/CM
##YUNITS=ABSORBANCE
##XFACTOR=1.0
##YFACTOR=0.5
##FIRSTX=400
##LASTX=418
##NPOINTS=10
"""


def difference_digit(step, plus, minus, zero):
    digits = str(abs(step))
    return (zero if step == 0 else (plus if step > 0 else minus)[int(digits[0]) - 1]) + digits[1:]


def compressed(values, width=7):
    """Values as DIFDUP with a check value at the begin of each line but the first, as instruments write them."""
    lines, at = [], 0
    while at < len(values):
        line = f"{at} {difference_digit(values[max(at - 1, 0)], 'ABCDEFGHI', 'abcdefghi', '@')}"
        steps = np.diff(values[max(at - 1, 0) : at + width])
        i = 0
        while i < len(steps):
            n = 1
            while i + n < len(steps) and steps[i + n] == steps[i] and n < 9:
                n += 1
            line += difference_digit(int(steps[i]), "JKLMNOPQR", "jklmnopqr", "%") + (
                "STUVWXYZs"[n - 1] if n > 1 else ""
            )
            i += n
        lines.append(line)
        at += width
    last = values[-1]
    return "\n".join([*lines, f"{len(values)} {difference_digit(last, 'ABCDEFGHI', 'abcdefghi', '@')}"])


@pytest.mark.parametrize(
    "body",
    [
        "400 1 2 3 3 2\n410 1 0 -1 -2 -3",
        "400,1,2,3,3,2\n410;1;0;-1;-2;-3",
        "400+1+2+3+3+2\n410+1+0-1-2-3",
        "400 1.0 2.0E0 3 30e-1 2\n410 1 0 -1 -2 -3.",
        "400ABCCBA@abc",
        "400 1BCCBA@abc",
        "400AJJ%jjjjjj",
        "400 1JJ%jX",
        "400A\n402BCTBA@abc",
        "400AJJ%\n406Cj\n408Bjjjjj",
        "400AJJ%j\n408Bj\n410AjV\n418c",
    ],
    ids=[
        "AFFN",
        "commas",
        "PAC",
        "exponents",
        "SQZ",
        "SQZ after a number",
        "DIF",
        "DIFDUP",
        "SQZ and DUP",
        "checks",
        "end",
    ],
)
def test_every_form_holds_the_values_of_the_standard(body):
    found = ordinates("x.jdx", body)
    assert_array_equal(found, VALUES)


def test_what_instruments_write_is_unpacked():
    rng = np.random.default_rng(0)
    values = [int(value) for value in np.cumsum(rng.integers(-120, 150, size=200) * (rng.random(200) < 0.7))]
    assert_array_equal(ordinates("x.jdx", compressed(values)), values)


def test_factors_axis_units_and_title():
    (found,) = read_jcamp("x.jdx", HEAD + "##XYDATA= (X++(Y..Y))\n400 1 2 3 3 2 $$ c\n410 1 0 ? -2 -3\n##END=\n")
    assert (found.title, found.units) == ("one", ("1/CM", "ABSORBANCE"))
    assert_allclose(found.axis, np.arange(400.0, 420.0, 2.0))
    assert_allclose(found.values, [0.5, 1, 1.5, 1.5, 1, 0.5, 0, np.nan, -1, -1.5])
    by_step = HEAD.replace("##LASTX=418", "##DELTAX=2")
    (again,) = read_jcamp("x.jdx", by_step + "##XYDATA=(X++(Y..Y))\n400ABCCBA@abc\n##END=")
    assert_allclose(again.axis, found.axis)


def test_points_and_several_blocks():
    points = "##TITLE=p\n##XFACTOR=2\n##XYPOINTS=(XY..XY)\n1.5, 2; 2.5, 3\n4, -1\n##END="
    link = f"##TITLE=all\n##DATA TYPE=LINK\n##BLOCKS=2\n{points}\n{points.replace('=p', '=q')}\n##END="
    found = read_jcamp("x.dx", link)
    assert [one.title for one in found] == ["p", "q"]
    assert_array_equal(found[1].axis, [3, 5, 8])
    assert_array_equal(found[1].values, [2, 3, -1])


@pytest.mark.parametrize(
    "text, said",
    [
        ("##TITLE=x\n##END=", "holds no spectrum: neither"),
        ("hello", "holds no spectrum"),
        ("##TITLE=x\n##PEAK TABLE=(XY..XY)\n1,2\n", "holds a list of peaks"),
        ("##TITLE=x\n##NTUPLES=NMR FID\n", "holds several tables in one"),
        ("##TITLE=x\n##XYDATA=(XY..XY)\n1,2\n", "##XYDATA=(XY..XY) is a form of JCAMP-DX that is not read"),
        ("##TITLE=x\n##XYPOINTS=(XY..XY)\n1,2 3\n", "3 numbers in ##XYPOINTS=, which are pairs"),
        (HEAD + "##XYDATA=(X++(Y..Y))\n400 1 2 3\n", "##NPOINTS=10, and 3 values"),
        (HEAD + "##XYDATA=(X++(Y..Y))\n400AJJ%\n406Bj\n", "'406Bj' does not go on where the one before ended"),
        (HEAD + "##XYDATA=(X++(Y..Y))\n400A!B\n", "are no numbers in a form of JCAMP-DX"),
        (HEAD + "##XYDATA=(X++(Y..Y))\n400JJ\n", "are no numbers in a form of JCAMP-DX"),
        (HEAD + "##XYDATA=(X++(Y..Y))\n400SA\n", "are no numbers in a form of JCAMP-DX"),
        (HEAD + "##XYDATA=(X++(Y..Y))\nABC\n", "are no numbers in a form of JCAMP-DX"),
        (HEAD.replace("YFACTOR=0.5", "YFACTOR=big") + "##XYDATA=(X++(Y..Y))\n1 1\n", "##YFACTOR=big is not a number"),
        (HEAD.replace("##LASTX=418\n", "") + "##XYDATA=(X++(Y..Y))\n400ABCCBA@abc\n", "say where values lie"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(text, said):
    with pytest.raises(TableError) as caught:
        read_jcamp("x.jdx", text)
    assert str(caught.value).startswith("x.jdx")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
