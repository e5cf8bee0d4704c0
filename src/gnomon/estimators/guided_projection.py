"""Average and teach, as a scikit-learn estimator: a projection and predictions from few labels, without choosing."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..describe import Projection, Traits
from ..models import dppca
from ..numerics.linalg import sign_of_columns
from ..rows import read
from ..rows.kind import is_sparse
from ..rows.spare import spare_rank
from ._estimator import Transformer, at_most, integer, rules
from ._fronts import MOST, PER_FRONT, UNION, Coordinates, Front, bring, fit_fronts, lengths_of, side_by_side
from ._imputation import Imputer
from ._predictions import Predictor
from ._teaching import (
    ROWS_STEPS,
    UNION_STEPS,
    Voice,
    calibrate,
    calibrated,
    judged,
    log_densities,
    nearest_labels,
    params_of,
    prior_of,
    pupil,
    speak,
    teachers,
    trust,
    weigh,
    with_exponent,
)
from .ppca import PPCA

GAP_COMPONENTS = 10  # of the PPCA that fills missing entries
PROJECTIONS = ("all fronts", "rows", "ridge LDA")  # of the two pupils, and of the best teacher by labels alone
LABELS_ALONE = "ridge LDA"


@dataclass(eq=False, repr=False)
class GuidedProjection(Predictor, Imputer, Transformer):
    """A projection and class predictions from few labels, on data of any kind: many models teach, none is chosen.

    With two or three labels per class nothing tells which preparation of the rows and which model suits them: any
    evidence for one against another is noise. So all of them predict the unlabeled rows, and their mean is right more
    often than the best of them that any rule would have picked. A projection is then fitted to that mean.

    Parameters
    ----------
    n_components : int, default=2
        Size K of the projection.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.

    Attributes
    ----------
    teachers_ : list of tuple
        (front, model, weight, kappa) of every teacher: what stood before it, its name, its weight in the mean, and how
        well the classes that it names for unlabeled rows agree with the plain mean of all, as Cohen's kappa.
    projection_ : {"all fronts", "rows", "ridge LDA"}
        Which of three projections `transform` gives: the one in which the nearest labeled row tells the class best.
    projection_scores_ : dict
        Mean probability of the class of the nearest labeled row, in each.
    components_ : ndarray of shape (n_components, n_features)
        Directions of the projection of the rows themselves, which is (X - mean_) components_'; with
        ``projection_="rows"`` it is what `transform` gives.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    class_prior_, classes_ : ndarray of shape (n_classes,)
        Probabilities of the classes in the rows, and their labels, sorted.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_, target_kind_
        As in `DPPCA`.

    Raises
    ------
    ValueError
        When y is None, has one class or real numbers; X is constant; n_components is more than the rank of X.

    See Also
    --------
    DPPCA : One model of the classes, with densities and posteriors.
    gnomon.selection.GuidedSearch : One model, chosen by evidence.

    Notes
    -----
    Fronts are the rows, columns divided by their deviations, rows of length one, logarithms where scales are skewed,
    and with at least twenty rows per class, and 20,000 rows at most, `NeighborFeatures` by distance and by angle; those
    that change nothing are left out. Of each the leading 300 principal coordinates are used. Memory is that of all
    fronts, dense ones as large as X, and of the probabilities of some 20 teachers.

    Teachers on each front are DPPCA, DPPCA with unlabeled rows of weight 0.1, ridge LDA and logistic regression. The
    probabilities of each are raised to the power at which their mean top probability is 0.8, and averaged with weights
    in proportion to the square of its kappa.

    Two DPPCA learn from the mean as if it were their own responsibilities, one on all fronts side by side (3 steps of
    EM), one on the rows (20 steps). `predict_proba` is the mean of theirs and the teachers'. A pupil counts in it by
    the fourth power of kappa of the classes that its densities name for the labeled rows with their labels: where
    clusters of the rows are not the classes, EM leaves the classes for the clusters, and this says so. The projection
    is that of one of two more pupils that learn from this mean, or of the ridge LDA of largest weight, which sees the
    labels alone. `Rows` are brought into this process as a whole.

    Missing entries of X are filled first, with their mean given the others under `PPCA` of ten components.

    Probabilities are then made as sure as they are right on other data of the same number of labels: raised to a power
    that grows with the agreement of the teachers and with the labels, less so for rows of low density. With two or
    three labels per class their mean may still be off by 0.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gnomon import GuidedProjection
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = y.copy()
    >>> labels[[i for i in range(178) if i % 20]] = -1        # 9 of 178 rows keep their label
    >>> model = GuidedProjection().fit(X, labels)             # columns of very different scales
    >>> model.transform(X).shape
    (178, 2)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    traits = Traits("guided", own_scale=True, several="one")

    _kinds = ("classes",)
    _required = True
    _fewest_classes = 2
    _sparse_forms = ("csr",)
    _in_memory = True
    _takes_missing = True
    _rules = rules(n_components=integer(1))
    _fitted = "components_"

    n_components: Any = 2
    _: KW_ONLY
    target: Any = "auto"
    unlabeled: Any = "auto"

    def _fit(self, rows, targets):
        index, n_classes = targets.index, len(targets.classes)
        found = fit_fronts(self._fill_of(rows), n_classes)
        first = next(found)
        own = first[1]
        if own.T.shape[1] == 0:
            raise ValueError("X is constant: all rows are equal; there is nothing to fit.")
        where = f": the rank of X (n_features = {rows.shape[1]}), and {PER_FRONT} in any case."
        at_most(self.n_components, min(own.T.shape[1], PER_FRONT), where)
        fronts = [first, *(front for front in found if front[1].T.shape[1])]
        voices = teachers(fronts, index, n_classes)
        probas = np.array([speak(voice, fronts[i][1]) for i, _, voice in voices])
        weights, kappas = weigh(probas, index)
        taught = np.tensordot(weights, probas, axes=1)
        lengths = lengths_of([reduced for _, reduced in fronts])
        union = dppca.principal_rows(read(side_by_side([reduced for _, reduced in fronts], lengths)), MOST)
        seen = (dppca.leading(union, max(UNION, self.n_components)), own)
        prior, n_factors = prior_of(taught, index)

        def learn(proba):
            steps = (UNION_STEPS, ROWS_STEPS)
            return [pupil(one, proba, index, prior, n_factors, n) for one, n in zip(seen, steps, strict=True)]

        pupils = [
            with_exponent((one.prior, one.means, tuple(one.within)), rows.T.shape[1], rows)
            for one, rows in zip(learn(taught), seen, strict=True)
        ]
        said = [speak(voice, one) for voice, one in zip(pupils, seen, strict=True)]
        self._trust = np.array([1.0, *(trust(proba, index) for proba in said)])
        mean = np.average([taught, *said], axis=0, weights=self._trust)
        densities = log_densities(pupils[1], own)
        self._calibration = tuple(calibrate(mean, densities, probas, weights, index))
        self._store(fronts, union, seen[0].T.shape[1], lengths, voices, weights, kappas, pupils)
        self._take_projection(fronts, voices, seen, learn(mean), index, mean)
        self.class_prior_ = prior

    def _store(self, fronts, union, size, lengths, voices, weights, kappas, pupils):
        self.n_components_ = self.n_components
        self._fronts = [tuple(front) for front, _ in fronts]
        self._voices = [(i, tuple(voice)) for i, _, voice in voices]
        self._weights = weights
        basis = union.expand(np.eye(union.T.shape[1], size))
        self._union = (lengths, union.standard.mean, union.standard.scale, basis)
        self._pupils = [tuple(voice) for voice in pupils]
        self.teachers_ = [
            (fronts[i][0].name, name, float(w), float(kappa))
            for (i, name, _), w, kappa in zip(voices, weights, kappas, strict=True)
        ]

    def _take_projection(self, fronts, voices, seen, learned, index, proba):
        """That of one of the pupils, or of the best teacher by labels alone that has as many dimensions."""
        k = self.n_components
        alone = [j for j, (i, name, _) in enumerate(voices) if name == LABELS_ALONE and fronts[i][1].T.shape[1] >= k]
        at, _, best = voices[max(alone, key=lambda j: self._weights[j])]
        seen, learned = (*seen, fronts[at][1]), [*learned, params_of(best)]
        found = [dppca.directions([one], k)[0] for one in learned]
        self._directions = [D * sign_of_columns(one.T @ D) for D, one in zip(found, seen, strict=True)]
        self._lda_front = at
        scores = [_told(one.T @ D, index, proba) for D, one in zip(self._directions, seen, strict=True)]
        self.projection_scores_ = dict(zip(PROJECTIONS, scores, strict=True))
        self.projection_ = PROJECTIONS[int(np.argmax(scores))]
        rows = fronts[0][0]
        self.components_, self.mean_ = (rows.basis @ self._directions[1] / rows.scale).T, rows.mean

    def _fill_of(self, rows):
        """The rows of the fit without gaps; what fills those of new rows is kept."""
        X = rows.gather().astype(np.float64, copy=False)
        self._gaps = None
        if not is_sparse(X):
            self._centers = np.nanmean(X, axis=0)
            k = min(GAP_COMPONENTS, spare_rank(X))
            self._gaps = PPCA(k).fit(X) if k > 0 else None
        return self._complete(rows)

    def _complete(self, rows):
        """Rows in float64, whose missing entries have their mean given the others under PPCA."""
        X = rows.gather().astype(np.float64, copy=False)
        if not rows.masked:
            return X
        return np.where(np.isnan(X), self._centers, X) if self._gaps is None else self._gaps.impute(X)

    def _imputed(self, rows, y):
        return read(self._complete(rows))

    def _coordinates(self, rows):
        """Rows in every front, and in the union of all."""
        X = self._complete(rows)
        seen = [bring(Front(*front), X) for front in self._fronts]
        lengths, mean, scale, basis = self._union
        found = read(side_by_side(seen, lengths)).in_units(mean, scale).project(basis)
        return seen, Coordinates(found.gather(), found.gather("outside"), len(mean))

    def _predicted(self, rows):
        seen, union = self._coordinates(rows)
        taught = sum(
            w * speak(Voice(*voice), seen[i]) for w, (i, voice) in zip(self._weights, self._voices, strict=True)
        )
        pupils = [speak(Voice(*voice), one) for voice, one in zip(self._pupils, (union, seen[0]), strict=True)]
        mean = np.average([taught, *pupils], axis=0, weights=self._trust)
        return [calibrated(mean, log_densities(Voice(*self._pupils[1]), seen[0]), self._calibration)]

    def _projected(self, rows):
        if self.projection_ == "rows":
            return read(self._complete(rows)).project(self.mean_, self.components_.T)
        if self.projection_ == LABELS_ALONE:
            return bring(Front(*self._fronts[self._lda_front]), self._complete(rows)).T @ self._directions[2]
        return self._coordinates(rows)[1].T @ self._directions[0]

    def _said(self):
        header = ["front", "teacher", "weight", "kappa"]
        lines = [list(line) for line in sorted(self.teachers_, key=lambda line: -line[2])]
        facts = tuple(
            (f"1-NN probability, projection of {name}", score) for name, score in self.projection_scores_.items()
        )
        loadings = {"loadings": self.components_} if self.projection_ == "rows" else {}
        plain = {"project": lambda X: Projection(np.asarray(self.transform(X)))}
        remarks = (f"taught by {len(lines)} models on {len(self._fronts)} preparations of the rows",)
        record = self._recorded(facts=facts, tables=((header, lines),), remarks=remarks)
        return super()._said() | plain | loadings | {"fit": record}


def _told(Z, index, proba):
    """Mean probability of the class of the nearest labeled row, over unlabeled rows."""
    some = judged(index)
    return float(proba[some, nearest_labels(Z, index)[some]].mean())
