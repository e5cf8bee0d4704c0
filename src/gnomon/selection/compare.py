"""Score models beside PCA, LDA, PLS and all features on the same partially labelled rows."""

from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state

from gnomon import SPPCA
from gnomon.describe import describe, target_of
from gnomon.selection._tasks import Classes, Real, held_out, hidden_truth
from gnomon.selection.baselines import NotApplicable, lda_map, pca_map, pls_map
from gnomon.selection.comparison import Outcome, summarise


def compare(X, y, *, n_components=2, estimators=None, y_true=None, n_splits=10, random_state=None):
    """Fit supervised models and their rivals to the same partially labelled rows and score all of them alike.

    For classes the score is the error of the nearest labelled row (Euclidean, in the projection); for real
    targets it is R2 of a ridge regression on the projection. The rivals are PCA of all rows, ridge LDA and
    PLS of the labelled rows, and FULL: all features without a projection. Where a method predicts by itself,
    that read-out is scored too.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        As it should enter the models: scale or normalise it first where that is wanted. NaN marks missing entries
        of a dense X: `estimators` see it as it is; for the rivals, which cannot take it, each missing entry is filled
        with the mean of its column, and the result says so.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Classes or real targets with unlabelled rows marked as in `SPPCA.fit`.
    n_components : int, default=2
        Dimensions of every projection; LDA has at most one less than classes.
    estimators : dict of str to estimator, default=None
        Unfitted models to compare, by the name to show; None is `{"SPPCA": SPPCA(n_components)}`. Each must
        take unlabelled rows in `fit` and have `transform`; it may be the last step of a pipeline.
    y_true : array-like like `y`, default=None
        The hidden truth. With it, methods are scored once, on the rows that `y` leaves unlabelled. Without
        it, labelled rows are held out in turn: their labels are hidden from every method, their features are
        not, and unlabelled rows stay in. Every class keeps a labelled row; with few rows a split holds out
        one row a class.
    n_splits : int, default=10
        Number of splits without `y_true`, rounded up to whole repeats of up to five folds.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and starts the models.

    Returns
    -------
    Comparison
        `rows` (one dict a method), `verdict`, `to_dict()`; prints as a table.

    Notes
    -----
    Standard errors are over scored rows, each row's loss averaged over repeats, so repeating the folds does
    not make them smaller. They do not count what another choice of labelled rows would have changed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon.selection import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> [row["method"] for row in compare(X, seen, y_true=y, random_state=0).rows]
    ['SPPCA', 'PCA', 'LDA', 'PLS', 'FULL']
    """
    check_consistent_length(X, y, y_true)
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    filled, n_filled = _fill(X)
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    if estimators is None:
        estimators = {"SPPCA": SPPCA(n_components, random_state=seed)}
    task = _read_task(next(iter(estimators.values())), X, y, y_true)
    splits = held_out(task, n_splits, rng) if y_true is None else hidden_truth(task)
    methods = {name: _model(estimator) for name, estimator in estimators.items()}
    scored = {name: _score(method, task, X, splits) for name, method in methods.items()}
    rivals = _rivals(filled, n_components, seed)
    return summarise(
        scored | {name: _score(method, task, filled, splits) for name, method in rivals.items()},
        models=list(estimators),
        metric=task.metric,
        n_filled=n_filled,
        n_labelled=int(task.observed(task.visible).sum()),
        n_splits=0 if y_true is not None else len(splits),
    )


def _fill(X):
    """Return X with column means in place of missing entries, and how many those are."""
    sparse = hasattr(X, "tocsr")
    assert_all_finite(X, allow_nan=not sparse, input_name="X")
    if sparse or not (missing := np.isnan(X)).any():
        return X, 0
    never = np.flatnonzero(missing.all(axis=0))
    if len(never):
        raise ValueError(f"column {never[0]} of X is never observed; drop it.")
    return np.where(missing, np.nanmean(X, axis=0), X), int(missing.sum())


class _Fitted(NamedTuple):
    project: Callable
    predict: Callable | None


def _read_task(estimator, X, y, y_true):
    """Let the first model say what the targets are."""
    fitted = clone(estimator).fit(X, y)
    try:
        said = describe(fitted)
    except TypeError:  # an estimator of another library says nothing of itself
        target = target_of(y)
        return Real(y, y_true) if target.kind == "real" else Classes(target, y, y_true)
    if not said.targets:
        raise ValueError("y has no label; compare needs labeled rows. Give y with some labels.")
    if said.numeric:
        return Real(y, y_true)
    if len(said.targets) > 1:
        n = len(said.targets)
        raise ValueError(f"compare scores one target of its kind, and y has {n}; compare them one by one.")
    return Classes(said.targets[0], y, y_true)


def _model(estimator):
    """Return the fit of a supervised model: all rows, the visible targets."""

    def fit(X, task, visible):
        model = clone(estimator)
        last = model[-1] if isinstance(model, Pipeline) else model
        if "unlabeled" in last.get_params():
            last.set_params(unlabeled="auto")  # the targets are codes now, whatever marked a missing one before
        model.fit(X, visible if task.metric == "error" or visible.shape[1] > 1 else visible.ravel())
        return _Fitted(model.transform, getattr(model, "predict", None))

    return fit


def _rivals(X, n_components, seed):
    pca = cache(lambda: pca_map(X, n_components, seed))  # blind to labels, so the same in every split

    def fit_pca(X, task, visible):
        return _Fitted(pca().project, None)

    def fit_lda(X, task, visible):
        rows, labels, _ = task.rival_targets(visible)
        if labels is None:
            raise NotApplicable("it needs classes")
        return _with_read_out(lda_map(X[rows], labels, n_components))

    def fit_pls(X, task, visible):
        rows, labels, outputs = task.rival_targets(visible)
        classes = None if labels is None else np.arange(outputs.shape[1])
        return _with_read_out(pls_map(X[rows], outputs, n_components, classes))

    def fit_full(X, task, visible):
        return _Fitted(lambda X: X, None)

    return {"PCA": fit_pca, "LDA": fit_lda, "PLS": fit_pls, "FULL": fit_full}


def _with_read_out(linear):
    return _Fitted(linear.project, lambda X: linear.predict(linear.project(X)))


def _score(fit, task, X, splits):
    """Fit in every split; return losses row by row, or the reason why the method does not apply."""
    rows, losses, own, seconds = [], [], [], []
    for split in splits:
        started = perf_counter()
        try:
            fitted = fit(X, task, split.visible)
        except NotApplicable as reason:
            return Outcome(note=str(reason))
        seconds.append(perf_counter() - started)
        seen = np.flatnonzero(task.observed(split.visible))
        Z = fitted.project(X[split.rows])
        rows.append(split.rows)
        losses.append(task.projection_loss(fitted.project(X[seen]), split.visible[seen], Z, split.rows))
        if fitted.predict is not None:
            own.append(task.loss(fitted.predict(X[split.rows]), split.rows))
    rows = np.concatenate(rows)
    return Outcome(
        dims=Z.shape[1],
        losses=_mean_by_row(rows, losses),
        own_losses=_mean_by_row(rows, own) if own else None,
        seconds=max(seconds),
    )


def _mean_by_row(rows, losses):
    _, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return np.bincount(place, weights=np.concatenate(losses)) / counts
