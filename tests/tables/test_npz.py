"""Arrays of NumPy: what is the matrix, and images as rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon.tables import TableError, read_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", [(4, 3), (2, 3, 2)])
def test_images_are_rows_pixel_after_pixel(size):
    images = np.arange(60.0).reshape(5, *size)
    np.save("t.npy", images)
    np.savez("t.npz", images=images, labels=["a", "b", "", "a", "b"])
    alone, beside = read_table("t.npy"), read_table("t.npz", targets=["labels"])
    assert_array_equal(alone.X, images.reshape(5, 12))
    assert_array_equal(beside.X, alone.X)
    assert beside.targets["labels"].tolist() == ["a", "b", None, "a", "b"]
    told = "with each 4x3 as one row (--shape 4x3 draws it)" if len(size) == 2 else "with each 2x3x2 as one row"
    assert alone.assumed == told
    assert beside.assumed == f"with 'images' as X, {told}"


def test_one_of_several_matrices_is_not_taken_for_x():
    np.savez("t.npz", a=np.ones((3, 2)), b=np.ones((3, 2)))
    with pytest.raises(TableError, match="holds neither X nor data, indices, indptr and shape; its arrays are a, b"):
        read_table("t.npz")
