"""The limit on threads holds inside, and is lifted afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from gnomon import CPPCA, PPCA, SEPCA, SPPCA
from gnomon.rows import threads as threads_file
from gnomon.rows.threads import in_shares, one_thread, tall_product


def threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def fail_inside():
    with one_thread():
        with one_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
        raise KeyError


def test_limit_holds_inside_only():
    with threadpool_limits(3, user_api="blas"):
        before = threads()
        assert 3 in before
        with pytest.raises(KeyError):
            fail_inside()
        assert threads() == before


def test_the_last_of_several_threads_lifts_the_limit():
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first():
        with one_thread():
            first_in.set()
            second_in.wait()
        first_out.set()

    def second():
        first_in.wait()
        with one_thread():
            second_in.set()
            first_out.wait()
            seen.append(threads())

    with threadpool_limits(3, user_api="blas"):
        before = threads()
        both = [threading.Thread(target=task) for task in (first, second)]
        [thread.start() for thread in both]
        [thread.join() for thread in both]
        assert set(seen[0]) == {1}  # the first has left, and the second is still inside
        assert threads() == before


@pytest.mark.parametrize("model", [PPCA(2), SPPCA(2), CPPCA(2), SEPCA(2)], ids=lambda model: type(model).__name__)
def test_fits_in_four_threads_are_equal_to_the_bit(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), np.where(rng.random(60) < 0.5, np.arange(60) % 3, -1)

    def fitted(_):
        return clone(model).fit(X, y).transform(X).tobytes()

    with threadpool_limits(3, user_api="blas"):
        alone, before = fitted(0), threads()
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(fitted, range(8))) == {alone}
        assert threads() == before


@pytest.mark.parametrize("shape", [(5_000, 30, 40), (30, 5_000, 40), (3, 2, 4)])
def test_a_tall_product_is_the_product_whoever_takes_its_rows(rng, monkeypatch, shape):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    n, m, r = shape
    A, B = np.asfortranarray(rng.normal(size=(n, m))), rng.normal(size=(m, r))
    taken, pool = [], threads_file._pool
    monkeypatch.setattr(threads_file, "_pool", lambda *size: taken.append(size) or pool(*size))
    with one_thread():
        found = tall_product(A, B)
    assert bool(taken) == (n * m * r > threads_file.MIN_WORK)
    np.testing.assert_allclose(found, A @ B, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tall_product(A, B), A @ B, rtol=1e-12, atol=1e-12)
    assert len(taken) <= 1  # left to the linear algebra, whose threads are not held


def test_shares_are_all_rows_once_in_order_each_without_threads_of_linear_algebra(monkeypatch):
    monkeypatch.setattr(threads_file, "n_threads", lambda: 3)
    told = in_shares(lambda some: (some, set(threads())), 10, threads_file.SHARED_WORK)
    assert [i for some, _ in told for i in range(10)[some]] == list(range(10))
    assert len(told) == 3
    assert all(count == {1} for _, count in told)
    assert in_shares(lambda some: some, 10, threads_file.SHARED_WORK - 1.0) == [slice(0, 10)]
