"""Tables that do not fit, on Dask: memory maps under a limit, workers, overhead; `--rows 2500000` is 10 GB.

Ratios within one run. Needs the extra `dask`; the file is made in the folder of GNOMON_BENCH_TMP, or beside the record.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import OUT, paired, peak_bytes, ratio, record

COLUMNS, RANK, K, LABELED = 1_000, 30, 20, 1_000
BLOCK = 20_000  # rows
NARROW = 200  # columns of the table that grows
LIMIT = 2 << 30  # bytes of a process that fits a memory map
ROWS = 250_000


def rows_of(start, n, seed=0, columns=COLUMNS):
    """Rows [start, start + n) of a planted table in single precision, whatever the blocks, and their factors."""
    loadings = np.random.default_rng(seed).normal(size=(RANK, columns)) * np.linspace(1.5, 0.4, RANK)[:, None]
    rng = np.random.default_rng([seed, start])
    Z = rng.normal(size=(n, RANK))
    return (Z @ loadings + rng.normal(size=(n, columns))).astype(np.float32), Z


def make(path, n):
    """The table as an .npy file, block by block, and its targets."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, COLUMNS))
    y = np.full((n, 2), np.nan)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        table[rows], Z = rows_of(start, rows.stop - start)
        if start == 0:
            y[:LABELED] = Z[:LABELED, :2]
    table.flush()
    np.save(path.with_suffix(".y.npy"), y)


def plain_read(path):
    """Seconds of one read of the file, block by block, adding up what is read."""
    start, total = time.perf_counter(), 0.0
    table = np.load(path, mmap_mode="r")
    for first in range(0, len(table), BLOCK):
        total += float(table[first : first + BLOCK].sum(dtype=np.float64))
    return time.perf_counter() - start, total


def block(path, start, stop):
    """Some rows of the file, read when they are wanted."""
    return np.load(path, mmap_mode="r")[start:stop]


def lazily(da, path, n, columns=COLUMNS):
    """The file as a Dask array; `from_array` would copy a memory map."""
    import dask

    ends = [*range(0, n, BLOCK), n]
    parts = [
        da.from_delayed(dask.delayed(block)(path, start, stop), (stop - start, columns), np.float32)
        for start, stop in itertools.pairwise(ends)
    ]
    return da.concatenate(parts)


def child(path, method):
    """Fit in this process, under the limit, and print what it took."""
    import dask.array as da
    from sklearn.decomposition import IncrementalPCA

    from gnomon import SPPCA

    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    table, y = np.load(path, mmap_mode="r"), np.load(path.with_suffix(".y.npy"))
    read, _ = plain_read(path)
    start = time.perf_counter()
    if method == "IncrementalPCA":
        peer = IncrementalPCA(K)
        for first in range(0, len(table), BLOCK):  # `fit` would copy the whole
            peer.partial_fit(table[first : first + BLOCK])
        found = {"reads": 1.0, "converged": None}
    else:
        X = table if method == "memory map" else lazily(da, path, len(table))
        model = SPPCA(K).fit(X, y)
        found = {"reads": model.n_passes_, "converged": bool(model.converged_), "nats": model.log_likelihood_}
    seconds = time.perf_counter() - start
    sys.stdout.write(json.dumps(found | {"seconds": seconds, "read": read}) + "\n")


def under_limit(path):
    """A fit of the file by each method, in a process of its own that may hold two GiB."""
    out = {}
    for method in ("memory map", "Dask", "IncrementalPCA"):
        command = [sys.executable, __file__, "--child", str(path), "--method", method]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        out[method] = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()[-300:]}
    return out


def of_file(path, n):
    """Rows of the record about the file."""
    found = under_limit(path)
    what = f"{n:,} x {COLUMNS:,} float32, two GiB"
    peer, rows = found["IncrementalPCA"], []
    if "error" in peer:
        sys.stdout.write(f"IncrementalPCA: {peer['error']}\n")
    for method in ("memory map", "Dask"):
        one = found[method]
        if "error" in one:
            rows.append({"what": f"{what}, {method}: {one['error']}", "value": None, "limit": 1.5})
            continue
        reads = one["seconds"] / ((one["reads"] + 2.0) * one["read"])
        rows.append({"what": f"{what}, {method}: fit / (reads + 2) plain reads", "value": reads, "limit": 1.5, **one})
        if "error" not in peer:
            share = one["seconds"] / peer["seconds"]
            rows.append({"what": f"{what}, {method}: fit / IncrementalPCA({K})", "value": share, "limit": 0.5})
    return rows


def in_double(start, n, columns):
    """The same rows in double precision."""
    return rows_of(start, n, columns=columns)[0].astype(np.float64)


def of_workers():
    """Two workers beside one, and Dask's own overhead in one process."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from gnomon import SPPCA

    n, columns = 400_000, 1_000
    lazy = da.concatenate(
        [
            da.from_delayed(dask.delayed(in_double)(start, BLOCK, columns), (BLOCK, columns), np.float64)
            for start in range(0, n, BLOCK)
        ]
    )
    X, Z = lazy.compute(), rows_of(0, BLOCK, columns=columns)[1][:LABELED]
    y = np.full((n, 2), np.nan)
    y[:LABELED] = Z[:, :2]
    found, seconds = {}, {}

    def fit(table, name):
        found[name] = SPPCA(10).fit(table, y).log_likelihood_

    settings = {"threads_per_worker": 1, "dashboard_address": None}
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, processes=True, **settings) as cluster, Client(cluster):
            held = lazy.persist()
            wait(held)
            seconds[workers] = paired({"fit": lambda held=held, w=workers: fit(held, w)}, repeats=3)["fit"]
    inside = LocalCluster(n_workers=1, threads_per_worker=os.cpu_count(), processes=False, dashboard_address=None)
    with inside as cluster, Client(cluster):
        held = lazy.persist()
        wait(held)
        pair = paired({"Dask": lambda: fit(held, "Dask"), "NumPy": lambda: fit(X, "NumPy")}, repeats=3)
    apart = max(abs(found[name] - found["NumPy"]) for name in (1, 2, "Dask")) / n
    gain, overhead = float(np.median(seconds[1]) / np.median(seconds[2])), ratio(pair, "Dask", "NumPy")
    return [
        {"what": f"{n:,} x {columns}: one worker / two workers, negated", "value": -gain, "limit": -1.7},
        {
            "what": f"{n:,} x {columns}: Dask in one process / NumPy",
            "value": overhead,
            "limit": 1.25,
        },
        {"what": f"{n:,} x {columns}: nats per row between NumPy and workers", "value": apart, "limit": 1e-8},
    ]


def of_sizes():
    """Time and memory as rows grow eightfold, from a memory map through Dask."""
    import dask.array as da

    from gnomon import SPPCA

    seconds, memory, sizes = [], [], [250_000, 500_000, 1_000_000, 2_000_000]
    with tempfile.TemporaryDirectory(dir=os.environ.get("GNOMON_BENCH_TMP")) as folder:
        path = Path(folder) / "rows.npy"
        table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(sizes[-1], NARROW))
        for start in range(0, len(table), BLOCK):
            table[start : start + BLOCK] = rows_of(start, BLOCK, columns=NARROW)[0]
        Z = rows_of(0, BLOCK, columns=NARROW)[1]
        for n in sizes:
            y = np.full(n, np.nan)
            y[:LABELED] = Z[:LABELED, 0]

            def fit(n=n, y=y):
                SPPCA(10).fit(lazily(da, path, n, NARROW), y)

            seconds.append(float(np.median(paired({"fit": fit}, repeats=3)["fit"])))
            memory.append(peak_bytes(fit) / n)
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    shown = ", ".join(f"{one:.2g}" for one in seconds)
    what = f"{sizes[0]:,} to {sizes[-1]:,} x {NARROW} float32"
    return [
        {"what": f"{what}: slope of log seconds ({shown})", "value": slope, "limit": 1.1},
        {"what": f"{what}: most bytes a row beyond the chunks", "value": memory[-1], "limit": 200.0, "each": memory},
    ]


def text_rows(start, n, p=50_000, each=100):
    """Rows of a sparse table, as many entries in each, whose columns fall off in frequency like words."""
    rng = np.random.default_rng([7, start])
    columns = np.minimum((p * rng.random(n * each) ** 3).astype(np.int32), p - 1)
    topic = np.repeat(rng.integers(0, 20, n), each)
    columns = np.where(rng.random(n * each) < 0.3, (topic * 97 + columns % 61) % p, columns)
    values = rng.random(n * each, dtype=np.float32) + 0.5
    return sp.csr_array((values, columns, np.arange(0, n * each + 1, each)), shape=(n, p))


def of_text(n=2_000_000):
    """Sparse rows in chunks that are made once, and held: reads as in one process, memory of the process."""
    import dask
    import dask.array as da

    from gnomon import SPPCA

    size, p = 50_000, 50_000
    parts = [
        da.from_delayed(
            dask.delayed(text_rows)(start, size, p), (size, p), np.float32, meta=sp.csr_array((0, 0), dtype=np.float32)
        )
        for start in range(0, n, size)
    ]
    X = da.concatenate(parts).persist()
    y = np.full(n, np.nan)
    y[:LABELED] = np.asarray(text_rows(0, size, p)[:LABELED, :50].sum(axis=1)).ravel()
    before, start = time.process_time(), time.perf_counter()
    model = SPPCA(10).fit(X, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    one = SPPCA(10).fit(sp.vstack([text_rows(start, size, p) for start in range(0, n // 10, size)]), y[: n // 10])
    what = f"sparse {n:,} x {p:,}, {100 * n:,} entries, in {len(parts)} chunks"
    return [
        {"what": f"{what}: GiB of the process", "value": most / (1 << 30), "limit": 8.0},
        {"what": f"{what}: reads", "value": model.n_passes_, "limit": 20.0, "converged": bool(model.converged_)},
        {"what": f"{what}: reads of a tenth of the rows in one process", "value": one.n_passes_, "limit": None},
        {"what": f"{what}: seconds", "value": seconds, "limit": None, "cpu": cpu},
    ]


def main():
    """Make the file, run, record."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=ROWS)
    asked.add_argument("--child", type=Path)
    asked.add_argument("--method")
    asked.add_argument("--only", choices=("file", "workers", "sizes", "text"))
    words = asked.parse_args()
    warnings.simplefilter("ignore")
    if words.child is not None:
        child(words.child, words.method)
        return
    folder = Path(os.environ.get("GNOMON_BENCH_TMP", OUT))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"scale-{words.rows}.npy"
    rows = []
    if words.only in (None, "file"):
        make(path, words.rows)
        try:
            rows += of_file(path, words.rows)
        finally:
            path.unlink()
            path.with_suffix(".y.npy").unlink()
    for name, measure in {"workers": of_workers, "sizes": of_sizes, "text": of_text}.items():
        if words.only in (None, name):
            rows += measure()
    record("scale", rows)


if __name__ == "__main__":
    main()
