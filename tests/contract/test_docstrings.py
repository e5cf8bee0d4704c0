"""Docstrings say what is true: the defaults they state, and the attributes that fitting sets."""

import ast
import inspect
import re

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.base import BaseEstimator

from docstring_check import public_methods, public_names, resolve

OBJECTS = {name: resolve(name) for name in public_names()}
CLASSES = {name: obj for name, obj in OBJECTS.items() if inspect.isclass(obj)}
ESTIMATORS = {name: cls for name, cls in CLASSES.items() if issubclass(cls, BaseEstimator) and hasattr(cls, "fit")}
CLASSES_ONLY = ("KDA", "SEPCA", "DPPCA", "DomainStack")  # real targets are an error
CALLABLES = {name: obj for name, obj in OBJECTS.items() if inspect.isclass(obj) or inspect.isfunction(obj)} | {
    f"{name}.{attribute}": function
    for name, cls in CLASSES.items()
    for attribute, function in public_methods(cls)
    if inspect.isfunction(function)
}


def documented_types(obj):
    """Map each documented parameter to the text of its type; of several in one entry a tuple has the defaults."""
    types = {}
    for entry in NumpyDocString(inspect.getdoc(obj))["Parameters"]:
        names = [name.strip("* ") for name in entry.name.split(",")]
        kind, _, defaults = entry.type.partition("default=(")
        if defaults and len(names) > 1:
            stated = [f"{kind}default={value!r}" for value in ast.literal_eval(f"({defaults}")]
            types |= dict(zip(names, stated, strict=True))
        else:
            types |= dict.fromkeys(names, entry.type)
    return types


@pytest.mark.parametrize("name", CALLABLES)
def test_stated_defaults_are_those_of_the_signature(name):
    types = documented_types(CALLABLES[name])
    for parameter in inspect.signature(CALLABLES[name]).parameters.values():
        stated = re.search(r"default=(.+)$", types.get(parameter.name, ""))
        if parameter.default is inspect.Parameter.empty:
            assert stated is None, f"{parameter.name} has no default, {stated} is stated"
        elif types.get(parameter.name, "Ignored") != "Ignored":
            assert stated, f"{parameter.name}: state default={parameter.default!r}"
            made = repr(parameter.default) == "<factory>"  # of a dataclass: an empty one of what is stated
            assert ast.literal_eval(stated[1]) == ({} if made else parameter.default), parameter.name


QUICK = {
    "GuidedSearch": {"n_splits": 1, "n_permutations": 1, "preprocessing": ["rows"]},
    "DomainStack": {"scale": 1.0, "C": 1.0},
}


def fitted_on_small_tables(cls):
    """Fit on class targets and on a real target, with named columns and some unlabeled rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 6)), columns=list("abcdef"))
    classes = np.where(X["a"] + X["b"] > 0, "up", "down").astype(object)
    classes[::4] = None
    real = X["a"].to_numpy() - X["c"].to_numpy()
    real[::4] = np.nan
    targets = [classes] if cls.__name__ in CLASSES_ONLY else [classes, real]
    if cls.__name__ == "IFA":  # takes numbers of components
        targets = [np.array([{None: -1, "down": 0, "up": 1}[label] for label in classes])]
    return [cls(**QUICK.get(cls.__name__, {})).fit(X, y) for y in targets]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_documented_attributes_are_the_fitted_ones(name):
    cls = ESTIMATORS[name]
    if cls.__name__ == "ColoredMVU":
        pytest.importorskip("clarabel", reason="the extra gnomon[convex] is not installed")
    models = fitted_on_small_tables(cls)
    entries = NumpyDocString(inspect.getdoc(cls))["Attributes"]
    documented = {attribute.strip() for entry in entries for attribute in entry.name.split(",")}
    present = {attribute for model in models for attribute in dir(model) if hasattr(model, attribute)}
    assert documented - present == set()
    fitted = {attribute for attribute in present if re.fullmatch(r"[a-z]\w*[a-z0-9]_", attribute)}
    assert fitted - documented == set()
