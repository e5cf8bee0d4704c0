"""Small matrices are multiplied faster by one thread than by several that must wait for one another."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the libraries of the process, which takes as long as a small fit


def one_thread() -> AbstractContextManager[object]:
    """Hold the linear algebra of this process to one thread for the time of a `with`."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit
