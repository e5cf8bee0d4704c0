"""What tests of several estimators share."""

import numpy as np
import pytest

from gnomon.estimators._kernel import KernelTransformer


@pytest.fixture
def same_draws(monkeypatch):
    """Landmarks follow the numbers of rows, so that they are the same of rows and of their kernel matrix."""
    numbers = np.random.default_rng(0).random(10_000)
    monkeypatch.setattr(KernelTransformer, "_mean_squares", lambda self, X: numbers[: X.shape[0]])
