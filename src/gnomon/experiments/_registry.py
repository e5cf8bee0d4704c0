"""The experiments by name: every module of this package that does not start with an underscore.

Each has `reproduce()`, which yields its findings one by one, each a dict, and `format_table` of all of them.
"""

import ast
import inspect
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from gnomon._files import new_file
from gnomon.experiments._record import provenance


class NoFindings(ValueError):
    """A file of findings cannot be gone on from, or an experiment has none to keep; the message says why."""


def experiments():
    """Return {name: first line of the module's docstring}; the name of `sppca_table2` is "sppca-table2"."""
    folder = Path(__file__).parent
    found = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    trees = {module: ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")) for module in found}
    return {
        module.replace("_", "-"): (ast.get_docstring(tree) or "").partition("\n")[0] for module, tree in trees.items()
    }


def run(name, file=None):
    """Run an experiment: print its table and how it was made; on stderr what each finding is about, as it comes.

    With a file of findings those in it are not made anew, and new ones are added as they come. Interrupted, it prints
    the table of what there is. Raises `NoFindings` where the experiment has no parts, or the file is not of it.
    """
    module = import_module(f"gnomon.experiments.{name.replace('-', '_')}")
    found = [] if file is None else kept_findings(name, module, Path(file))
    try:
        for one in module.reproduce(**({} if file is None else {"done": tuple(found)})):
            found.append(one)
            print(*(value for value in one.values() if isinstance(value, str | int)), file=sys.stderr, flush=True)
            if file is not None:
                keep(name, found, file)
    finally:
        if found:
            print(module.format_table(found))
            print(provenance())


def kept_findings(name, module, file):
    """Findings of a file that `keep` wrote; none where there is no file yet."""
    if "done" not in inspect.signature(module.reproduce).parameters:
        raise NoFindings(f"{name} has no parts to keep; run it without a file.")
    if not file.exists():
        return []
    try:
        head, *lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if head["experiment"] == name:
            return lines
    except (ValueError, TypeError, KeyError):
        pass
    raise NoFindings(f"{file} does not hold findings of {name}; name another file.")


def keep(name, found, file):
    """Write findings to a file, a line each."""
    lines = [{"experiment": name, **provenance()}, *found]
    with new_file(file) as stream:
        stream.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
