"""Score models beside PCA, LDA, PLS and all features on the same partially labeled rows."""

from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state

from gnomon import SPPCA
from gnomon.describe import describe, traits_of
from gnomon.rows.frames import as_frame
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import LDA_SHRINKAGE, NotApplicable, lda_map, pca_map, pls_map
from gnomon.selection.comparison import Losses, Outcome, summarize
from gnomon.selection.partial import fit_partial, last_step, learns_from_labels, predicts, prepared, projects, run_jobs
from gnomon.selection.scoring import Problem
from gnomon.selection.tuned import Tuned, Variant, preparations

RIDGES = (LDA_SHRINKAGE, 0.1, 0.5)  # among which LDA chooses


def compare(
    X: Any,
    y: Any,
    *,
    n_components: Any = None,
    estimators: Any = None,
    y_true: Any = None,
    n_draws: Any = 1,
    n_splits: Any = 10,
    target: Any = "auto",
    unlabeled: Any = "auto",
    groups: Any = None,
    n_jobs: Any = None,
    random_state: Any = None,
) -> Any:
    """Fit supervised models and baselines to the same partially labeled rows and score all of them alike.

    For classes the score is the error of the nearest labeled row (Euclidean, in the projection); for real
    targets it is R2 of a ridge regression on the projection. The baselines are PCA of all rows, ridge LDA and
    PLS of the labeled rows, and all features without a projection. Where a method predicts by itself,
    its predictions are scored too. All get the same rows and as many dimensions. By five folds of the labels that it
    sees LDA chooses its ridge (0.001, 0.1 or 0.5 of the mean variance), and where a model prepares the rows itself, as
    `GuidedProjection` does, every baseline chooses among the rows as given, standardized and at unit length.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        As it should enter the models: scale or normalize it first where that is wanted. NaN marks missing entries
        of a dense X: `estimators` see it as it is; for the baselines, which cannot take it, each missing entry is
        filled with the mean of its column, and the result says so.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Classes or real targets with unlabeled rows marked as in `SPPCA.fit`. Columns of a table are read as the first
        estimator reads them; each column of classes is scored by itself, and the columns of numbers together.
    n_components : int or None, default=None
        Dimensions of the baselines' projections, LDA has at most one less than classes; None takes those of the
        estimators, the largest where they differ.
    estimators : dict of str to estimator, default=None
        Models to compare, by the name to show; None is `{"SPPCA": SPPCA(2)}`. Each is cloned: a model, a pipeline, a
        `GuidedSearch`, whose whole choice is repeated in every split, or any other. One with a parameter `unlabeled`,
        or without use for labels, is fitted to all rows, any other to the labeled rows. What is no transformer is
        scored by its predictions alone. Where the first is a pipeline, the baselines see the rows behind its steps, up
        to the model or the first step that learns from labels.
    y_true : array-like like `y`, default=None
        The hidden truth. With it, methods are scored on the rows that `y` leaves unlabeled. Without
        it, labeled rows are held out in turn: their labels are hidden from every method, their features are
        not, and unlabeled rows stay in. Every class keeps a labeled row; with few rows a split holds out
        one row per class.
    n_draws : int, default=1
        With `y_true`: `y` and so many less one random draws of labeled rows, as many of each class, are scored, all on
        the rows that they leave unlabeled.
    n_splits : int, default=10
        Number of splits without `y_true`, rounded up to whole repeats of up to five folds.
    target : {"auto", "classes", "real", "counts"} or list of these, default="auto"
        How to read y, or each of its columns; "auto" does as the first estimator is set to.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row; "auto" does as the first estimator is set to.
    groups : array-like of shape (n_samples,) or None, default=None
        Which sample, patient, plot or the like each row is of, where several rows are of one: they are held out
        together, and intervals count groups, for a row that is hidden beside a replicate of it would be no test. None
        and NaN are groups of their own. With `y_true`, which rows are scored does not depend on it.
    n_jobs : int or None, default=None
        Processes for the fits of the models, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and starts the default model.

    Returns
    -------
    Comparison
        `rows` (one dict per method and target; "got" is what a baseline chose), `verdict`, `to_dict()`; prints as a
        table.

    Notes
    -----
    Held-out rows count by the shares of their classes among the unlabeled rows, which are estimated: those that the
    first model predicts for these, and the shares among the labeled rows, which count more the fewer labels there are.
    The interval of an error is that of the unlabeled rows, where there are any: the high end that of as many rows with
    a flat prior; the low end that of fewer, since splits learn from fewer labels than the model (see
    `gnomon reproduce breadth-intervals`). Differences are paired; their interval is Student's, its variance that of
    splits which share rows (Nadeau and Bengio 2003), so that repeats do not shrink it.
    Of one draw with `y_true` it is over rows, and does not count what another choice of labeled rows would change; of
    several draws, over these.

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
    frame, X = as_frame(X), check_array(X, accept_sparse="csr", ensure_all_finite=False)
    filled, n_filled = _fill(X, range(X.shape[1]) if frame is None else frame.columns)
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    if estimators is None:
        estimators = {"SPPCA": SPPCA(n_components or 2, random_state=seed)}
    first = next(iter(estimators.values()))
    problem = Problem(y, X.shape[0], y_true, groups=groups, **_reading(last_step(first), target, unlabeled))
    splits = problem.splits(n_draws if problem.has_truth else n_splits, rng)
    tells = None if problem.has_truth else next(iter(estimators))
    models = {name: _model(estimator, problem, name == tells) for name, estimator in estimators.items()}
    parts, fits = _fitted(models, problem, X, splits, n_jobs)
    k = n_components or max((part[-1] for found in parts.values() for part in found if part[-1]), default=2)
    rows = _behind_steps(first, filled)
    fronts = preparations(rows, any(traits_of(last_step(one)).own_scale for one in estimators.values()))
    shares = problem.shares(next((told for _, told in fits.values() if told is not None), None))
    scored = {name: _outcome(parts[name], problem, splits, shares, _turned(fits[name][0], rows)) for name in models}
    for name, method in _baselines(fronts, problem, k, seed).items():
        found = _score(method, problem, np.arange(len(problem.visible))[:, None], splits, shares)
        scored[name] = found._replace(got=method.said)
    n = {"n_tried": len(splits), "n_filled": n_filled, "n_groups": problem.n_groups}
    return summarize(scored, list(models), problem, **n, shares=shares)


def _fitted(models, problem, X, splits, n_jobs):
    """Of each model what it says in every split, and of all labels: two dicts by its name."""
    jobs = [(method, problem, X, *split) for method in models.values() for split in splits]
    found = iter(run_jobs(_losses, jobs, n_jobs))
    parts = {name: [next(found) for _ in splits] for name in models}
    whole = run_jobs(_whole, [(method, problem, X) for method in models.values()], n_jobs)
    return parts, dict(zip(models, whole))


def _reading(model, target, unlabeled):
    """How to read y: as asked, else as the model is set to."""
    said = model.get_params(deep=False)
    if isinstance(target, str) and target == "auto":
        target = said.get("target", "auto")
    if isinstance(unlabeled, str) and unlabeled == "auto":
        unlabeled = said.get("unlabeled", "auto")
    return {"target": target, "unlabeled": unlabeled, "several": traits_of(model).several}


def _behind_steps(estimator, X):
    """What the steps of a pipeline make of X, up to its model or the first one that learns from labels."""
    for step in [step for _, step in estimator.steps[:-1]] if isinstance(estimator, Pipeline) else []:
        if step in (None, "passthrough"):
            continue
        if learns_from_labels(step):
            break
        X = clone(step).fit_transform(X)
    return X


def _fill(X, names):
    """Return X with column means in place of missing entries, and how many those are."""
    sparse = is_sparse(X)
    assert_all_finite(X, allow_nan=not sparse, input_name="X")
    if sparse or not (missing := np.isnan(X)).any():
        return X, 0
    never = np.flatnonzero(missing.all(axis=0))
    if len(never):
        raise ValueError(f"column {names[never[0]]!r} of X is never observed; drop it.")
    return np.where(missing, np.nanmean(X, axis=0), X), int(missing.sum())


class Predictor:
    """The predictions of a fitted model, and how sure it is of them where it says so."""

    def __init__(self, model):
        self.model = model

    def __call__(self, X):
        return self.model.predict(X)

    def doubts(self, X, columns):
        """For each of some targets the probability of the named class (n,), or the deviation of a number, or None."""
        try:
            said = describe(self.model)
        except TypeError:  # a model of others
            return [None] * len(columns)
        told = {target.column or 0: one for target, one in zip(said.targets, said.predict(X), strict=True)}
        found = [told.get(j) for j in columns]
        return [None if one is None else one.std if one.proba is None else one.proba.max(axis=1) for one in found]


def _model(estimator, problem, tells=False):
    """The fit of a model to all rows and the visible targets of a split: how it projects and predicts, or None.

    One that `tells` says how sure it is of its predictions.
    """

    def fit(X, visible):
        model = prepared(estimator, n_permutations=0, **problem.settings())
        complete = np.isfinite(visible).all(axis=1)
        fit_partial(model, X, problem.targets.given(visible), complete, problem.groups)
        predict = None if not predicts(model) else Predictor(model) if tells else model.predict
        return model.transform if projects(model) else None, predict

    return fit


def _baselines(fronts, problem, n_components, seed):
    """By name, each with its settings on each preparation of the rows."""

    def lda(shrinkage, X, values, task):
        if task.metric != "error":
            raise NotApplicable("it needs classes")
        return lda_map(X, task.classes[values[:, 0].astype(int)], n_components, shrinkage)

    def pls(X, values, task):
        if task.metric == "error":
            values = np.eye(len(task.classes))[values[:, 0].astype(int)]
        return pls_map(X, values, n_components, task.classes)

    def of_each(learn, ridge=None):
        said = "" if ridge is None else f"ridge {ridge:g}"
        return [
            Variant(", ".join(filter(None, ([name] if len(fronts) > 1 else []) + [said])) or name, X, learn)
            for name, X in fronts.items()
        ]

    @cache  # blind to labels, so the same in every split
    def pca(name):
        return pca_map(fronts[name], n_components, seed)

    variants = {
        "PCA": [
            Variant(name, X, lambda _, visible, name=name: (pca(name).project, None)) for name, X in fronts.items()
        ],
        "LDA": [
            one for ridge in RIDGES for one in of_each(partial(_learned, partial(lda, ridge), problem.tasks), ridge)
        ],
        "PLS": of_each(partial(_learned, pls, problem.tasks)),
        "all features": of_each(lambda X, visible: (lambda X: X, None)),
    }
    return {name: Tuned(some, problem.tasks, problem.groups) for name, some in variants.items()}


def _learned(learn, tasks, X, visible):
    """How a linear map of the labeled rows projects and predicts."""
    if len(tasks) > 1:
        raise NotApplicable("it learns from one target of classes, or from numbers alone")
    rows = np.flatnonzero(np.isfinite(visible).all(axis=1))
    found = learn(X[rows], visible[rows], tasks[0])
    return found.project, lambda X: found.predict(found.project(X))


def _whole(fit, problem, X):
    """Of a fit to all labels the projection, and how many unlabeled rows are of each class, None where it says none."""
    project, predict = fit(X, problem.visible)
    told, rest = None, np.flatnonzero(~problem.targets.labeled)
    if problem.one_target_of_classes and len(rest) and not problem.has_truth and predict is not None:
        codes = problem.tasks[0].codes(predict(X[rest])).ravel().astype(int)
        told = np.bincount(codes[codes >= 0], minlength=len(problem.tasks[0].classes))
    return None if project is None else project(X), told


def _turned(Z, X):
    """The largest angle, in degrees, between the columns of a projection of rows and of PCA's of the same size."""
    if Z is None:
        return None
    try:
        of_pca = pca_map(X, Z.shape[1], 0).project(X)
    except NotApplicable:
        return None
    bases = [np.linalg.qr(one - one.mean(axis=0))[0] for one in (np.asarray(Z, dtype=float), of_pca)]
    return float(np.degrees(subspace_angles(*bases).max()))


def _score(fit, problem, X, splits, shares):
    """Losses of a method row by row for each task, or the reason why it does not apply."""
    try:
        return _outcome(run_jobs(_losses, [(fit, problem, X, *split) for split in splits]), problem, splits, shares)
    except NotApplicable as reason:
        return Outcome(note=str(reason))


def _outcome(parts, problem, splits, shares, turned=None):
    """What the fits of one method to all splits come to."""
    projected, predicted, told, seconds, dims = zip(*parts)
    overlap, n_meant = None, np.inf
    if not problem.has_truth:
        held = np.mean([len(rows) for _, rows in splits])
        overlap = float(held / (problem.targets.n_labeled - held))
        rest = np.flatnonzero(~problem.targets.labeled)
        n_meant = len(rest if problem.groups is None else np.unique(problem.groups[rest])) or np.inf

    def losses(found, t):
        known = [part[t] for part in found if part[t]]
        if not known:
            return None
        return Losses(*zip(*known), problem.weights(shares), overlap, n_meant, problem.groups)

    tasks = range(len(problem.tasks))
    means = [[losses(found, t) for t in tasks] for found in (projected, predicted)]
    return Outcome(dims[-1], *means, max(seconds), turned=turned, told=told)


def _losses(fit, problem, X, visible, scored):
    """Fit in one split; rows and losses of the projection and of the method's own predictions, what a model told of
    each row, seconds, dimensions."""
    started = perf_counter()
    project, predict = fit(X, visible)
    seconds = perf_counter() - started
    seen = np.flatnonzero(np.isfinite(visible).any(axis=1))
    Z_seen = None if project is None else project(X[seen])
    projected, predicted, told = [], [], []
    for task in [task.unseen(visible) for task in problem.tasks]:
        rows = scored[np.isfinite(task.truth[scored]).any(axis=1)]
        projected.append(None)
        predicted.append(None)
        told.append(None)
        if len(rows) and project is not None:
            known = visible[seen][:, task.columns]
            projected[-1] = rows, task.projection_loss(Z_seen, known, project(X[rows]), rows)
        if len(rows) and predict is not None:
            found = np.reshape(predict(X[rows]), (len(rows), -1))[:, task.columns]
            predicted[-1] = rows, task.loss(task.codes(found), rows)
            if isinstance(predict, Predictor):
                told[-1] = rows, task.codes(found), predict.doubts(X[rows], task.columns)
    return projected, predicted, told, seconds, None if Z_seen is None else Z_seen.shape[1]
