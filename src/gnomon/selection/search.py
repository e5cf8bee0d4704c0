"""Search for the model, the preprocessing and the settings that few labels support best."""

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, RegressorTags, TransformerTags, assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable
from gnomon.selection.candidates import (
    FEWEST_IN_CLASS,
    LEADING,
    MOST_NEIGHBORS,
    PREPROCESSING,
    candidates_for,
    preprocessing_for,
)
from gnomon.selection.jobs import run_jobs
from gnomon.selection.partial import HalfFit, fit_partial, labels_of, last_step, prepared, takes_unlabeled
from gnomon.selection.permutation import permuted_scores
from gnomon.selection.results import SearchResults, verdict
from gnomon.selection.stability import halves_of, row_order
from gnomon.targets import read

N_LEADERS = 2  # pairs of preprocessing and model whose further settings are tried
MOST_COMPONENTS = 10
MANY = 1e6  # entries
NEAR = 0.1  # a pair whose score is lower by more will hardly win by other settings
SAME_ON_UNIT_ROWS = {"unit rows": "rows", "neighbors, cosine": "neighbors"}
FAILURES = (ValueError, TypeError, ArithmeticError, RuntimeError, NotApplicable)  # of a fit; the table says which


def _has(name):
    """Whether the chosen model has a method; before `fit` it may turn out to."""

    def check(search):
        return not hasattr(search, "best_estimator_") or hasattr(search.best_estimator_, name)

    return available_if(check)


class GuidedSearch(BaseEstimator):
    """Choose among models, preprocessing and settings by the labels at hand, few as they may be.

    Each candidate is fitted to one half of the labels and to the other, several times. What counts is how well the two
    models agree on the unlabeled rows, less their error on each other's labels: thousands of rows have a vote, where a
    cross-validation error of twenty labels could not tell the candidates apart. Agreement of classes is Cohen's kappa,
    and the error is averaged over classes and divided by that of chance, so that a model which always names the
    majority gains nothing by it; on classes of equal size the order is that of plain agreement less plain error. Every
    candidate sees the same halves. The best is then fitted to all labels, and predicts and transforms.

    Parameters
    ----------
    candidates : list or None, default=None
        What may be chosen: names, pairs (name, estimator), or `Candidate`. Names for classes: "DPPCA", "CPPCA", "SPPCA"
        and the baselines "ridge LDA" and "PCA + 1-NN"; for real targets "SPPCA" and "PLS". None or the name "usual"
        stands for all of these; "PCA + logistic" and "PCA + ridge" may be named besides. An estimator of your own with
        a parameter `unlabeled` is fitted to all rows, any other to the labeled rows. Baselines are scored in any case,
        and the verdict says where one scores higher.
    preprocessing : list of str or None, default=None
        What may stand before a model: "rows" (nothing), "unit rows" (length one), "neighbors" and "neighbors, cosine"
        (`NeighborFeatures`; for classes only). None allows all.
    baselines : bool, default=True
        Whether to score baselines that may not be chosen, too.
    n_components : int or None, default=None
        Dimensions of the projection; None takes classes - 1 or the number of outputs, at most 10. Estimators of your
        own keep theirs.
    n_splits : int or None, default=None
        Random splits of the labels into halves; None takes 5, or 3 where X has more than a million entries.
    n_permutations : int, default=19
        Permutations of the labels that tell whether they helped; 0 leaves that out. Only the chosen candidate is fitted
        to them, so the p-value is somewhat low, and the verdict says so; `permutation_test` repeats the whole search.
    target : {"auto", "classes", "real"}, default="auto"
        How to read y.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row, as in `SPPCA`.
    n_jobs : int or None, default=None
        Processes for the fits to halves, as in joblib.
    random_state : int, default=0
        Draws the halves and the permutations. They belong to what a row holds, not to its place: rows or columns in
        another order and other names of classes give the same choice. Another seed may choose another candidate where
        several have nearly the same score.

    Attributes
    ----------
    best_estimator_ : estimator or Pipeline
        The chosen candidate, fitted to all rows and labels.
    results_ : SearchResults
        `rows` (one dict per candidate), `chosen`, `verdict`; prints as a table.
    labels_helped_ : PermutationTest or None
        Whether the labels helped; None with `n_permutations=0`.
    best_score_ : float
        Score of the chosen candidate, at most 1.
    target_kind_ : {"classes", "real"}
        How y was read.
    classes_ : ndarray of shape (n_classes,)
        Labels in order, for classes only.
    n_labeled_ : int
        Rows with a label.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X was a frame.

    See Also
    --------
    compare : scores given models beside baselines.
    permutation_test : repeats the whole search with permuted labels.

    Notes
    -----
    Two rounds: every model on every preprocessing with its first settings, then further settings of the leading pair
    and of the second where it is near, unless the score is full. The second round needs four labeled rows of most
    classes, since halves with one row per class cannot tell settings apart; with fewer, DPPCA is scored with 20 factors
    and then fitted with its usual number. With unlabeled rows it is scored in 150 principal coordinates of the rows.
    Preprocessing does not see labels, so it is computed once; where all rows have length one already, two steps fall
    away, and neighbors where a class has fewer than 30 rows, unless `preprocessing` names them. Where every row is
    labeled there is nothing to agree on, and the error on held-out labels decides.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon.selection import GuidedSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 15 == 0, y, -1)
    >>> search = GuidedSearch(n_components=2, n_splits=1, n_permutations=0).fit(X, seen)
    >>> search.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        candidates=None,
        *,
        preprocessing=None,
        baselines=True,
        n_components=None,
        n_splits=None,
        n_permutations=19,
        target="auto",
        unlabeled="auto",
        n_jobs=None,
        random_state=0,
    ):
        self.candidates = candidates
        self.preprocessing = preprocessing
        self.baselines = baselines
        self.n_components = n_components
        self.n_splits = n_splits
        self.n_permutations = n_permutations
        self.target = target
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Score the candidates, and fit the best to all labels.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows, scaled as they should enter the models. NaN marks missing entries of a dense X; candidates that cannot
            take them are left out, and the table says so.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or real targets. One class needs two labeled rows; real targets need four.

        Returns
        -------
        GuidedSearch
            Itself.
        """
        if y is None:
            raise ValueError(
                "GuidedSearch requires y to be passed, but the target y is None; without, fit gnomon.PPCA."
            )
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=2
        )
        sparse = is_sparse(rows)
        assert_all_finite(rows.data if sparse else rows, allow_nan=not sparse, input_name="X")
        targets = read(y, rows.shape[0], target=self.target, unlabeled=self.unlabeled, several="real")
        rng = np.random.default_rng(self.random_state)
        n_splits = self.n_splits or (5 if (rows.nnz if sparse else rows.size) <= MANY else 3)
        halves = halves_of(targets, row_order(rows), n_splits, rng)
        tried, allowed = candidates_for(halves.kind, self.candidates, self.baselines)
        trials = _Trials(X, rows, halves, self.n_components or _default_components(halves), self.n_jobs)
        trials.fewest_in_class = FEWEST_IN_CLASS if self.preprocessing is None else 0
        trials.first_round(tried, preprocessing_for(tried, self.preprocessing))
        trials.second_round(allowed)
        best = trials.best(allowed)
        self.target_kind_, self.n_labeled_ = halves.kind, int(targets.n_labeled)
        self._unset("classes_")
        if halves.kind == "classes":
            self.classes_ = targets.classes
        self.labels_helped_ = self._permute(trials, best, rng) if self.n_permutations else None
        self._keep(trials, best)
        self.best_estimator_ = trials.final(best, X, y, targets, self.unlabeled)
        return self

    def _unset(self, name):
        if hasattr(self, name):
            delattr(self, name)

    def _permute(self, trials, best, rng):
        """How the chosen candidate scores with the labels as they are and after they changed places."""
        return permuted_scores(
            trials.halves.redrawn(rng),
            trials.half_fit(best),
            self.n_permutations,
            rng,
            self.n_jobs,
            len(trials.tried) == 1,
        )

    def _keep(self, trials, best):
        rows = [trial.row() for trial in trials.tried]
        chosen = trials.tried.index(best)
        said = verdict(rows, chosen, self.target_kind_, self.labels_helped_)
        self.results_ = SearchResults(rows, chosen, self.target_kind_, said, self.labels_helped_)

    @property
    def best_score_(self):
        """Score of the chosen candidate."""
        check_is_fitted(self, "results_")
        return self.results_.chosen_row["score"]

    @_has("predict")
    def predict(self, X):
        """Return what the chosen model predicts.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels or values.
        """
        return self._best().predict(X)

    @_has("predict_proba")
    def predict_proba(self, X):
        """Return class probabilities of the chosen model.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        return self._best().predict_proba(X)

    @_has("transform")
    def transform(self, X):
        """Return the projection by the chosen model.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        return self._best().transform(X)

    @_has("transform")
    def fit_transform(self, X, y):
        """Fit, and return the projection by the chosen model.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or real targets.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        return self.fit(X, y).transform(X)

    @_has("get_feature_names_out")
    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        ndarray of str
            One name per component.
        """
        return last_step(self._best()).get_feature_names_out(None)

    def score(self, X, y):
        """Return accuracy for classes, R2 for real targets.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True labels or values, of every row: `labeled_scorer` skips rows without.

        Returns
        -------
        float
            The score.
        """
        measure = accuracy_score if self._best() is not None and self.target_kind_ == "classes" else r2_score
        return float(measure(y, self.predict(X)))

    def _best(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = getattr(self, "target_kind_", None) or {"auto": "classes"}.get(self.target, self.target)
        tags.estimator_type = "classifier" if kind == "classes" else "regressor"
        tags.classifier_tags = ClassifierTags() if kind == "classes" else None
        tags.regressor_tags = RegressorTags() if kind == "real" else None
        tags.transformer_tags = TransformerTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _default_components(halves):
    wanted = halves.n_classes - 1 if halves.kind == "classes" else halves.targets.shape[1]
    return int(min(max(wanted, 1), MOST_COMPONENTS))


@dataclass
class _Made:
    """Computed preprocessing: the transformer (None for the rows as they are) and the rows it gives."""

    transformer: Any
    rows: Any


class _Trial:
    """One candidate behind one preprocessing with its settings, and how it did."""

    def __init__(self, candidate, preprocessing, settings):
        self.candidate, self.preprocessing, self.settings = candidate, preprocessing, settings
        self.score = self.seconds = self.note = None
        self.resolved = settings  # with what the model made of settings such as "usual"

    def repeats(self, other):
        """Whether the other trial was of the same candidate, whatever its settings were called."""
        same = (self.candidate.name, self.preprocessing) == (other.candidate.name, other.preprocessing)
        return same and self.settings in (other.settings, other.resolved)

    def record(self, outcome):
        self.score, self.note, self.seconds, found = outcome
        self.resolved = self.settings | found

    def row(self):
        agreement, error, score = self.score or (None, None, None)
        return {
            "preprocessing": self.preprocessing,
            "model": self.candidate.name,
            "settings": dict(self.settings),
            "agreement": agreement,
            "error": error,
            "score": score,
            "seconds": self.seconds,
            "baseline": self.candidate.baseline,
            "note": self.note,
        }


class _Trials:
    """Preprocessing, halves and trials of one search."""

    def __init__(self, X, rows, halves, n_components, n_jobs):
        self.X, self.rows, self.halves, self.k, self.n_jobs = X, rows, halves, n_components, n_jobs
        self.made, self.narrow, self.tried = {}, {}, []
        self.fewest_in_class = FEWEST_IN_CLASS

    def first_round(self, candidates, preprocessing):
        """Every model behind every preprocessing with its first settings."""
        for name in preprocessing:
            self.preprocess(name)
        self.run(
            _Trial(candidate, name, candidate.settings)
            for candidate in candidates
            for name in preprocessing
            if name in candidate.preprocessing
        )

    def second_round(self, allowed):
        """Further settings of the leading pairs, unless nothing can be gained or told by them."""
        leaders = self.leaders(allowed, N_LEADERS) if self.halves.is_rich else []
        best = self.halves.best
        top = leaders[0].score.score if leaders else best
        near = [trial for trial in leaders if best > top <= trial.score.score + NEAR]
        self.run(
            _Trial(lead.candidate, lead.preprocessing, {**lead.candidate.settings, **settings})
            for lead in near
            for settings in lead.candidate.finer
        )

    def preprocess(self, name):
        """Compute a preprocessing step once; a reason in its place is shown with every candidate behind it."""
        make = PREPROCESSING[name]
        if make is None:
            self.made[name] = _Made(None, self.rows)
        elif SAME_ON_UNIT_ROWS.get(name) in self.made and self._has_unit_rows():
            self.made[name] = None  # the same as another
        else:
            self.made[name] = self._reason_against(name) or self._transformed(make())

    def _transformed(self, transformer):
        try:
            return _Made(transformer, transformer.fit_transform(self.X))
        except ValueError as error:
            return str(error)

    def _reason_against(self, name):
        n = self.rows.shape[0]
        if not is_sparse(self.rows) and np.isnan(self.rows).any():
            return "it takes no missing entries"
        if not name.startswith("neighbors"):
            return None
        if n > MOST_NEIGHBORS:
            return f"more than {MOST_NEIGHBORS} rows take too long"
        per_class = n / self.halves.n_classes
        if per_class < self.fewest_in_class:
            return f"classes of about {per_class:.0f} rows are smaller than neighborhoods"
        return None

    def _has_unit_rows(self):
        X = self.rows
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        return bool(np.allclose(squares, 1.0, rtol=1e-6))

    def run(self, trials):
        """Score new trials, in several processes where asked for; keep the score or the reason why there is none."""
        waiting = []
        for trial in trials:
            if self.made[trial.preprocessing] is None or any(trial.repeats(other) for other in self.tried):
                continue
            self.tried.append(trial)
            trial.note = self._note(trial)
            if trial.note is None:
                waiting.append(trial)
        jobs = [(self.halves, self.half_fit(trial), list(trial.settings)) for trial in waiting]
        for trial, outcome in zip(waiting, run_jobs(_try, jobs, self.n_jobs), strict=True):
            trial.record(outcome)

    def _note(self, trial):
        made = self.made[trial.preprocessing]
        if isinstance(made, str):
            return made
        entries = made.rows.nnz if is_sparse(made.rows) else made.rows.size
        most = trial.candidate.most_entries
        if most is not None and entries > most:
            return f"more than {most:.0e} entries take too long"
        model = trial.candidate.estimator
        if takes_unlabeled(model):
            return None
        wrong = is_regressor(model) if self.halves.kind == "classes" else is_classifier(model)
        return f"it does not predict {self.halves.kind} targets" if wrong else None

    def half_fit(self, trial):
        """The function from targets of a half to predictions of every row."""
        narrow = trial.candidate.narrow
        wide = narrow is None or not narrow(trial.settings)
        rows = self.made[trial.preprocessing].rows if wide else self.narrow_rows(trial.preprocessing)
        more = trial.candidate.quick | ({} if self.halves.is_rich else trial.candidate.poor)
        return HalfFit(self.model(trial, more), rows, self.halves.kind)

    def narrow_rows(self, preprocessing):
        """Leading principal coordinates of preprocessed rows, computed once; the rows themselves where few."""
        rows = self.made[preprocessing].rows
        sparse = is_sparse(rows)
        if min(rows.shape) <= 2 * LEADING or self.k >= LEADING // 2 or not (sparse or np.isfinite(rows).all()):
            return rows
        if preprocessing not in self.narrow:
            pca = PCA(LEADING, svd_solver="arpack" if sparse else "auto", random_state=0)
            self.narrow[preprocessing] = pca.fit_transform(rows)
        return self.narrow[preprocessing]

    def model(self, trial, more):
        """The unfitted model of a trial."""
        settings = trial.settings | more
        if trial.candidate.sized:
            width = self.made[trial.preprocessing].rows.shape[1]
            settings |= {"n_components": max(1, min(self.k, width - 1, self.rows.shape[0] - 2))}
        made = prepared(trial.candidate.estimator)
        last_step(made).set_params(**settings)
        return made

    def leaders(self, allowed, n):
        """The best `n` trials among the models allowed, one per pair; equal scores keep the order."""
        scored = [trial for trial in self.tried if trial.score is not None and trial.candidate.name in allowed]
        best = {}
        for trial in sorted(scored, key=lambda trial: -round(trial.score.score, 9)):  # sums in another order are equal
            best.setdefault((trial.preprocessing, trial.candidate.name), trial)
        return list(best.values())[:n]

    def best(self, allowed):
        """The best trial among the models allowed."""
        found = self.leaders(allowed, 1)
        if not found:
            reasons = sorted({trial.note for trial in self.tried if trial.note})
            raise ValueError(f"no candidate could be fitted: {'; '.join(reasons)}")
        return found[0]

    def final(self, trial, X, y, targets, unlabeled):
        """Fit the chosen candidate to every label; a model that takes unlabeled rows reads y itself."""
        made = self.made[trial.preprocessing]
        model = prepared(self.model(trial, {}), unlabeled=unlabeled, target=targets.kind)
        rows = X if made.transformer is None else made.rows
        if not takes_unlabeled(model):
            y = labels_of(targets)
        model = fit_partial(model, rows, y, self.halves.complete)
        if made.transformer is None:
            return model
        return Pipeline([("preprocessing", made.transformer), ("model", model)])


def _try(halves, fit, names):
    """Score, note, seconds of one fit, and what the model made of its settings."""
    started = perf_counter()
    score, note, found = None, None, {}

    def fit_predict(half):
        model = fit.fitted(half)
        for name in names:
            value = getattr(last_step(model), f"{name}_", None)
            if isinstance(value, int | float | np.number):
                found[name] = value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.predict(fit.X)

    try:
        score = halves.score(fit_predict)
    except FAILURES as reason:
        note = str(reason)
    return score, note, (perf_counter() - started) / (2 * len(halves.splits)), found
