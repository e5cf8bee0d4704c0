"""Paired timing, peak memory and the record that every benchmark writes."""

import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

OUT = Path(os.environ.get("GNOMON_BENCH_OUT", "build/bench"))

REST = 0.2  # seconds after which the threads that a task left spinning sleep, and take no core from the next one


def paired(tasks, repeats=5):
    """Time every task once a round, in turn, so that noise of the machine hits all alike.

    `tasks` maps a name to a callable. Returns {name: [seconds, ...]}; a failing task is recorded as its error text.
    """
    seconds = {name: [] for name in tasks}
    for task in tasks.values():
        _attempt(task)  # warm caches, pages and thread pools
    for _ in range(repeats):
        for name, task in tasks.items():
            time.sleep(REST)
            start = time.perf_counter()
            error = _attempt(task)
            seconds[name].append(error or time.perf_counter() - start)
    return seconds


def _attempt(task):
    try:
        task()
    except Exception as error:  # a failed peer stays in the record
        return f"{type(error).__name__}: {error}"
    return None


def ratio(seconds, ours, peer):
    """Median of the round-by-round ratios, or None when either failed."""
    a, b = seconds[ours], seconds[peer]
    if any(isinstance(v, str) for v in [*a, *b]):
        return None
    return float(np.median(np.array(a) / np.array(b)))


def peak_bytes(task):
    """Largest memory NumPy and Python held during the task, beyond what was there before."""
    tracemalloc.start()
    task()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def record(name, rows):
    """Print the rows and write them, with versions, threads and commit, to build/bench/NAME.json."""
    for row in rows:
        verdict = ""
        if row.get("limit") is not None and row.get("value") is not None:
            verdict = "ok" if row["value"] <= row["limit"] else "MISSED"
        value = "failed" if row.get("value") is None else f"{row['value']:.4g}"
        limit = "" if row.get("limit") is None else f"<= {row['limit']:g}"
        sys.stdout.write(f"{row['what']:<86} {value:>9} {limit:>9} {verdict}\n")
    sys.stdout.flush()
    OUT.mkdir(parents=True, exist_ok=True)
    made = {
        "benchmark": name,
        "commit": _commit(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "threads": [{k: info[k] for k in ("internal_api", "num_threads")} for info in threadpool_info()],
        "rows": rows,
    }
    (OUT / f"{name}.json").write_text(json.dumps(made, indent=1) + "\n")


def _commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
