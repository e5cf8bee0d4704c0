"""R workspaces that R 4.2 saved are read, whatever their compression; damaged and other files are refused."""

import base64

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon.datasets._rdata import read_workspace

# What was saved, with each of these versions and compressions:
# m <- structure(list(dataset = data.frame(Att1 = c(0, .5, rep(0, 68)), l1 = c(0L, 1L, NA, rep(0L, 67))),
#                     w = .Internal(wrap_meta(c(rep(0, 69), 2), 1L, 1L)), f = quote(a + 1), e = (e <- new.env()),
#                     e2 = e, n = list("a", "b"), k = 1:9, z = NULL), class = "mldr")
SAVED = {
    "version 2, gzip": (
        "H4sIAAAAAAAAAwtyiTDiiuBiYGBgYmBhYmJgYgYyWZiABCMDCwMniM5lYGAWBjI4oDRIkg+I3RigwP4BwygYBcQAXgZEumFsGECHDE6A"
        "kvFY8xJzU4uBDAEGcO4EC7I4lpQYQtlMOYboWpJzEothWmCCXCmJJYl6aUVA09CUcxbll+vBbAFFDVMDkPj///8uIPWPAS2bj4JRgA84"
        "IJhsDEj1hzYDpM6ACyQyICoRRvsPcF2gFMcCZf+F8kEVjiyUPQCY/T/UDSD3CqB7AkUgiQGSh8AcqA5mqI9YoWHCzgCuRsFq/kEyI9N/"
        "qEEcUIPYQdm1OLUEZm45jJEGY6TC8n+qEUwoD8bIhjGqIMYz/0dzJ0tuTkoRzIMAF/jjl/4HAAA="
    ),
    "version 2, bzip2": (
        "QlpoOTFBWSZTWQXNXLcAASR/yf/zSAIBiTAA5QAQQD8PnJBAAAAQQABAC7AA5khppSeSPKeQp5NMkxNBiaaNPap+lDADTRoNMQAAAMgB"
        "JEhBo0AAaAAANPU3MOWMk/SNEqoPtBJQ0WkIMI+t4bsaL9XkJ3BWC4hdhqov1637WDx8REXrXm0EMe0OuCoJ58KQESUVG+lAChi77eDL"
        "f4rRkSHYQClYFpD1GqHWNU9qzMqGJ0QYA2AhkkI2s4MDEHHYTshLIyQ5FERMoKnchBpJIGr0snZW6NP2snJf1lSHcMAsJhnbT2ZxZio6"
        "0ZHRNlG1LVa+qHL3wgXA2KJvzIr75jFBxrdIB5ccxJ/F3JFOFCQBc1ctwA=="
    ),
    "version 3, xz": (
        "/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AiZASldACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XAV6GPAHvfOtY+l"
        "JiXPeUQ6BYUMq0OiXedC6vKzI1lguu0OpIRF52Z0fm/lbat42c6E2P7EoFeiEyccnMFXExrfFwWiSRcQvXttZv5fatriEjOEaC1vgHMs"
        "te/pnbYjlZXi216AcVu+caa0bHVFzX9b7u4b9JVWsC0/WOwIiPcJnRI4Udat3VXxKUxzB8sS+dlHAgpMNDAN9xGseoGV2aA7Yj0+tMr2"
        "hTtmPp6i5PbbU3uz/gzICrWMgvMTSKOA5/XMvaHtsU/blC/hiBan1w6YRYQDQX9BNjopi7NPSmn9LvW7cWrY0LuaE2Y6Qxo/iI6d9ttC"
        "W03R1lHXGJmLgSfPRR+GSAAAAAAMxZsMAAHBApoRAAArgjisPjANiwIAAAAAAVla"
    ),
}


@pytest.fixture(params=SAVED)
def saved(request, tmp_path):
    """A file that R saved."""
    path = tmp_path / "0"
    path.write_bytes(base64.b64decode(SAVED[request.param]))
    return path


def test_frames_and_lists_are_read_by_name(saved):
    found = read_workspace(saved)["m"]
    assert list(found) == ["dataset", "w", "f", "e", "e2", "n", "k", "z"]
    assert list(found["dataset"]) == ["Att1", "l1"]
    assert_array_equal(found["dataset"]["Att1"], [0, 0.5, *[0] * 68])
    assert_array_equal(found["w"], [*[0] * 69, 2])
    assert found["dataset"]["l1"][:3].tolist() == [0, 1, -(2**31)]
    assert (found["n"], found["z"], found["f"][1]) == ([["a"], ["b"]], None, "a")


def test_of_each_vector_is_kept_what_is_asked(saved):
    found = read_workspace(saved, np.count_nonzero)["m"]
    assert (found["dataset"], found["w"]) == ({"Att1": 1, "l1": 2}, 1)


def test_damaged_and_other_files_are_refused(tmp_path):
    file = tmp_path / "other.rda"
    file.write_bytes(b"RDA3\nA\n3\n")
    with pytest.raises(ValueError, match=r"other\.rda begins with b'RDA3\\nA\\n' and is no R workspace"):
        read_workspace(file)
    head = b"RDX2\nX\n" + bytes(12)
    file.write_bytes(head + b"\0\0\0\x0e\0\0\0\x02" + bytes(9))
    with pytest.raises(EOFError, match="ends too early"):
        read_workspace(file)
    file.write_bytes(head + b"\0\0\0\x15")
    with pytest.raises(ValueError, match="R objects of type 21 are not read"):
        read_workspace(file)


def test_long_vectors_have_their_length_in_two_parts(tmp_path):
    file = tmp_path / "0"
    file.write_bytes(b"RDX2\nX\n" + bytes(12) + b"\0\0\0\x0d" + b"\xff" * 4 + bytes(7) + b"\x01" + b"\0\0\0\x05")
    assert read_workspace(file).tolist() == [5]
