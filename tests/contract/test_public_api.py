"""The public names are a promise: they change only together with public_api.txt."""

import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import gnomon

SNAPSHOT = Path(__file__).with_name("public_api.txt")
MODELS = Path(gnomon.__file__).parent / "models"
PACKAGES = (
    "gnomon",
    "gnomon.datasets",
    "gnomon.selection",
    "gnomon.plotting",
    "gnomon.experiments",
    "gnomon.export",
    "gnomon.anndata",
)
OPTIONAL = (
    "anndata",
    "clarabel",
    "cupy",
    "cvxpy",
    "dask",
    "matplotlib",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "torch",
)


def public_names():
    for package in PACKAGES:
        module = importlib.import_module(package)
        yield from (f"{package}.{name}" for name in getattr(module, "__all__", ()))


def test_public_names_are_those_of_the_snapshot():
    promised = set(SNAPSHOT.read_text(encoding="utf-8").split())
    present = set(public_names())
    advice = f"change {SNAPSHOT.name} in the same commit and say so in a news fragment"
    assert present == promised, f"new {present - promised}, gone {promised - present}: {advice}"


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_each_name_once_and_each_exists(package):
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", ()))
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(module, name)] == []


def test_importing_gnomon_imports_no_optional_dependency():
    # scikit-learn itself looks for some of them, so only what gnomon adds counts
    seen = f"set({OPTIONAL}) & set(sys.modules)"
    code = f"import sys, sklearn.base, sklearn.utils; seen = {seen}; import gnomon; print(sorted(({seen}) - seen))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_are_imported_when_they_are_asked_for():
    code = "import sys, gnomon, gnomon.models; print(sorted({'sklearn', 'gnomon.estimators'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert set(gnomon._HOMES) | {"__version__"} == set(gnomon.__all__)
    assert gnomon.selection is importlib.import_module("gnomon.selection")
    with pytest.raises(AttributeError, match="no attribute 'SPCA'"):
        _ = gnomon.SPCA


def test_no_model_imports_the_estimators_or_scikit_learn():
    walk = "for module in pkgutil.walk_packages(gnomon.models.__path__, 'gnomon.models.'):"
    code = f"""import importlib, pkgutil, sys, gnomon.models
{walk}
    importlib.import_module(module.name)
    print(module.name, sorted({{'sklearn', 'gnomon.estimators'}} & set(sys.modules)))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    folders = sorted(path.parent.name for path in MODELS.glob("*/__init__.py"))
    assert set(folders) <= {line.split(" ")[0].removeprefix("gnomon.models.") for line in lines}
    assert [line for line in lines if not line.endswith(" []")] == []


def test_version_is_that_of_the_installed_package():
    assert importlib.metadata.version("gnomon") == gnomon.__version__
