"""Ask a fitted model what it says of itself: the one place that looks at what a model is."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from gnomon.describe.records import Description, Traits


def describe(model: Any) -> Description:
    """Return what a fitted model says of itself.

    Parameters
    ----------
    model : fitted model or Description
        With a method `describe`; a pipeline that ends in one, whose rows then go through the steps before it; or a
        search or a choice that holds one as `best_estimator_` or `estimator_`.

    Returns
    -------
    Description

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gnomon import PPCA
    >>> X = load_iris().data
    >>> describe(make_pipeline(StandardScaler(), PPCA(2)).fit(X)).project(X).mean.shape
    (150, 2)
    """
    if isinstance(model, Description):
        return model
    if hasattr(model, "describe"):
        said = model.describe()
        if isinstance(said, Description):
            return said
    if hasattr(model, "steps"):
        return _behind(model[:-1], describe(model[-1]))
    for name in ("best_estimator_", "estimator_"):
        if hasattr(model, name):
            return describe(getattr(model, name))
    raise TypeError(
        f"{type(model).__name__} does not say what it is; a fitted model of gnomon, a pipeline that ends in one, or a "
        "choice is wanted."
    )


def _behind(steps: Any, inner: Description) -> Description:
    """The description of a model that sees rows only after they went through the steps of a pipeline."""
    if not len(steps):
        return inner
    inner = _in_own_columns(steps, inner)
    invertible = all(hasattr(step, "inverse_transform") for _, step in steps.steps)
    filled = _after(steps, inner.impute) if invertible else None
    return replace(
        inner,
        project=_after(steps, inner.project),
        predict=_after(steps, inner.predict),
        log_density=_after(steps, inner.log_density),
        typicality=_after(steps, inner.typicality),
        monitor=_after(steps, inner.monitor),
        suggest=_suggested_after(steps, inner.suggest),
        impute=None if filled is None else lambda X: steps.inverse_transform(filled(X)),
    )


def _after(steps: Any, method: Any) -> Any:
    return None if method is None else lambda X: method(steps.transform(X))


def _suggested_after(steps: Any, suggest: Any) -> Any:
    if suggest is None:
        return None
    return lambda n, X, among=None: suggest(n, None if X is None else steps.transform(X), among)


def _in_own_columns(steps: Any, inner: Description) -> Description:
    """The description in the columns of the table; loadings only where the steps keep these, or name new ones by them.

    "pca3" is no name of a column: it tells nobody what adds to a component.
    """
    n_columns = getattr(steps, "n_features_in_", inner.n_features)
    try:
        names = tuple(map(str, steps.get_feature_names_out()))
    except (AttributeError, ValueError):
        names = ()
    if len(names) == inner.n_features and not _made_up(steps, names):
        return replace(inner, feature_names=names)
    if len(names) != inner.n_features and n_columns == inner.n_features:
        return inner
    own = getattr(steps, "feature_names_in_", None)
    named = None if own is None else tuple(map(str, own))
    return replace(inner, n_features=int(n_columns), feature_names=named, loadings=None)


def _made_up(steps: Any, names: tuple[str, ...]) -> bool:
    """Whether some name is only that of a step, with a number."""
    kinds = {type(one).__name__.lower() for one in steps.get_params().values()}
    return any(name.rpartition("__")[2].rstrip("0123456789") in kinds for name in names)


def settled(model: Any, names: Any) -> dict[str, Any]:
    """The numbers that "auto" and the like became in fit, by scikit-learn's rule: those of parameter a are in a_."""
    found = {name: getattr(model, f"{name}_", None) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, int | float | np.number)}


def models(package: Any) -> dict[str, type]:
    """The classes of a package that the command line can fit, by the name it has for them."""
    named = (getattr(package, name) for name in package.__all__)
    classes = [(traits_of(cls).command, cls) for cls in named if inspect.isclass(cls)]
    return {command: cls for command, cls in classes if command is not None}


def traits_of(model: Any) -> Traits:
    """What the class of a model, or a class itself, says of its models; the usual things of one that says nothing."""
    traits = getattr(model, "traits", None)
    return traits if isinstance(traits, Traits) else Traits()
