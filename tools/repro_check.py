"""Fail where a quick run of a table is not what its kept summary says, within the errors of both.

Each JSON file of a folder, as `gnomon reproduce NAME --page FILE` writes it, is held against two draws of its cells.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from gnomon.experiments._cells import rows_of
from gnomon.experiments._runner import run_cells

FAR = 4.5  # standard errors: of a thousand cells chance brings none so far
LEAST = 0.005  # of the mean: the deviation of a cell whose draws are nearly the same


def compared(kept, rows):
    """(distance in standard errors, row) of every row that has a mean in both."""
    held = {tuple(one[:4]): dict(zip(kept["fields"], one, strict=True)) for one in kept["rows"]}
    for row in rows:
        one = held.get(tuple(row[:4]))
        if one is None or one["mean"] is None or not row.n_draws:
            continue
        sd = max(one["sd"] or 0.0, LEAST * abs(one["mean"]))
        size = sd * np.sqrt(1.0 / row.n_draws + 1.0 / one["n_draws"])
        yield abs(row.mean - one["mean"]) / max(size, 1e-12), row, one["mean"]


def main(folder):
    """Print the farthest cell of each table; 1 where one is too far."""
    failed = False
    for path in sorted(Path(folder).glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        table = import_module(f"gnomon.experiments.{kept['table'].replace('-', '_')}").TABLE
        found = list(compared(kept, rows_of(run_cells(kept["table"], table.cells(quick=True), n_jobs=-1), table)))
        if not found:
            sys.exit(f"{path}: no cell of a quick run is in it")
        far, row, mean = max(found, key=lambda one: one[0])
        failed |= far > FAR
        print(
            f"{path.stem}: {len(found)} cells, the farthest {far:.1f} errors: {row[:4]} {row.mean:.4f}, kept {mean:.4f}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
