"""The docstring check sees what a public class, its methods and a public function lack."""

import sys
from functools import cached_property
from typing import NamedTuple

import pytest

import docstring_check

MODULE = '''
__all__ = ["Model", "make"]


class Model:
    """Project rows.

    Parameters
    ----------
    size : int
        How many.

    Examples
    --------
    >>> 1 + 1
    2
    """

    def __init__(self, size):
        self.size = size

    def fit(self, X):
        """Fit to rows.

        Parameters
        ----------
        X : ndarray
            Rows.

        Returns
        -------
        Model
            Itself.
        """
        return self

    @property
    def width(self):
        """Width of the rows."""
        return 1


def make(n):
    """Make rows.

    Parameters
    ----------
    n : int
        How many.

    Returns
    -------
    list
        Rows.

    Examples
    --------
    >>> 1 + 1
    2
    """
    return [n]
'''
NAME = "gnomon_sample"
FIT = MODULE[MODULE.index('        """Fit to rows.') : MODULE.index("        return self\n")]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        (
            "rows.\n\n    Parameters\n    ----------\n    n",
            "rows.\n\n    Parameters\n    ----------\n    m",
            ["PR01", "PR02"],
        ),
        ('        """Width of the rows."""\n', "", ["GL08"]),
        (FIT, "", ["GL08"]),
        ("        Returns\n        -------\n        Model\n            Itself.\n", "", ["RT01"]),
        ("Project rows.", "Project rows", ["SS03"]),
        (
            '    Examples\n    --------\n    >>> 1 + 1\n    2\n    """\n\n    def',
            '    """\n\n    def',
            ["EX01"],
        ),
        ("X : ndarray\n            Rows.", "X : ndarray", ["PR07"]),
    ],
)
def test_complaints(tmp_path, monkeypatch, old, new, found):
    assert MODULE.count(old) == 1 or not old
    (tmp_path / f"{NAME}.py").write_text(MODULE.replace(old, new) if old else MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    monkeypatch.setattr(docstring_check, "PACKAGES", (NAME,))
    codes = [line.split()[1] for line in docstring_check.complaints()]
    assert sorted(codes) == found


class Pair(NamedTuple):
    """Two numbers.

    Attributes
    ----------
    left, right : int
        The numbers.
    """

    left: int
    right: int


class Bare(NamedTuple):
    """One number."""

    only: int


def test_fields_may_be_explained_as_attributes():
    assert docstring_check.explains_fields(Pair)
    assert not docstring_check.explains_fields(Bare)
    assert not docstring_check.explains_fields(dict)


class Members:
    @classmethod
    def build(cls):
        return cls()

    @property
    def width(self):
        return 1

    @cached_property
    def height(self):
        return 2

    def _hidden(self):
        return 3


def test_all_kinds_of_public_methods_are_seen(monkeypatch):
    for member in (Members.build.__func__, Members.width.fget, Members.__dict__["height"].func, Members._hidden):
        monkeypatch.setattr(member, "__module__", "gnomon.sample")
    assert [name for name, _ in docstring_check.public_methods(Members)] == ["build", "height", "width"]
