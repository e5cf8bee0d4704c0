"""Discriminant probabilistic PCA as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..describe import Projection, Spectrum, Traits
from ..models import dppca as model
from ..rows.namespace import asarray_like, holding
from ._density import JointDensity
from ._estimator import Invertible, above, at_least, check_choice, check_variance, integer, one_of, rules
from ._kept import kept
from ._mergeable import Mergeable
from ._noise_of_map import moved, noise_of_map
from ._predictions import Predictor
from ._projection_posterior import ProjectionPosterior


def _has_one_target(estimator):
    if not vars(estimator).get("_vector", True):
        raise AttributeError(
            f"this DPPCA has {len(estimator.classes_)} targets, each with a model of x of its own: it has transform, "
            "predict, predict_proba and score. For densities, posteriors and samples fit one target."
        )
    return True


one_target = available_if(_has_one_target)


@dataclass(eq=False, repr=False)
class DPPCA(Mergeable, Predictor, JointDensity, Invertible, ProjectionPosterior):
    """Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors.

    A row comes from class c with probability pi_c, and then x = m_c + V z + e with z ~ N(0, I) of size P and
    e ~ N(0, noise_variance I). The class of an unlabeled row is latent, so that unlabeled rows sharpen the class
    means and the factors. With every row labeled and all factors kept the model is linear discriminant analysis.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Size K of the projection: the leading directions of between- against within-class covariance, at most C - 1
        for C classes (of several targets: their sum), then leading within-class factors. None takes 2, or 1 where there
        are only two classes; "auto" takes all directions that separate classes.
    n_factors : {"auto", "usual"} or int, default="auto"
        Number P of within-class factors; a number at or above the rank of X keeps them all. "usual" takes one factor
        for ten rows, between 20 and 40.
    shrinkage : {"auto"} or float, default="auto"
        Share r in [0, 1) by which the within-class covariance S is drawn toward a multiple of the identity of the
        same trace, as in ridge LDA: (1 - r) S + r tr(S)/p I.
    unlabeled_weight : {"auto"} or float, default="auto"
        How many rows an unlabeled row stands for, in [0, 1]; 0 learns from the labeled rows only.
    class_prior : None, "uniform" or array-like of shape (n_classes,), default=None
        Probabilities of the classes. None estimates them, with the unlabeled rows. For several targets a list with one
        entry for each.
    noise_variance : {"half", "ml"} or float, default="half"
        Noise variance. "half": the P-th eigenvalue of the within-class covariance, where the factors end. "ml": what is
        left besides the factors, by maximum likelihood, which is far too small when there are more features than rows.
        A number is in squared units of X.
    tol : float, default=1e-6
        EM stops when a step moves the class means by less than this many within-class standard deviations, and
        log-variances, priors and directions of factors by less than this.
    max_iter : int, default=200
        Most EM iterations at the final noise level.
    n_init : int, default=3
        Starts of EM, which cool from different temperatures; the one of the largest objective is kept. "auto" compares
        its candidates by one start.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict` and `predict_proba` know of the uncertainty of the parameters. "full": their probabilities are as
        sure as they are right, the mean of up to four models. "plug-in": those of the model itself, as if its
        parameters were known, far too sure where labels are few.
    target, unlabeled : {"auto", "classes"} or list of them, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.
    random_state : int, RandomState instance or None, default=0
        Seed of `sample`; the fit draws nothing.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions D transposed: `transform` is (X - mean_) components_'. Projected rows of one class are uncorrelated,
        of variance one in the first `n_class_components_` columns and of 0.01 in the others, which separate no classes
        and must not blur distances between rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the class means, weighted by `class_prior_`; of several targets the mean of theirs.
    class_means_ : ndarray of shape (n_classes, n_features)
        Means m_c. This and what follows up to `optima_` is a list with one entry for each target if y was a table.
    factors_, noise_variance_ : ndarray of shape (P, n_features), float
        Within-class factors V transposed, orthogonal rows by falling length, P less than `n_factors_` where fewer stand
        out of the noise; the noise in squared units of X.
    classes_, class_prior_ : ndarray of shape (n_classes,)
        Sorted labels and their probabilities.
    n_factors_, shrinkage_, unlabeled_weight_ : int, float, float
        What was used, chosen or given.
    agreement_path_ : list of tuple
        Where "auto" had a choice: (n_factors, shrinkage, unlabeled_weight, agreement, error, score) of each candidate
        that could be taken.
    calibration_ : dict or None
        With ``uncertainty="full"`` what probabilities are made of. Of each model, the first being the one above:
        "n_factors" (0: a ridge regression on the labeled rows, whose ridge is told as "shrinkage"), "shrinkage",
        "unlabeled_weight", its "weight" in the mean, the "confidence" that its odds are
        brought to (the mean probability of the class that it names), the "temperature" that does it, and the median
        squared "distance" of a row from a class; of the mean its "exponent"; and "n_held_out", how many labels told how
        often a model is right. With 0 that was not known, and confidence is half a prior.
    log_likelihood_ : float
        Log-likelihood of the training rows in nats, in the units of X; unlabeled rows count `unlabeled_weight_`.
    objective_path_ : ndarray
        The same with the penalty of shrinkage, at the final noise level, at the start of the ascent and after each EM
        step. It never falls.
    optima_ : ndarray of shape (n_init,)
        What the paths of all starts ended with.
    n_components_, n_class_components_ : int
        Size of the projection; how many of them separate classes, the others being within-class factors.
    objective_residual_ : float
        Length of the last step, see `tol`; where the noise level did not settle, of the last step that set it. Of
        several targets the largest.
    noise_floors_ : tuple of str
        ("x",) where the noise variance rests on its floor, 1e-6 of the variance of X; else ().
    converged_, n_iter_, n_passes_ : bool, int, float
        Whether `objective_residual_` is at most `tol`; EM iterations on all rows, those that set the noise level
        included; full reads of the data.
    solver_ : {"exact", "leading"}
        "leading" where X is large on both sides and only leading directions are modeled one by one.
    n_samples_, n_labeled_, n_features_in_, feature_names_in_, target_kind_
        Rows used, and those with a label of any target; the others as in `SPPCA`.

    Raises
    ------
    ValueError
        When y is None, a column of it has no label, holds fractions or is ambiguous; X holds NaN or is constant;
        n_components is more than the rank of X.

    See Also
    --------
    SPPCA : Real targets, or classes as points of a Gaussian view.
    CPPCA : Several targets that share one latent space, classes and numbers alike.
    MixturePPCA : No labels, and factors of its own for each component.

    Notes
    -----
    "auto" splits the labeled rows of each class into halves, fits to each half, and scores a candidate by how often
    the two models agree on unlabeled rows, minus their error on the labels held out, averaged over three splits (fewer
    where it could no longer be taken, or is 0.15 behind the best after two). The splits follow from what the rows hold,
    not from their order, the names of classes or a seed. Of candidates within 0.04 of the best score the first in the
    order of `agreement_path_` is taken. It needs two labeled rows of a class; else the usual number of factors, a
    shrinkage of 1e-3 and weight 1 are taken. With fewer than four labeled rows of most classes the usual number is the
    only one tried, since halves with one row of a class cannot tell how many factors there are.

    EM runs on coordinates of the rows: exact where X has at most 1500 rows or columns, else in 120 leading directions
    and those of the labeled class means, all else being isotropic noise. Sparse X is never made dense; arrays of other
    libraries are read where they are, their coordinates come to the host.

    EM starts from ridge LDA of the labeled rows. First responsibilities are cooled from temperature 10 to 1
    (deterministic annealing), where there are more than 2000 unlabeled rows on as many of them, in 150 directions; then
    on all rows the noise level is set by iterating, and EM, accelerated, maximizes the likelihood at it.
    Further starts cool from lower temperatures; those that come to the same end there once,
    and all are compared at the noise level of the first.

    With ``uncertainty="full"`` candidates of the other `unlabeled_weight` are kept as well, less closely fitted, and
    where at most 1,000 rows have labels a ridge regression of the classes on these; how sure each may be follows from
    how often fits to halves of the labels agree with it, the others do, and labels held out are right. With one label
    per class none can be: a prior takes its place, which `calibration_` and the report say. Densities, posteriors and
    samples are those of the model itself.

    `posterior`, and the covariance of `transform`, are of D'(s - mean_), the projection of a row x = s + e without its
    noise e. Neither the map nor the classes are taken for known: the mean is the projection, the covariance that of
    what noise has moved it by. With ``uncertainty="plug-in"``, or in a model of batches, they are of
    D'(m_c + V z - mean_) under the model itself: the class is averaged over by its posterior probability, so that the
    covariance holds the doubt about it, and a class given in y is taken as known. `inverse_transform` gives the row
    nearest to `mean_`, in the within-class metric, among those that project to Z.

    In a table of labels every column divides the rows in its own way and has a model of its own, in which rows without
    that label count as unlabeled; X is reduced to coordinates once. The projection separates the classes of all
    targets at once: its directions are the leading ones of the sum of the between-class covariances against the mean of
    the within-class covariances. Given x, targets are independent: what one says about another is not used. Densities,
    posteriors and samples are for one target.

    References
    ----------
    Tipping and Bishop, Probabilistic principal component analysis, JRSS B 61 (1999), for the M-step. Ueda and Nakano,
    Deterministic annealing EM algorithm, Neural Networks 11 (1998), for the start.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from gnomon import DPPCA
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = y.copy()
    >>> labels[[i for i in range(178) if i % 20]] = -1        # 9 of 178 rows keep their label
    >>> model = DPPCA().fit(scale(X), labels)
    >>> model.transform(scale(X)).shape
    (178, 2)
    >>> bool((model.predict(scale(X)) == y).mean() > 0.9)
    True
    """

    traits = Traits("dppca")

    _kinds = ("classes",)
    _required = True
    _takes_devices = True
    _rules = rules(
        n_components=integer(1, "auto", None),
        n_factors=integer(1, "auto", "usual"),
        shrinkage=at_least(0, "auto"),
        unlabeled_weight=at_least(0, "auto"),
        noise_variance=above(0, "half", "ml"),
        uncertainty=one_of("full", "plug-in"),
    )

    n_components: Any = None
    _: KW_ONLY
    n_factors: Any = "auto"
    shrinkage: Any = "auto"
    unlabeled_weight: Any = "auto"
    class_prior: Any = None
    noise_variance: Any = "half"
    tol: Any = 1e-6
    max_iter: Any = 200
    n_init: Any = 3
    uncertainty: Any = "full"
    target: Any = "auto"
    unlabeled: Any = "auto"
    random_state: Any = 0

    def _fit(self, rows, targets):
        found = model.fit(
            rows,
            [model.Labels(c.numbers, len(c.classes), p) for c, p in zip(targets.columns, self._priors(targets))],
            self.n_components,
            model.Open(self.n_factors, self.shrinkage, self.unlabeled_weight),
            model.Options(noise_variance=self.noise_variance, tol=self.tol, max_iter=self.max_iter, n_init=self.n_init),
            mean=self.uncertainty == "full",
        )
        self._store(found, rows.dtype)
        self._noise = noise_of_map(rows, self.components_) if self.uncertainty == "full" else None
        self.n_passes_ = float(rows.reads)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Go on with more rows; of those that have gone, moments are kept and the classes they were taken for.

        Where all rows have labels, or ``unlabeled_weight=0``, the model is that of `fit` on all rows so far, in
        whatever order they came. Unlabeled rows are taken for classes, by probabilities, when they come, and EM goes
        on in those of the new batch alone: their order matters then, and later labels do not change what earlier rows
        were taken for. Of the digits, a quarter of them labeled, five batches in random order, or five parts that
        `merge` puts together, name at least 90 % of the unlabeled rows as `fit` to all does, and are right in at most
        5 % fewer.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Complete rows, of at most 2,000 features.
        y : array-like of shape (n_samples,), default=None
            Labels of one target, as in `fit`. In the first batch every class has one.
        classes : array-like of shape (n_classes,), default=None
            All classes, with the first labels; None: those that come with them.

        Returns
        -------
        self : DPPCA
            Fitted. `log_likelihood_` is a lower bound where unlabeled rows have gone.

        Raises
        ------
        ValueError
            When a parameter is to be chosen ("auto") or ``uncertainty="full"``, which need the rows themselves;
            entries of X are missing, features are too many, a class is new, or has no label in the first batch.
        """
        self._check_parameters()
        self._check_given()
        return super().partial_fit(X, y, classes)

    def _check_given(self):
        """Nothing is chosen by rows that have gone."""
        chosen = [name for name in ("n_factors", "shrinkage", "unlabeled_weight") if getattr(self, name) == "auto"]
        chosen += ["uncertainty"] if self.uncertainty == "full" else []
        if chosen:
            raise ValueError(
                f"partial_fit of DPPCA cannot choose {', '.join(chosen)}: that takes all rows at hand. Pass numbers, "
                'such as `fit` chose for some of the rows, and uncertainty="plug-in".'
            )

    def _fit_batch(self, known, rows, form, values):
        if len(form.names) > 1:
            raise ValueError(f"y has {len(form.names)} columns; partial_fit of DPPCA takes one target.")
        index = np.where(np.isnan(values[:, 0]), -1, np.nan_to_num(values[:, 0])).astype(np.intp)
        if known is None and form.kind != "none":
            missing = np.delete(form.classes, np.unique(index[index >= 0])).tolist()
            if missing:
                raise ValueError(
                    f"no row of the first batch is labeled {missing[0]!r}; every class needs one there. Put a labeled "
                    f"row of each class into it; missing: {missing[:10]}."
                )
        if form.kind == "none":
            self._checked(form.targets(values))
        n = len(index) + (0 if known is None else int(known.counts.sum()))
        moments, end = model.keep_batch(rows, index, len(form.classes), known, self._streamed(form, n))
        self._fit_moments(moments, form, end)
        self.n_passes_ = float(rows.reads)

    def _streamed(self, form, n_samples):
        """Options where nothing is chosen, of one target."""
        prior = self._priors(form.targets(np.arange(len(form.classes), dtype=float)[:, None]))[0]
        return model.Options(
            n_factors=model.usual_factors(n_samples) if self.n_factors == "usual" else self.n_factors,
            shrinkage=float(self.shrinkage),
            unlabeled_weight=float(self.unlabeled_weight),
            class_prior=prior,
            noise_variance=self.noise_variance,
            tol=self.tol,
            max_iter=self.max_iter,
            n_init=self.n_init,
        )

    def _fit_moments(self, moments, form, end=None):
        n_samples = int(moments.counts.sum())
        options = self._streamed(form, n_samples)
        found = model.fit_moments(moments, len(form.classes), self.n_components, options, end or model.End())
        self._checked(form.targets(np.arange(len(form.classes), dtype=float)[:, None]))
        self._store(found, np.float64)
        self.n_samples_, self.n_passes_ = n_samples, 0.0  # moments are at hand
        self.n_labeled_ = int(moments.counts[moments.keys[:, 0] == model.LABELED].sum())
        self._moments_, self._form_ = moments.as_tuple(), tuple(form)

    def _check_parameters(self):
        super()._check_parameters()
        for name, bound in (("shrinkage", "below"), ("unlabeled_weight", "at most")):
            value = getattr(self, name)
            if not isinstance(value, str) and (value > 1 or (bound == "below" and value == 1)):
                raise ValueError(f"{name}={value!r} must be {bound} 1.")

    def _priors(self, targets):
        """`class_prior` of each target."""
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("uniform",))
            return [np.full(len(column.classes), 1.0 / len(column.classes)) for column in targets.columns]
        given = self.class_prior
        if given is None or targets.vector:
            given = [given] * len(targets.columns)
        if len(given) != len(targets.columns):
            raise ValueError(
                f"class_prior={self.class_prior!r} has {len(given)} entries; y has {len(targets.columns)} columns, and "
                "a list with probabilities for each is wanted."
            )
        return [_prior(one, column) for one, column in zip(given, targets.columns, strict=True)]

    def _store(self, found, dtype):
        fits, models = found.targets, [target.model for target in found.targets]
        check_variance("X", min(one.noise_var for one in models))
        self.components_ = found.components.astype(dtype)
        self.mean_ = np.mean([one.mean for one in models], axis=0)
        self.n_components_, self.n_class_components_ = len(self.components_), found.n_class_components
        self.solver_ = "exact" if found.exact else "leading"
        of = self._per_target
        self.class_prior_ = of([one.prior for one in models])
        self.class_means_ = of([one.class_means for one in models])
        self.factors_ = of([one.factors for one in models])
        self.noise_variance_ = of([one.noise_var for one in models])
        self.n_factors_ = of([fit.choice.n_factors for fit in fits])
        self.shrinkage_ = of([fit.choice.shrinkage for fit in fits])
        self.unlabeled_weight_ = of([fit.choice.unlabeled_weight for fit in fits])
        self.agreement_path_ = of([fit.tried for fit in fits])
        self.log_likelihood_ = of([fit.log_likelihood for fit in fits])
        self.objective_path_ = of([fit.path for fit in fits])
        self.optima_ = of([np.array(fit.optima) for fit in fits])
        self.calibration_ = of([_calibration(fit.mean) for fit in fits])
        self._others = of([None if fit.mean is None else [tuple(one) for one in fit.mean.models[1:]] for fit in fits])
        self.noise_floors_ = tuple(sorted({name for fit in fits for name in fit.floors}))
        stopped = [j for j, fit in enumerate(fits) if fit.residual > self.tol]
        where = "" if self._vector else f"columns {stopped[:10]} of y, "
        status = fits[stopped[0] if stopped else 0].status
        stats = {"residual": max(fit.residual for fit in fits), "n_iter": max(fit.n_iter for fit in fits)}
        self._record_end(status, stats, f"{where}last step")

    def _per_target(self, values):
        """The values of all targets: a list with a table of labels, the one value with one column."""
        return values[0] if self._vector else values

    def _listed(self, value):
        """The opposite of `_per_target`."""
        return [value] if self._vector else value

    def _models(self):
        """The fitted model of each target."""
        parts = (self.class_prior_, self.class_means_, self.factors_, self.noise_variance_)
        return [model.Model(*one) for one in zip(*map(self._listed, parts), strict=True)]

    def _predicted(self, rows):
        records = self._listed(self.calibration_)
        if records[0] is None:
            return [model.predict(one, rows) for one in self._models()]
        readers = kept(self, self._numbers(), self._readers)
        pairs = zip(readers, records, strict=True)
        return [model.predict_mean(one, _recorded(record), rows) for one, record in pairs]

    def _readers(self):
        """What the models of each target are before they see a row."""
        pairs = zip(self._models(), self._listed(self._others), strict=True)
        return [model.reader([one, *(model.Model(*other) for other in others)]) for one, others in pairs]

    def _numbers(self):
        """All that the fitted models are made of, in one list."""
        own = (self.class_prior_, self.class_means_, self.factors_, self.noise_variance_)
        others = [part for of_target in self._listed(self._others) for other in of_target for part in other]
        return [part for values in own for part in self._listed(values)] + others

    def _projected(self, rows):
        return rows.project(self.mean_, self.components_.T.astype(np.float64))

    def _moved(self, rows):
        return moved(self, rows)

    def _condition(self, rows, y):
        (one,) = self._models()
        return model.posterior(one, rows, self.components_.astype(np.float64), self._index(y, rows.shape[0]))

    posterior = one_target(ProjectionPosterior.posterior)
    inverse_transform = one_target(Invertible.inverse_transform)
    score_samples = one_target(JointDensity.score_samples)
    sample = one_target(JointDensity.sample)

    def _log_density(self, rows, y):
        (one,) = self._models()
        return model.log_density(one, rows, self._index(y, rows.shape[0]))

    def _index(self, y, n_samples):
        """Class number of new rows, -1 where unlabeled."""
        if y is None:
            return None
        values = self._values_of(y, n_samples)[:, 0]
        return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.intp)

    def _back(self, Z):
        (one,) = self._models()
        back = model.back(one, self.components_.astype(np.float64))
        return Z @ asarray_like(back, Z) + asarray_like(self.mean_, Z)

    def _draw(self, n_samples, rng):
        (one,) = self._models()
        X, index = model.sample(one, n_samples, rng)
        return X.astype(holding(self.components_.dtype, X)), index

    def _draw_targets(self, X, latent, rng):
        return self.classes_[latent]

    def _said(self):
        models, k = self._models(), self.n_class_components_
        apart = 1.0 + model.separation(models)  # and one is the variance within a class
        facts = {
            "loadings": model.loadings(models, self.components_.astype(np.float64)),
            "spectrum": Spectrum(apart[:k], apart[k:], 1.0, "classes"),
        }
        if self._vector:
            objective = "log-likelihood with the penalty of shrinkage"
            prior = self.calibration_ is not None and self.calibration_["n_held_out"] == 0
            remarks = ("no label can be held out: confidence by a prior temperature",) if prior else ()
            record = self._recorded(
                objective=objective, facts=(("DPPCA.shrinkage_", self.shrinkage_),), remarks=remarks
            )
            return super()._said() | facts | {"fit": record}
        nothing = dict.fromkeys(("log_likelihood", "noise_variance", "path"))
        plain = {"project": lambda X: Projection(np.asarray(self.transform(X))), "log_density": None}
        return super()._said() | facts | plain | {"fit": self._recorded(**nothing)}


def _calibration(mean):
    """The public record of a mean of models."""
    if mean is None:
        return None
    found = mean.calibration
    settings = dict(zip(("n_factors", "shrinkage", "unlabeled_weight"), map(list, zip(*mean.settings)), strict=True))
    return settings | {
        "weight": found.weights,
        "confidence": found.confidence,
        "temperature": found.temperatures,
        "distance": found.distances,
        "exponent": found.exponent,
        "n_held_out": found.n_held_out,
    }


def _recorded(record):
    """The calibration that a record is of."""
    names = ("temperature", "distance", "weight", "exponent", "confidence", "n_held_out")
    return model.Calibration(*(record[name] for name in names))


def _prior(given, column):
    if given is None:
        return None
    prior, n_classes = np.asarray(given, dtype=np.float64), len(column.classes)
    if prior.shape != (n_classes,) or not (prior > 0).all() or abs(prior.sum() - 1.0) > 1e-6:
        raise ValueError(
            f"class_prior={given!r} must hold {n_classes} positive probabilities that sum to one, in the order of the "
            f"classes {column.classes.tolist()[:10]} of {column.name}."
        )
    return prior / prior.sum()
