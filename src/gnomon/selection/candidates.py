"""What `choose_guided` may choose: fronts, models, and the settings in which the leader is tried further.

A new candidate is one line of `CLASS_MODELS` or `REAL_MODELS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.preprocessing import Normalizer

from gnomon import CPPCA, DPPCA, SPPCA, NeighborFeatures
from gnomon.selection.baselines import PLS, PCAReader, RidgeLDA

FRONTS = {
    "rows": None,
    "unit rows": Normalizer,
    "neighbours": NeighborFeatures,
    "neighbours, cosine": lambda: NeighborFeatures(metric="cosine"),
}
MOST_NEIGHBOURS = 20_000  # rows; beyond, neighbours of all pairs take long
FEWEST_IN_CLASS = 30  # rows of an average class, two neighbourhoods; in smaller ones most neighbours are strangers
LEADING = 150  # principal coordinates, more than twice as many as factors; the rest of a row is noise to DPPCA
LINEAR, GRAPHS, ALL = ("rows", "unit rows"), ("neighbours", "neighbours, cosine"), tuple(FRONTS)


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
    quick : dict          settings of the fits to halves, for speed
    poor : dict           the same where a half has one row a class, which carries less than all labels do
    narrow : callable     narrow(settings): whether fits to halves may read `LEADING` principal coordinates of the rows
    guided : bool         False marks a baseline, which cannot be saved to a model file
    usual : bool          whether it may be chosen when no models are named
    """

    name: str
    make: Callable[..., Any]
    settings: dict[str, Any]
    finer: tuple[dict[str, Any], ...] = ()
    fronts: tuple[str, ...] = ALL
    most: float = float("inf")
    quick: dict[str, Any] = {}  # noqa: RUF012
    poor: dict[str, Any] = {}  # noqa: RUF012
    narrow: Callable[[dict[str, Any]], bool] = lambda settings: False
    guided: bool = True
    usual: bool = True


SPPCA_QUICK = {"tol": 1e-4, "n_init": 1}
REAL_MODELS = (
    Candidate(
        "SPPCA",
        SPPCA,
        {},
        ({"label_weight": 10.0}, {"label_weight": 100.0}, {"n_private": 3}),
        LINEAR,
        quick=SPPCA_QUICK,
    ),
    Candidate("PLS", PLS, {}, fronts=LINEAR, guided=False),
    Candidate("PCA + ridge", PCAReader, {"read_out": "ridge"}, fronts=LINEAR, guided=False, usual=False),
)
WEIGHTS = (
    {"unlabeled_weight": 0.1},
    {"unlabeled_weight": 0.0, "n_factors": 1000, "shrinkage": 1e-3},  # ridge LDA: every direction is kept
    {"unlabeled_weight": 0.0, "n_factors": 1000},
    {"unlabeled_weight": 0.0, "n_factors": 1000, "shrinkage": 0.3},
)
FACTORS = tuple({"n_factors": P, "unlabeled_weight": w} for P in (5, 10, 20, 40) for w in (1.0, 0.1))
DPPCA_FINER = (*WEIGHTS, *FACTORS)
DPPCA_FIRST = {"n_factors": "usual", "shrinkage": 1e-2, "unlabeled_weight": 1.0}
SHRUNK = tuple({"n_factors": P, "shrinkage": 0.3} for P in (5, 10))  # few columns, and a class is small in most of them
DPPCA_QUICK = {"tol": 1e-3, "max_iter": 60}
CLASS_MODELS = (
    Candidate(
        "DPPCA",
        DPPCA,
        DPPCA_FIRST,
        DPPCA_FINER,
        LINEAR,
        quick=DPPCA_QUICK,
        poor={"n_factors": 20},
        narrow=lambda settings: settings["unlabeled_weight"] > 0,  # else every direction is kept, as ridge LDA does
    ),
    Candidate("DPPCA", DPPCA, DPPCA_FIRST | {"n_factors": 5}, (*DPPCA_FINER, *SHRUNK), GRAPHS, quick=DPPCA_QUICK),
    Candidate("CPPCA", CPPCA, {}, fronts=LINEAR, most=2e4, quick={"tol": 1e-2, "max_iter": 30}),
    Candidate("SPPCA", SPPCA, {}, ({"label_weight": 10.0}, {"label_weight": 100.0}), LINEAR, quick=SPPCA_QUICK),
    Candidate("ridge LDA", RidgeLDA, {}, ({"ridge": 1e-2}, {"ridge": 1e-1}), guided=False),
    Candidate("PCA + 1-NN", PCAReader, {"read_out": "nearest"}, fronts=LINEAR, guided=False),
    Candidate("PCA + logistic", PCAReader, {"read_out": "logistic"}, fronts=LINEAR, guided=False, usual=False),
)
