"""Check that a file of `numerics/` or `solvers/` serves at least two estimators.

What only one of them needs lives in that model's folder under `models/`, where its reader looks for it.
"""

import sys
from pathlib import Path

from dead_check import ROOT, imported, modules

SHARED = ("gnomon.numerics.", "gnomon.solvers.")
ESTIMATORS = "gnomon.estimators."


def imports(folder: Path) -> dict[str, set[str]]:
    """Return which modules of the package each of them imports."""
    trees = modules(folder)
    found = {}
    for module, tree in trees.items():
        pairs = imported(module, tree).values()
        found[module] = {f"{base}.{name}" if f"{base}.{name}" in trees else base for base, name in pairs} & set(trees)
    return found


def reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    """Return the modules that one module imports, and those that these import."""
    seen, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += edges[module]
    return seen


def complaints(folder: Path) -> list[str]:
    """Return a line for each shared file that fewer than two estimators reach."""
    edges = imports(folder)
    faces = [name for name in edges if name.startswith(ESTIMATORS) and not name.startswith(f"{ESTIMATORS}_")]
    users = {face.removeprefix(ESTIMATORS): reached(face, edges) for face in faces}
    found = []
    for module in (name for name in edges if name.startswith(SHARED)):
        of = sorted(face for face, names in users.items() if module in names)
        if len(of) < 2:
            who = f"{of[0]} alone" if of else "no estimator"
            found.append(f"{module}: used by {who}; it belongs in that model's folder")
    return found


def main() -> int:
    found = complaints(ROOT / "src")
    print("\n".join(found) or "homes: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
