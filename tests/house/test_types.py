"""Programs of users under a strict type checker."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gnomon

README = Path(__file__).resolve().parents[2] / "README.md"
SETTINGS = "[mypy]\nstrict = true\n[mypy-sklearn.*]\nignore_missing_imports = true\n"


@pytest.mark.slow
def test_the_program_of_the_readme_passes_a_strict_check(tmp_path):
    programs = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert programs
    for number, text in enumerate(programs):
        (tmp_path / f"program_{number}.py").write_text(text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        *sorted(p.name for p in tmp_path.glob("*.py")),
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


ESTIMATORS = [getattr(gnomon, name) for name in gnomon.__all__ if hasattr(getattr(gnomon, name), "fit")]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_public_methods_are_annotated(estimator):
    methods = {"__init__": estimator.__init__} | dict(inspect.getmembers(estimator, inspect.isfunction))
    bare = []
    for name, method in methods.items():
        if (name.startswith("_") and name != "__init__") or not method.__module__.startswith("gnomon."):
            continue
        signature = inspect.signature(method)
        given = [p.annotation for p in signature.parameters.values() if p.name != "self"] + [
            signature.return_annotation
        ]
        bare += [name] if inspect.Signature.empty in given else []
    assert bare == []


PACKAGES = ("selection", "export", "plotting", "datasets", "describe")


def own_functions(thing):
    """A public function itself, or what a public class defines in its own body."""
    if inspect.isfunction(thing):
        return [thing]
    found = [getattr(f, "__func__", f) for f in vars(thing).values()] if inspect.isclass(thing) else []
    of_source = Path(gnomon.__file__).parent
    return [f for f in found if inspect.isfunction(f) and of_source in Path(f.__code__.co_filename).parents]


@pytest.mark.parametrize("package", PACKAGES)
def test_what_else_is_public_is_annotated(package):
    module = importlib.import_module(f"gnomon.{package}")
    bare = []
    for name in module.__all__:
        for function in own_functions(getattr(module, name)):
            if function.__name__.startswith("_") and function.__name__ != "__init__":
                continue
            signature = inspect.signature(function)
            given = [p.annotation for p in signature.parameters.values() if p.name not in ("self", "cls")]
            if function.__name__ != "__init__":
                given.append(signature.return_annotation)
            bare += [f"{name}: {function.__name__}"] if inspect.Signature.empty in given else []
    assert not bare
