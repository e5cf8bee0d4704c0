"""Outputs of several kinds as the model of them sees them: which ones guide it, and the distribution of each."""

from ..likelihoods.layout import Layout

LIKELIHOODS = ("gaussian", "bernoulli", "categorical", "poisson")
TARGET = {"gaussian": "real", "bernoulli": "classes", "categorical": "classes", "poisson": "counts"}


def likelihoods_of(targets):
    """The distribution of each column of `Targets`."""
    names = {"real": "gaussian", "counts": "poisson"}
    return [
        names.get(column.kind) or ("bernoulli" if len(column.classes) == 2 else "categorical")
        for column in targets.columns
        if column.kind != "none"
    ]


def refuse_classes(targets, likelihoods):
    """Raise for more than two classes where the caller says "bernoulli"."""
    for column, asked in zip(targets.columns, likelihoods, strict=True):
        if asked == "bernoulli" and column.classes is not None and len(column.classes) > 2:
            raise ValueError(
                f"{column.name} has {len(column.classes)} classes, but its likelihood is 'bernoulli'; use "
                "'categorical'."
            )


def usable(form):
    """Which outputs can guide the projection: those with two classes or more, or numbers."""
    return [j for j, (kind, classes, _) in enumerate(form) if kind != "none" and (classes is None or len(classes) > 1)]


def layout_of(form, likelihoods, link):
    """The outputs that guide the projection; two classes are one Bernoulli output."""
    kinds, sizes = [], []
    for j in usable(form):
        c = 0 if form[j][1] is None else len(form[j][1])
        kinds.append(link if c == 2 else likelihoods[j])
        sizes.append(c)
    return Layout(tuple(kinds), tuple(sizes))
