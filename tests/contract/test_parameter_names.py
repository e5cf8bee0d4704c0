"""A constructor parameter has one meaning, and a meaning one name: those of the table in CONTRIBUTING.md."""

import inspect
import re
from pathlib import Path

from sklearn.base import BaseEstimator

import gnomon
from gnomon.selection import GuidedSearch

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def table():
    """Rows of the table: name, meaning, and words of which one stands in the parameter's every description."""
    section = CONTRIBUTING.read_text(encoding="utf-8").split("## Parameters")[1].split("\n## ")[0]
    return [(name, meaning, re.findall(r"`([^`]+)`", words)) for name, meaning, words in ROW.findall(section)]


def described():
    """Estimator, parameter and description of every constructor parameter."""
    classes = [getattr(gnomon, name) for name in gnomon.__all__]
    for cls in [*(c for c in classes if inspect.isclass(c) and issubclass(c, BaseEstimator)), GuidedSearch]:
        text = inspect.getdoc(cls).split("Parameters\n----------\n")[1].split("\nAttributes\n")[0]
        entries = re.split(r"^(\w[\w, ]*) : [^\n]*\n", text, flags=re.MULTILINE)[1:]
        for names, description in zip(entries[::2], entries[1::2]):
            for name in names.split(", "):
                yield cls.__name__, name, " ".join(description.split())


def test_names_and_meanings_of_the_table_are_one_to_one():
    rows = table()
    assert len({name for name, _, _ in rows}) == len(rows)
    assert len({meaning for _, meaning, _ in rows}) == len(rows)
    assert {name for name, _, _ in rows} == {name for _, name, _ in described()}


def test_each_description_says_the_meaning_of_the_table():
    words = {name: re.compile("|".join(map(re.escape, said)), re.IGNORECASE) for name, _, said in table()}
    strangers = [f"{cls}.{name}" for cls, name, text in described() if not words[name].search(text)]
    assert strangers == []
