"""Search for the model, the preprocessing and the settings that few labels support best."""

from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from gnomon.rows.kind import is_sparse
from gnomon.selection.candidates import candidates_for, preprocessing_for
from gnomon.selection.partial import last_step, permuted_scores, predicts, projects
from gnomon.selection.results import SearchResults, verdict
from gnomon.selection.stability import halves_of, row_order
from gnomon.selection.trials import Trials
from gnomon.targets import read, read_groups

MANY = 1e6  # entries


def _if_best_has(name):
    """Whether the chosen model has a method, which is asked of it; before `fit` it may turn out to."""

    def check(search):
        if "best_estimator_" in vars(search):
            attrgetter(name)(search.best_estimator_)  # its own error where it has none
        return True

    return available_if(check)


def _of_best(name, summary, shape):
    """The method of that name of the chosen model."""

    @_if_best_has(name)
    def method(self, X):
        check_is_fitted(self, "best_estimator_")
        return attrgetter(name)(self.best_estimator_)(X)

    method.fn.__name__ = name
    method.fn.__doc__ = f"""Return {summary} of the chosen model.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape {shape}
            What the model returns.
        """
    return method


@dataclass(eq=False, repr=False)
class GuidedSearch(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Choose among models, preprocessing and settings by the labels at hand, few as they may be.

    Each candidate is fitted to one half of the labels and to the other, several times. What counts is how well the two
    models agree on the unlabeled rows, less their error on each other's labels: thousands of rows have a vote, where a
    cross-validation error of twenty labels could not tell the candidates apart. Agreement of classes is Cohen's kappa,
    and the error is averaged over classes and divided by that of chance, so that a model which always names the
    majority gains nothing by it; on classes of equal size the order is that of plain agreement less plain error. Of
    numbers agreement is the correlation of predictions, and the error is the squared one over the variance of y. Every
    candidate sees the same halves.

    With few labels the candidate of highest score is often the luckiest one. So the default, the first candidate behind
    the first preprocessing with its first settings, is kept unless another scores higher by more than the standard
    error of the difference over the splits, which share rows: their variance counts as Nadeau and Bengio (2003) say. Of
    `candidates` that begin with an estimator of your own, none is a default, nor is any with `n_splits=1`, which has no
    standard error: the best score wins. What is chosen is fitted to all labels, and predicts and transforms.

    Parameters
    ----------
    candidates : list or None, default=None
        What may be chosen: names, pairs (name, estimator), or `Candidate`. Names for classes: "DPPCA", "CPPCA", "SPPCA"
        and the baselines "ridge LDA" and "PCA + 1-NN"; for real targets "SPPCA" and "PLS". None or the name "usual"
        stands for all of these; "PCA + logistic" and "PCA + ridge" may be named besides. An estimator of your own with
        a parameter `unlabeled`, or without use for labels, is fitted to all rows, any other to the labeled rows.
    preprocessing : list of str or None, default=None
        What may stand before a model: "rows" (nothing), "unit rows" (length one), "neighbors" and "neighbors, cosine"
        (`NeighborFeatures`; for classes only). None allows all.
    baselines : bool, default=True
        Whether to score baselines that may not be chosen, too; the verdict says where one scores higher.
    n_components : int or None, default=None
        Dimensions of the projection; None takes classes - 1 or the number of outputs, at most 10. Estimators of your
        own keep theirs.
    n_splits : int or None, default=None
        Random splits of the labels into halves; None takes 5, or 3 where X has more than a million entries.
    n_permutations : int, default=19
        Permutations of the labels that tell whether they say more of the rows than chance would; 0 leaves that out.
        Only the chosen candidate is fitted to them, so the p-value is somewhat low, and the verdict says so;
        `permutation_test` repeats the whole search.
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
    permutation_test_ : PermutationTest or None
        Of the labels; None with `n_permutations=0`.
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

    candidates: Any = None
    _: KW_ONLY
    preprocessing: Any = None
    baselines: Any = True
    n_components: Any = None
    n_splits: Any = None
    n_permutations: Any = 19
    target: Any = "auto"
    unlabeled: Any = "auto"
    n_jobs: Any = None
    random_state: Any = 0

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Score the candidates, and fit the best to all labels.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Rows, scaled as they should enter the models. NaN marks missing entries of a dense X; candidates that cannot
            take them are left out, and the table says so.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or real targets. One class needs two labeled rows; real targets need four.
        groups : array-like of shape (n_samples,) or None, default=None
            Which sample, patient, plot or the like each row is of, where several rows are of one, as in `compare`: they
            are in one half, and count as one label.

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
        groups = read_groups(groups, rows.shape[0])
        halves = halves_of(targets, row_order(rows), n_splits, rng, groups)
        tried, allowed = candidates_for(halves.kind, self.candidates, self.baselines)
        trials = Trials(X, rows, halves, self.n_components, self.n_jobs)
        trials.first_round(tried, preprocessing_for(tried, self.preprocessing), self.preprocessing is not None)
        trials.second_round(allowed)
        known = self.candidates is None or isinstance(self.candidates[0], str)
        best = trials.best(allowed, keep_default=known)
        self.target_kind_, self.n_labeled_ = halves.kind, targets.n_labeled
        vars(self).pop("classes_", None)
        if halves.kind == "classes":
            self.classes_ = targets.classes
        self.permutation_test_ = None
        if self.n_permutations:  # of the chosen candidate alone
            fit, alone = trials.half_fit(best), len(trials.tried) == 1
            self.permutation_test_ = permuted_scores(
                halves_of(targets, halves.order, 1, rng, groups), fit, self.n_permutations, rng, self.n_jobs, alone
            )
        tried, chosen = [trial.row() for trial in trials.tried], trials.tried.index(best)
        said = verdict(
            tried, chosen, halves.kind, self.permutation_test_, kept=best is not trials.leaders(allowed, 1)[0]
        )
        self.results_ = SearchResults(tried, chosen, halves.kind, said, self.permutation_test_)
        self.best_estimator_ = trials.final(best, X, y, targets, self.unlabeled)
        return self

    @property
    def best_score_(self):
        """Score of the chosen candidate."""
        check_is_fitted(self, "results_")
        return self.results_.chosen_row["score"]

    predict = _of_best("predict", "the labels or values", "(n_samples,) or (n_samples, n_outputs)")
    predict_proba = _of_best("predict_proba", "the class probabilities", "(n_samples, n_classes)")
    transform = _of_best("transform", "the projection", "(n_samples, n_components)")

    @_if_best_has("get_feature_names_out")
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
        check_is_fitted(self, "best_estimator_")
        return last_step(self.best_estimator_).get_feature_names_out(None)

    def score(self, X: Any, y: Any) -> Any:
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
        found = self.predict(X)
        return float((accuracy_score if self.target_kind_ == "classes" else r2_score)(y, found))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = vars(self).get("target_kind_") or {"auto": "classes"}.get(self.target, self.target)
        tags.estimator_type = "classifier" if kind == "classes" else "regressor"
        tags.classifier_tags = ClassifierTags() if kind == "classes" else None
        tags.regressor_tags = RegressorTags() if kind == "real" else None
        best = vars(self).get("best_estimator_")
        if best is not None and not predicts(best):
            tags.estimator_type = None
        if best is not None and not projects(best):
            tags.transformer_tags = None
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
