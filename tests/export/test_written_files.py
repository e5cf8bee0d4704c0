"""Model files of every release so far are read by this one, and say what they said when they were written."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gnomon
import release_files
from gnomon.export import load_metadata, load_model

FILES = sorted(release_files.FOLDER.glob("*/*.gnomon"))


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name} {path.stem}" for path in FILES])
def test_a_file_of_a_release_says_what_it_said(path):
    kept = load_metadata(path)
    found = release_files.answers(load_model(path), kept["X"])
    assert list(found) == list(kept["answers"])
    for name, tables in kept["answers"].items():
        for want, got in zip(tables, found[name], strict=True):
            if want.dtype.kind == "f":
                assert_allclose(got, want, rtol=1e-7, atol=1e-9 * np.abs(want).max(), err_msg=name)
            else:
                assert_array_equal(got, want, err_msg=name)


def test_this_release_has_its_files():
    """A version under development writes what the one before it wrote, or has files of its own."""
    versions = {path.parent.name for path in FILES}
    assert gnomon.__version__ in versions or ".dev" in gnomon.__version__
    assert versions


def test_the_tool_writes_each_kind_of_model(tmp_path, monkeypatch):
    monkeypatch.setattr(release_files, "FOLDER", tmp_path)
    some = release_files.models()
    monkeypatch.setattr(release_files, "models", lambda: {name: some[name] for name in ("ppca", "dppca-pipeline")})
    assert {path.stem for path in FILES} == set(some)
    assert release_files.main() == 0
    folder = tmp_path / gnomon.__version__
    assert sorted(path.name for path in folder.iterdir()) == ["dppca-pipeline.gnomon", "ppca.gnomon"]
    assert_array_equal(
        load_metadata(folder / "ppca.gnomon")["answers"]["transform"][0], some["ppca"][0].transform(some["ppca"][1])
    )
