"""Print the lowest versions that pyproject.toml allows, one NAME==VERSION a line, for pip.

`make lowest` installs exactly them; what they need in their turn is as new as pip finds it.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("plot", "io", "anndata", "convex", "data", "dask", "onnx", "test")


def pins(text: str) -> list[str]:
    """Return the pins of a pyproject.toml; a requirement without a lower bound is an error."""
    project = tomllib.loads(text)["project"]
    wanted = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    found = []
    for requirement in map(Requirement, wanted):
        if requirement.name != project["name"]:
            (bound,) = (clause for clause in requirement.specifier if clause.operator == ">=")
            parts = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            found.append(f"{requirement.name}{parts}=={bound.version}")
    return found


if __name__ == "__main__":
    sys.stdout.write("\n".join(pins((ROOT / "pyproject.toml").read_text(encoding="utf-8"))) + "\n")
