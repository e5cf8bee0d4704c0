"""Choose a guided projection with few labels."""

import warnings
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_array, check_consistent_length

from gnomon import SPPCA
from gnomon.describe import describe, real_values
from gnomon.selection.baselines import NotApplicable
from gnomon.selection.candidates import CLASS_MODELS, FEWEST_IN_CLASS, FRONTS, LEADING, MOST_NEIGHBOURS, REAL_MODELS
from gnomon.selection.permutation import PermutationTest, permutation_scores
from gnomon.selection.results import GuidedChoice, verdict
from gnomon.selection.stability import ClassHalves, RealHalves

N_LEADERS = 2  # pairs of front and model whose further settings are tried
MOST_COMPONENTS = 10
MANY = 1e6  # entries
NEAR = 0.1  # a pair whose score is lower by more will hardly win by other settings
BEST = 1.0  # score of full agreement without an error; no further settings are tried
SAME_ON_UNIT_ROWS = {"unit rows": "rows", "neighbours, cosine": "neighbours"}


class Given(NamedTuple):
    """Targets as given, their mark for unlabelled rows, and the same with None or NaN as the only mark."""

    y: Any
    unlabeled: Any
    plain: Any


class Front(NamedTuple):
    """A computed front: the transformer (None for the rows as they are) and the rows it gives."""

    transformer: Any
    rows: Any


def choose_guided(
    X,
    y,
    *,
    n_components=None,
    models=None,
    fronts=None,
    n_splits=None,
    n_permutations=19,
    unlabeled="auto",
    random_state=0,
):
    """Choose among models, fronts and settings by the labels at hand, few as they may be.

    Each candidate is fitted to one half of the labels and to the other, several times. What counts is how often the two
    models agree on the unlabelled rows, less their error on each other's labels: thousands of rows have a vote, where a
    cross-validation error of twenty labels could not tell the candidates apart. Every candidate sees the same halves.
    The best is then fitted to all labels.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        Rows, scaled as they should enter the models. NaN marks missing entries of a dense X; candidates that cannot
        take them are left out, and the table says so.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Classes or real targets, unlabelled rows marked as in `SPPCA.fit`. One class needs two labelled rows; real
        targets need four.
    n_components : int, default=None
        Dimensions of the projection; None takes classes - 1 or the number of outputs, at most 10.
    models : sequence of str, default=None
        Names of the models that may be chosen. For classes: "DPPCA", "CPPCA", "SPPCA" and the baselines "ridge LDA" and
        "PCA + 1-NN"; for real targets "SPPCA" and "PLS". None allows all of these. Of other read-outs of PCA, "PCA +
        logistic" and "PCA + ridge", one is chosen only where it is named. Baselines are scored in any case, and the
        verdict says where one scores higher; when chosen they cannot be saved to a model file.
    fronts : sequence of str, default=None
        What may stand before a model: "rows" (nothing), "unit rows" (length one), "neighbours" and "neighbours, cosine"
        (`NeighborFeatures`; for classes only). None allows all.
    n_splits : int, default=None
        Random splits of the labels into halves; None takes 5, or 3 where X has more than a million entries.
    n_permutations : int, default=19
        Fits to permuted labels that tell whether the labels helped; 0 leaves that out.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabelled row, as in `SPPCA`.
    random_state : int, default=0
        Draws the splits and the permutations.

    Returns
    -------
    GuidedChoice
        `rows` (one dict a candidate), `chosen`, `labels_helped`, `verdict`, and `estimator_`, the best candidate fitted
        to all rows and labels; prints as a table.

    Raises
    ------
    ValueError
        When y has too few labels to split, when `models` or `fronts` holds a name that is not known, or when no
        candidate could be fitted.

    Notes
    -----
    Two rounds: every model on every front with its first settings, then further settings of the leading pair and of
    the second where it is near, unless the score is full. The second round needs four labelled rows of most classes,
    since halves with one row a class cannot tell settings apart; with fewer, DPPCA is scored with 20 factors and then
    fitted with its usual number. With unlabelled rows it is scored in 150 principal coordinates of the rows. A front
    does not see labels, so it is computed once; where all rows have length one already, two fronts fall away, and
    neighbours where a class has fewer than 30 rows, unless `fronts` names them. The permutation test fits
    the chosen candidate to labels that have changed places, and counts how often its score on one split is as high as
    with the true labels. It does not repeat the choice, so its p-value is somewhat low: in a trial 8 of 100 random
    labellings passed at 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon.selection import choose_guided
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 15 == 0, y, -1)
    >>> choice = choose_guided(X, seen, n_components=2, n_splits=1, n_permutations=0)
    >>> choice.estimator_.transform(X).shape
    (150, 2)
    """
    check_consistent_length(X, y)
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False)
    assert_all_finite(X.data if hasattr(X, "tocsr") else X, allow_nan=not hasattr(X, "tocsr"), input_name="X")
    rng = np.random.default_rng(random_state)
    entries = X.nnz if hasattr(X, "tocsr") else X.size
    halves, labels = _read(y, unlabeled, n_splits or (5 if entries <= MANY else 3), rng)
    given = Given(y, unlabeled, labels)
    registry = CLASS_MODELS if halves.kind == "classes" else REAL_MODELS
    allowed = _allowed("models", models, [c.name for c in registry], [c.name for c in registry if c.usual])
    known = sorted({front for c in registry for front in c.fronts}, key=list(FRONTS).index)
    used = _allowed("fronts", fronts, known, known)
    search = _Search(X, halves, n_components or _default_components(halves))
    search.fewest_in_class = FEWEST_IN_CLASS if fronts is None else 0
    search.first_round(registry, used, allowed)
    search.second_round(allowed)
    best = next(iter(search.leaders(allowed, 1)), None)
    if best is None:
        raise ValueError(f"no candidate could be fitted: {'; '.join(sorted({t.note for t in search.tried}))}")
    helped = search.permute(best, n_permutations, rng) if n_permutations else None
    rows = [trial.row() for trial in search.tried]
    chosen = search.tried.index(best)
    return GuidedChoice(
        rows, chosen, halves.kind, verdict(rows, chosen, halves.kind, helped), helped, search.final(best, given)
    )


def _read(y, unlabeled, n_splits, rng):
    """Return the halves, and y with every unlabelled entry marked by None or NaN; y is read by a model's own rules."""
    n = len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = SPPCA(1, unlabeled=unlabeled, max_iter=1).fit(np.random.default_rng(0).normal(size=(n, 3)), y)
    said = describe(reader)
    if not said.targets:
        raise ValueError("y has no label; choose_guided needs labeled rows. Without labels, fit gnomon.PPCA.")
    if said.numeric:
        values = real_values(y)
        return RealHalves(values, n_splits, rng), values if np.ndim(y) == 2 else values.ravel()
    (target,) = said.targets
    if len(target.classes) < 2:
        raise ValueError(f"y holds the single class {target.classes[0]}, which cannot guide a choice; label others.")
    index = target.codes(y)
    labels = np.append(target.classes.astype(object), None)[index]
    return ClassHalves(index, n_splits, rng), labels


def _allowed(name, given, known, usual):
    if given is None:
        return usual
    unknown = [value for value in given if value not in known]
    if unknown or not len(given):
        raise ValueError(f"{name} holds {unknown[0] if unknown else 'nothing'!r}; known are {', '.join(known)}.")
    return list(given)


def _default_components(halves):
    wanted = halves.targets.max() if halves.kind == "classes" else halves.targets.shape[1]
    return int(min(max(wanted, 1), MOST_COMPONENTS))


class Trial:
    """One candidate on one front with its settings, and how it did."""

    def __init__(self, candidate, front, settings):
        self.candidate, self.front, self.settings = candidate, front, settings
        self.score = self.seconds = self.note = None

    def same_as(self, other):
        """Whether the other trial is of the same candidate."""
        mine, theirs = ((t.candidate.name, t.front, t.settings) for t in (self, other))
        return mine == theirs

    def row(self):
        agreement, error, score = self.score or (None, None, None)
        return {
            "front": self.front,
            "model": self.candidate.name,
            "settings": dict(self.settings),
            "agreement": agreement,
            "error": error,
            "score": score,
            "seconds": self.seconds,
            "baseline": not self.candidate.guided,
            "note": self.note,
        }


class _Search:
    """Fronts, halves and trials of one choice."""

    def __init__(self, X, halves, n_components):
        self.X, self.halves, self.k = X, halves, n_components
        self.fronts, self.narrow, self.tried = {}, {}, []
        self.fewest_in_class = FEWEST_IN_CLASS
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "tocsr") else np.einsum("ij,ij->i", X, X)
        self.rows_a_class = X.shape[0] / (halves.targets.max() + 1) if halves.kind == "classes" else np.inf
        self.has_unit_rows = bool(np.allclose(squares, 1.0, rtol=1e-6))

    def first_round(self, registry, fronts, allowed):
        """Every model on every front with its first settings; baselines are always among them."""
        for name in fronts:
            self.add_front(name)
        for candidate in registry:
            for front in fronts:
                if front in candidate.fronts and (candidate.name in allowed or not candidate.guided):
                    self.try_(candidate, front, candidate.settings)

    def second_round(self, allowed):
        """Further settings of the leading pairs of front and model, unless nothing can be gained or told by them."""
        if not self.halves.is_rich:
            return
        leaders = self.leaders(allowed, N_LEADERS)
        top = leaders[0].score.score if leaders else BEST
        for lead in [t for t in leaders if BEST > top <= t.score.score + NEAR]:
            for settings in lead.candidate.finer:
                self.try_(lead.candidate, lead.front, {**lead.candidate.settings, **settings})

    def add_front(self, name):
        """Compute a front once; a reason in its place is shown with every candidate on it."""
        make = FRONTS[name]
        if make is None:
            self.fronts[name] = Front(None, self.X)
        elif not hasattr(self.X, "tocsr") and np.isnan(self.X).any():
            self.fronts[name] = "it takes no missing entries"
        elif SAME_ON_UNIT_ROWS.get(name) in self.fronts and self.has_unit_rows:
            self.fronts[name] = None  # the same as another front
        elif name.startswith("neighbours") and self.X.shape[0] > MOST_NEIGHBOURS:
            self.fronts[name] = f"more than {MOST_NEIGHBOURS} rows take too long"
        elif name.startswith("neighbours") and self.rows_a_class < self.fewest_in_class:
            self.fronts[name] = f"classes of about {self.rows_a_class:.0f} rows are smaller than neighbourhoods"
        else:
            transformer = make()
            try:
                self.fronts[name] = Front(transformer, transformer.fit_transform(self.X))
            except ValueError as error:
                self.fronts[name] = str(error)

    def try_(self, candidate, front, settings):
        """Score one candidate and keep the trial, or the reason why there is no score."""
        trial = Trial(candidate, front, settings)
        if any(trial.same_as(other) for other in self.tried):
            return
        self.tried.append(trial)
        made = self.fronts[front]
        if made is None:
            self.tried.pop()
            return
        if isinstance(made, str):
            trial.note = made
            return
        entries = made.rows.nnz if hasattr(made.rows, "tocsr") else made.rows.size
        if entries > candidate.most:
            trial.note = f"more than {candidate.most:.0e} entries take too long"
            return
        started = perf_counter()
        try:
            trial.score = self.halves.score(self.fitter(trial))
        except (ValueError, TypeError, NotApplicable) as reason:
            trial.note = str(reason)
        trial.seconds = (perf_counter() - started) / (2 * len(self.halves.splits))

    def fitter(self, trial):
        """The function from targets of a half to predictions of every row."""
        rows = (
            self.narrow_rows(trial.front) if trial.candidate.narrow(trial.settings) else self.fronts[trial.front].rows
        )
        more = trial.candidate.quick | ({} if self.halves.is_rich else trial.candidate.poor)

        def fit_predict(half):
            model = self.make(trial, -1 if self.halves.kind == "classes" else None, more)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the final fit says what there is to say
                return model.fit(rows, _as_given(half)).predict(rows)

        return fit_predict

    def narrow_rows(self, front):
        """Leading principal coordinates of the rows of a front, computed once; the rows themselves where it has few."""
        rows = self.fronts[front].rows
        sparse = hasattr(rows, "tocsr")
        if min(rows.shape) <= 2 * LEADING or self.k >= LEADING // 2 or not (sparse or np.isfinite(rows).all()):
            return rows
        if front not in self.narrow:
            pca = PCA(LEADING, svd_solver="arpack" if sparse else "auto", random_state=0)
            self.narrow[front] = pca.fit_transform(rows)
        return self.narrow[front]

    def make(self, trial, unlabeled, more):
        width = self.fronts[trial.front].rows.shape[1]
        k = max(1, min(self.k, width - 1, self.X.shape[0] - 2))
        return trial.candidate.make(n_components=k, unlabeled=unlabeled, **(trial.settings | more))

    def leaders(self, allowed, n):
        """The best `n` trials among the models allowed, one a front and model; equal scores keep the order."""
        scored = [t for t in self.tried if t.score is not None and t.candidate.name in allowed]
        best = {}
        for trial in sorted(scored, key=lambda t: -t.score.score):
            best.setdefault((trial.front, trial.candidate.name), trial)
        return list(best.values())[:n]

    def permute(self, trial, n_permutations, rng):
        """How the chosen candidate scores on one split, with the labels as they are and after they changed places."""
        return PermutationTest(*permutation_scores(self.halves, self.fitter(trial), n_permutations, rng))

    def final(self, trial, given):
        """Fit the chosen candidate to every label; a model of gnomon reads y itself."""
        front = self.fronts[trial.front]
        unlabeled, y = (given.unlabeled, given.y) if trial.candidate.guided else (None, given.plain)
        model = self.make(trial, unlabeled, {}).fit(front.rows, y)
        return model if front.transformer is None else Pipeline([("front", front.transformer), ("model", model)])


def _as_given(half):
    return half.ravel() if half.ndim == 2 and half.shape[1] == 1 else half
