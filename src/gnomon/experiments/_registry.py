"""The experiments by name: every module of this package that does not start with an underscore.

A table of a paper is a `TABLE` of cells, see `_cells`. Each other one has `reproduce()`, which yields its findings one
by one, each a dict, and `format_table` of all of them.
"""

import ast
import inspect
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from gnomon._files import new_file
from gnomon.experiments._cells import as_text, rows_of
from gnomon.experiments._page import page
from gnomon.experiments._picture import picture, save_picture
from gnomon.experiments._record import provenance
from gnomon.experiments._runner import WrongFile, run_cells, told_if_stopped
from gnomon.plotting._style import pyplot

NUMBERS = ("task", "method", "k", "score", "mean", "sd", "n_draws", "n_failed")


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


def run(name, file=None, **options):
    """Run an experiment: print its table and how it was made; on stderr what each finding is about, as it comes.

    With a file of findings those in it are not made anew, and new ones are added as they come. Interrupted, it prints
    the table of what there is, and how to go on. Raises `NoFindings` where the experiment has no parts, or the file is
    not of it. `options` are those of `run_table`, for a table of cells.
    """
    module = import_module(f"gnomon.experiments.{name.replace('-', '_')}")
    file = None if file is None else Path(file)
    if hasattr(module, "TABLE"):
        run_table(name, module.TABLE, file, **options)
        return
    asked = _asked(name, module, **options)
    found = [] if file is None else kept_findings(name, module, file)

    def tell(partial=True):
        if found:
            print(module.format_table(found))
            print(provenance())
        if partial:
            parts = "done" in inspect.signature(module.reproduce).parameters
            print(_partial(f"{len(found)} findings are made", file, parts), flush=True)

    try:
        with told_if_stopped(tell):
            for one in module.reproduce(**asked, **({} if file is None else {"done": tuple(found)})):
                found.append(one)
                print(*(value for value in one.values() if isinstance(value, str | int)), file=sys.stderr, flush=True)
                if file is not None:
                    keep(name, found, file)
    except BaseException:
        if found:
            tell()
        raise
    tell(partial=False)


def _asked(name, module, *, draws=None, only=(), quick=False, jobs=None, page=None):
    """What `reproduce` of an experiment that is no table of cells is called with."""
    takes = inspect.signature(module.reproduce).parameters
    given = {
        "--draws": ("n_draws", draws),
        "--only": ("sets", tuple(only) or None),
        "--jobs": ("n_jobs", jobs),
        "--page": ("page", page),
    }
    given = {option: pair for option, pair in given.items() if pair[1] is not None}
    refused = [option for option, (field, _) in given.items() if field not in takes]
    if refused:
        raise NoFindings(f"{name} is no table of a paper: it takes no {' and no '.join(refused)}.")
    for one in only:
        if one not in takes["sets"].default:
            raise NoFindings(f"there is no {one!r} in the table; known: {', '.join(takes['sets'].default)}.")
    return (module.QUICK if quick else {}) | dict(given.values())


def run_table(name, table, file=None, *, draws=None, only=(), quick=False, jobs=None, page=None):
    """Run the cells of a table, and print it; `page` names a Markdown file for it, and for
    its numbers and its picture the JSON and SVG files beside it.

    Interrupted, it prints and writes what there is, and how to go on. `draws` of each cell, or those of the
    paper; `quick` few of the cheap ones; `only` tasks, methods or "K=5".
    """
    cells = chosen(table.cells(draws, quick=quick), only)
    if page is not None:
        pyplot()  # before the hours that cells may take

    def tell(found):
        rows = rows_of(found, table)
        print(as_text(rows))
        print(provenance())
        if len(found) < len(cells):
            print(_partial(f"{len(found)} of {len(cells)} cells are finished", file), flush=True)
        if page is not None:
            seconds = sum(one["seconds"] for one in found)
            write_page(name, table, rows, page, _command(name, draws, only, quick), len(cells) - len(found), seconds)

    try:
        tell(run_cells(name, cells, file, 1 if jobs is None else jobs, tell))
    except WrongFile as error:
        raise NoFindings(str(error)) from error


def _partial(done, file, parts=True):
    """One line: this is not all, and how to go on."""
    if file is not None:
        return f"Partial: {done}; the same command goes on from {file}."
    rest = "with --keep FILE the same command goes on where it was stopped" if parts else "it cannot be gone on with"
    return f"Partial: {done}, and nothing was kept; {rest}."


def chosen(cells, only):
    """Cells of the tasks ("iris" is "iris, 20 %" and the like), methods and numbers of dimensions that are named.

    Of what is not named they are all.
    """
    names = {"task": {}, "method": {}, "k": {}}
    for cell in cells:
        names["task"].setdefault(cell.task.partition(",")[0], set()).add(cell.task)
        names["task"].setdefault(cell.task, set()).add(cell.task)
        names["method"].setdefault(cell.method, set()).add(cell.method)
        if cell.k is not None:
            names["k"].setdefault(f"K={cell.k}", set()).add(cell.k)
    for one in only:
        if not any(one in known for known in names.values()):
            known = ", ".join(name for known in names.values() for name in known)
            raise NoFindings(f"there is no {one!r} in the table; known: {known}.")
    some = {field: set().union(*(known.get(one, ()) for one in only)) for field, known in names.items()}
    return [cell for cell in cells if all(getattr(cell, field) in wanted for field, wanted in some.items() if wanted)]


def write_page(name, table, rows, path, command, n_left=0, seconds=None):
    """Write the page of a table, its numbers beside it as JSON and its picture; `n_left` cells are not finished.

    The others took so many seconds.
    """
    made, drawn, svg = provenance()["versions"], picture(rows), Path(path).with_suffix(".svg")
    if drawn is not None:
        save_picture(drawn, svg)
    with new_file(path) as stream:
        shown = None if drawn is None else svg.name
        stream.write(page(experiments()[name], table, rows, command, made, n_left, shown, seconds).encode())
    with new_file(Path(path).with_suffix(".json")) as stream:
        head = json.dumps({"table": name, "command": command, "versions": made, "fields": NUMBERS})
        lines = ",\n".join(json.dumps([_number(getattr(row, field)) for field in NUMBERS]) for row in rows)
        stream.write(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n'.encode())


def _number(value):
    return round(value, 6) if isinstance(value, float) and np.isfinite(value) else None if value != value else value


def _command(name, draws, only, quick):
    parts = [f"--draws {draws}"] if draws is not None else []
    return " ".join(["gnomon reproduce", name, *parts, *(f"--only {one}" for one in only), *["--quick"] * quick])


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
