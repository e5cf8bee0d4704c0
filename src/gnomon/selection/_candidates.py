"""What `choose_guided` may choose: fronts, models, and the settings in which the leader is tried further.

A new candidate is one line of `CLASS_MODELS` or `REAL_MODELS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.preprocessing import Normalizer

from gnomon import CPPCA, SPPCA, NeighborFeatures
from gnomon.selection._baselines import PLS, PCAReader, RidgeLDA

FRONTS = {
    "rows": None,
    "unit rows": Normalizer,
    "neighbours": NeighborFeatures,
    "neighbours, cosine": lambda: NeighborFeatures(metric="cosine"),
}
MOST_NEIGHBOURS = 20_000  # rows; beyond, neighbours of all pairs take long
LINEAR, ALL = ("rows", "unit rows"), tuple(FRONTS)


class Candidate(NamedTuple):
    """A model on some fronts.

    Attributes
    ----------
    name : str
    make : callable       make(n_components=..., **settings) gives an unfitted estimator
    settings : dict       of the first round
    finer : tuple of dict settings to try in the second round, where the model leads on a front
    fronts : tuple of str
    most : float          entries of the table from which the model takes too long
    guided : bool         False marks a baseline, which cannot be saved to a model file
    """

    name: str
    make: Callable[..., Any]
    settings: dict[str, Any]
    finer: tuple[dict[str, Any], ...] = ()
    fronts: tuple[str, ...] = ALL
    most: float = float("inf")
    quick: dict[str, Any] = {}  # noqa: RUF012
    guided: bool = True


REAL_MODELS = (
    Candidate("SPPCA", SPPCA, {}, ({"label_weight": 10.0}, {"label_weight": 100.0}, {"n_private": 3}), LINEAR),
    Candidate("PLS", PLS, {}, fronts=LINEAR, guided=False),
    Candidate("PCA + ridge", PCAReader, {"read_out": "ridge"}, fronts=LINEAR, guided=False),
)
CLASS_MODELS = (
    Candidate("CPPCA", CPPCA, {}, fronts=LINEAR, most=2e4, quick={"tol": 1e-2, "max_iter": 30}),
    Candidate("SPPCA", SPPCA, {}, ({"label_weight": 10.0}, {"label_weight": 100.0})),
    Candidate("ridge LDA", RidgeLDA, {}, ({"ridge": 1e-2}, {"ridge": 1e-1}), guided=False),
    Candidate("PCA + 1-NN", PCAReader, {"read_out": "nearest"}, fronts=LINEAR, guided=False),
    Candidate("PCA + logistic", PCAReader, {"read_out": "logistic"}, fronts=LINEAR, guided=False),
)
