"""Small symmetric matrices at once: the same of NumPy and of other libraries, and what their names say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.batches import (
    bordered_triangle,
    from_triangle,
    inverse_there,
    masked_precisions,
    triangle_of_outer,
)
from namespaces import LIBRARIES, get, put

WHERE = ["numpy", *LIBRARIES]


def there(A, library):
    return A if library == "numpy" else put(A, library)


def symmetric(rng, m, k):
    A = rng.normal(size=(m, k, k + 2))
    return A @ A.swapaxes(1, 2)


@pytest.mark.parametrize("library", WHERE)
@pytest.mark.parametrize("m, k", [(6, 4), (1, 1), (3, 2), (0, 3)])
def test_triangles_of_outer_products_become_the_products(rng, library, m, k):
    Z = rng.normal(size=(m, k))
    triangles = triangle_of_outer(there(Z, library))
    assert_allclose(get(from_triangle(triangles, k)), Z[:, :, None] * Z[:, None, :], rtol=1e-14)


@pytest.mark.parametrize("library", WHERE)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_border_of_zeros_is_added_at_the_end(rng, library, k):
    S = symmetric(rng, 4, k)
    wanted = np.zeros((4, k + 1, k + 1))
    wanted[:, :k, :k] = S
    found = from_triangle(bordered_triangle(there(S, library)), k + 1)
    assert_array_equal(get(found), wanted)


@pytest.mark.parametrize("library", WHERE)
def test_precisions_are_those_of_the_observed_features(rng, library):
    W, mask = rng.normal(size=(9, 3)), rng.random((5, 9)) < 0.6
    triangles = there(mask @ triangle_of_outer(W) / 0.7, library)
    wanted = [np.eye(3) + W[row].T @ W[row] / 0.7 for row in mask]
    assert_allclose(get(masked_precisions(triangles, 3)), wanted, rtol=1e-13)


@pytest.mark.parametrize("library", WHERE)
def test_inverses_and_log_determinants(rng, library):
    S = symmetric(rng, 4, 3)
    found = inverse_there(there(S, library))
    assert_allclose(get(found.inverse), np.linalg.inv(S), rtol=1e-9)
    assert_allclose(get(found.log_det), np.linalg.slogdet(S)[1], rtol=1e-12)
