"""Which model gnomon fit fits: the one asked for by name, or the one that few labels choose."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from gnomon import CPPCA, DPPCA, PPCA, SPPCA
from gnomon._cli.commands import one_line
from gnomon.selection import GuidedChoice, choose_guided

MODELS = {"dppca": DPPCA, "cppca": CPPCA, "sppca": SPPCA, "ppca": PPCA}
FILLING = 10  # most components of the model that fills empty cells for one that cannot take them


class Fitted(NamedTuple):
    """A fitted model, the front before it (None: the rows as they are) and how both were chosen."""

    model: Any
    front: Any = None
    choice: GuidedChoice | None = None
    note: str | None = None


def fit_model(name: str, X: Any, y: Any, components: int, seed: int) -> Fitted:
    """Fit the model of that name; "auto" chooses, and fits SPPCA with a note where the labels are too few for it."""
    if name != "auto":
        return Fitted(MODELS[name](components, random_state=seed).fit(X, y))
    try:
        choice = choose_guided(X, y, n_components=components, random_state=seed)
    except ValueError as error:
        return Fitted(SPPCA(components, random_state=seed).fit(X, y), note=f"no choice, so SPPCA: {one_line(error)}")
    best = choice.estimator_
    if isinstance(best, Pipeline):
        return Fitted(best["model"], best["front"], choice)
    return Fitted(best, None, choice)


def filler(fitted: Fitted, X: Any, seed: int) -> Any:
    """A model that fills empty cells of new tables, where the chosen one takes complete rows only; else None."""
    takes_holes = fitted.front is None and get_tags(fitted.model).input_tags.allow_nan
    if takes_holes or hasattr(X, "tocsr"):
        return None
    k = min(FILLING, X.shape[0] - 2, X.shape[1] - 1)
    return PPCA(k, random_state=seed).fit(X) if k > 0 else None
