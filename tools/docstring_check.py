"""Check the docstrings of every public name and of the public methods of every public class.

Public names are the `__all__` of gnomon and of its public packages. Of numpydoc's checks a small set is used:

GL07  the sections are in numpydoc's order            PR01  every parameter is documented
GL08  there is a docstring                            PR02  no parameter is documented that does not exist
SS03  the summary ends with a full stop               PR03  the parameters are in the order of the signature
RT01  there is a Returns section where needed         PR04  every parameter has a type
EX01  classes and functions have an example           PR07  every parameter has a description
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

PACKAGES = ("gnomon", "gnomon.datasets", "gnomon.selection", "gnomon.plotting", "gnomon.export", "gnomon.anndata")
CODES = {"GL07", "GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01"}
WITH_EXAMPLE = CODES | {"EX01"}


def public_names() -> Iterator[str]:
    """Yield the dotted names in `__all__` of the public packages, private ones and modules left out."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            continue
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            if not name.startswith("_") and not inspect.ismodule(getattr(module, name)):
                yield f"{package}.{name}"


def resolve(name: str) -> object:
    """Return the object that a dotted name of a public package stands for."""
    package, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(package), attribute)


def public_methods(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class that this library defines, inherited or not.

    One that overrides another and says nothing itself has the words of that one, which are checked there.
    """
    for attribute in dir(cls):
        member = inspect.getattr_static(cls, attribute)
        for wrapper in ("__func__", "fget", "func", "fn"):  # of class methods, properties, cached ones, available_if
            member = getattr(member, wrapper, member)
        if inspect.isfunction(member) and not attribute.startswith("_"):
            function = inspect.unwrap(member)
            silent = function.__doc__ is None and inspect.getdoc(getattr(cls, attribute)) is not None
            if function.__module__.startswith("gnomon") and not silent:
                yield attribute, function


def explains_fields(cls: object) -> bool:
    """Whether a NamedTuple or dataclass, which users read rather than build, documents its fields as attributes."""
    fields = getattr(cls, "_fields", None) or getattr(cls, "__dataclass_fields__", None)
    if not fields:
        return False
    entries = NumpyDocString(inspect.getdoc(cls) or "")["Attributes"]
    return set(fields) <= {name.strip() for entry in entries for name in entry.name.split(",")}


def errors(name: str, codes: set[str]) -> list[str]:
    """Return one line for each of the given checks that the docstring of a dotted name fails."""
    return [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in codes]


def complaints() -> list[str]:
    """Return one line for each failed check; a method that several classes share is checked once."""
    found, seen = [], set()
    for name in public_names():
        obj = resolve(name)
        if not (inspect.isclass(obj) or inspect.isfunction(obj)):
            continue
        found += errors(name, WITH_EXAMPLE - {"PR01"} if explains_fields(obj) else WITH_EXAMPLE)
        for attribute, function in public_methods(obj) if inspect.isclass(obj) else ():
            if function not in seen:
                seen.add(function)
                found += errors(f"{name}.{attribute}", CODES)
    return found


def main() -> int:
    found = complaints()
    print("\n".join(found) or "docstrings: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
