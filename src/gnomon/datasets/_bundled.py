"""The small real data sets that come with scikit-learn, with their origin and a digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.utils import Bunch

from gnomon.datasets._generated import array_digest

__all__ = ["load_breast_cancer", "load_diabetes", "load_digits", "load_iris", "load_wine"]


def load_iris(*, return_X_y: bool = False) -> Any:
    """Iris: 150 flowers, 4 measurements, 3 species.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` (of the values).

    Examples
    --------
    >>> from gnomon.datasets import load_iris
    >>> load_iris().target_names
    ['setosa', 'versicolor', 'virginica']
    """
    return _load(sklearn.datasets.load_iris, return_X_y)


def load_wine(*, return_X_y: bool = False) -> Any:
    """Wine: 178 wines, 13 chemical measurements on very different scales, 3 cultivars.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    Bunch
        Fields as in :func:`load_iris`.

    Examples
    --------
    >>> from gnomon.datasets import load_wine
    >>> load_wine().data.shape
    (178, 13)
    """
    return _load(sklearn.datasets.load_wine, return_X_y)


def load_digits(*, return_X_y: bool = False) -> Any:
    """Handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    Bunch
        Fields as in :func:`load_iris`.

    Examples
    --------
    >>> from gnomon.datasets import load_digits
    >>> load_digits().data.shape
    (1797, 64)
    """
    return _load(sklearn.datasets.load_digits, return_X_y)


def load_breast_cancer(*, return_X_y: bool = False) -> Any:
    """Breast cancer Wisconsin: 569 tumors, 30 measurements, malignant or benign.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    Bunch
        Fields as in :func:`load_iris`.

    Examples
    --------
    >>> from gnomon.datasets import load_breast_cancer
    >>> load_breast_cancer().target_names
    ['malignant', 'benign']
    """
    return _load(sklearn.datasets.load_breast_cancer, return_X_y)


def load_diabetes(*, return_X_y: bool = False) -> Any:
    """Diabetes: 442 patients, 10 measurements, disease progression as a real target.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    Bunch
        Fields as in :func:`load_iris`; `target_names` is ``["progression"]``.

    Examples
    --------
    >>> from gnomon.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X.shape, y.dtype
    ((442, 10), dtype('float64'))
    """
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
