"""Run the mutants: small edits of the code, each of which must make a named test fail.

`tests/mutants.toml` holds one table for each mutant::

    [[mutant]]
    file = "src/gnomon/numerics/linalg.py"      # the file to edit
    old = "eigenvalues[::-1]"                   # text that occurs in it exactly once
    new = "eigenvalues"                         # what to put in its place
    tests = ["tests/numerics/test_linalg.py::test_order"]    # one of these must fail

Each mutant gets its own copy of the sources and tests, and the tests import the copy. First the tests named
by all mutants must pass on an unchanged copy. Words on the command line keep mutants that hold one of them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants.toml"
COPIED = ("src", "tests", "tools", "pyproject.toml")
N_PROCESSES = 2
TIMEOUT = 300  # seconds; an edit that makes a loop endless is caught by it
UNCHANGED_TIMEOUT = 3000  # of all named tests before any edit


class Mutant(NamedTuple):
    file: str
    old: str
    new: str
    tests: list[str]


class Outcome(NamedTuple):
    caught: bool
    text: str
    output: str = ""


def load(path: Path) -> list[Mutant]:
    """Read the list and refuse entries that cannot mean anything."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    mutants = []
    for number, entry in enumerate(entries, 1):
        if set(entry) != set(Mutant._fields) or not entry["tests"] or entry["old"] == entry["new"]:
            raise SystemExit(f"{path.name}, mutant {number}: give file, old, a different new, and at least one test")
        mutants.append(Mutant(**entry))
    return mutants


def copy_tree(folder: Path) -> None:
    """Copy what the tests need; not byte code, which an edit of equal length could leave looking fresh."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def python(folder: Path, *args: str, timeout: int = TIMEOUT) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy, its sources ahead of the installed package."""
    env = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if env.get("GNOMON_DATA"):
        env["GNOMON_DATA"] = str(Path(env["GNOMON_DATA"]).resolve())
    env.pop("GNOMON_REQUIRE_REALDATA", None)
    command = [sys.executable, *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout)


def run_tests(
    folder: Path, tests: list[str], *options: str, timeout: int = TIMEOUT
) -> subprocess.CompletedProcess[str]:
    words = ("-q", "-x", "--tb=short", "-p", "no:cacheprovider", *options)
    return python(folder, "-m", "pytest", *words, *tests, timeout=timeout)


def check_unchanged(mutants: list[Mutant]) -> None:
    """Stop unless a copy is what gets imported and all named tests pass on it, with none skipped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_tree(folder)
        imported = Path(python(folder, "-c", "import gnomon; print(gnomon.__file__)").stdout.strip())
        if not imported.is_relative_to(folder):
            raise SystemExit(f"the tests would import {imported} and not the edited copy")
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        done = run_tests(folder, tests, "-n", str(N_PROCESSES), timeout=UNCHANGED_TIMEOUT)
        if done.returncode or re.search(r"\d skipped", done.stdout):
            raise SystemExit(f"{done.stdout}{done.stderr}\nthe named tests must pass before anything is edited")


def outcome(mutant: Mutant) -> Outcome:
    """Apply one edit in a fresh copy and run its tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_tree(folder)
        target = folder / mutant.file
        source = target.read_text(encoding="utf-8") if target.is_file() else ""
        if source.count(mutant.old) != 1:
            return Outcome(False, f"STALE: old text found {source.count(mutant.old)} times")
        target.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            done = run_tests(folder, mutant.tests)
        except subprocess.TimeoutExpired:
            return Outcome(True, "caught: never ends")
    if done.returncode == 1:
        return Outcome(True, "caught")
    text = "SURVIVED" if done.returncode == 0 else f"BROKEN: pytest ended with {done.returncode}"
    return Outcome(False, text, done.stdout + done.stderr)


def timed_outcome(mutant: Mutant) -> tuple[Mutant, Outcome, float]:
    start = time.perf_counter()
    return mutant, outcome(mutant), time.perf_counter() - start


def first_change(mutant: Mutant, width: int = 40) -> str:
    """Show the first line that differs, cut to a width."""
    pairs = zip_longest(mutant.old.splitlines(), mutant.new.splitlines(), fillvalue="")
    before, after = next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", ""))
    return " -> ".join(line if len(line) <= width else line[: width - 3] + "..." for line in (before, after))


def main(words: list[str]) -> int:
    mutants = load(LIST)
    if words:
        mutants = [m for m in mutants if any(word in " ".join((m.file, m.old, m.new)) for word in words)]
    if not mutants:
        print(f"{LIST.name}: no mutants to run")
        return 1
    check_unchanged(mutants)
    n_missed = 0
    with ThreadPoolExecutor(N_PROCESSES) as pool:
        for mutant, result, seconds in pool.map(timed_outcome, mutants):
            where = mutant.file.removeprefix("src/gnomon/")
            print(f"{result.text:<30} {seconds:5.1f} s  {where:<28} {first_change(mutant)}", flush=True)
            if not result.caught:
                n_missed += 1
                print(result.output)
    print(f"{len(mutants)} mutants, {len(mutants) - n_missed} caught, {n_missed} not caught")
    return bool(n_missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
