"""How a number was made: commit, versions, threads."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

PACKAGES = ("gnomon", "numpy", "scipy", "scikit-learn")


def provenance():
    """Return commit, versions and threads as a plain dict; the commit is None outside a checkout."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
    }


def _commit():
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() or None
