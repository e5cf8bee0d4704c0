"""Workers that die are told of, and schedulers that are gone change no result."""

import os
import signal

import dask
import dask.array as da
import numpy as np
import pytest

from gnomon import PPCA, SPPCA

TIMES = 20
RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 2)) @ RNG.normal(size=(2, 6)) + RNG.normal(size=(160, 6))
LABELS = np.where(np.arange(160) % 4, -1, X[:, 0] > 0)


def cluster(n_workers=2, *, processes=True):
    from distributed import Client, LocalCluster

    made = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address=None)
    return made, Client(made)


def lazily(table, function):
    """Chunks that a function makes; one within another function travels to workers by its code."""
    return da.from_array(table, chunks=(40, 6)).map_blocks(function, dtype=float, meta=np.empty((0, 0)))


@pytest.mark.slow
def test_a_new_scheduler_for_every_batch_changes_nothing():
    found, here = SPPCA(2), SPPCA(2)
    for at in range(TIMES):
        batch = slice(at * 8, at * 8 + 8)
        made, client = cluster(1, processes=False)
        with made, client:
            found.partial_fit(da.from_array(X[batch], chunks=(3, 6)), LABELS[batch], classes=[0, 1])
        here.partial_fit(X[batch], LABELS[batch], classes=[0, 1])
        assert abs(found.log_likelihood_ - here.log_likelihood_) < 1e-8 * here.n_samples_
    assert found.n_samples_ == len(X)


def test_a_chunk_that_kills_its_workers_is_told_with_its_size():
    home = os.getpid()

    def deadly(block):
        if os.getpid() != home:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        made, client = cluster(1)
        with made, client, pytest.raises(MemoryError, match=r"The largest chunk, 40 x 6, is 1,920 bytes"):
            PPCA(2).fit(lazily(X, deadly))
