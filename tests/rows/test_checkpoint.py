"""A fit that was stopped at any read goes on to the result of one that was not, to the bit."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from gnomon import CPPCA, PPCA, SPPCA
from gnomon.rows import checkpoint, local
from gnomon.rows.checkpoint import DIGEST, MAGIC, Record, checkpointed, digest

N, P = 300, 24


def dense(holes=0.0, n=N, p=P):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) * 2.0 + rng.normal(size=(n, p))
    X[rng.random((n, p)) < holes] = np.nan
    return X


def in_chunks(holes=0.0):
    return pytest.importorskip("dask.array").from_array(dense(holes), chunks=(100, P))


def sparse():
    return sp.random(N, 60, density=0.1, format="csr", random_state=0)


y = np.where(np.arange(N) < 60, dense()[:, 0] + 0.3, np.nan)
label = np.where(np.arange(N) < 60, (dense()[:, 0] > 0).astype(int), -1)
FITS = {
    "moments": (lambda path: SPPCA(3, checkpoint=path), dense, y),
    "sparse": (lambda path: SPPCA(3, solver="subspace", checkpoint=path), sparse, y),
    "subspace": (lambda path: SPPCA(3, solver="subspace", checkpoint=path), dense, label),
    "unsupervised": (lambda path: PPCA(3, solver="subspace", checkpoint=path), dense, None),
    "holes": (lambda path: SPPCA(3, checkpoint=path), lambda: dense(0.1), y),
    "classes with holes": (lambda path: CPPCA(3, checkpoint=path), lambda: dense(0.1), label),
    "Dask": (lambda path: SPPCA(3, solver="subspace", checkpoint=path), in_chunks, y),
    "Dask with holes": (lambda path: SPPCA(3, max_iter=30, checkpoint=path), lambda: in_chunks(0.1), y),
}


class Stop:
    """Counts the questions to rows in memory, and stops the program at one of them."""

    def __init__(self, monkeypatch):
        self.count, self.at = 0, None
        for name in ("fold", "fold_columns", "inner_products", "summarize"):
            self._wrap(monkeypatch, name)

    def _wrap(self, monkeypatch, name):
        method = getattr(local.LocalRows, name)

        def counted(rows, *args, **kwargs):
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt
            return method(rows, *args, **kwargs)

        monkeypatch.setattr(local.LocalRows, name, counted)


@pytest.fixture
def stop(monkeypatch):
    return Stop(monkeypatch)


def same(one, other):
    assert one.n_passes_ == other.n_passes_
    assert one.log_likelihood_ == other.log_likelihood_
    assert np.array_equal(one.components_, other.components_)


@pytest.mark.filterwarnings("ignore:.*max_iter")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_was_stopped_goes_on(name, stop, tmp_path):
    make, rows, targets = FITS[name]
    path, X = tmp_path / "fit", rows()
    whole = make(None).fit(X, targets)
    stop.count = 0
    make(path).fit(X, targets)
    n, chunks = stop.count, 3 if "Dask" in name else 1
    for at in sorted({n // 3, n // 2, n - chunks}):
        stop.count, stop.at = 0, max(at, 2 * chunks)
        with pytest.raises(KeyboardInterrupt) as stopped:
            make(path).fit(X, targets)
        held = int(stopped.value.__notes__[0].split(" holds ")[1].split()[0])
        stop.count, stop.at = 0, None
        same(make(path).fit(X, targets), whole)
        assert held >= (at == n - chunks)
        assert stop.count < n - (held - 1) * chunks / 2  # what was answered is not asked again
        assert not path.exists()


def test_a_process_that_is_killed_leaves_what_it_has(tmp_path):
    path = tmp_path / "fit"
    script = """
        import sys, time
        import numpy as np
        from gnomon import SPPCA
        from gnomon.rows import local
        fold = local.LocalRows.fold_columns
        def slow(self, *args, **kwargs):
            time.sleep(0.02)
            return fold(self, *args, **kwargs)
        local.LocalRows.fold_columns = slow
        X, y = np.load(sys.argv[2]), np.load(sys.argv[3])
        SPPCA(3, checkpoint=sys.argv[1]).fit(X, y)
    """
    X = dense(0.1)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    command = [sys.executable, "-c", textwrap.dedent(script), path, tmp_path / "X.npy", tmp_path / "y.npy"]
    process = subprocess.Popen(command)
    try:
        for _ in range(6000):
            if path.exists() and path.stat().st_size > 20_000:
                break
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert path.exists()
    same(SPPCA(3, checkpoint=path).fit(X, y), SPPCA(3).fit(X, y))


def stopped_at(stop, path, at=40):
    stop.count, stop.at = 0, at
    with pytest.raises(KeyboardInterrupt):
        SPPCA(3, checkpoint=path).fit(dense(0.1), y)
    stop.count, stop.at = 0, None


def test_a_file_that_was_cut_anywhere_is_whole_up_to_there(stop, tmp_path):
    path, whole = tmp_path / "fit", SPPCA(3).fit(dense(0.1), y)
    stopped_at(stop, path)
    data = path.read_bytes()
    for size in (0, 7, len(MAGIC), len(data) // 3, len(data) - 1):
        path.write_bytes(data[:size])
        same(SPPCA(3, checkpoint=path).fit(dense(0.1), y), whole)
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    path.write_bytes(broken)
    same(SPPCA(3, checkpoint=path).fit(dense(0.1), y), whole)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, N)])
@pytest.mark.parametrize("k", [2, 4])
def test_answers_to_another_question_are_not_taken(stop, tmp_path, weights, k):
    path = tmp_path / "fit"
    stopped_at(stop, path)
    whole = SPPCA(k).fit(dense(0.1), y, sample_weight=weights)
    same(SPPCA(k, checkpoint=path).fit(dense(0.1), y, sample_weight=weights), whole)


def test_answers_for_other_weights_are_not_taken(stop, tmp_path):
    path, weights = tmp_path / "fit", np.linspace(0.5, 2.0, N)
    stop.count, stop.at = 0, 12
    with pytest.raises(KeyboardInterrupt):
        PPCA(3, checkpoint=path).fit(dense(0.1))
    stop.at = None
    whole = PPCA(3).fit(dense(0.1), sample_weight=weights)
    same(PPCA(3, checkpoint=path).fit(dense(0.1), sample_weight=weights), whole)


def test_a_record_goes_on_behind_what_is_whole(tmp_path):
    path, table = tmp_path / "fit", digest("rows")
    record = Record(path, table)
    for name in ("one", "two"):
        record.add(digest(name), np.ones(3), 1.0)
    record.close()
    path.write_bytes(path.read_bytes()[:-1])
    record = Record(path, table)
    assert digest("one") in record
    assert digest("two") not in record
    record.add(digest("three"), np.full(3, 3.0), 2.0)
    record.close()
    record = Record(path, table)
    answer, reads = record[digest("three")]
    assert (answer.tolist(), reads, record.n_answers) == ([3.0, 3.0, 3.0], 2.0, 2)
    record.remove()
    assert not path.exists()


def test_rows_are_known_again(stop, tmp_path):
    path = tmp_path / "fit"
    stopped_at(stop, path)
    before = path.read_bytes()
    for X in (dense(0.1)[:-1], dense(0.1) + 1e-9, dense(0.1).astype(np.float32)):
        with pytest.raises(ValueError, match="is that of a fit to other rows"):
            SPPCA(3, checkpoint=path).fit(X, y[: len(X)])
    assert path.read_bytes() == before


def test_other_files_are_left_alone(tmp_path):
    path = tmp_path / "notes"
    path.write_text("not to be lost")
    with pytest.raises(ValueError, match="is a file of another kind; name a new one"):
        SPPCA(3, checkpoint=path).fit(dense(), y)
    assert path.read_text() == "not to be lost"
    with pytest.raises(FileNotFoundError, match="no folder"):
        SPPCA(3, checkpoint=tmp_path / "no folder" / "fit").fit(dense(), y)
    with pytest.raises(TypeError, match="checkpoint=3 must be the path of a file, or None"):
        SPPCA(3, checkpoint=3).fit(dense(), y)


def test_on_a_full_disk_the_fit_goes_on_and_what_was_written_stays(stop, tmp_path, monkeypatch):
    path, whole = tmp_path / "fit", SPPCA(3).fit(dense(0.1), y)
    stopped_at(stop, path, 40)
    size = path.stat().st_size

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    stop.count, stop.at = 0, 10
    with pytest.warns(UserWarning, match="No space left on device"), pytest.raises(KeyboardInterrupt):
        SPPCA(3, checkpoint=path).fit(dense(0.1), y)
    assert path.stat().st_size == size
    stop.at = None
    with pytest.warns(UserWarning, match="cannot be written"):
        same(SPPCA(3, checkpoint=path).fit(dense(0.1), y), whole)


def test_a_file_calls_nothing(tmp_path):
    path = tmp_path / "fit"
    record = Record(path, digest("rows"))

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    record._append(digest("question"), pickle.dumps((Harm(), 1.0)))
    with pytest.raises(ValueError, match="which no answer does"):
        record[digest("question")]
    record.close()
    assert not (tmp_path / "harm").exists()
    assert path.read_bytes().startswith(MAGIC)
    assert len(digest("rows")) == DIGEST


def test_digests_are_of_values():
    A = np.arange(12.0).reshape(3, 4)
    assert digest(A) == digest(np.asfortranarray(A)) == digest(A.copy())
    assert digest({"a": 1, "b": A}) == digest({"b": A, "a": 1})
    assert digest(sp.csr_array(A)) == digest(sp.csc_array(A).tocsr())
    others = [A[:, ::-1], A.T, A.astype(np.float32), A.reshape(4, 3), A + 1e-15, sp.csr_array(A), None, (A, None), "A"]
    assert len({digest(other) for other in [A, *others]}) == len(others) + 1
    assert digest(("ab", "c")) != digest(("a", "bc"))


@dataclass(frozen=True)
class Leave:
    """Leaves a number beside every row."""

    number: float

    def __call__(self, block):
        return float(len(block.at)), {"left": np.full(len(block.at), self.number)}


@dataclass(frozen=True)
class AddUp:
    """Adds up what was left."""

    def __call__(self, block):
        return float(block.aligned["left"].sum())


@pytest.mark.parametrize("few", [0, checkpoint.FEW])
def test_a_question_about_what_is_beside_the_rows_is_another_where_that_is(tmp_path, monkeypatch, few):
    monkeypatch.setattr(checkpoint, "FEW", few)
    with checkpointed(local.read(dense()), tmp_path / "fit") as rows:
        for number in (1.0, 2.0, 1.0):
            n, beside = rows.fold_columns(Leave(number))
            assert (n, beside.fold(AddUp())) == (N, number * N)
        assert rows.with_columns(left=np.arange(N)).fold(AddUp()) == N * (N - 1) / 2
        assert rows.with_columns(left=np.ones(N)).fold(AddUp()) == N
        assert rows.reads == 8.0  # the last two questions were other ones


def test_what_is_left_beside_many_rows_is_asked_again(stop, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FEW", 0)
    whole = CPPCA(3).fit(dense(0.1), label)
    n = stop.count
    stop.count, stop.at = 0, n // 2
    with pytest.raises(KeyboardInterrupt):
        CPPCA(3, checkpoint=tmp_path / "fit").fit(dense(0.1), label)
    stop.at = None
    same(CPPCA(3, checkpoint=tmp_path / "fit").fit(dense(0.1), label), whole)
