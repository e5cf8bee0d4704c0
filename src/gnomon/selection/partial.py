"""Fitting any estimator to partly labeled rows, and what it predicts, by itself or by its projection."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from gnomon._progress import counted, is_watched
from gnomon.rows.kind import rows_at
from gnomon.rows.threads import one_thread
from gnomon.selection.baselines import predict_from_projection
from gnomon.selection.results import PermutationTest


def last_step(estimator):
    """The model of a pipeline; any other estimator as it is."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def results_of(kind, given):
    """Results of a kind, whatever holds them: none, results, a fitted search, a pipeline of one, or `to_dict()`."""
    if given is None or isinstance(given, kind):
        return given
    try:
        found = kind(**given) if isinstance(given, dict) else last_step(given).results_
    except (AttributeError, TypeError):
        found = None
    if isinstance(found, kind):
        return found
    raise TypeError(
        f"{type(given).__name__} holds no {kind.__name__}; these, their to_dict(), or a fitted model that has them as "
        "results_ are wanted, such as GuidedSearch."
    )


def learns_from_labels(estimator):
    """Whether its tags say so of any step."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    tags = [get_tags(step) for step in steps if step not in (None, "passthrough")]
    return any(tag.target_tags.required or tag.estimator_type in ("classifier", "regressor") for tag in tags)


def takes_unlabeled(estimator):
    """Whether `fit` takes rows without a label: the model has a parameter `unlabeled`, or no use for labels."""
    return "unlabeled" in last_step(estimator).get_params(deep=False) or not learns_from_labels(estimator)


def projects(estimator):
    """Whether it is a transformer."""
    return get_tags(estimator).transformer_tags is not None


def predicts(estimator):
    """Whether it predicts targets by itself; what neither predicts nor projects by its tags is taken to predict."""
    return is_classifier(estimator) or is_regressor(estimator) or not projects(estimator)


def prepared(estimator, **settings):
    """A clone whose model has those settings that it knows."""
    made = clone(estimator)
    model = last_step(made)
    known = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in settings.items() if name in known})
    return made


def fit_partial(estimator, X, y, labeled, groups=None):
    """Fit to every row, or to the labeled ones where the estimator does not take others; returns the estimator.

    A model that takes groups of rows is told those, numbers (n,).
    """
    rows = slice(None) if takes_unlabeled(estimator) else np.flatnonzero(labeled)
    more = {}
    if groups is not None and has_fit_parameter(last_step(estimator), "groups"):
        step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        more = {f"{step}groups": groups[rows]}
    if isinstance(rows, slice):
        return estimator.fit(X, y, **more)
    return estimator.fit(rows_at(X, rows), plain(y[rows]), **more)


def plain(y):
    """Labels of one type as an array of that type, which scikit-learn wants."""
    return np.array(y.tolist()) if y.dtype == object else y


def run_jobs(function, arguments, n_jobs=None):
    """Return `function(*one)` for each of `arguments`, in their order, in several processes where asked for.

    Linear algebra is on one thread in each, so that processes do not fight for cores and no result depends on them.
    """
    arguments = list(arguments)
    form = "generator" if is_watched() else "list"
    answers = Parallel(n_jobs=n_jobs, return_as=form)(delayed(_on_one_thread)(function, one) for one in arguments)
    return counted(answers, len(arguments))


def _on_one_thread(function, arguments):
    with one_thread():
        return function(*arguments)


@dataclass(frozen=True)
class HalfFit:
    """A function from the targets of half the labels to predictions of every row.

    A model that only projects predicts by the nearest labeled row, or by ridge regression of numbers.
    """

    MARK = {"classes": -1, "real": None}  # noqa: RUF012
    estimator: object
    X: object
    kind: str
    groups: object = None

    def __call__(self, half, see=None):
        """Predict every row; `see` is shown the model."""
        labeled = half >= 0 if self.kind == "classes" else np.isfinite(half).all(axis=1)
        y = half.ravel() if half.ndim == 2 and half.shape[1] == 1 else half
        made = prepared(self.estimator, unlabeled=self.MARK[self.kind], target=self.kind)
        with warnings.catch_warnings(action="ignore"):  # the final fit says what there is to say
            model = fit_partial(made, self.X, y, labeled, self.groups)
            if see is not None:
                see(model)
            if predicts(model):
                return model.predict(self.X)
            Z = model.transform(self.X)
        return predict_from_projection(self.kind, Z[labeled], half[labeled], Z)


def permuted_scores(halves, fit, n_permutations, rng, n_jobs=None, repeats_choice=True):
    """Score one fit on halves with the labels as they are and after they changed places."""
    n_splits = len(halves.splits)
    tried = [halves, *(halves.permuted(rng, n_splits) for _ in range(n_permutations))]
    scores = run_jobs(type(halves).score, [(one, fit) for one in tried], n_jobs)
    first, *others = [float(score.score) for score in scores]
    return PermutationTest(first, others, repeats_choice)
