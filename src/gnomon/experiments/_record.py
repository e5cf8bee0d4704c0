"""What is told of a number: its deviation over draws, and how it was made."""

import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from gnomon._files import new_file
from gnomon.export.report import versions
from gnomon.plotting._style import pyplot


def record(values, **about):
    """One cell of a table: what it is about, and mean, standard deviation and standard error over draws."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return {**about, "mean": float(np.mean(values)), "sd": sd, "se": sd / len(values) ** 0.5, "n_draws": len(values)}


def provenance():
    """Return commit, versions and threads as a plain dict; the commit is None outside a checkout."""
    commit = ""
    with suppress(OSError):
        command = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout
    return {
        "commit": commit.strip() or None,
        "versions": versions(),
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
    }


def save_figure(figure, path):
    """Write a picture as PNG, in a folder that is made, and close it."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as picture:
        figure.savefig(picture, format="png", dpi=120)
    pyplot().close(figure)
