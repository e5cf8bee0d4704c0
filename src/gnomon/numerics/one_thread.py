"""Small matrices are multiplied faster by one thread than by several that must wait for one another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the libraries of the process, which takes as long as a small fit


_held = ContextVar("_held", default=False)


@contextmanager
def one_thread(when: bool = True) -> Iterator[None]:
    """Hold the linear algebra of this process to one thread for the time of a `with`, where `when` is true.

    Nothing is left to do inside another one. Threads that have worked spin for some milliseconds before they sleep, so
    that a fit of small tables as a whole should be inside.
    """
    if _held.get() or not when:
        yield
        return
    token = _held.set(True)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.reset(token)
