"""Independent factor analysis with labels per latent variable as a scikit-learn estimator."""

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._warn import warn
from ..describe import Spectrum, Traits
from ..likelihoods.calibration import Calibration, averaged
from ..models import ifa as model
from ..models.ifa import noiseless, noisy
from ..numerics.normalize import normalized
from ..targets.code import log_plausibilities
from ._density import JointDensity
from ._estimator import Invertible, Transformer, check_choice, check_variance, fit_words, integer, one_of, rules
from ._half_labels import LEAST, calibration_by_halves
from ._latent_labels import as_labels, components_of, count_labeled, known_components, read_plausibilities
from ._predictions import Predictor


@dataclass(eq=False, repr=False)
class IFA(Predictor, JointDensity, Invertible, Transformer):
    """Independent factor analysis: an invertible linear map to independent latent variables, some of them with classes.

    A row is x = mean + mixing z with as many independent latents as X has directions. The first S of them are mixtures
    of Gaussians, one component for each value of a class variable of their own; the others are plain Gaussians::

        z_s ~ sum_k weight_sk N(mean_sk, var_sk)  for s = 1..S,      z_s ~ N(0, 1)  for the rest

    Labels belong to latents: column s of `y` says from which component z_s comes, where that is known. Rows without
    labels count as well, and without any label it is independent component analysis with adaptive densities. Fitted by
    maximum likelihood. It suits classes that are products of properties (sex and species); for one plain class
    variable, `tied=True` lets C - 1 latents share it, which is semi-supervised linear discriminant analysis.

    Parameters
    ----------
    n_components_per_latent : int, sequence of int or None, default=None
        Mixture components of each latent, at least 2: a sequence has one number for each column of `y`, one number is
        for all. None takes what `y` holds: the largest component number plus one, and 2 in a column without labels;
        without `y` a single latent of two components.
    noise : {"none", "isotropic"}, default="none"
        "none": x is a function of the latents, as in the paper. "isotropic": x = mean + mixing z + e with
        e ~ N(0, noise_variance I) and fewer latents than columns, one for each class variable or `pca_components` of
        them, the further ones Gaussian (Attias' model). Posteriors, whose means `transform` gives, are exact sums over
        all products of components.
    tied : bool, default=False
        One class variable, one column of `y`, of C components for C - 1 latents, whose variances within classes are the
        same for every class. With every row labeled it equals linear discriminant analysis.
    pca_components : int or None, default=None
        Principal components that X is reduced to first. None keeps every direction, which needs more rows than columns.
        With `noise="isotropic"` nothing is left out: it is the number of latents.
    solver : {"profile", "gem", "gem-natural"}, default="profile"
        "profile" leaves the Gaussian latents out of the search, makes a few closed-form sweeps and then ascends by
        quasi-Newton steps. "gem" is the paper's alternation of EM and gradient steps: the same maxima, many times
        slower. "gem-natural" takes its steps along the natural gradient, which no change of coordinates moves: fewer
        steps where columns are correlated.
    init : {"both", "labels", "random"}, default="both"
        Starts: discriminant directions of the labeled rows, random directions, or the one and then the others.
    n_init : int, default=5
        Number of starts; the best likelihood wins. `init="labels"` has a single one. Where some latent has no labels
        the random ones are searched for, one latent after the other, among up to thirty directions each. Without any
        label the first one takes independent directions from a fixed point; it is the only one where all latents are
        mixtures, there are many rows, and two contrasts find the same directions.
    tol : float, default=1e-6
        A fit has converged when `objective_residual_` is at most this.
    max_iter : int, default=1000
        Most steps of a start.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict_proba` knows of the uncertainty of the parameters, with one class variable. "full": probabilities
        are as sure as they are right, told by two fits that know half of the labels each, at about three times the time
        of the fit. "plug-in": those of the model itself, which takes its parameters for known, as always with several
        class variables or plausibilities.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    mixing_ : ndarray of shape (n_features, n_components_)
        Column s is what a unit of latent s adds to x, in units of X; its largest entry is positive.
    noise_variance_ : float
        In squared units of X; zero with `noise="none"`.
    unmixing_ : ndarray of shape (n_components_, n_features)
        z = unmixing (x - mean), with noise the best linear guess of z; every latent has variance one on the training
        rows. Latents with labels keep the order of the columns of `y`; those without come in falling order of the
        variance of X that they explain, among latents with as many components; with `tied=True` the most
        discriminating one comes first. Gaussian latents follow, by the variance they explain.
    mix_weights_, mix_means_, mix_variances_ : list of ndarray of shape (K_s,)
        Weights, means and variances of the components of each mixture latent. Components with labels keep their
        numbers; those that no row tells apart are ordered by their means. A component that every row excludes has
        weight 0, mean 0 and variance 1. The same weights in every tied latent.
    mean_ : ndarray of shape (n_features,)
        Mean of X.
    n_latents_ : int
        Number S of latents that are mixtures.
    n_components_ : int
        Number of all latents: `pca_components`; else the rank of X, or with noise the number of class variables.
    log_likelihood_ : float
        Of the training rows and their labels, in nats.
    objective_path_ : ndarray
        Log-likelihood at the start and after each step of the best start, in nats; it never falls.
    objective_residual_ : float
        Distance of the best start from a maximum, whatever the units of X. Of "profile" the largest entry of the
        gradient of the log-likelihood per row, in units of the Fisher information: half its square is about what is
        left to gain. Of "gem" a hundred times the last gain per row in nats. With `noise="isotropic"` the length of the
        last step of EM. Never less than the relative error of the principal components where those are iterated.
    optima_ : ndarray
        Log-likelihood that each start reached.
    calibration_ : dict or None
        As in `KDA`; None where probabilities are those of the model itself.
    noise_floors_ : tuple of str
        "component 1 of latent 0" and so on: whose variance rests on its floor, 1e-4 of the variance of the latent.
    converged_, n_iter_, n_passes_ : bool, int, float
        Whether `objective_residual_` is at most `tol`; steps of the best start; full reads of X, beside which the
        ascent works on the whitened rows in memory.
    solver_, n_features_in_, feature_names_in_
        As in `SPPCA`.
    n_samples_, n_labeled_ : int
        Rows used, and those of them with something known of a class variable.
    target_kind_ : {"classes", "none"}
        "none" when no row has a label.
    classes_ : ndarray of shape (K_1,) or list of them
        What the components of each class variable are called: the labels of its column of `y`, then names for those
        without a label. A list where y was a table.

    Raises
    ------
    ValueError
        When X has fewer directions than latents, or so few rows that some direction splits them at will; when `y`
        holds a component that does not exist.

    See Also
    --------
    SPPCA : Projection with Gaussian latents, labels of any kind.
    combine_one_vs_rest : One class posterior from latents that each tell one class from the others.

    Notes
    -----
    Columns without variance, and directions in which the rows do not vary, are left out: densities are then on the
    affine space that the rows span, and so they are with `pca_components`. `inverse_transform` is mean + mixing z: the
    training rows exactly, unless `pca_components` or noise left something out. Memory: the whitened rows,
    n_samples x n_components_ numbers; X itself is neither copied nor made dense.

    References
    ----------
    Oukhellou, Come, Aknin and Denoeux, Semi-supervised feature extraction using independent factor analysis (2010):
    likelihood (9), algorithm 1. Attias, Independent factor analysis, Neural Computation 11 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import IFA
    >>> X, y = load_iris(return_X_y=True)
    >>> few = y.copy()
    >>> few[20:50] = few[70:100] = few[120:] = -1
    >>> model = IFA().fit(X, few)
    >>> model.transform(X).shape
    (150, 4)
    >>> bool((model.predict(X) == y).mean() > 0.95)
    True
    """

    traits = Traits("ifa", size="pca_components", own_size=True)

    _kinds = ("classes",)
    _constant = "kept"
    _few_directions = True
    _fitted = "unmixing_"
    _rules = rules(
        init=one_of("both", "labels", "random"),
        noise=one_of("none", "isotropic"),
        pca_components=integer(1, None),
        solver=one_of(*noiseless.SOLVERS),
        uncertainty=one_of("full", "plug-in"),
    )

    n_components_per_latent: Any = None
    _: KW_ONLY
    noise: Any = "none"
    tied: Any = False
    pca_components: Any = None
    solver: Any = "profile"
    init: Any = "both"
    n_init: int = 5
    tol: float = 1e-6
    max_iter: int = 1000
    target: Any = "auto"
    unlabeled: Any = "auto"
    uncertainty: Any = "full"
    random_state: Any = 0

    def fit(self, X: Any, y: Any = None, plausibilities: Any = None) -> Self:
        if y is not None and plausibilities is not None:
            raise ValueError("pass y or plausibilities, not both: a label is a plausibility of 1 for one component.")
        self._fit_rows(X, y, plausibilities=plausibilities)
        return self

    fit.__doc__ = fit_words("""plausibilities : list of array-like of shape (n_samples, K_s), default=None
            In place of `y`: how plausible each component of each latent is in each row, between 0 and 1. A one among
            zeros is a label, ones everywhere say nothing, several ones among zeros exclude the other components. They
            multiply the likelihood.""")

    def _fit(self, rows, targets, plausibilities):
        tables = self._known(targets, plausibilities)
        labels = as_labels(tables, tied=self.tied)
        generator = np.random.default_rng(self._seed())
        if self.noise == "isotropic":
            k = len(labels.sizes) if self.pca_components is None else self.pca_components
            options = self._options_of(noisy.Options, n_latents=k)
        else:
            options = self._options_of(noiseless.Options, n_kept=self.pca_components)
        result = model.fit(rows, labels, options, generator)
        self.n_labeled_ = count_labeled(tables)
        self.target_kind_ = "classes" if self.n_labeled_ else "none"
        self._store(result)
        self.calibration_ = None
        if self.uncertainty == "full" and self._vector and self.n_labeled_:
            self._calibrate(rows, targets.index, options, generator)

    def _calibrate(self, rows, index, options, generator):
        """Learn how sure the probabilities may be, from fits to half of the labels."""

        def fit(half):
            labels = as_labels([log_plausibilities(half, len(self.classes_))], tied=self.tied)
            other = copy(self)
            with warnings.catch_warnings(action="ignore"):  # of an accuracy that is not reached
                other._store(model.fit(rows, labels, options, generator))
            return lambda asked: model.predict(other._model(), asked)[0]

        fitted = self._model()
        found, places = model.predict(fitted, rows)[0], (model.posterior(fitted, rows)[0] ** 2).sum(axis=1)
        try:
            self.calibration_ = calibration_by_halves(rows, index, found, places, fit)._asdict()
        except ValueError as error:  # half of the labels leave a direction that splits the rows at will
            warn(f"probabilities are those of the model itself: no fit to half of the labels ({error})")
        self.n_passes_ = float(rows.reads)

    def _known(self, targets, plausibilities):
        """Log-plausibility (K_s, n) of the components of each latent; sets what they are called."""
        if plausibilities is None:
            components = components_of(targets, self.n_components_per_latent)
            tables = known_components(targets, components)
        else:
            tables = read_plausibilities(plausibilities, targets.n_samples, self.n_components_per_latent)
            components = [np.arange(len(table)) for table in tables]
        self._vector = plausibilities is None and targets.vector and (self.tied or len(tables) == 1)
        names = ["y"] if self._vector else [f"column {s} of y" for s in range(len(tables))]
        self._form = [("classes", classes, name) for classes, name in zip(components, names, strict=True)]
        self.classes_ = components[0] if self._vector else components
        return tables

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.tied, (bool, np.bool_)):
            raise TypeError(f"tied={self.tied!r} must be True or False.")
        if self.tied and np.size(self.n_components_per_latent) > 1:
            raise ValueError(
                f"n_components_per_latent={self.n_components_per_latent!r} has {np.size(self.n_components_per_latent)} "
                "numbers; tied=True has one class variable: give one number, or None."
            )
        if self.noise == "isotropic" and (self.tied or self.solver in noiseless.GEM):
            raise ValueError("noise='isotropic' has its own solver and no tied latents: leave solver and tied alone.")
        if self.tied and self.solver in noiseless.GEM:
            raise ValueError(
                f"solver={self.solver!r} has one class variable for each latent; tied=True needs solver='profile'."
            )

    def _store(self, result):
        fitted, params, stats = result.value, result.value.params, result.stats
        self.mean_, self._shared = fitted.mean, bool(self.tied)
        if self.noise == "isotropic":
            check_variance("X", params.noise_var)
            root = np.sqrt(params.noise_var)
            scaled = params.A / root
            inner = np.linalg.solve(scaled.T @ scaled + np.eye(len(fitted.sizes)), scaled.T)
            self.mixing_, self.unmixing_, self.noise_variance_ = params.A, inner / root, float(params.noise_var)
        else:
            self.mixing_, self.unmixing_, self.noise_variance_ = fitted.mixing, fitted.unmixing, 0.0
        sizes = [size for size in fitted.sizes if size > 1]  # of a Gaussian latent it is 1
        self.mix_weights_ = [np.exp(params.log_weights[0 if self.tied else s, :k]) for s, k in enumerate(sizes)]
        self.mix_means_ = [params.means[s, :k] for s, k in enumerate(sizes)]
        self.mix_variances_ = [params.variances[s, :k] for s, k in enumerate(sizes)]
        self.n_latents_, self.n_components_ = len(sizes), self.mixing_.shape[1]
        self.log_likelihood_ = stats["log_likelihood"]
        self.optima_ = np.array(stats["optima"])
        floors = [f"component {c} of latent {s}" for s, c in stats["floors"]]
        solver = "em" if self.noise == "isotropic" else self.solver
        self._record(result._replace(stats={**stats, "floors": floors, "solver": solver}))

    def _model(self):
        """The fitted model, from the public attributes."""
        mixtures = (self.mix_weights_, self.mix_means_, self.mix_variances_)
        if self.noise_variance_ > 0:
            return noisy.restore(self.mean_, self.mixing_, self.noise_variance_, *mixtures)
        return noiseless.restore(self.mean_, self.mixing_, self.unmixing_, *mixtures, tied=self._shared)

    def _projected(self, rows):
        return model.posterior(self._model(), rows)[0]

    def _back(self, Z):
        return (Z @ self.mixing_.T + self.mean_).astype(Z.dtype if Z.dtype == np.float32 else np.float64)

    def _require_predictions(self, method):
        """Components have their names without any label too."""

    def _predicted(self, rows):
        found = model.predict(self._model(), rows)
        if self.calibration_ is None:
            return found
        odds = np.log(np.maximum(found[0], LEAST))
        return [averaged([odds], [np.zeros(len(odds))], Calibration(**self.calibration_))]

    def _said(self):
        prior = self.calibration_ is not None and not self.calibration_["n_held_out"]
        record = self._recorded(
            remarks=("no label can be held out: confidence by a prior temperature",) if prior else (),
            noise_variance=self.noise_variance_ or None,
            floors=tuple(f"variance of {name}" for name in self.noise_floors_),
            tables=(self._mixture_table(),) if self.n_labeled_ > 0 else (),
        )
        W, noise, parts = self.mixing_, self.noise_variance_, {"loadings": self.mixing_.T, "fit": record}
        if noise > 0:
            parts["spectrum"] = Spectrum(np.linalg.eigvalsh(W.T @ W)[::-1] + noise, np.zeros(0), noise)
        return super()._said() | parts

    def _mixture_table(self):
        """The components of the latents with classes; every latent has variance one over the rows."""
        parts = zip(self.mix_weights_, self.mix_means_, self.mix_variances_, strict=True)
        lines = [
            [s, code, *map(float, values)]
            for s, columns in enumerate(parts, start=1)
            for code, values in enumerate(zip(*columns, strict=True))
        ]
        return ["latent", "class", "weight", "mean", "variance"], lines

    def _log_density(self, rows, y):
        if y is None:
            return model.log_density(self._model(), rows, None)
        values = self._values_of(y, rows.shape[0])
        numbers = np.where(np.isnan(values), -1, values).astype(np.intp)
        tables = [log_plausibilities(numbers[:, s], len(form[1])) for s, form in enumerate(self._form)]
        return model.log_density(self._model(), rows, as_labels(tables, tied=self._shared).log_pl)

    def _draw(self, n_samples, rng):
        return model.sample(self._model(), n_samples, np.random.default_rng(rng.randint(2**31)))

    def _draw_targets(self, X, latent, rng):
        return self._decoded(latent.T)


def combine_one_vs_rest(probabilities: Any, positive: Any = 1) -> Any:
    """Class posterior from latents that each tell one class from all others, given that exactly one of them is right.

    With one latent for each class the latents are independent in the model, though their class variables are not. Class
    c says that latent c is positive and every other one is not, so p(c) is proportional to the product of these
    probabilities: to the odds p_c / (1 - p_c).

    Parameters
    ----------
    probabilities : list of array-like of shape (n_samples, 2)
        What `IFA.predict_proba` returns, one table for each class.
    positive : {0, 1}, default=1
        The component that stands for the class; the other is the rest.

    Returns
    -------
    posterior : ndarray of shape (n_samples, n_classes)
        Rows sum to one.

    Raises
    ------
    ValueError
        When a table has not two columns, or `positive` is neither 0 nor 1.

    Examples
    --------
    >>> combine_one_vs_rest([[[0.2, 0.8]], [[0.5, 0.5]], [[0.8, 0.2]]]).round(3)
    array([[0.762, 0.19 , 0.048]])
    """
    check_choice("positive", positive, (0, 1))
    tables = [np.asarray(table, dtype=np.float64) for table in probabilities]
    for s, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != 2:
            raise ValueError(f"probabilities[{s}] has shape {table.shape}; (n_samples, 2) is wanted.")
    tiny = np.finfo(np.float64).tiny
    log_odds = np.column_stack([np.log(t[:, positive] + tiny) - np.log(t[:, 1 - positive] + tiny) for t in tables])
    return normalized(log_odds)[0]
