"""Threads: tall and sparse products on several; small matrices on one, which is faster for them."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import threadpoolctl

from .._types import Array

MIN_WORK = 1 << 22  # entries times columns below which threads cost more than they save
SHARED_WORK = 1 << 30  # products of two numbers from which sums over rows are shared out: .2 s
WIDTH = 16  # columns a thread takes at once: wide enough to share the reading of X, narrow enough for little memory

T = TypeVar("T")
_alone = ContextVar("_alone", default=False)


def n_threads() -> int:
    """Cores this process may use, or OMP_NUM_THREADS if that is less; one for who is `alone`."""
    if _alone.get():
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(asked)) if asked.isdigit() and int(asked) > 0 else available


@cache
def _pool(size: int, _process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="gnomon")


def sparse_product(X: Any, V: Array, u: Any, v: Array, scale: float) -> Array:
    """(X V - u v') / scale for a scipy sparse X, a dense V (p, r), u (n,) or 1 and v (r,); columns are shared out.

    Each column is summed by one thread in the order of storage, so the result does not depend on how many there are.
    What threads make lies column by column.
    """
    size = min(n_threads(), V.shape[1] // 4)
    if size < 2 or X.nnz * V.shape[1] < MIN_WORK:
        return _centered(np.asarray(X @ V), u, v, scale)
    out = np.empty((X.shape[0], V.shape[1]), order="F")
    pieces = size * -(-V.shape[1] // (size * WIDTH))
    edges = np.linspace(0, V.shape[1], pieces + 1).astype(int)

    def share(columns: tuple[int, int]) -> None:
        part = slice(*columns)
        out[:, part] = _centered(X @ np.ascontiguousarray(V[:, part]), u, v[part], scale)

    list(_pool(size, os.getpid()).map(share, pairwise(edges)))
    return out


def _centered(product: Array, u: Any, v: Array, scale: float) -> Array:
    """(product - u v') / scale, in place of a product of few columns."""
    if v.any():
        product -= np.outer(u, v)
    if scale != 1.0:
        product /= scale
    return product


def in_shares(task: Callable[[slice], T], n: int, work: float, least: float | None = None) -> list[T]:
    """What a task says of equal shares of n rows, each on a thread with linear algebra of its own.

    Sums of products of few columns are faster so than on the threads of linear algebra. With fewer products of two
    numbers than the `least`, `SHARED_WORK` where it is None, it is one share.
    """
    size = n_threads() if work >= (SHARED_WORK if least is None else least) else 1
    with one_thread(when=size > 1):
        return _in_shares(task, n, size)


def _in_shares(task: Callable[[slice], T], n: int, size: int) -> list[T]:
    if size == 1:
        return [task(slice(0, n))]
    ends = pairwise(np.linspace(0, n, size + 1).astype(int))
    own, *others = (slice(*some) for some in ends)
    waiting = [_pool(size, os.getpid()).submit(task, share) for share in others]
    try:
        found = [task(own)]  # on the thread that asks: its core need not be left and taken again
    finally:
        wait(waiting)
    return found + [share.result() for share in waiting]


def tall_product(X: Array, V: Array) -> Array:
    """X V of dense arrays; rows of the product are shared out where `one_thread` holds the linear algebra to one."""
    size = n_threads()
    if not _held.get() or size < 2 or X.size * V.shape[1] < MIN_WORK:
        return np.asarray(X @ V)
    out = np.empty((len(X), V.shape[1]))
    _in_shares(lambda some: np.matmul(X[some], V, out=out[some]), len(X), size)
    return out


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    """Found by a look through the libraries of the process, which takes as long as a small fit."""
    return threadpoolctl.ThreadpoolController()


_held = ContextVar("_held", default=False)
_inside: list[Any] = []  # for each thread inside, the limit to lift; the first to come has set it
_lock = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _let_any_thread_set() -> None:
    """A newer threadpoolctl keeps limits for the thread that set one first; the last to leave may be another."""
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


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
    with _lock:
        if not _inside:
            _let_any_thread_set()
        _inside.append(_inside[0] if _inside else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                _let_any_thread_set()
                limit.restore_original_limits()
                _let_any_thread_set()
        _held.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """Use no thread but this one for the time of a `with`: others like it run beside it."""
    token = _alone.set(True)
    try:
        with one_thread():
            yield
    finally:
        _alone.reset(token)
