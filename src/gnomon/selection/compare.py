"""Score models beside PCA, LDA, PLS and all features on the same partially labeled rows."""

from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state

from gnomon import SPPCA
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable, lda_map, pca_map, pls_map
from gnomon.selection.comparison import Outcome, summarize
from gnomon.selection.partial import fit_partial, last_step, prepared
from gnomon.selection.scoring import Problem


def compare(X, y, *, n_components=2, estimators=None, y_true=None, n_splits=10, random_state=None):
    """Fit supervised models and baselines to the same partially labeled rows and score all of them alike.

    For classes the score is the error of the nearest labeled row (Euclidean, in the projection); for real
    targets it is R2 of a ridge regression on the projection. The baselines are PCA of all rows, ridge LDA and
    PLS of the labeled rows, and all features without a projection. Where a method predicts by itself,
    its predictions are scored too.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        As it should enter the models: scale or normalize it first where that is wanted. NaN marks missing entries
        of a dense X: `estimators` see it as it is; for the baselines, which cannot take it, each missing entry is
        filled with the mean of its column, and the result says so.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Classes or real targets with unlabeled rows marked as in `SPPCA.fit`. Columns of a table may be of different
        kinds: each column of classes is scored by itself, and the columns of numbers together. A table of floats is
        numbers.
    n_components : int, default=2
        Dimensions of every projection; LDA has at most one less than classes.
    estimators : dict of str to estimator, default=None
        Models to compare, by the name to show; None is `{"SPPCA": SPPCA(n_components)}`. Each is cloned: a model, a
        pipeline that ends in one, a `GuidedSearch`, whose whole choice is repeated in every split, or any estimator
        that predicts. One with a parameter `unlabeled` is fitted to all rows, any other to the labeled rows; without
        `transform` it is scored by its predictions alone. The parameters `target` and `unlabeled` of the first say
        how to read y.
    y_true : array-like like `y`, default=None
        The hidden truth. With it, methods are scored once, on the rows that `y` leaves unlabeled. Without
        it, labeled rows are held out in turn: their labels are hidden from every method, their features are
        not, and unlabeled rows stay in. Every class keeps a labeled row; with few rows a split holds out
        one row per class.
    n_splits : int, default=10
        Number of splits without `y_true`, rounded up to whole repeats of up to five folds.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and starts the models.

    Returns
    -------
    Comparison
        `rows` (one dict per method and target), `verdict`, `to_dict()`; prints as a table.

    Notes
    -----
    Standard errors are over scored rows, each row's loss averaged over repeats, so repeating the folds does
    not make them smaller. They do not count what another choice of labeled rows would have changed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon.selection import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> [row["method"] for row in compare(X, seen, y_true=y, random_state=0).rows]
    ['SPPCA', 'PCA', 'LDA', 'PLS', 'all features']
    """
    check_consistent_length(X, y, y_true)
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    filled, n_filled = _fill(X)
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    if estimators is None:
        estimators = {"SPPCA": SPPCA(n_components, random_state=seed)}
    first = last_step(next(iter(estimators.values()))).get_params(deep=False)
    problem = Problem(y, X.shape[0], y_true, first.get("target", "auto"), first.get("unlabeled", "auto"))
    splits = problem.splits(n_splits, rng)
    models = {name: _model(estimator) for name, estimator in estimators.items()}
    scored = {name: _score(method, problem, X, splits) for name, method in models.items()}
    baselines = _baselines(filled, n_components, seed)
    return summarize(
        scored | {name: _score(method, problem, filled, splits) for name, method in baselines.items()},
        models=list(estimators),
        tasks=problem.tasks,
        n_filled=n_filled,
        n_labeled=problem.targets.n_labeled,
        n_splits=0 if problem.has_truth else len(splits),
    )


def _fill(X):
    """Return X with column means in place of missing entries, and how many those are."""
    sparse = is_sparse(X)
    assert_all_finite(X, allow_nan=not sparse, input_name="X")
    if sparse or not (missing := np.isnan(X)).any():
        return X, 0
    never = np.flatnonzero(missing.all(axis=0))
    if len(never):
        raise ValueError(f"column {never[0]} of X is never observed; drop it.")
    return np.where(missing, np.nanmean(X, axis=0), X), int(missing.sum())


class _Fitted(NamedTuple):
    project: Callable | None
    predict: Callable | None  # one column per target


def _model(estimator):
    """Return the fit of a model: all rows, the visible targets."""

    def fit(X, problem, visible):
        model = prepared(estimator, n_permutations=0, **problem.settings())
        fit_partial(model, X, problem.targets.given(visible), np.isfinite(visible).all(axis=1))
        predicts = hasattr(model, "predict")
        return _Fitted(getattr(model, "transform", None), (lambda X: _table(model.predict(X))) if predicts else None)

    return fit


def _table(predicted):
    """Predictions as a table of one column per target."""
    values = np.asarray(predicted)
    return values.reshape(len(values), -1)


def _baselines(X, n_components, seed):
    pca = cache(lambda: pca_map(X, n_components, seed))  # blind to labels, so the same in every split

    def fit_pca(X, problem, visible):
        return _Fitted(pca().project, None)

    def fit_lda(X, problem, visible):
        task = _only_task(problem)
        if task.metric != "error":
            raise NotApplicable("it needs classes")
        rows = np.flatnonzero(np.isfinite(visible[:, 0]))
        linear = lda_map(X[rows], task.classes[visible[rows, 0].astype(int)], n_components)
        return _Fitted(linear.project, lambda X: _table(linear.predict(linear.project(X))))

    def fit_pls(X, problem, visible):
        task = _only_task(problem)
        rows = np.flatnonzero(np.isfinite(visible).all(axis=1))
        values, classes = visible[rows], None
        if task.metric == "error":
            values, classes = np.eye(len(task.classes))[values[:, 0].astype(int)], task.classes
        linear = pls_map(X[rows], values, n_components, classes)
        return _Fitted(linear.project, lambda X: _table(linear.predict(linear.project(X))))

    def fit_nothing(X, problem, visible):
        return _Fitted(lambda X: X, None)

    return {"PCA": fit_pca, "LDA": fit_lda, "PLS": fit_pls, "all features": fit_nothing}


def _only_task(problem):
    if len(problem.tasks) > 1:
        raise NotApplicable("it takes targets of one kind")
    return problem.tasks[0]


def _score(fit, problem, X, splits):
    """Fit in every split; return losses row by row for each task, or the reason why the method does not apply."""
    parts, seconds, dims = [_Losses(task) for task in problem.tasks], [], None
    for split in splits:
        started = perf_counter()
        try:
            fitted = fit(X, problem, split.visible)
        except NotApplicable as reason:
            return Outcome(note=str(reason))
        seconds.append(perf_counter() - started)
        seen = np.flatnonzero(np.isfinite(split.visible).any(axis=1))
        Z_seen = None if fitted.project is None else fitted.project(X[seen])
        dims = dims if Z_seen is None else Z_seen.shape[1]
        for part in parts:
            part.add(fitted, X, split, seen, Z_seen)
    losses, own = ([part.means(name) for part in parts] for name in ("projected", "predicted"))
    return Outcome(dims=dims, losses=losses, own_losses=own, seconds=max(seconds))


class _Losses:
    """Losses of one method on one task, split by split."""

    def __init__(self, task):
        self.task, self.rows, self.projected, self.predicted = task, [], [], []

    def add(self, fitted, X, split, seen, Z_seen):
        task = self.task
        rows = split.rows[np.isfinite(task.truth[split.rows]).any(axis=1)]
        if not len(rows):
            return
        self.rows.append(rows)
        if fitted.project is not None:
            known = split.visible[seen][:, task.columns]
            self.projected.append(task.projection_loss(Z_seen, known, fitted.project(X[rows]), rows))
        if fitted.predict is not None:
            predicted = fitted.predict(X[rows])[:, task.columns]
            self.predicted.append(task.loss(task.codes(predicted), rows))

    def means(self, name):
        """Mean loss of each scored row, or None where there is none."""
        losses = getattr(self, name)
        if not losses:
            return None
        place, counts = np.unique(np.concatenate(self.rows), return_inverse=True, return_counts=True)[1:]
        return np.bincount(place, weights=np.concatenate(losses)) / counts
