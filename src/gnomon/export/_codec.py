"""Values of attributes as JSON, with arrays set aside: encode() and decode().

JSON's own kinds stand for themselves, and every other value is an object with the one key that says its
kind, such as {"$array": 3}. Floats keep all their bits: JSON numbers are written so that they read back
exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, str)


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
    if type(value) in (list, tuple):
        items = [encode(item, arrays, name) for item in value]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"$dict": {key: encode(item, arrays, name) for key, item in value.items()}}
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
    random_state = np.random.RandomState()
    random_state.set_state(decode(content, arrays))
    return random_state
