"""The table of gnomon demo: real data with most labels hidden."""

from typing import Any, NamedTuple

import numpy as np

from gnomon import datasets
from gnomon._cli.commands import InputError
from gnomon._cli.fitting import Request
from gnomon.tables import Table


class Example(NamedTuple):
    """A partially labeled table and what was hidden."""

    request: Request
    table: Table
    truth: np.ndarray
    columns: dict[str, Any]
    story: str


DRAWS = 10  # of the labeled rows, over which the comparison is made
CANCER = "measurements of breast tumors, malignant or benign"
SOURCES = {  # loader, name of the target, scale, story
    "wine": (datasets.load_wine, "cultivar", "standard", "chemical analyses of wines from three cultivars"),
    "digits": (datasets.load_digits, "digit", "none", "images of handwritten digits, 8 x 8 pixels"),
    "breast_cancer": (datasets.load_breast_cancer, "diagnosis", "standard", CANCER),
}
SHAPES = {"digits": (8, 8)}


def demo_table(name: str, n_per_class: int, seed: int) -> Example:
    """Load one of the bundled sets and hide all but `n_per_class` labels of each class."""
    load, target, scale, story = SOURCES[name]
    bunch = load()
    truth = np.array(bunch.target_names, dtype=object)[bunch.target] if name != "digits" else bunch.target
    try:
        partial = datasets.make_partial(truth, n_per_class=n_per_class, random_state=seed)
    except ValueError as error:
        raise InputError(f"--labels {n_per_class} is too many: {error}") from None
    hidden = np.array([value is None or value == -1 for value in partial])
    given = truth.astype(object)
    given[hidden] = None
    features = [feature.replace(" ", "_") for feature in bunch.feature_names]
    rows = np.arange(1, len(truth) + 1)
    table = Table(f"{name} (bundled with scikit-learn)", bunch.data, features, {target: given}, rows, "row")
    columns = {"row": rows} | {feature: bunch.data[:, j] for j, feature in enumerate(features)}
    return Example(
        Request("demo", model="auto", scale=scale, seed=seed, id="row", shape=SHAPES.get(name)),
        table,
        truth,
        columns | {target: given},
        f"{story}; {n_per_class} labels of each class kept, {int(hidden.sum())} hidden",
    )
