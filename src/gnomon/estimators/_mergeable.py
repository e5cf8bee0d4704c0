"""Fits that go on with more rows, and fits of parts that add up: what is kept of rows are moments."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from .._warn import warn
from ..rows import read as read_rows
from ..rows.dask import bring_home
from ..rows.merge import Moments
from ..rows.namespace import to_host
from ..targets import Column, NewClasses, Targets, read, read_like
from ._estimator import check_complete, check_table, check_values, check_weights

MOST_COLUMNS = 2000


class Form(NamedTuple):
    """What the targets of all rows so far are."""

    kind: str = "none"
    vector: bool = True
    names: tuple[str, ...] = ("y",)
    classes: Any = None  # (C,) labels

    @property
    def columns(self):
        """Kind, classes and name of every column."""
        return [(self.kind, self.classes, name) for name in self.names]

    def targets(self, values):
        """Targets (n, q): class numbers or numbers, NaN where missing."""
        parts = zip(values.T, self.columns, strict=True)
        found = [Column(kind, one, classes, name, "as in the first rows") for one, (kind, classes, name) in parts]
        return Targets(tuple(found), len(values), self.vector)


class Mergeable:
    """From `_fit(rows, targets)`, into which of rows, beside their targets, nothing but weighted moments enters."""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more rows; the model is that of `fit` on all rows so far, in whatever order they came.

        Moments of the rows are kept, for every class or set of observed targets apart (p x p numbers each), and the
        model is fitted to them anew. `fit` keeps none: after it this begins anew, with a warning.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows, of at most 2,000 features.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`. What they are, classes or numbers, the first rows with a label say, or `target`.
        classes : array-like of shape (n_classes,), default=None
            All classes that may come, with the first labels; None: those that come with them.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for.

        Returns
        -------
        self : estimator
            Fitted.

        Raises
        ------
        ValueError
            When entries of X are missing, features are too many, or a class is new.
        """
        self._check_parameters()
        known = vars(self).get("_moments_")
        if known is None and self.__sklearn_is_fitted__():
            name = type(self).__name__
            warn(f"fit keeps no moments of its rows: partial_fit of this {name} begins anew, without them.")
        rows = check_table(self, X, reset=known is None)
        check_complete(self, check_values(rows), "adds up moments of complete rows in partial_fit")
        if rows.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"X has {rows.shape[1]} features; partial_fit keeps moments of all pairs of them, for at most "
                f"{MOST_COLUMNS}. Fit all rows at once, from Dask where they do not fit in memory."
            )
        rows = rows.anew(weights=check_weights(bring_home(sample_weight), rows))
        before = Form(*vars(self).get("_form_", Form()))
        form, values = self._more_targets(bring_home(y), rows.shape[0], classes, before)
        self._fit_batch(None if known is None else Moments.from_tuple(known), rows, form, values)
        return self

    def _fit_batch(self, known, rows, form, values):
        """Fit to the moments `known` of rows that have gone and to more rows, whose targets are `values` (n, q)."""
        moments = _moments(rows, form, values)
        self._fit_moments(moments if known is None else _sum(known, moments), form)

    def _fit_rows(self, *args, **more):
        for name in ("_moments_", "_form_"):
            self.__dict__.pop(name, None)
        return super()._fit_rows(*args, **more)

    def _more_targets(self, y, n_samples, classes, form):
        """What targets are, and those of more rows (n, q): class numbers or numbers, NaN where missing."""
        if y is None or not self.traits.guided:
            return form, np.full((n_samples, len(form.names)), np.nan)
        y = to_host(y)
        if form.kind == "none" and classes is not None:
            form = Form("classes", np.ndim(y) == 1, classes=np.unique(classes))
        if form.kind == "none":
            targets = read(
                y, n_samples, target=self.target, unlabeled=self.unlabeled, kinds=self._kinds,
                several=self.traits.several, model=type(self).__name__,
            )  # fmt: skip
            self._check_table(targets)
            names = tuple(column.name for column in targets.columns)
            labels = targets.columns[0].classes if targets.kind == "classes" else None
            return Form(targets.kind, targets.vector, names, labels), targets.table
        try:
            return form, read_like(y, n_samples, form.columns, unlabeled=self.unlabeled)
        except NewClasses as error:
            numbers = np.issubdtype(form.classes.dtype, np.number)
            more = ' If y holds measured numbers, begin anew with target="real".' if numbers else ""
            raise ValueError(
                f"{error} Or pass all that may come as classes=[...] with the first labels.{more}"
            ) from None

    def _fit_moments(self, moments, form):
        """Fit to moments of rows, and keep them."""
        few = moments.few_rows()
        keys = moments.keys[few.group]
        self.n_samples_ = int(moments.counts.sum())
        if self.traits.guided:
            known = form if (keys > 0).any() else Form(names=form.names)  # classes that are but announced guide nothing
            targets = known.targets(np.where(keys > 0, few.outputs if form.kind == "real" else keys - 1.0, np.nan))
            self._fit(read_rows(few.features, few.weights), self._checked(targets))
            self.n_labeled_ = int(moments.counts[(moments.keys > 0).any(axis=1)].sum())
        else:
            self._fit(read_rows(few.features, few.weights), None)
        self._n_equal, self._seen, self._of_rows = moments.n_equal, np.zeros(0, dtype=np.uint64), None
        self._moments_, self._form_ = moments.as_tuple(), tuple(form)


def _moments(rows, form, values):
    """Moments of rows by class number plus one, or by which numbers are observed; zero is none."""
    if form.kind == "real":
        return Moments.of(rows, np.nan_to_num(values), (~np.isnan(values)).astype(np.intp))
    return Moments.of(rows, np.zeros((len(values), 0)), np.nan_to_num(values + 1.0).astype(np.intp))


def _sum(before, more):
    """Moments of both, of which the first ones may be from a time when nothing was known of targets."""
    h, q = more.keys.shape[1], len(more.summary.groups[0].y)
    if (before.keys.shape[1], len(before.summary.groups[0].y)) != (h, q):
        before = before.of_outputs(h, q)
    return before + more


def merge(*models: Any) -> Any:
    """Put together models that were fitted to parts of the rows by `partial_fit`.

    Parameters
    ----------
    *models : PPCA, SPPCA or DPPCA
        Of one class, with the same parameters and features. They are not changed.

    Returns
    -------
    model : estimator
        What `fit` would give for all rows, whatever the parts and their order; of DPPCA with unlabeled rows as near
        as its `partial_fit` says.

    Raises
    ------
    TypeError
        For models of different classes, or of one that has no `partial_fit`.
    ValueError
        When parameters, features, targets or classes differ, or a model was not fitted by `partial_fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA, merge
    >>> X, y = load_iris(return_X_y=True)
    >>> odd = SPPCA(2).partial_fit(X[1::2], y[1::2])
    >>> even = SPPCA(2).partial_fit(X[::2], y[::2])
    >>> whole = SPPCA(2).fit(X, y)
    >>> bool(abs(merge(odd, even).log_likelihood_ - whole.log_likelihood_) < 1e-6)
    True
    """
    if not models:
        raise TypeError("merge() was called without models; pass at least one.")
    first = models[0]
    for at, model in enumerate(models):
        if type(model) is not type(first) or not isinstance(model, Mergeable):
            kinds = ", ".join(type(one).__name__ for one in models)
            raise TypeError(f"merge takes models of one class that has partial_fit, PPCA, SPPCA or DPPCA; got {kinds}.")
        if "_moments_" not in vars(model):
            raise ValueError(f"model {at} keeps no moments of its rows; fit it by partial_fit.")
        if model.get_params() != first.get_params():
            raise ValueError(f"model {at} has other parameters than the first: {model} and {first}.")
        names = [vars(one).get("feature_names_in_") for one in (first, model)]
        if model.n_features_in_ != first.n_features_in_ or not np.array_equal(*names):
            raise ValueError(f"model {at} has other features than the first.")
    out = clone(first)
    for name in ("n_features_in_", "feature_names_in_"):
        if name in vars(first):
            setattr(out, name, getattr(first, name))
    forms = [Form(*model._form_) for model in models]
    form = next((one for one in forms if one.kind != "none"), forms[0])
    moments = None
    for at, (model, own) in enumerate(zip(models, forms, strict=True)):
        if own.kind != "none" and _told(own) != _told(form):
            raise ValueError(f"model {at} has other targets than the first that has any: {_told(own)}, {_told(form)}.")
        found = Moments.from_tuple(model._moments_)
        if own.kind == "none" and form.kind != "none":
            found = found.of_outputs(len(form.names), len(form.names) if form.kind == "real" else 0)
        moments = found if moments is None else moments + found
    out._fit_moments(moments, form)
    return out


def _told(form):
    return form.kind, form.names, None if form.classes is None else form.classes.tolist()
