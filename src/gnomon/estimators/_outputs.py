"""Outputs of several kinds as the model of them sees them: which ones guide it, and the distribution of each."""

from ..likelihoods.layout import Layout

TARGET = {"gaussian": "real", "probit": "classes", "logit": "classes", "categorical": "classes", "poisson": "counts"}


def families_of(targets, families):
    """The family of each column of `Targets`, where the caller asks for `families`: None, one name, or a list."""
    asked = families if isinstance(families, list) else [families] * len(targets.columns)
    pairs = zip(targets.columns, asked, strict=False)  # no column where there is no y; else the reader has counted them
    return [_family(column, name) for column, name in pairs if column.kind != "none"]


def _family(column, asked):
    if column.classes is None:
        return {"real": "gaussian", "counts": "poisson"}[column.kind]
    if asked in ("probit", "logit") and len(column.classes) > 2:
        raise ValueError(
            f"{column.name} has {len(column.classes)} classes, but its family is {asked!r}; use 'categorical'."
        )
    if len(column.classes) != 2:
        return "categorical"
    return "probit" if asked == "probit" else "logit"


def usable(form):
    """Which outputs can guide the projection: those with two classes or more, or numbers."""
    return [j for j, (kind, classes, _) in enumerate(form) if kind != "none" and (classes is None or len(classes) > 1)]


def layout_of(form, families):
    """The outputs that guide the projection."""
    kinds, sizes = [], []
    for j in usable(form):
        kinds.append(families[j])
        sizes.append(0 if form[j][1] is None else len(form[j][1]))
    return Layout(tuple(kinds), tuple(sizes))
