"""What a fitted model makes of its parameters before it reads a row, kept until one of them is another."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

_KEPT: Any = WeakKeyDictionary()  # beside the models: what is pickled, copied or compared is theirs alone


def kept(model, parts, make):
    """What `make()` gives, of the last call for the model where `parts`, numbers and arrays, were the same to a bit."""
    values = [np.asarray(part) for part in parts]
    seen = [(value.shape, value.dtype, value.tobytes()) for value in values]  # arrays may be changed in place
    before = _KEPT.get(model)
    if before is None or before[0] != seen:
        before = _KEPT[model] = seen, make()
    return before[1]
