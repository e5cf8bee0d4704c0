"""The small real data sets that come with scikit-learn, with their origin and a digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.utils import Bunch

from gnomon.datasets._generated import array_digest
from gnomon.datasets._local import Loader, documented

RETURN_X_Y = """return_X_y : bool, default=False
    Return ``(data, target)`` in place of the Bunch."""


def bundled(*shape: int) -> Callable[[Loader], Loader]:
    """Document a loader whose data have this shape."""
    return lambda loader: documented(loader, [RETURN_X_Y], digest="of the values", skip="", shape=shape)


@bundled(150, 4)
def load_iris(*, return_X_y: bool = False) -> Any:
    """Iris: 150 flowers, 4 measurements, 3 species."""
    return _load(sklearn.datasets.load_iris, return_X_y)


@bundled(178, 13)
def load_wine(*, return_X_y: bool = False) -> Any:
    """Wine: 178 wines, 13 chemical measurements on very different scales, 3 cultivars."""
    return _load(sklearn.datasets.load_wine, return_X_y)


@bundled(1797, 64)
def load_digits(*, return_X_y: bool = False) -> Any:
    """Handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes."""
    return _load(sklearn.datasets.load_digits, return_X_y)


@bundled(569, 30)
def load_breast_cancer(*, return_X_y: bool = False) -> Any:
    """Breast cancer Wisconsin: 569 tumors, 30 measurements, malignant or benign."""
    return _load(sklearn.datasets.load_breast_cancer, return_X_y)


@bundled(442, 10)
def load_diabetes(*, return_X_y: bool = False) -> Any:
    """Diabetes: 442 patients, 10 measurements, disease progression as a real target."""
    return _load(sklearn.datasets.load_diabetes, return_X_y)


def _load(loader: Callable[[], Any], return_X_y: bool) -> Any:
    source = loader()
    data = np.asarray(source.data, dtype=np.float64)
    target = np.asarray(source.target)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=[str(name) for name in source.feature_names],
        target_names=[str(name) for name in source.get("target_names", ["progression"])],
        DESCR=source.DESCR,
        provenance=f"bundled with scikit-learn (sklearn.datasets.{loader.__name__})",
        sha256=array_digest(data, target),
    )
