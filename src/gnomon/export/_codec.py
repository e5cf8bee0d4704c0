"""Values of attributes as JSON, with arrays set aside: encode() and decode().

JSON's own kinds stand for themselves, and every other value is an object with the one key that says its
kind, such as {"$array": 3}. Floats keep all their bits: JSON numbers are written so that they read back
exactly. Models inside of others, such as the steps of a pipeline, are kept by class, parameters and fitted attributes.
"""

import math
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

import gnomon
from gnomon.datasets._local import read_csr
from gnomon.export.steps import Columns, GapFiller
from gnomon.rows.kind import is_sparse

PLAIN = (type(None), bool, int, str)
FITTED = re.compile(r"[A-Za-z]\w*_|_[A-Za-z]\w*")
ROUTING = "_metadata_request"  # an object of scikit-learn; what a loaded model is asked for does not need it
CSR = ("data", "indices", "indptr")
SCALERS = (
    *(MaxAbsScaler, MinMaxScaler, Normalizer, PowerTransformer, QuantileTransformer, RobustScaler, StandardScaler),
    TfidfTransformer,
)
INSIDE = (LogisticRegression,)  # of `DomainStack`


class UnknownClass(Exception):
    """A file names a class that is not among `model_classes`."""


def model_classes() -> dict[str, type]:
    """The classes that a file may hold, by name: those of gnomon, and what may stand before a model."""
    public = [getattr(gnomon, name) for name in gnomon.__all__]
    return {
        cls.__name__: cls for cls in (*public, Columns, GapFiller, Pipeline, *SCALERS, *INSIDE) if isinstance(cls, type)
    }


def encode_model(estimator: Any, arrays: list[np.ndarray], name: str) -> dict[str, Any]:
    """Class, parameters and fitted attributes of an estimator."""
    kind = type(estimator).__name__
    if model_classes().get(kind) is not type(estimator):
        raise TypeError(
            f"{name} is a {type(estimator).__module__}.{kind}; save_model takes the classes of gnomon and pipelines of "
            f"them: {', '.join(model_classes())}. Of a search save `best_estimator_`; skops.io.dump writes other steps."
        )
    params = {"steps": estimator.steps} if kind == "Pipeline" else estimator.get_params(deep=False)
    held = {} if kind == "Pipeline" else vars(estimator)
    fitted = {key: value for key, value in held.items() if key not in (*params, ROUTING)}
    if get_tags(estimator).requires_fit and kind != "Pipeline" and not any(key.endswith("_") for key in fitted):
        raise ValueError(f"{name} is a {kind} that is not fitted; call fit first.")
    check_fitted_names(fitted, name)
    return {
        "class": kind,
        "params": {key: encode(value, arrays, key) for key, value in params.items()},
        "fitted": {key: encode(value, arrays, key) for key, value in fitted.items()},
    }


def decode_model(kept: dict[str, Any], arrays: list[np.ndarray], where: Any) -> Any:
    """The estimator that `encode_model` described; UnknownClass for a class that is not known."""
    cls = model_classes().get(kept["class"])
    if cls is None:
        raise UnknownClass(kept["class"])
    fitted = {key: decode(value, arrays) for key, value in kept["fitted"].items()}
    check_fitted_names(fitted, where)
    model = cls(**{key: decode(value, arrays) for key, value in kept["params"].items()})
    vars(model).update(fitted)
    return model


def check_fitted_names(fitted: dict[str, Any], where: Any) -> None:
    """Refuse attributes that are no result of a fit."""
    for key in fitted:
        if not FITTED.fullmatch(key):
            raise ValueError(f"{where} has an attribute {key!r}; fitted ones begin or end in an underscore.")


def encode(value: Any, arrays: list[np.ndarray], name: str) -> Any:
    """Turn a value into JSON; arrays of numbers are appended to `arrays`. `name` is for the error message."""
    if type(value) in PLAIN:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, np.ndarray) and value.dtype == object:
        items = [encode(item, arrays, name) for item in value.ravel().tolist()]
        return {"$objects": items, "shape": list(value.shape)}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufUSMm":
        arrays.append(np.asarray(value))
        return {"$array" if isinstance(value, np.ndarray) else "$scalar": len(arrays) - 1}
    if type(value) is list or isinstance(value, tuple):  # a named tuple comes back as a plain one
        items = [encode(item, arrays, name) for item in value]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"$dict": {key: encode(item, arrays, name) for key, item in value.items()}}
    if isinstance(value, BaseEstimator):
        return {"$model": encode_model(value, arrays, name)}
    if is_sparse(value):
        parts = {part: encode(getattr(value.tocsr(), part), arrays, name) for part in CSR}
        return {"$csr": parts | {"shape": list(value.shape)}}
    if isinstance(value, np.random.RandomState):
        return {"$random_state": encode(value.get_state(legacy=False), arrays, name)}
    raise TypeError(
        f"{name} holds a {type(value).__module__}.{type(value).__qualname__}, which a model file cannot "
        "keep: use numbers, text, lists, dicts or arrays."
    )


def decode(value: Any, arrays: list[np.ndarray]) -> Any:
    """Turn what `encode` gave back into the value."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value))
    content = value[kind]
    if kind == "$array":
        return arrays[content]
    if kind == "$scalar":
        return arrays[content][()]
    if kind == "$float":
        return float(content)
    if kind == "$tuple":
        return tuple(decode(item, arrays) for item in content)
    if kind == "$dict":
        return {key: decode(item, arrays) for key, item in content.items()}
    if kind == "$objects":
        array = np.empty(len(content), dtype=object)
        array[:] = [decode(item, arrays) for item in content]
        return array.reshape(value["shape"])
    if kind == "$model":
        return decode_model(content, arrays, "a model in it")
    if kind == "$csr":
        parts = {part: decode(content[part], arrays) for part in CSR}
        return read_csr(parts | {"shape": content["shape"]}, parts["data"].dtype)
    random_state = np.random.RandomState()
    random_state.set_state(decode(content, arrays))
    return random_state
