"""How far work is: told piece by piece to whoever watches, and by nobody else's pieces."""

import pytest

from gnomon._progress import counted, is_watched, watched
from gnomon.selection.partial import run_jobs


def pieces(inner=0):
    for i in range(3):
        yield i, counted(iter(range(inner)), inner)


def test_all_answers_whether_or_not_anybody_watches():
    wanted = [(i, [0, 1]) for i in range(3)]
    assert counted(pieces(2), 3) == wanted
    with watched(lambda done, total: None):
        assert counted(pieces(2), 3) == wanted


def test_pieces_are_told_as_they_come_and_what_is_inside_them_is_not():
    told = []
    with watched(lambda *said: told.append(said)):
        counted(pieces(2), 3)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_after_a_piece_that_fails_the_next_work_is_told():
    told = []

    def failing():
        yield 1
        raise ValueError("no")

    with watched(lambda *said: told.append(said)):
        with pytest.raises(ValueError, match="no"):
            counted(failing(), 2)
        counted(iter("a"), 1)
    assert told == [(0, 2), (1, 2), (0, 1), (1, 1)]
    assert not is_watched()


def square(x):
    counted(iter("ab"), 2)
    return x * x


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_jobs_are_told_one_by_one_in_their_order(n_jobs):
    told = []
    with watched(lambda *said: told.append(said)):
        assert run_jobs(square, ((i,) for i in range(4)), n_jobs) == [0, 1, 4, 9]
    assert told == [(i, 4) for i in range(5)]
    assert run_jobs(square, ((i,) for i in range(4)), n_jobs) == [0, 1, 4, 9]
