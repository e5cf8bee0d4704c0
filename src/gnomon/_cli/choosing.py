"""Which model gnomon fit fits: the one asked for by name and settings, or the one that few labels choose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from gnomon import CPPCA, DPPCA, IFA, KDA, PPCA, SDRGLM, SEPCA, SPPCA, ColoredMVU, MultiLabelDPPCA
from gnomon._cli.commands import Refusal, one_line
from gnomon.rows.kind import is_sparse
from gnomon.selection import GuidedSearch, SearchResults

MODELS = {
    "dppca": DPPCA,
    "cppca": CPPCA,
    "sppca": SPPCA,
    "ppca": PPCA,
    "sepca": SEPCA,
    "sdr-glm": SDRGLM,
    "kda": KDA,
    "colored-mvu": ColoredMVU,
    "ifa": IFA,
}
OWN_OPTIONS = {
    "n_components": "--components",
    "pca_components": "--components",
    "random_state": "--seed",
    "unlabeled": "--unlabelled",
}
STORED = {"classes": ("DPPCA", "CPPCA", "SPPCA"), "real": ("SPPCA",)}  # what auto chooses among; baselines have no file
WORDS = {"None": None, "True": True, "False": False}
FILLING = 10  # most components of the model that fills empty cells for one that cannot take them


class Fitted(NamedTuple):
    """A fitted model, the front before it (None: the rows as they are) and how both were chosen."""

    model: Any
    front: Any = None
    choice: SearchResults | None = None
    note: str | None = None


def parameters(name: str, words: Sequence[str]) -> dict[str, Any]:
    """The words NAME=VALUE of --set as parameters of a model; a value is a number, None, True, False or text."""
    if words and name == "auto":
        raise Refusal("--set needs a model to set: name one by --model.")
    found: dict[str, Any] = {}
    known = set(MODELS[name]().get_params()) - set(OWN_OPTIONS) if words else set()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise Refusal(f"--set {word}: NAME=VALUE is wanted, for example --set kernel=rbf.")
        if key in OWN_OPTIONS:
            raise Refusal(f"--set {word}: use {OWN_OPTIONS[key]}.")
        if key not in known:
            raise Refusal(f"--set {word}: {name} has no parameter {key!r}; it has {', '.join(sorted(known))}.")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def fit_model(name: str, X: Any, y: Any, components: int | None, seed: int, more: dict[str, Any]) -> Fitted:
    """Fit the model of that name; "auto" chooses, and fits SPPCA with a note where the labels are too few for it."""
    if name == "ifa":  # has as many latents as X has directions, unless told otherwise
        return Fitted(IFA(pca_components=components, random_state=seed, **more).fit(X, y))
    if name != "auto":
        kind = MultiLabelDPPCA if name == "dppca" and np.ndim(y) == 2 else MODELS[name]
        model = kind(components, **more)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return Fitted(model.fit(X, y))
    try:
        models = STORED["classes" if np.ndim(y) == 1 and np.asarray(y).dtype.kind != "f" else "real"]
        search = GuidedSearch(models, n_components=components, random_state=seed).fit(X, y)
    except ValueError as error:
        return Fitted(SPPCA(components, random_state=seed).fit(X, y), note=f"no choice, so SPPCA: {one_line(error)}")
    best = search.best_estimator_
    if isinstance(best, Pipeline):
        return Fitted(best["model"], best["preprocessing"], search.results_)
    return Fitted(best, None, search.results_)


def filler(fitted: Fitted, X: Any, seed: int) -> Any:
    """A model that fills empty cells of new tables, where the chosen one takes complete rows only; else None."""
    takes_holes = fitted.front is None and get_tags(fitted.model).input_tags.allow_nan
    if takes_holes or is_sparse(X):
        return None
    k = min(FILLING, X.shape[0] - 2, X.shape[1] - 1)
    return PPCA(k, random_state=seed).fit(X) if k > 0 else None
