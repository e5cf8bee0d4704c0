"""Chunks that are not what their collection says are refused, and nothing is computed from them."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon import PPCA, SPPCA
from gnomon.rows.chunks import checked

X = np.random.default_rng(0).normal(size=(120, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))
LABELS = (X[:, 0] > 0).astype(int)


class Elsewhere:
    """An array on a device that this process cannot read."""

    shape, dtype = (40, 4), np.dtype(float)

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert a device array to numpy; copy it to the host first")


def second(change):
    """The rows in three chunks, of which the second one is changed unbeknown to the collection."""
    parts = [dask.delayed(X[i : i + 40]) for i in (0, 40, 80)]
    parts[1] = dask.delayed(change, traverse=False)(X[40:80])
    return da.concatenate([da.from_delayed(part, (40, 4), dtype=float) for part in parts])


def partitions(change):
    parts = [FRAME[:40], change(FRAME[40:80]), FRAME[80:]]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=FRAME[:0], verify_meta=False)


def with_a_word(table, word="word"):
    table = table.astype(object)
    (table.iloc if isinstance(table, pd.DataFrame) else table)[0, 0] = word
    return table


BAD = {
    "fewer columns": (lambda: second(lambda A: A[:, :3]), r"row 40 has shape \(40, 3\); its collection says \(40, 4\)"),
    "fewer rows": (lambda: second(lambda A: A[:30]), r"row 40 has shape \(30, 4\)"),
    "one column": (lambda: second(lambda A: A[:, 0]), r"row 40 has shape \(40,\)"),
    "fewer columns, sparse": (lambda: second(lambda A: sp.csr_array(A[:, :3])), r"row 40 has shape \(40, 3\)"),
    "complex": (lambda: second(lambda A: A + 1j), "row 40 holds complex128; real numbers are wanted"),
    "words": (lambda: second(with_a_word), "row 40 holds values that are no numbers: .*'word'; encode or drop them"),
    "words of an error": (
        lambda: second(lambda A: with_a_word(A, "the chunk of X that begins at row 40")),
        "row 40 holds values that are no numbers",
    ),
    "a device": (lambda: second(lambda _: Elsewhere()), "row 40 is a .*Elsewhere that cannot be read .*to the host"),
    "another name": (lambda: partitions(lambda part: part.rename(columns={"a": "z"})), r"has columns \['z', 'b'"),
    "another order": (lambda: partitions(lambda part: part[list("bacd")]), r"has columns \['b', 'a'"),
    "a name less": (lambda: partitions(lambda part: part[list("abc")]), r"has columns \['a', 'b', 'c'\]; the frame"),
    "words in a frame": (
        lambda: partitions(with_a_word),
        "a partition of X holds values that are no numbers: .*'word'",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("model", [PPCA(2), SPPCA(2, solver="subspace")], ids=["moments", "subspace"])
def test_a_chunk_that_is_not_what_is_said_is_refused(name, model):
    rows, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        model.fit(rows(), *([] if type(model) is PPCA else [LABELS]))


@pytest.mark.parametrize(
    "change", [lambda A: A.astype(object), sp.csr_array, lambda A: A], ids=["objects", "sparse", "as it is"]
)
def test_a_chunk_of_another_form_is_read(change):
    assert_allclose(PPCA(2).fit(second(change)).log_likelihood_, PPCA(2).fit(X).log_likelihood_, rtol=1e-12)


def test_a_batch_with_a_new_class_is_refused_by_its_name_and_nothing_is_lost():
    rows = da.from_array(X, chunks=(40, 4))
    model = SPPCA(2).partial_fit(rows, LABELS)
    before = model.log_likelihood_
    with pytest.raises(ValueError, match="classes that were not in fit: 7"):
        model.partial_fit(rows[:40], np.full(40, 7))
    assert (model.log_likelihood_, model.n_samples_) == (before, 120)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_chunk_that_begins_at_any_byte_is_as_good_as_another(dtype):
    table = np.random.default_rng(1).normal(size=(7000, 160)).astype(dtype)
    room = np.zeros(table.nbytes + 1, dtype=np.uint8)
    odd = room[1:].view(dtype).reshape(table.shape)
    odd[:] = table
    assert not odd.flags.aligned
    assert checked(odd, 0, table.shape).flags.aligned
    assert np.shares_memory(checked(table, 0, table.shape), table)
    fits = [
        PPCA(2).fit(da.from_delayed(dask.delayed(lambda X=X: X, traverse=False)(), table.shape, dtype=dtype))
        for X in (odd, table)
    ]
    assert fits[0].log_likelihood_ == fits[1].log_likelihood_
