"""The limit on threads holds inside, and is lifted afterwards."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gnomon.rows.threads import one_thread


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
