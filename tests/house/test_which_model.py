"""The tables of what models take and give, and of what y means, are what they do."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import gnomon
from gnomon.datasets import load_wine, make_partial
from gnomon.export._onnx_models import MODELS
from gnomon.targets import read

PAGE = Path(__file__).resolve().parents[2] / "docs/which_model.md"
WINE = load_wine()
X = (WINE.data - WINE.data.mean(axis=0)) / WINE.data.std(axis=0)
CLASSES = make_partial(WINE.target, n_per_class=5, random_state=0)
NUMBERS = np.where(CLASSES < 0, np.nan, WINE.data[:, 0])
GAPS = np.where(np.arange(X.size).reshape(X.shape) % 17 == 0, np.nan, X)
FACTS = ("gaps", "classes", "numbers", "weights", "region", "interval", "density", "odd rows", "ONNX")
SMALL = {"IFA": {"n_init": 1}, "MixturePPCA": {"n_components": 2}, "NeighborFeatures": {"n_components": 3}}


def table():
    """What the page says: the facts of each model."""
    header = "| model | " + " | ".join(FACTS) + " |"
    lines = PAGE.read_text(encoding="utf-8").split(header)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {re.sub("`", "", name): {f for f, said in zip(FACTS, rest, strict=True) if said} for name, *rest in cells}


def works(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def facts(name):
    """What a model does."""

    def make():
        return getattr(gnomon, name)(**SMALL.get(name, {}))

    model, found = make().fit(X, CLASSES), set()
    predicts = hasattr(model, "predict") and name not in ("PPCA", "MixturePPCA")
    if works(make().fit, GAPS, CLASSES):
        found.add("gaps")
    if predicts:
        found.add("classes")
        if works(make().fit, X, NUMBERS):
            found.add("numbers")
            if works(make().fit(X, NUMBERS).predict, X, return_std=True):
                found.add("interval")
    if "sample_weight" in inspect.signature(model.fit).parameters:
        found.add("weights")
    calls = {"region": lambda: model.transform(X, return_cov=True), "density": lambda: model.score_samples(X)}
    found |= {fact for fact, call in calls.items() if works(call)}
    if works(lambda: model.typicality(X)) or works(lambda: model.hotelling_t2(X)):
        found.add("odd rows")
    return found | ({"ONNX"} if getattr(gnomon, name) in MODELS else set())


NAMES = ("CPPCA", "ColoredMVU", "DPPCA", "GuidedProjection", "IFA", "KDA", "KernelSPPCA", "MixturePPCA")
NAMES += ("NeighborFeatures", "PPCA", "SDRGLM", "SEPCA", "SPPCA")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_a_model_does(name):
    assert table()[name] == facts(name)


def test_the_table_has_every_model_of_one_table_of_rows():
    assert set(table()) == set(NAMES)
    assert {*NAMES, "DomainStack", "SCL"} == {n for n in gnomon.__all__ if inspect.isclass(getattr(gnomon, n))}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_every_model_takes_sparse_rows(name):
    getattr(gnomon, name)(**SMALL.get(name, {})).fit(sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X)), CLASSES)


MEANT = {
    "text, booleans, categories": [np.array(["a", "b"], dtype=object)[WINE.target % 2], WINE.target > 0],
    "numbers with fractions": [WINE.data[:, 0] + 0.123],
    "whole numbers, at most 20 different ones, or exactly 0, 1, 2, ... or 1, 2, 3, ...": [
        7 * WINE.target + 3,
        WINE.target.astype(float),
        np.arange(178.0) // 4,
        1 + np.arange(178) // 4,
    ],
    "other whole numbers, as floats": [3.0 * (np.arange(178) // 4)],
    "other whole numbers, as integers": [3 * (np.arange(178) // 4), 3 * np.arange(178)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("known", MEANT)
def test_y_means_what_the_page_says(known):
    page = (PAGE.parent / "targets.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"^\| {re.escape(known)} \| (\w+)", page, re.M)
    for y in MEANT[known]:
        assert read(y, 178).columns[0].kind == {"classes": "classes", "numbers": "real"}[said]


def test_many_integers_are_read_with_a_warning():
    with pytest.warns(UserWarning, match="target="):
        read(3 * np.arange(178), 178)
