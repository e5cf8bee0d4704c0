"""The experiments by name: every module of this package that does not start with an underscore."""

import ast
import pkgutil
import runpy
import sys
from pathlib import Path


def experiments():
    """Return {name: first line of the module's docstring}; the name of `sppca_table2` is "sppca-table2"."""
    folder = Path(__file__).parent
    found = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    return {module.replace("_", "-"): _first_line(folder / f"{module}.py") for module in found}


def run(name):
    """Run an experiment as ``python -m gnomon.experiments.MODULE`` does: it prints its table and how it was made."""
    if name not in experiments():
        raise ValueError(f"there is no experiment {name!r}; known: {', '.join(experiments())}.")
    given, sys.argv = sys.argv, [name]  # the words after it are not for the experiment
    try:
        runpy.run_module(f"gnomon.experiments.{name.replace('-', '_')}", run_name="__main__", alter_sys=True)
    finally:
        sys.argv = given


def _first_line(path):
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
