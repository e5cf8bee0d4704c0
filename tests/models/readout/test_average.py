"""The average of read-outs: its weights beside the definition, intervals, and what must not move it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models import readout
from gnomon.models.readout import Kernel, Seen
from gnomon.models.readout import average as module


def planted(n=120, seed=0, curved=0.0):
    """Rows of falling variances, seen in two tables, and targets along their first directions."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n, 8)) * np.geomspace(4.0, 0.1, 8)
    y = T[:, 0] / 4.0 + T[:, 2] + curved * np.cos(T[:, 0] / 3.0) + 0.1 * rng.standard_normal(n)
    turned = T / T.std(axis=0)
    return [Seen(one, np.zeros(n), np.mean(one**2, axis=0), n) for one in (T, turned)], y


def test_weights_are_the_definition():
    seen, y = planted(40)
    average = readout.fit(seen, y)
    order = np.argsort(y)
    kernels = module.candidates(seen, 40)
    some = [one.take(order) for one in seen]
    told = [module.read_out(k, readout.Factor.of(k, some[k.preparation]), y[order]) for k in kernels]
    logs = np.array([one.evidence / 2.0 for one in told])
    linear = np.array([np.isinf(kernel.length) for kernel in kernels])
    plain = linear & np.array([kernel.preparation == 0 for kernel in kernels])
    weights = np.exp(logs + 1.5 * linear - (logs + 1.5 * linear).max())
    weights /= weights.sum()
    alone = np.where(plain, np.exp(logs - logs[plain].max()), 0.0)
    alone /= alone.sum()
    left_out = np.array([one.left_out for one in told])
    gain, missed = (alone - weights) @ left_out, y[order] - weights @ left_out
    unit = np.mean(gain**2)
    share = np.clip((gain @ missed + 20.0 * 0.25 * unit) / (gain @ gain + 20.0 * unit), 0.02, 0.5)
    wanted = (1.0 - share) * weights + share * alone
    kept = wanted > 1e-3
    assert [one.kernel for one in average.readouts] == [k for k, some in zip(kernels, kept, strict=True) if some]
    assert_allclose(average.weights, wanted[kept] / wanted[kept].sum(), rtol=1e-9)
    assert_allclose(average.share, share, rtol=1e-9)


def test_candidates_are_linear_and_curved_in_every_table_and_in_leading_directions_of_the_plain_ones():
    seen, _ = planted(40)
    found = module.candidates([*seen, seen[0]], 40)
    assert len(found) == 3 * 16 + 2 * (6 + 3)  # of eight directions
    assert {kernel.preparation for kernel in found if kernel.leading} == {0, 1}
    assert max(kernel.leading for kernel in module.candidates(seen, 5)) == 3  # one for the mean, one for the noise


@pytest.mark.parametrize("n", [30, 400])
def test_the_order_of_rows_does_not_matter(n):
    seen, y = planted(n + 50)
    labeled, new = np.arange(n), np.arange(n, n + 50)
    turned = np.random.default_rng(1).permutation(n)
    found = [
        readout.posterior(readout.fit([one.take(rows) for one in seen], y[rows]), [one.take(new) for one in seen])
        for rows in (labeled, turned)
    ]  # fmt: skip
    assert_allclose(found[0], found[1], rtol=1e-6)


def test_rows_of_the_same_target_are_in_an_order_of_their_own():
    seen, y = planted(60)
    y, turned = np.round(y), np.random.default_rng(1).permutation(60)
    order = module._order(seen[0], y)
    assert (np.diff(y[order]) >= 0).all()
    assert_array_equal(turned[module._order(seen[0].take(turned), y[turned])], order)


def test_units_of_y_do_not_matter():
    seen, y = planted(60)
    labeled = np.arange(30)
    mean, std = readout.posterior(readout.fit([one.take(labeled) for one in seen], y[:30]), seen)
    other = readout.fit([one.take(labeled) for one in seen], 1e3 * y[:30] - 7.0)
    assert_allclose(readout.posterior(other, seen), [1e3 * mean - 7.0, 1e3 * std], rtol=1e-6)


@pytest.mark.parametrize("curved", [0.0, 1.5])
@pytest.mark.parametrize("n", [25, 100, 350])
def test_intervals_cover_and_errors_are_near_the_noise(n, curved):
    within, errors = [], []
    for seed in range(5):
        seen, y = planted(n + 200, seed, curved)
        average = readout.fit([one.take(slice(n)) for one in seen], y[:n])
        mean, std = readout.posterior(average, [one.take(slice(n, None)) for one in seen])
        assert_allclose(readout.predict(average, [one.take(slice(n, None)) for one in seen]), mean, rtol=1e-9)
        within.append(np.abs(mean - y[n:]) < 1.96 * std)
        errors.append((mean - y[n:]) / y.std())
    assert 0.9 <= np.mean(within) <= 1.0
    assert np.sqrt(np.mean(np.square(errors))) < (0.5 if curved and n == 25 else 0.2)


def test_rows_are_told_block_by_block(monkeypatch):
    seen, y = planted(80)
    average = readout.fit([one.take(slice(40)) for one in seen], y[:40])
    whole = readout.posterior(average, seen)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert_allclose(readout.posterior(average, seen), whole, rtol=1e-12)


def test_many_labels_keep_the_likely_kernels_and_the_plain_linear_ones():
    seen, y = planted(400)
    kernels = module.candidates(seen, 400)
    kept = module._likely(kernels, [one.take(slice(150)) for one in seen], y[:150])
    assert 12 <= len(kept) <= 15
    assert {Kernel(0, power, np.inf) for power in (0.5, 0.75, 1.0)} <= set(kept)


@pytest.mark.parametrize("rest", [0.0, 1.0])
def test_a_target_far_from_all_others_is_not_counted_twice(rest):
    seen, y = planted(40)
    y = rest * y
    y[7] += 1e6
    _, std = readout.posterior(readout.fit(seen, y), seen)
    assert std.max() < 3.0 * y.std()


def replicates(noise, seed=0, times=4):
    """Noisy rows of 30 samples and 200 others, their targets, and the sample of each."""
    seen, y = planted(230, seed)
    sample = np.concatenate([np.repeat(np.arange(30), times), np.arange(30, 230)])
    apart = noise * np.random.default_rng(seed + 50).standard_normal((len(sample), 8))
    return (
        [one.take(sample)._replace(T=one.T[sample] + apart * np.sqrt(one.variances)) for one in seen],
        y[sample],
        sample,
    )


def test_copies_of_a_row_count_as_one():
    seen, y, sample = replicates(0.0)
    labeled, once = np.arange(120), np.arange(0, 120, 4)
    found = readout.fit([one.take(labeled) for one in seen], y[labeled], sample[labeled])
    alone = readout.fit([one.take(once) for one in seen], y[once])
    assert found.n == 30
    assert_allclose(readout.posterior(found, seen), readout.posterior(alone, seen), rtol=1e-8)
    assert_allclose(found.r2, alone.r2, rtol=1e-8)


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_deviations_are_those_of_one_row_and_not_of_means(noise):
    within, of_means, wide = [], [], []
    for seed in range(6):
        seen, y, sample = replicates(noise, seed)
        known, new = [one.take(slice(120)) for one in seen], [one.take(slice(120, None)) for one in seen]
        mean, std = readout.posterior(readout.fit(known, y[:120], sample[:120]), new)
        within.append(np.mean(np.abs(y[120:] - mean) < 1.96 * std))
        means = [one._replace(T=one.T.reshape(30, 4, 8).mean(axis=1), outside=np.zeros(30)) for one in known]
        mean, narrow = readout.posterior(readout.fit(means, y[:120:4]), new)
        of_means.append(np.mean(np.abs(y[120:] - mean) < 1.96 * narrow))
        wide.append(np.mean(std) / np.std(y[120:] - mean))
    assert 0.91 < np.mean(within) < 0.995
    assert np.mean(of_means) < np.mean(within) - 0.05 or noise == 1.0
    assert np.mean(wide) < 1.35
