"""One read-out: evidence, predictions and left-out rows beside the definition, with all labeled rows or landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.readout import evidence as module
from gnomon.models.readout.evidence import Factor, predicted, predicted_mean, read_out
from gnomon.models.readout.kernels import Kernel, Seen
from oracles import averaged_readout as oracle

RATIOS = np.logspace(-3, 1, 5)
KERNELS = [Kernel(0, 1.0, np.inf), Kernel(0, 0.5, 2.0), Kernel(0, 0.0, np.inf, 3), Kernel(0, 0.0, 2.0, 2)]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(module, "RATIOS", RATIOS)
    rng = np.random.default_rng(0)
    T = rng.standard_normal((40, 6)) * [3.0, 2.0, 1.0, 0.5, 0.2, 0.1]
    seen = Seen(T, np.zeros(40), np.mean(T**2, axis=0), 40)
    y = T @ rng.standard_normal(6) + 0.3 * np.sin(T[:, 0]) + 0.2 * rng.standard_normal(40) + 5.0
    return seen, y


def dense(kernel, seen, some, others):
    a, b = kernel.coordinates(seen.take(some)), kernel.coordinates(seen.take(others))
    return oracle.kernel(a, b, kernel.length)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [5, 25])
def test_evidence_is_the_definition(rows, kernel, n):
    seen, y = rows
    some = np.arange(n)
    found = read_out(kernel, Factor.of(kernel, seen.take(some)), y[some])
    shares, total = oracle.shares(dense(kernel, seen, some, some), y[some], RATIOS)
    assert_allclose(found.shares, shares, rtol=1e-7)
    other = read_out(kernel, Factor.of(kernel, seen.take(some)), 2.0 * y[some] + 1.0)
    again = oracle.shares(dense(kernel, seen, some, some), 2.0 * y[some] + 1.0, RATIOS)[1]
    assert_allclose(found.evidence - other.evidence, total - again, rtol=1e-7)
    flat = Kernel(0, 1.25, np.inf)
    beside = read_out(flat, Factor.of(flat, seen.take(some)), y[some])
    wanted = oracle.shares(dense(flat, seen, some, some), y[some], RATIOS)[1]
    assert_allclose(found.evidence - beside.evidence, total - wanted, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_are_the_definition(rows, kernel):
    seen, y = rows
    some, new = np.arange(25), np.arange(25, 40)
    found = read_out(kernel, Factor.of(kernel, seen.take(some)), y[some])
    K, shares = dense(kernel, seen, some, some), oracle.shares(dense(kernel, seen, some, some), y[some], RATIOS)[0]
    means, variances = [], []
    for i in new:
        parts = np.array([
            oracle.predict(K, y[some], r, dense(kernel, seen, [i], some)[0], dense(kernel, seen, [i], [i])[0, 0])
            for r in RATIOS
        ])  # fmt: skip
        mean = shares @ parts[:, 0]
        means.append(mean)
        variances.append(shares @ (parts[:, 1] + parts[:, 0] ** 2) - mean**2)
    assert_allclose(predicted(found, seen.take(new)), [means, variances], rtol=1e-6)
    assert_allclose(predicted_mean(found, seen.take(new)), means, rtol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_left_out_rows_are_those_of_fits_without_them(rows, kernel, monkeypatch):
    seen, y = rows
    monkeypatch.setattr(module, "RATIOS", np.array([0.1]))
    some = np.arange(25)
    found = read_out(kernel, Factor.of(kernel, seen.take(some)), y[some])
    wanted = oracle.left_out(dense(kernel, seen, some, some), y[some], 0.1)
    assert_allclose([found.left_out, found.left_out_var], wanted, rtol=1e-6)


def test_landmarks_stand_for_all_labeled_rows(rows, monkeypatch):
    seen, y = rows
    kernel, some, new = Kernel(0, 0.5, 4.0), np.arange(30), np.arange(30, 40)
    whole = predicted(read_out(kernel, Factor.of(kernel, seen.take(some)), y[some]), seen.take(new))
    monkeypatch.setattr(module, "MOST_LANDMARKS", 29)
    few = read_out(kernel, Factor.of(kernel, seen.take(some)), y[some])
    assert few.factor.V.shape == (30, 29)
    assert_allclose(predicted(few, seen.take(new)), whole, rtol=2e-2)
