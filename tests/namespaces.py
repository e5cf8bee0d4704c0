"""Arrays of other libraries for the tests: array-api-strict always, PyTorch where it is installed.

Tensors are on the device that GNOMON_TORCH_DEVICE names, or on the CPU.
"""

import os
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest

WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed: pip install torch")
LIBRARIES = ["strict", pytest.param("torch", marks=WITH_TORCH)]


def put(X, library, device="device1"):
    """The NumPy array X in another library; strict arrays on `device`, which NumPy cannot read unless it is the CPU."""
    if library == "torch":
        import torch

        return torch.asarray(np.array(X), device=os.environ.get("GNOMON_TORCH_DEVICE", "cpu"))
    return array_api_strict.asarray(np.array(X), device=array_api_strict.Device(device))


def get(A):
    """An array of any library as NumPy."""
    if isinstance(A, np.ndarray):
        return A
    if hasattr(A, "numpy"):
        return A.detach().cpu().numpy()
    return np.asarray(A.to_device(array_api_strict.Device("CPU_DEVICE")))
