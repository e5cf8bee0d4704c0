"""A worker killed at a random moment of a fit changes no bit of what is found, by `make torture`."""

import logging
import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest

from gnomon import CPPCA, DPPCA, PPCA, SPPCA

pytestmark = pytest.mark.torture
SHARE = float(os.environ.get("TORTURE", "1"))
KILLS = max(1, round(SHARE * 20))
N, P, CHUNK = 40_000, 120, 5_000
RNG = np.random.default_rng(0)
KIND = RNG.integers(0, 3, N)
X = RNG.normal(size=(N, P)).astype(np.float32)
X[:, :3] += 3.0 * np.eye(3, dtype=np.float32)[KIND]
Y = np.where(RNG.random(N) < 0.02, KIND, -1)
GAPS = np.where(RNG.random((N, P)) < 0.05, np.nan, X)[:8_000, :20]
FITS = {
    "moments": lambda: SPPCA(4).fit(chunked(X), Y),
    "reads": lambda: PPCA(4, solver="subspace").fit(chunked(X)),
    "gaps": lambda: SPPCA(2, max_iter=10).fit(chunked(GAPS), Y[:8_000]),
    "classes": lambda: CPPCA(2).fit(chunked(X), Y),
    "coordinates": lambda: DPPCA(2).fit(chunked(X), Y),
}


def chunked(table):
    return da.from_array(table, chunks=(CHUNK * len(table) // N, table.shape[1]))


def cluster():
    from distributed import Client, LocalCluster

    made = LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
    return made, Client(made)


def killed_after(seconds, pid):
    """A thread that kills a process some seconds from now."""
    thread = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    thread.start()
    return thread


@pytest.mark.filterwarnings("ignore:Sending large graph", "ignore:.*stopped at max_iter")
@pytest.mark.parametrize("name", FITS)
def test_a_killed_worker_changes_nothing(name):
    draw = np.random.default_rng(1)
    made, client = cluster()
    with made, client:
        wanted = FITS[name]()
        start = time.monotonic()
        FITS[name]()
        took = time.monotonic() - start
    for _ in range(-(-KILLS // len(FITS))):
        made, client = cluster()  # a nanny does not always bring back a worker that dies as it starts
        with made, client:
            pids = [nanny.pid for nanny in made.workers.values()]
            thread = killed_after(took * draw.uniform(), int(draw.choice(pids)))
            found = FITS[name]()
            thread.join()
        assert found.log_likelihood_ == wanted.log_likelihood_
        assert found.n_iter_ == wanted.n_iter_
        assert found.n_passes_ == wanted.n_passes_
        assert np.array_equal(found.components_, wanted.components_)
