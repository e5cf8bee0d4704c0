"""Average and teach, as a scikit-learn estimator: a projection and predictions from few labels, without choosing."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..describe import Projection, Spectrum, Traits, slopes
from ..models import dppca
from ..models.readout import Seen
from ..numerics.linalg import sign_of_columns
from ..rows import read
from ..rows.kind import is_sparse
from ..rows.products import in_form
from ..rows.spare import spare_rank
from ..targets import read_groups
from ._class_guide import ClassGuide, Taught, Union, best_by_labels_alone, fit_union, teach
from ._density import Density
from ._estimator import at_most, fit_words, integer, rules
from ._filler import filled, filler_of_gaps
from ._imputation import Imputer
from ._linear_pupil import LinearPupil, as_estimator, line_of, linear_pupil
from ._monitored import Monitored
from ._noise_of_gaps import moved_by_gaps, noise_with_gaps, widened
from ._noise_of_map import MapNoise, map_noise, moved, noise_in_units, of_the_fit
from ._noise_of_preparations import PreparedNoise, moved_prepared, noise_of_preparations
from ._number_guide import NumberGuide, read_numbers
from ._of_predictions import show
from ._predictions import DeviationPredictor
from ._preparations import (
    PER_PREPARATION,
    PLAIN,
    Preparation,
    bring,
    fit_preparations,
    fit_preparations_of_numbers,
    in_columns,
    with_rows,
)
from ._projection_posterior import ProjectionPosterior
from ._teaching import judged, shares_of_nearest
from ._typical import Typical, flattened, reference_of
from ._wanted import Pool, of_new_rows, pool_of, wanted
from .ppca import part_of_model

ABOUT_TEACHERS = (
    "Each line is a model (teacher) whose predictions count by its weight: the rows as it saw them (preparation), and "
    "how well it predicted labels left out, by kappa, the agreement beyond chance, or by R2; both are 1 at best."
)
PPCA_COMPONENTS = 10  # at most, of the PPCA that fills missing entries, and of that which gives densities
ALL, LABELS_ALONE = "all preparations", "ridge LDA"
PROJECTIONS = (ALL, "rows", LABELS_ALONE)  # of the two pupils, and of the best teacher by labels alone
BETTER = 0.01  # share of the predictions that standardized columns must explain more than rows, to be preferred


class InPreparations(NamedTuple):
    """Rows in the preparations for classes, in their union, and in those for numbers as readouts see them."""

    each: list[Any]
    union: Any
    numbers: list[Seen]


@dataclass(eq=False, repr=False)
class GuidedProjection(DeviationPredictor, Imputer, Typical, Monitored, ProjectionPosterior):
    """A projection and predictions from few labels, on data of any kind: many models teach, none is chosen.

    With two or three labels per class, or a dozen numbers, nothing tells which preparation of the rows and which model
    suits them: any evidence for one against another is noise. So all of them predict the unlabeled rows, and their mean
    is right more often than the best of them that any rule would have picked. A projection is then fitted to that mean.
    Targets are classes or numbers, one column or several of either kind.

    Parameters
    ----------
    n_components : int, default=2
        Size K of the projection.
    target : {"auto", "classes", "real"} or list of these, default="auto"
        What y means: "auto" takes text, booleans and few different whole numbers for classes, other numbers for
        numbers; the others override that; a list has one entry per column of y.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row besides None, NaN and pd.NA: "auto" takes -1 in a column of numbers read as classes;
        None takes nothing, so that -1 is a class; any other value is itself the mark.

    Attributes
    ----------
    teachers_ : list of tuple
        (preparation, model, weight, kappa) of every teacher: what stood before it, its name, its weight in the mean,
        and how well the classes that it names for unlabeled rows agree with the plain mean of all, as Cohen's kappa.
        For numbers the last is R2 of labeled rows, each predicted from the others. A list of such lists for a table y.
    projection_ : {"all preparations", "rows", "ridge LDA", "standardized columns"}
        Which projection `transform` gives: of one target of classes that one of the first three in which the nearest
        labeled row tells the class best; otherwise rows, or columns in units of their deviations where these explain
        predictions better by 0.01.
    projection_scores_ : dict
        Mean probability of the class of the nearest labeled row, in each; or the share of the variance of the
        predictions that each explains.
    components_ : ndarray of shape (n_components, n_features)
        Directions of the linear projection (X - mean_) components_'; it is what `transform` gives with
        ``projection_="rows"`` and for all but one target of classes.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    class_prior_, classes_ : ndarray of shape (n_classes,)
        Probabilities of the classes in the rows, None for numbers, and their labels, sorted. Lists for a table y.
    pupil_agreement_ : float
        Of one target of classes: share of the rows of the fit for which `pupil` names the class that `predict` names.
        Of numbers: share of the variance of the predictions that is linear in the columns, which is what ONNX has.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_, target_kind_
        As in `DPPCA`.

    Raises
    ------
    ValueError
        When y is None, has one class or fewer than three numbers; X is constant; n_components is more than the rank of
        X.

    See Also
    --------
    DPPCA : One model of the classes, with densities and posteriors.
    gnomon.selection.GuidedSearch : One model, chosen by evidence.

    Notes
    -----
    For classes preparations are the rows, columns divided by their deviations, rows of length one, logarithms where
    scales are skewed, and with at least twenty rows per class `NeighborFeatures` by distance and by angle (of more than
    20,000 rows some are the points of the graph, by what they hold: 10,000 from 40,000 on); those that change nothing
    are left out. Of each the leading 300 principal coordinates are used. Memory is that of all preparations, dense ones
    as large as X, and of the probabilities of some 20 teachers.

    Teachers on each preparation are DPPCA, DPPCA with unlabeled rows of weight 0.1, ridge LDA and logistic regression.
    The probabilities of each are raised to the power at which their mean top probability is 0.8, and averaged with
    weights in proportion to the square of its kappa. Where the median class has two labels or three they are held out
    in as many fits to the others, in three fits where it has more, fewer where one holds out some 500; and weights are
    also in proportion to the square of the kappa of the classes that a teacher names for labels that it does not know
    with these.

    Two DPPCA learn from the mean as if it were their own responsibilities, one on all preparations side by side (3
    steps of EM), one on the rows (20 steps). `predict_proba` is the mean of theirs and the teachers'. A pupil counts in
    it by the fourth power of kappa of the classes that its densities name for the labeled rows with their labels: where
    clusters of the rows are not the classes, EM leaves the classes for the clusters, and this says so. The projection
    is that of one of two more pupils that learn from this mean, or of the ridge LDA of largest weight, which sees the
    labels alone. `Rows` are brought into this process as a whole.

    For numbers preparations are the rows, columns divided by their deviations, and where columns beside each other are
    alike (mean correlation of 0.9), as in spectra, first and second derivatives along rows, as they are and divided by
    their deviations, and so divided rows in units of their own deviation and their first derivative; there alone the
    order of columns counts. On each, Gaussian processes linear in the principal
    coordinates, or curved, with prior variances by the variance of a coordinate to several powers, and on few leading
    coordinates, are averaged by their evidence over all ratios of noise; see `gnomon.models.readout`. Standard
    deviations are such that the mean plus or minus 1.96 of them is a 95 % interval. With more than 300 labels a dozen
    kernels are kept by 150 of them, and curved ones see 500 rows; memory is 500 numbers for each of 4,096 rows, and
    n_labeled^2 or 300 n_labeled numbers for each kernel.

    Labels of rows of one group, as of replicates, say no more than one label: what is not known of one of these rows is
    known of none. So the labeled rows of a group that have one class, or a number, are taken for one row, their mean in
    the principal coordinates, with their mean number; those of two classes in one group are held out together.
    Deviations of numbers are those of a single row. Where a number differs between rows of a group as much as between
    groups, groups cost accuracy.

    The projection for numbers and for several targets is linear: the predictions of all targets, in units of their
    deviations, are regressed on the principal coordinates, and its first dimensions are the principal directions of
    what that gives. Where these are fewer than K, the leading directions of what is uncorrelated with them follow, at
    0.3 of the length.

    Missing entries of X are filled first, with their mean given the others under a `PPCA` of at most ten components, of
    columns in units of their deviations: as many as foretell best what is held out of the observed entries. Parts of
    the table that hardly any row joins are filled each by itself; of rows that lack all of one, with its means. The
    density of rows under `PPCA` of so many components, ten of complete rows, is that of `score_samples`, whatever the
    targets, and what `typicality`, `hotelling_t2` and `spe` go by.

    `posterior`, and the covariance of `transform`, are of the projection of a row without its noise, as in `DPPCA`: by
    what noise of the entries does to it, also through preparations that are not linear, and by what missing entries
    leave open. With ``uncertainty="plug-in"`` they are those of the model itself, far too sure where rows are few: for
    one target of classes of that whose projection it is, with the classes averaged over by `predict_proba`, so that the
    covariance holds the doubt about the class; else of that `PPCA`.

    Probabilities are then made as sure as they are right on other data of the same number of labels: raised to a power
    that grows with the agreement of the teachers and with the labels, less so for rows of low density and for rows that
    name a class which is rare among the labels by more than chance. Where labels are held out the power is moved to
    where they are likely. With two or three labels per class their mean may still be off by 0.1. Of a row whose
    `typicality` is below 0.01 they are brought towards equal ones, the more so the less typical it is; the class that
    is named stays.

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

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> y[60:] = float("nan")                                 # 60 of 442 rows keep their number
    >>> model = GuidedProjection(target="real").fit(X, y)
    >>> mean, std = model.predict(X[60:], return_std=True)
    """

    traits = Traits("guided", own_scale=True)

    _kinds = ("classes", "real")
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

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        self._fit_rows(X, y, groups=groups)
        return self

    fit.__doc__ = fit_words("""groups : array-like of shape (n_samples,), default=None
            Which sample, patient, plot or the like each row is of, where several rows are of one: numbers or text; None
            and NaN are groups of their own. Labels of one group are held out together and count as one.""")

    def _fit(self, rows, targets, groups=None):
        groups = read_groups(groups, rows.shape[0])
        X = self._fill_of(rows)
        plain, preparations, for_numbers = self._preparations_for(X, targets)
        own = max(one.T.shape[1] for _, one in plain)
        where = f": the rank of X (n_features = {rows.shape[1]}), and {PER_PREPARATION} in any case."
        self.n_components_ = at_most(self.n_components, min(own, PER_PREPARATION), where)
        seen = self._seen_by_readouts([reduced for _, reduced in for_numbers])
        union = None
        if preparations:
            self._union, union = fit_union(preparations, self.n_components_)
        taught = [
            read_numbers(seen, column.values, column.name, groups)
            if column.classes is None
            else teach(preparations, union, column.numbers, len(column.classes), groups)
            for column in targets.columns
        ]
        self._guides = [one.guide if isinstance(one, Taught) else one for one in taught]
        for name in ("_pupil", "_line", "pupil_agreement_"):
            self.__dict__.pop(name, None)
        self._record_teachers()
        if targets.kind == "classes" and len(taught) == 1:
            Z, apart = self._choose_projection(preparations, union, taught[0], targets.index)
            self._spectrum = (1.0 + apart, 1.0, "classes")  # in units of the variance within a class
        else:
            told = [self._comparable(*pair, seen) for pair in zip(targets.columns, taught, strict=True)]
            preparation, one = self._show(self._wide_enough(plain), told)
            Z = read(X).project(self.mean_, self.components_.T)
            self._spectrum = (one.variances, None, "predictions")
            if not preparations:
                units = [column.values[column.labeled].std() for column in targets.columns]
                self._line = tuple(line_of(preparation, one.slopes, np.hstack(told), units))
                self.pupil_agreement_ = one.explained
        self._remember_noise(read(X), rows, union, preparations)
        self._loadings = slopes(X, Z)
        found = [one.calibrated for one in taught if isinstance(one, Taught)]
        T = union.T if preparations else plain[-1][1].T
        self._pool = tuple(pool_of(T, _doubt(found), targets.labeled))

    def _preparations_for(self, X, targets):
        """The rows and standardized columns, all for classes, and those for numbers; each with its rows."""
        sizes = [len(column.classes) for column in targets.columns if column.classes is not None]
        numbers = len(sizes) < len(targets.columns)
        preparations = with_rows(fit_preparations(X, max(sizes))) if sizes else []
        for_numbers = with_rows(fit_preparations_of_numbers(X)) if numbers else []
        plain = [pair for pair in for_numbers or preparations if pair[0].name in PLAIN]
        self._preparations = [tuple(preparation) for preparation, _ in preparations]
        self._number_preparations = [tuple(preparation) for preparation, _ in for_numbers]
        self._variances = [np.einsum("ij,ij->j", one.T, one.T) / len(one.T) for _, one in for_numbers]
        return plain, preparations, for_numbers

    def pupil(self) -> Any:
        """Return one model of the classes that learned from all teachers, and needs none of them.

        It is what `gnomon.export.to_onnx` exports. Taught by the mean of the teachers, it is as sure of unlabeled rows
        as this model; `pupil_agreement_` says how often both name the same class. It takes complete rows.

        Returns
        -------
        DPPCA or Pipeline
            Fitted: on the rows as they are, or on standardized columns where that agrees better with this model, then
            behind a `StandardScaler`. Its projection is that of its own class means and factors. No likelihood was
            maximized, so it has no `log_likelihood_` and none of what tells how a fit ended.

        Raises
        ------
        ValueError
            When the targets of the fit are not one column of classes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gnomon import GuidedProjection
        >>> X, y = load_iris(return_X_y=True)
        >>> y[[i for i in range(150) if i % 10]] = -1             # 15 of 150 rows keep their label
        >>> model = GuidedProjection().fit(X, y)
        >>> bool((model.pupil().predict(X) == model.predict(X)).mean() == model.pupil_agreement_)
        True
        """
        self._check_fitted()
        if "_pupil" not in vars(self):
            raise ValueError(
                "a pupil learns one target of classes; this model was fitted to numbers or several targets. Fit it to "
                "one column of classes, or SPPCA to the same y."
            )
        return as_estimator(LinearPupil(*self._pupil), self)

    def _record_teachers(self):
        names, for_numbers = (
            [preparation[0] for preparation in some] for some in (self._preparations, self._number_preparations)
        )
        self.teachers_ = [
            guide.teachers(for_numbers if isinstance(guide, NumberGuide) else names) for guide in self._guides
        ]
        priors = [None if isinstance(guide, NumberGuide) else guide.prior for guide in self._guides]
        self.class_prior_ = priors
        if self._vector:
            self.teachers_, self.class_prior_ = self.teachers_[0], priors[0]

    # -- the projection ----------------------------------------------------------------------------------------------

    def _choose_projection(self, preparations, union, taught, index):
        """For classes: that of one of two pupils, or of the best teacher by labels alone.

        Returns the rows in it, and the variance between classes along each direction that may separate some.
        """
        k, seen = self.n_components_, (union, preparations[0][1])
        at, best = best_by_labels_alone(taught.guide, preparations, LABELS_ALONE, k)
        seen, learned = (*seen, preparations[at][1]), [*taught.learned, best]
        found = [dppca.directions([one], k)[0] for one in learned]
        self._directions = [D * sign_of_columns(one.T @ D) for D, one in zip(found, seen, strict=True)]
        self._lda_preparation = at
        scores = [
            _nearest_told(one.T @ D, index, taught.proba) if D.shape[1] == k else 0.0
            for D, one in zip(self._directions, seen, strict=True)
        ]
        self.projection_scores_ = dict(zip(PROJECTIONS, scores, strict=True))
        chosen = int(np.argmax(scores))
        self.projection_ = PROJECTIONS[chosen]
        self._noise_free = tuple(dppca.noise_free(learned[chosen], self._directions[chosen]))
        rows = preparations[0][0]
        components = (rows.basis @ self._directions[1] / rows.scale).T
        self.components_ = np.pad(components, ((0, k - len(components)), (0, 0)))  # of rows of a smaller rank
        self.mean_ = rows.mean
        self._pupil = tuple(linear_pupil(preparations, taught, index, k))
        self.pupil_agreement_ = self._pupil[-1]
        return seen[chosen].T @ self._directions[chosen], dppca.separations([learned[chosen]])

    def _comparable(self, column, taught, seen):
        """Predictions of one target for the rows of the fit, of variance one at most (n, m)."""
        if column.classes is None:
            values = column.values[column.labeled]
            return (taught.predict(seen) / values.std())[:, None]
        return taught.calibrated / np.sqrt(1.0 - (taught.guide.prior**2).sum())

    def _wide_enough(self, plain):
        """Those of rows that fill all components; where units differ much, the rows as given may fill but one."""
        return [pair for pair in plain if pair[1].T.shape[1] >= self.n_components_]

    def _show(self, plain, predictions):
        """For numbers and several targets: the directions of the rows that foretell the predictions, which are set."""
        shown = [show(reduced.T, np.hstack(predictions), self.n_components_) for _, reduced in plain]
        self.projection_scores_ = {
            preparation.name: one.explained for (preparation, _), one in zip(plain, shown, strict=True)
        }  # fmt: skip
        best = int(np.argmax([one.explained - (BETTER if i else 0.0) for i, one in enumerate(shown)]))
        preparation, one = plain[best][0], shown[best]
        self.projection_, self._noise_free = preparation.name, None
        self.components_, self.mean_ = in_columns(preparation, one.directions)
        signs = sign_of_columns(self.components_[one.n_guided :].T)
        self.components_[one.n_guided :] *= signs[:, None]
        return preparation, one

    def _fill_of(self, rows):
        """The rows of the fit without gaps; what fills those of new rows is kept."""
        X = rows.gather().astype(np.float64, copy=False)
        self._centers = None if is_sparse(X) else np.nanmean(X, axis=0)
        k, self._filler, self._units, self._left_open = PPCA_COMPONENTS, None, None, None
        if rows.masked:
            self._filler, self._units, self._left_open = filler_of_gaps(X, k)
            k = 1 if self._filler is None else min(k, self._filler.n_components_)
        self._gaussian = _gaussian(X, k)
        complete, tail = self._complete(rows), None
        if self._gaussian is not None:
            tail = reference_of(lambda rest: _gaussian(rest, k), complete, X, self._gaussian)
        self._tail = None if tail is None else tuple(tail)
        return complete

    def _complete(self, rows):
        """Rows in float64, sparse if those of the fit were; what is missing has its mean under PPCA."""
        X = rows.gather().astype(np.float64, copy=False)
        if rows.masked:
            X = self._filled(X)
        return in_form(X, sparse=self._centers is None)

    def _filled(self, X):
        if self._filler is not None:
            return filled(X, self._filler, self._units)
        by_density = self._gaussian is not None and self._units is None  # the fit was to complete rows
        return self._gaussian.impute(X) if by_density else np.where(np.isnan(X), self._centers, X)

    def _imputed(self, rows, y):
        return read(self._complete(rows))

    # -- new rows ----------------------------------------------------------------------------------------------------

    def _seen_by_readouts(self, coordinates):
        pairs = zip(coordinates, self._variances, strict=True)
        return [Seen(one.T, one.outside, variances, self.n_samples_) for one, variances in pairs]

    def _in_preparations(self, rows):
        X = self._complete(rows)
        each, union = self._in_all(X)
        numbers = self._seen_by_readouts(
            [bring(Preparation(*preparation), X) for preparation in self._number_preparations]
        )
        return InPreparations(each, union, numbers)

    def _in_all(self, X):
        """Complete rows in the preparations for classes, and in their union."""
        each = [bring(Preparation(*preparation), X) for preparation in self._preparations]
        return each, Union(*self._union).bring(each) if each else None

    def _predicted(self, rows):
        return self._less_sure(rows, self._told(self._in_preparations(rows), NumberGuide.predict))

    def _predicted_with_std(self, rows):
        found = self._less_sure(rows, self._told(self._in_preparations(rows), NumberGuide.predict_with_std))
        std = [np.full(rows.shape[0], np.nan) if isinstance(one, np.ndarray) else one[1] for one in found]
        return [one if isinstance(one, np.ndarray) else one[0] for one in found], np.column_stack(std)

    def _told(self, seen, of_numbers):
        """Probabilities (n, c) of classes, and what a function of guide and rows says of numbers, for every target."""
        return [
            of_numbers(NumberGuide(*guide), seen.numbers)
            if classes is None
            else ClassGuide(*guide).probabilities(seen.each, seen.union)
            for (_, classes, _), guide in zip(self._form, self._guides, strict=True)
        ]

    def _less_sure(self, rows, told):
        """The same, but for probabilities of rows that are unlike those of the fit."""
        if self._tail is None or all(classes is None for _, classes, _ in self._form):
            return told
        typicality = self._typicality_of(rows)
        return [
            one if classes is None else flattened(one, typicality)
            for (_, classes, _), one in zip(self._form, told, strict=True)
        ]

    def _projected(self, rows):
        X = self._complete(rows)
        if self.projection_ in (ALL, LABELS_ALONE):
            Z = self._coordinates(X) @ self._directions[PROJECTIONS.index(self.projection_)]
        else:
            Z = read(X).project(self.mean_, self.components_.T)
        return Z.astype(rows.dtype)

    def _coordinates(self, X):
        """Complete rows in the coordinates of which the projection is a linear map, where these are not columns."""
        if self.projection_ == ALL:
            return self._in_all(X)[1].T
        return bring(Preparation(*self._preparations[self._lda_preparation]), X).T

    # -- where a row may lie -----------------------------------------------------------------------------------------

    def _remember_noise(self, complete, rows, union, preparations):
        """What noise of the entries does to the projection, which rows of the fit have drawn to them."""
        observed = 1.0 - np.isnan(rows.gather()).mean(axis=0) if rows.masked else None
        noise = noise_in_units(complete, observed)
        self._noise = self._noise_prepared = None
        if noise is None:
            return
        if self._filler is not None:
            X = rows.gather().astype(np.float64, copy=False)
            noise = noise_with_gaps(noise, self._filler, lambda k, X: part_of_model(X, k), X, self._units)
        self._noise = tuple(map_noise(noise, complete, self.components_, gaps=self._gaussian is not None))
        if self.projection_ in (ALL, LABELS_ALONE):
            T = (union if self.projection_ == ALL else preparations[self._lda_preparation][1]).T
            D = self._directions[PROJECTIONS.index(self.projection_)]
            self._noise_prepared = tuple(noise_of_preparations(noise, complete.gather(), self._coordinates, T, D))

    def _moved(self, rows):
        """Covariances (n, k, k) of what noise and gaps have moved the projections by, about where they are."""
        kept, prepared = (vars(self).get(name) for name in ("_noise", "_noise_prepared"))
        linear = self.projection_ not in (ALL, LABELS_ALONE)
        missing = np.isnan(rows.gather()) if rows.masked else np.zeros((0, 0), dtype=bool)
        if kept is None or (prepared is None and not linear) or (missing.any() and MapNoise(*kept).variances is None):
            return None
        complete, noise = read(self._complete(rows)), MapNoise(*kept)
        if linear:
            covs = moved(self, complete)
        else:
            at = np.flatnonzero(of_the_fit(noise, complete, np.asarray(self.components_, dtype=np.float64)))
            T = self._coordinates(complete.take(at).gather()) if len(at) else None
            covs = moved_prepared(PreparedNoise(*prepared), rows.shape[0], at, T)
        at = np.flatnonzero(missing.any(axis=1))
        if len(at):
            fills = (self._gaussian, np.ones(rows.shape[1])) if self._filler is None else (self._filler, self._units)
            wider = moved_by_gaps(noise, self.components_, *fills, missing[at], vars(self).get("_left_open"))
            covs[at] = widened(covs[at], noise.cov, wider, linear=linear)
        return covs

    def _condition(self, rows, y):
        if self._noise_free is None:
            C = np.asarray(self.components_, dtype=np.float64)
            ppca = self._density_of_rows()
            mean, cov = ppca.posterior(rows.gather(), uncertainty="plug-in")
            B = C @ ppca.components_.T
            return mean @ B.T + C @ (ppca.mean_ - self.mean_), B @ cov @ B.T
        seen = self._in_preparations(rows)
        (resp,) = self._less_sure(rows, self._told(seen, NumberGuide.predict))
        if y is not None:
            values = self._values_of(y, rows.shape[0])[:, 0]
            known = np.flatnonzero(~np.isnan(values))
            resp[known] = np.eye(resp.shape[1])[values[known].astype(int)]
        at = self._lda_preparation if self.projection_ == LABELS_ALONE else 0
        T = seen.union.T if self.projection_ == ALL else seen.each[at].T
        return dppca.NoiseFree(*self._noise_free).moments(T, resp)

    score_samples = Density.score_samples

    def _log_density(self, rows, y):
        return self._density_of_rows().score_samples(rows.gather())

    def _limits(self, alpha, by):
        return self._density_of_rows().control_limits(alpha, by=by)

    def _monitored(self, rows):
        return self._density_of_rows()._monitored(rows)

    def _density_of_rows(self):
        if self._gaussian is None:
            raise ValueError("X of fit has one dimension only, which leaves nothing for noise; it gives no density.")
        return self._gaussian

    def _suggested(self, n, X, among=None):
        """Numbers of rows of X (all or some), or of unlabeled rows of the fit, that are best labeled next."""
        pool = Pool(*self._pool)
        if X is not None:
            rows = self._check_rows(X)
            seen = self._in_preparations(rows)
            told = self._told(seen, lambda *_: None)
            among = np.arange(rows.shape[0]) if among is None else among
            doubt = _doubt([proba for proba in told if proba is not None])
            plain = [i for i, preparation in enumerate(self._number_preparations) if preparation[0] in PLAIN]
            T = seen.union.T if self._preparations else seen.numbers[plain[-1]].T
            pool = of_new_rows(pool, T, doubt, among)
        return wanted(pool, n)

    def _said(self):
        tables, facts = [], []
        for (kind, _, name), lines in zip(
            self._form, [self.teachers_] if self._vector else self.teachers_, strict=True
        ):
            of = "" if self._vector else f" of {name}"
            header = ["preparation", f"teacher{of}", "weight", "kappa" if kind == "classes" else "R2, left out"]
            tables.append((header, [list(line) for line in sorted(lines, key=lambda line: -line[2])]))
        what = "1-NN probability" if ALL in self.projection_scores_ else "share of the predictions explained"
        facts = tuple((f"{what}, projection of {name}", score) for name, score in self.projection_scores_.items())
        n_models = sum(len(lines) for _, lines in tables)
        n_preparations = len(self._preparations) + len(self._number_preparations)
        remarks = (f"taught by {n_models} models on {n_preparations} preparations of the rows",)
        record = self._recorded(facts=facts, tables=tuple(tables), about_tables=ABOUT_TEACHERS, remarks=remarks)
        parts = {"fit": record, "suggest": self._suggested, "loadings": vars(self).get("_loadings")}
        if "_spectrum" in vars(self):
            variances, noise, of = self._spectrum
            k = self.n_components_
            parts["spectrum"] = Spectrum(variances[:k], variances[k:], noise, of)
        if self._gaussian is None:
            parts["project"] = lambda X: Projection(np.asarray(self.transform(X)))
            parts |= {"monitor": None, "limits": None}
        else:
            parts["log_density"] = self.score_samples
        if self._tail is not None:
            parts["typicality"] = self.typicality
        return super()._said() | parts


def _gaussian(X, most):
    """PPCA of rows, of at most so many components; None where they leave nothing for noise."""
    k = spare_rank(X, most)
    return part_of_model(X, k) if k > 0 else None


def _doubt(probabilities):
    """One minus the lead of the most probable class (n,), a mean over targets of classes; None where there are none."""
    if not probabilities:
        return None
    leads = [np.partition(proba, -2, axis=1)[:, -2:] @ [-1.0, 1.0] for proba in probabilities]
    return 1.0 - np.mean(leads, axis=0)


def _nearest_told(Z, index, proba):
    """Mean probability of the class of the nearest labeled row, over unlabeled rows."""
    some = judged(index)
    return float((proba * shares_of_nearest(Z, index, proba.shape[1]))[some].sum(axis=1).mean())
