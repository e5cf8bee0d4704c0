"""The bundled sets are scikit-learn's values, described."""

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal

from gnomon import datasets

LOADERS = {
    "load_iris": ((150, 4), 3),
    "load_wine": ((178, 13), 3),
    "load_digits": ((1797, 64), 10),
    "load_breast_cancer": ((569, 30), 2),
    "load_diabetes": ((442, 10), 1),
}


@pytest.mark.parametrize("name", LOADERS)
def test_values_are_those_of_scikit_learn(name):
    bunch, source = getattr(datasets, name)(), getattr(sklearn.datasets, name)()
    shape, n_targets = LOADERS[name]
    assert_array_equal(bunch.data, source.data)
    assert_array_equal(bunch.target, source.target)
    assert bunch.data.shape == shape
    assert len(bunch.feature_names) == shape[1]
    assert len(bunch.target_names) == n_targets
    assert {type(text) for text in bunch.feature_names + bunch.target_names} == {str}
    assert name in bunch.provenance


def test_return_X_y_gives_the_same_values():
    X, y = datasets.load_wine(return_X_y=True)
    bunch = datasets.load_wine()
    assert_array_equal(X, bunch.data)
    assert_array_equal(y, bunch.target)


def test_digest_is_of_the_values():
    digests = {getattr(datasets, name)().sha256 for name in LOADERS}
    assert len(digests) == len(LOADERS)
    assert datasets.load_iris().sha256 == datasets.load_iris().sha256
    assert np.unique([len(text) for text in digests]) == [64]
