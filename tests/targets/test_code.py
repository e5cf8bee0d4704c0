"""Contrasts of classes and the span of dependent outputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.targets.code import class_contrasts, code_classes, dependent_span, to_coordinates
from oracles import closed_forms


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_contrasts_are_orthonormal_sum_to_zero_and_keep_classes_apart(n_classes):
    codes = class_contrasts(n_classes)
    assert codes.shape == (n_classes, n_classes - 1)
    assert_allclose(codes.T @ codes, np.eye(n_classes - 1), atol=1e-14)
    assert_allclose(codes.sum(axis=0), 0.0, atol=1e-14)
    gaps = ((codes[:, None] - codes[None]) ** 2).sum(axis=2)
    assert_allclose(gaps, 2.0 * (1 - np.eye(n_classes)), atol=1e-14)
    assert_allclose(codes, closed_forms.contrasts(n_classes), atol=1e-14)


@pytest.mark.parametrize("n_classes", [0, 1])
def test_one_class_has_no_contrast(n_classes):
    assert class_contrasts(n_classes).shape == (n_classes, 0)


def test_codes_of_rows():
    out = code_classes(np.array([2, -1, 0]), 3)
    assert_array_equal(np.isnan(out).all(axis=1), [False, True, False])
    assert_allclose(out[[0, 2]], class_contrasts(3)[[2, 0]])


class TestDependentSpan:
    def test_one_of_c_columns_span_the_contrasts(self, rng):
        Y = np.eye(4)[rng.integers(0, 4, 30)]
        basis = dependent_span(Y)
        assert basis.shape == (4, 3)
        assert_allclose(basis.T @ basis, np.eye(3), atol=1e-13)
        assert_allclose(basis.sum(axis=0), 0.0, atol=1e-13)

    def test_outputs_count_in_their_own_units_and_coordinates_keep_the_volume(self, rng):
        Y = np.eye(4)[rng.integers(0, 4, 30)]
        units = np.array([1.0, 1e6, 1e-6, 7.0])
        basis, moved = dependent_span(Y), dependent_span(Y * units)
        assert_allclose(basis.sum(axis=0), 0.0, atol=1e-13)
        assert_allclose(np.linalg.slogdet(basis.T @ basis)[1], 0.0, atol=1e-12)
        lengths = np.linalg.norm(basis, axis=1)
        ratio = np.linalg.norm(moved, axis=1) / (lengths * units)
        assert_allclose(ratio, ratio[0], rtol=1e-10)
        minors = [np.linalg.det(np.delete(moved, row, axis=0)) for row in range(4)]
        assert_allclose(np.linalg.norm(minors), 1.0, rtol=1e-9)
        assert_allclose(to_coordinates(moved).T @ moved, np.eye(3), atol=1e-9)

    def test_a_repeated_row_is_a_row_of_more_weight(self, rng):
        Y, weights = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 4)), rng.integers(1, 4, 30)
        basis, repeated = dependent_span(Y, weights.astype(float)), dependent_span(np.repeat(Y, weights, axis=0))
        assert_allclose(basis @ basis.T, repeated @ repeated.T, atol=1e-12)

    def test_ignores_rows_without_values(self, rng):
        Y = np.eye(3)[rng.integers(0, 3, 30)]
        Y[::2] = np.nan
        assert dependent_span(Y).shape == (3, 2)

    @pytest.mark.parametrize("size", [1e-150, 1e150])
    def test_does_not_depend_on_the_magnitude(self, rng, size):
        assert dependent_span(np.eye(3)[rng.integers(0, 3, 30)] * size).shape == (3, 2)

    def test_independent_outputs_need_none(self, rng):
        assert dependent_span(rng.normal(size=(30, 3))) is None

    def test_a_nearly_exact_relation_does_not_count(self, rng):
        Y = rng.normal(size=(30, 2))
        assert dependent_span(np.column_stack([Y, Y.sum(axis=1) + 1e-6 * rng.normal(size=30)])) is None
        assert dependent_span(np.column_stack([Y, Y.sum(axis=1)])).shape == (3, 2)

    def test_too_few_rows_show_nothing(self, rng):
        assert dependent_span(rng.normal(size=(3, 5))) is None

    def test_single_missing_outputs_rule_it_out(self, rng):
        Y = np.eye(3)[rng.integers(0, 3, 30)]
        Y[0, 1] = np.nan
        assert dependent_span(Y) is None
