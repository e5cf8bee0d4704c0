"""The experiments by name: every module of this package that does not start with an underscore.

Each has `reproduce()`, which yields its findings one by one, each a dict, and `format_table` of all of them.
"""

import ast
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from gnomon.experiments._record import provenance


def experiments():
    """Return {name: first line of the module's docstring}; the name of `sppca_table2` is "sppca-table2"."""
    folder = Path(__file__).parent
    found = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    trees = {module: ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")) for module in found}
    return {
        module.replace("_", "-"): (ast.get_docstring(tree) or "").partition("\n")[0] for module, tree in trees.items()
    }


def run(name):
    """Run an experiment: print its table and how it was made; on stderr what each finding is about, as it comes."""
    module = import_module(f"gnomon.experiments.{name.replace('-', '_')}")
    found = []
    for one in module.reproduce():
        found.append(one)
        print(*(value for value in one.values() if isinstance(value, str | int)), file=sys.stderr, flush=True)
    print(module.format_table(found))
    print(provenance())
