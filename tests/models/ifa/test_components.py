"""The order of latents and components that no row tells apart."""

import numpy as np

from gnomon.models.ifa.components import order_of


def test_interchangeable_latents_come_by_the_variance_they_explain():
    log_pl = np.zeros((4, 2, 5))
    log_pl[1, 0, :2] = -np.inf  # labels name the second one
    assert order_of(log_pl, -np.array([1.0, 9.0, 3.0, 2.0])).tolist() == [2, 1, 3, 0]


def test_latents_of_another_size_keep_their_place():
    log_pl = np.zeros((3, 3, 5))
    log_pl[1, 2] = -np.inf
    assert order_of(log_pl, -np.array([1.0, 2.0, 3.0])).tolist() == [2, 1, 0]


def test_interchangeable_components_come_by_their_means():
    log_pl = np.zeros((4, 5))
    log_pl[[0, 2, 3], 0] = -np.inf  # the first row is of component 1
    assert order_of(log_pl, np.array([3.0, -9.0, 1.0, 2.0])).tolist() == [2, 1, 3, 0]
