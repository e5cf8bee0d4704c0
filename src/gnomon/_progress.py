"""How far a long piece of work is, for whoever watches: pieces are counted where they are done one after the other."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Told = Callable[[int, int], None]

_told: ContextVar[Told | None] = ContextVar("_told", default=None)


@contextmanager
def watched(told: Told) -> Iterator[None]:
    """Have `told(done, total)` called before the first and after each piece of the work that is done in a `with`."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def is_watched() -> bool:
    """Whether anybody wants to know."""
    return _told.get() is not None


def counted(answers: Iterable[T], total: int) -> list[T]:
    """All answers; whoever watches is told of each as it comes, and of nothing that is counted on the way to one."""
    told = _told.get()
    if told is None:
        return list(answers)
    token, out = _told.set(None), list[T]()
    try:
        told(0, total)
        for answer in answers:
            out.append(answer)
            told(len(out), total)
    finally:
        _told.reset(token)
    return out
