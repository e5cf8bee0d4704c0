"""Which model gnomon fit fits: asked for by name and settings, chosen by few labels, or taught by many models."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import gnomon
from gnomon import SPPCA, GuidedProjection
from gnomon._cli.commands import OPEN, InputError, one_line
from gnomon.describe import Traits, models
from gnomon.export import GapFiller
from gnomon.rows.kind import is_sparse
from gnomon.rows.spare import of_one_unit, spare_rank
from gnomon.selection import GuidedSearch, SearchResults

OWN_OPTIONS = {"random_state": "--seed", "unlabeled": "--unlabeled", "target": "--target-kind", "n_jobs": "--jobs"}
STORED = {"classes": ("DPPCA", "CPPCA", "SPPCA"), "real": ("SPPCA",)}  # what is searched; baselines have no file
WORDS = {"None": None, "True": True, "False": False}


class Fitted(NamedTuple):
    """The last steps of a pipeline, fitted: what stands before the model, if anything, and the model."""

    steps: list[tuple[str, BaseEstimator]]
    choice: SearchResults | None = None
    note: str | None = None


def known_models() -> dict[str, type]:
    """The models that can be named, by name."""
    return models(gnomon)


def traits_of(name: str) -> Traits:
    """What a model of that name says of itself before any fit; a search takes one target of classes, or numbers."""
    if name == "auto":
        return GuidedProjection.traits
    return Traits(several="real") if name in OPEN else known_models()[name].traits


def counts_samples(name: str) -> bool:
    """Whether a model of that name is told which rows are of one sample."""
    return name in OPEN or has_fit_parameter(known_models()[name], "groups")


def parameters(name: str, words: Sequence[str]) -> dict[str, Any]:
    """The words NAME=VALUE of --set as parameters of a model; a value is a number, None, True, False or text."""
    if words and name in OPEN:
        raise InputError("--set needs a model to set: name one by --model.")
    found: dict[str, Any] = {}
    if not words:
        return found
    cls = known_models()[name]
    own = OWN_OPTIONS | {cls.traits.size: "--components"}
    known = set(cls().get_params()) - set(own)
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--set {word}: NAME=VALUE is wanted, for example --set kernel=rbf.")
        if key in own:
            raise InputError(f"--set {word}: use {own[key]}.")
        if key not in known:
            raise InputError(f"--set {word}: {name} has no parameter {key!r}; it has {', '.join(sorted(known))}.")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def fit_model(
    name: str,
    X: Any,
    y: Any,
    components: int | None,
    seed: int,
    more: dict[str, Any],
    reading: dict[str, Any],
    jobs: int,
    groups: Any = None,
) -> Fitted:
    """Fit the model of that name; "search" chooses, and fits SPPCA with a note where the labels are too few for it.

    "auto" is `GuidedProjection`.

    `more` and `reading` are parameters: those of the user, and those that say how to read y. `groups` names the sample
    of each row, for models that count samples.
    """
    if name == "auto":
        k = min(components or 2, spare_rank(of_one_unit(X)) + 1)  # the rank at most; who asked for more is told
        return Fitted([("model", GuidedProjection(k, **reading).fit(X, y, groups=groups))])
    if name not in OPEN:
        model = named_model(name, components, seed, more, reading)
        told = {"groups": groups} if counts_samples(name) else {}
        return Fitted([("model", model.fit(X, y, **told))])
    try:
        stored = STORED["classes" if reading["target"] == "classes" else "real"]
        search = GuidedSearch(stored, n_components=components, random_state=seed, n_jobs=jobs, **reading)
        search.fit(X, y, groups=groups)
    except ValueError as error:
        model = SPPCA(components, random_state=seed, **reading).fit(X, y)
        return Fitted([("model", model)], note=f"no choice, so SPPCA: {one_line(error)}")
    best = search.best_estimator_
    steps = best.steps if isinstance(best, Pipeline) else [("model", best)]
    return Fitted([("preprocessing", step) for _, step in steps[:-1]] + [("model", steps[-1][1])], search.results_)


def named_model(
    name: str, components: int | None, seed: int, more: dict[str, Any], reading: dict[str, Any]
) -> BaseEstimator:
    """The model of that name, not fitted; see `fit_model`."""
    cls = known_models()[name]
    model = cls(**{cls.traits.size: components}, **more)
    known = {"random_state": seed, **reading}
    return model.set_params(**{key: value for key, value in known.items() if key in model.get_params()})


def gap_steps(fitted: Fitted, X: Any, seed: int) -> list[tuple[str, BaseEstimator]]:
    """A step that fills empty cells of new tables, where what follows it takes complete rows only."""
    takes_holes = len(fitted.steps) == 1 and get_tags(fitted.steps[0][1]).input_tags.allow_nan
    return [] if takes_holes or is_sparse(X) else [("gaps", GapFiller(random_state=seed).fit(X))]
