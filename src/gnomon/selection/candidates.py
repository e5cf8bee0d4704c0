"""What a search may choose: preprocessing, models, and the settings in which the leader is tried further.

A new candidate is one line of `CLASS_CANDIDATES` or `REAL_CANDIDATES`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sklearn.preprocessing import Normalizer

from gnomon import CPPCA, DPPCA, SPPCA, NeighborFeatures
from gnomon.selection.baselines import PLS, PCAClassifier, PCARidge, RidgeLDA

PREPROCESSING = {
    "rows": None,
    "unit rows": Normalizer,
    "neighbors": NeighborFeatures,
    "neighbors, cosine": lambda: NeighborFeatures(metric="cosine"),
}
MOST_NEIGHBORS = 20_000  # rows; beyond, neighbors of all pairs take long
FEWEST_IN_CLASS = 30  # rows of an average class, two neighborhoods; in smaller ones most neighbors are strangers
LEADING = 150  # principal coordinates, more than twice as many as factors; the rest of a row is noise to DPPCA
LINEAR, GRAPHS, ALL = ("rows", "unit rows"), ("neighbors", "neighbors, cosine"), tuple(PREPROCESSING)


@dataclass(frozen=True)
class Candidate:
    """A model that `GuidedSearch` may choose, with its settings and what may stand before it.

    Parameters
    ----------
    name : str
        As the table shows it.
    estimator : estimator
        Unfitted; a pipeline, too. With a parameter `unlabeled` it is fitted to every row, else to the labeled rows.
    settings : dict, default={}
        Parameters of the first round.
    finer : tuple of dict, default=()
        Settings to try in the second round, where the model leads.
    preprocessing : tuple of str, default=("rows", "unit rows", "neighbors", "neighbors, cosine")
        Names of the preprocessing steps that may stand before it.
    baseline : bool, default=False
        Whether it is scored even where it may not be chosen.
    usual : bool, default=True
        Whether it may be chosen when no candidates are named.
    sized : bool, default=False
        Whether the search sets `n_components`.
    most_entries : float or None, default=None
        Entries of the table from which it takes too long; None if it never does.
    quick : dict, default={}
        Settings of the fits to halves, for speed.
    poor : dict, default={}
        The same where a half has one row per class, which says less than all labels do.
    narrow : callable or None, default=None
        Whether, with given settings, fits to halves may read 150 principal coordinates of wide rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> Candidate("logistic", LogisticRegression(), finer=({"C": 0.1},)).name
    'logistic'
    """

    name: str
    estimator: Any
    settings: dict[str, Any] = field(default_factory=dict)
    finer: tuple[dict[str, Any], ...] = ()
    preprocessing: tuple[str, ...] = ALL
    baseline: bool = False
    usual: bool = True
    sized: bool = False
    most_entries: float | None = None
    quick: dict[str, Any] = field(default_factory=dict)
    poor: dict[str, Any] = field(default_factory=dict)
    narrow: Callable[[dict[str, Any]], bool] | None = None


SPPCA_QUICK, SPPCA_FINER = {"tol": 1e-4, "n_init": 1}, ({"label_weight": 10.0}, {"label_weight": 100.0})
CPPCA_QUICK = {"tol": 1e-2, "max_iter": 30}
_sized = partial(Candidate, sized=True)
_linear = partial(_sized, preprocessing=LINEAR)
REAL_CANDIDATES = (
    _linear("SPPCA", SPPCA(), finer=(*SPPCA_FINER, {"n_private": 3}), quick=SPPCA_QUICK),
    _linear("PLS", PLS(), baseline=True),
    _linear("PCA + ridge", PCARidge(), baseline=True, usual=False),
)
WEIGHTS = (
    {"unlabeled_weight": 0.1},
    {"unlabeled_weight": 0.0, "n_factors": 1000, "shrinkage": 1e-3},  # ridge LDA: every direction is kept
    {"unlabeled_weight": 0.0, "n_factors": 1000},
    {"unlabeled_weight": 0.0, "n_factors": 1000, "shrinkage": 0.3},
)
FACTORS = tuple({"n_factors": P, "unlabeled_weight": w} for P in (5, 10, 20, 40) for w in (1.0, 0.1))
DPPCA_FIRST = {"n_factors": "usual", "shrinkage": 1e-2, "unlabeled_weight": 1.0}
SHRUNK = tuple({"n_factors": P, "shrinkage": 0.3} for P in (5, 10))  # few columns, and a class is small in most of them
DPPCA_QUICK = {"tol": 1e-3, "max_iter": 60, "uncertainty": "plug-in"}
CLASS_CANDIDATES = (
    _linear(
        "DPPCA",
        DPPCA(),
        DPPCA_FIRST,
        (*WEIGHTS, *FACTORS),
        quick=DPPCA_QUICK,
        poor={"n_factors": 20},
        narrow=lambda settings: settings["unlabeled_weight"] > 0,  # without unlabeled rows every direction is kept
    ),
    _sized("DPPCA", DPPCA(), DPPCA_FIRST | {"n_factors": 5}, (*WEIGHTS, *FACTORS, *SHRUNK), GRAPHS, quick=DPPCA_QUICK),
    _linear("CPPCA", CPPCA(), most_entries=2e4, quick=CPPCA_QUICK),
    _linear("SPPCA", SPPCA(), finer=SPPCA_FINER, quick=SPPCA_QUICK),
    _sized("ridge LDA", RidgeLDA(), finer=({"shrinkage": 1e-2}, {"shrinkage": 1e-1}), baseline=True),
    _linear("PCA + 1-NN", PCAClassifier(), baseline=True),
    _linear("PCA + logistic", PCAClassifier(classifier="logistic"), baseline=True, usual=False),
)


def candidates_for(kind, chosen, baselines=True):
    """The candidates to try, with baselines that may not be chosen or without, and the names of those that may be."""
    known = CLASS_CANDIDATES if kind == "classes" else REAL_CANDIDATES
    allowed, own = [], []
    for item in ["usual"] if chosen is None else chosen:
        if isinstance(item, str) and item == "usual":
            allowed += [candidate.name for candidate in known if candidate.usual]
        elif isinstance(item, str):
            allowed.append(_known(item, [candidate.name for candidate in known], "candidates"))
        else:
            own.append(item if isinstance(item, Candidate) else _named(item))
    if not allowed and not own:
        raise ValueError(f"candidates holds nothing; known are {', '.join(dict.fromkeys(c.name for c in known))}.")
    tried = [candidate for candidate in known if candidate.name in allowed or (baselines and candidate.baseline)]
    return [*tried, *own], {*allowed, *(candidate.name for candidate in own)}


def _named(item):
    """The candidate that a tuple of a name, an estimator and more of its fields makes."""
    if isinstance(item, (tuple, list)) and len(item) > 1 and isinstance(item[0], str) and not isinstance(item[1], str):
        return Candidate(*item)
    raise TypeError(
        f"candidates holds {item!r}; each must be a name, a pair of a name and an estimator, or a Candidate."
    )  # fmt: skip


def preprocessing_for(tried, chosen):
    """The names of the preprocessing steps to compute, in their order."""
    known = [name for name in PREPROCESSING if any(name in candidate.preprocessing for candidate in tried)]
    if chosen is None:
        return known
    if not len(chosen):
        raise ValueError(f"preprocessing holds nothing; known are {', '.join(known)}.")
    return [_known(name, known, "preprocessing") for name in chosen]


def _known(name, known, parameter):
    if name not in known:
        raise ValueError(f"{parameter} holds {name!r}; known are {', '.join(dict.fromkeys(known))}.")
    return name
