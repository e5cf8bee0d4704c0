"""Discriminant probabilistic PCA as a scikit-learn estimator."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._types import Status
from ..describe import Description, Fit, Traits
from ..models import dppca as model
from ..rows.namespace import host_dtype, to_host
from ..rows.read import read
from ..solvers.reduction import reduce_rows
from ._class_labels import number_classes
from ._class_reader import ClassReader, refuse_missing
from ._described import class_target, identity, posterior_of
from ._gaussian import check_table
from ._validation import check_choice, check_integer, check_real, check_variance


class DPPCA(ClassReader, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors.

    A row comes from class c with probability pi_c, and then x = m_c + V z + e with z ~ N(0, I) of size P and
    e ~ N(0, noise_variance I). The class of an unlabeled row is latent, so that unlabeled rows sharpen the class
    means and the factors. With every row labeled and all factors kept the model is linear discriminant analysis.

    Parameters
    ----------
    n_components : int or None, default=None
        Size K of the projection: the leading directions of between- against within-class covariance, at most C - 1
        for C classes, then leading within-class factors. None takes 2, or 1 where there are only two classes.
    n_factors : {"auto", "usual"} or int, default="auto"
        Number P of within-class factors; a number at or above the rank of X keeps them all. "usual" takes one factor
        for ten rows, between 20 and 40.
    shrinkage : {"auto"} or float, default="auto"
        Share r in [0, 1) by which the within-class covariance S is drawn towards a multiple of the identity of the
        same trace, as in ridge LDA: (1 - r) S + r tr(S)/p I.
    unlabeled_weight : {"auto"} or float, default="auto"
        How many rows an unlabeled row counts for, in [0, 1]; 0 learns from the labeled rows only.
    class_prior : None, "uniform" or array-like of shape (n_classes,), default=None
        Probabilities of the classes. None estimates them, with the unlabeled rows.
    noise : {"half", "ml"} or float, default="half"
        Noise variance. "half": the P-th eigenvalue of the within-class covariance, where the factors end. "ml": what is
        left beside the factors, by maximum likelihood, which is far too small when there are more features than rows.
        A number is in squared units of X.
    tol : float, default=1e-6
        EM stops when a step moves the class means by less than this many within-class standard deviations, and
        log-variances and priors by less than this.
    max_iter : int, default=200
        Most EM iterations at the final noise level.
    unlabeled : {"auto"}, None or label, default="auto"
        What marks unlabeled rows besides None, NaN and pd.NA: "auto" takes -1 among integers.
    random_state : int, RandomState instance or None, default=0
        Seed of the halves by which "auto" chooses, and of the reduction of large tables.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions D transposed: `transform` is (X - mean_) components_'. Projected rows of one class have unit
        covariance.
    mean_ : ndarray of shape (n_features,)
        Mean of the class means, weighted by `class_prior_`.
    class_means_ : ndarray of shape (n_classes, n_features)
        Means m_c.
    factors_ : ndarray of shape (P, n_features)
        Within-class factors V transposed, orthogonal rows by falling length; P may be less than `n_factors_` where
        fewer stand out of the noise.
    noise_variance_ : float
        In squared units of X.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    class_prior_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    n_components_ : int
        Size of the projection.
    n_class_components_ : int
        How many of the components separate classes; the others are within-class factors.
    n_factors_, shrinkage_, unlabeled_weight_ : int, float, float
        What was used, chosen or given.
    agreement_path_ : list of tuple
        Where "auto" had a choice: (n_factors, shrinkage, unlabeled_weight, agreement, error, score) of each candidate.
    log_likelihood_ : float
        Last value of `objective_path_`.
    objective_path_ : ndarray
        Log-likelihood of the training rows, with the penalty of shrinkage, at the final noise level, in nats, at the
        start and after each EM step; unlabeled rows count `unlabeled_weight_`. It never falls.
    objective_residual_ : float
        Length of the last step, see `tol`.
    noise_floors_ : tuple of str
        ("x",) where the noise variance rests on its floor, 1e-6 of the variance of X; else ().
    converged_ : bool
        Whether the last step was shorter than `tol`.
    n_iter_ : int
        EM iterations, those that set the noise level included.
    n_passes_ : float
        Full reads of the data.
    solver_ : {"exact", "leading"}
        "leading" where X is large on both sides and only leading directions are modelled one by one.
    n_samples_, n_labeled_ : int
        Rows used, and rows with a label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, when X had them.

    Raises
    ------
    ValueError
        When y is None, has no label, holds fractions or is ambiguous; X holds NaN or is constant; n_components is more
        than the rank of X.

    See Also
    --------
    MultiLabelDPPCA : Several labels a row.
    SPPCA : Real targets, or classes as points of a Gaussian view.
    MixturePPCA : No labels, and factors of its own for each component.

    Notes
    -----
    "auto" splits the labeled rows of each class into halves, fits to each half, and scores a candidate by how often
    the two models agree on unlabeled rows, minus their error on the labels held out, averaged over three splits. It
    needs two labeled rows of a class; else the usual number of factors, a shrinkage of 1e-3 and weight 1 are taken. The
    usual number is one factor for ten rows, between 20 and 40; with fewer than four labeled rows of most classes it is
    the only one tried, since halves with one row of a class cannot tell how many factors there are.

    EM runs on coordinates of the rows: exact where X has at most 1500 rows or columns, else in 120 leading directions
    and those of the labeled class means, all else being isotropic noise. Sparse X is never made dense; arrays of other
    libraries are read where they are, their coordinates come to the host.

    EM starts from ridge LDA of the labeled rows. First responsibilities are cooled from temperature 10 to 1
    (deterministic annealing) and the noise level is set by iterating; then EM climbs the likelihood at that level.

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

    def __init__(
        self,
        n_components: Any = None,
        *,
        n_factors: Any = "auto",
        shrinkage: Any = "auto",
        unlabeled_weight: Any = "auto",
        class_prior: Any = None,
        noise: Any = "half",
        tol: float = 1e-6,
        max_iter: int = 200,
        unlabeled: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_factors = n_factors
        self.shrinkage = shrinkage
        self.unlabeled_weight = unlabeled_weight
        self.class_prior = class_prior
        self.noise = noise
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.classifier_tags = ClassifierTags()  # scikit-learn's checks look for it beside predict_proba
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def fit(self, X: Any, y: Any) -> Self:
        """Fit by EM from ridge LDA of the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without missing entries; float32 stays float32.
        y : array-like of shape (n_samples,)
            Classes (str, int, bool, categorical), unlabeled where -1, None, NaN or pd.NA.

        Returns
        -------
        self : DPPCA
            Fitted.
        """
        self._check_parameters()
        X = check_table(self, X, reset=True, min_samples=2, anywhere=True)
        refuse_missing(X)
        self.classes_, index = number_classes("DPPCA", to_host(y), X.shape[0], self.unlabeled)
        if len(self.classes_) == 1:
            warnings.warn(
                f"y holds the single class {self.classes_.tolist()[0]!r}; the projection is that of its factors, and "
                "predict returns it for every row.",
                UserWarning,
                stacklevel=2,
            )
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        rows = reduce_labeled(read(X), indicators(index, len(self.classes_)), generator)
        result = self._fit_rows(rows, index, generator, host_dtype(X))
        if not self.converged_:
            warnings.warn(
                f"DPPCA {result.status.value} (last step {self.objective_residual_:.1e}, tol={self.tol}).",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fit_rows(self, rows, index, generator, dtype):
        """Fit to reduced rows; `classes_` and `n_features_in_` are set. Return the result in coordinates."""
        k = resolve_n_components(self.n_components, len(self.classes_) - 1, rows.T.shape[1])
        options = self._options(rows.standard.scale)
        least = max(1, k - len(self.classes_) + 1)
        given = model.Open(self.n_factors, self.shrinkage, self.unlabeled_weight)
        choice, self.agreement_path_ = model.choose(given, rows, index, options, least, generator)
        options = options._replace(
            n_factors=choice.n_factors, shrinkage=choice.shrinkage, unlabeled_weight=choice.unlabeled_weight
        )
        result = model.fit(rows, index, len(self.classes_), k, options)
        self.n_factors_, self.shrinkage_, self.unlabeled_weight_ = choice[:3]
        self.n_samples_, self.n_labeled_ = len(index), int((index >= 0).sum())
        self.solver_ = "exact" if rows.exact else "leading"
        self._store(result, rows, dtype)
        return result

    def _check_parameters(self):
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1)
        if isinstance(self.n_factors, str):
            check_choice("n_factors", self.n_factors, ("auto", "usual"))
        else:
            check_integer("n_factors", self.n_factors, 1)
        for name in ("shrinkage", "unlabeled_weight"):
            value = getattr(self, name)
            if not _is_auto(name, value):
                check_real(name, value, 0, included=True)
                if value > 1 or (name == "shrinkage" and value == 1):
                    raise ValueError(f"{name}={value!r} must be {'below' if name == 'shrinkage' else 'at most'} 1.")
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, ("half", "ml"))
        else:
            check_real("noise", self.noise, 0)
        check_real("tol", self.tol, 0)
        check_integer("max_iter", self.max_iter, 1)

    def _options(self, scale):
        noise = self.noise if isinstance(self.noise, str) else float(self.noise) / scale**2
        return model.Options(1, class_prior=self._prior(), noise=noise, tol=self.tol, max_iter=self.max_iter)

    def _prior(self):
        n_classes = len(self.classes_)
        if self.class_prior is None:
            return None
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("uniform",))
            return np.full(n_classes, 1.0 / n_classes)
        prior = np.asarray(self.class_prior, dtype=np.float64)
        if prior.shape != (n_classes,) or not (prior > 0).all() or abs(prior.sum() - 1.0) > 1e-6:
            raise ValueError(
                f"class_prior={self.class_prior!r} must hold {n_classes} positive probabilities that sum to one, in "
                f"the order of the classes {self.classes_.tolist()[:10]}."
            )
        return prior / prior.sum()

    def _store(self, result, rows, dtype):
        source = rows.standard
        fitted, stats, scale = result.value, result.stats, source.scale
        prior, means, within = fitted.params
        center = prior @ means
        above = within.values > within.noise_var * (1.0 + 1e-12)
        loadings = within.Q[:, above] * np.sqrt(within.values[above] - within.noise_var)
        centers = np.column_stack([center, means.T])
        moved = rows.expand(np.hstack([centers, loadings, fitted.projection]))  # (p, 1 + c + m + k)
        ends = np.cumsum([1, len(means), loadings.shape[1]])
        self.mean_ = (source.mean + moved[:, 0] * scale).astype(dtype)
        self.class_means_ = np.ascontiguousarray((source.mean + moved[:, 1 : ends[1]].T * scale), dtype=dtype)
        self.factors_ = np.ascontiguousarray(moved[:, ends[1] : ends[2]].T * scale, dtype=dtype)
        self.components_ = as_components(moved[:, ends[2] :], scale, dtype)
        self.noise_variance_ = float(within.noise_var * scale**2)
        check_variance("X", self.noise_variance_)
        self.class_prior_ = prior
        self.n_components_, self.n_class_components_ = len(self.components_), fitted.n_class_directions
        weight = self.n_labeled_ + self.unlabeled_weight_ * (self.n_samples_ - self.n_labeled_)
        self.objective_path_ = result.path - weight * self.n_features_in_ * np.log(scale)
        self.log_likelihood_ = float(self.objective_path_[-1])
        self.objective_residual_ = float(stats["residual"])
        self.noise_floors_ = ("x",) if stats["floor"] else ()
        self.n_iter_, self.n_passes_ = max(1, int(stats["n_iter"])), float(source.reads)
        self.converged_ = result.status is Status.CONVERGED

    def describe(self) -> Description:
        """Return what the fitted model says of itself, as plots, reports and the command line read it.

        Returns
        -------
        Description
        """
        check_is_fitted(self, "components_")
        return Description(
            **identity(self),
            **class_target(self),
            n_labeled=int(self.n_labeled_),
            n_components=self.n_components_,
            project=posterior_of(self),
            log_density=self.score_samples,
            loadings=self.components_,
            fit=Fit(
                solver=self.solver_,
                converged=self.converged_,
                n_iter=self.n_iter_,
                n_reads=self.n_passes_,
                log_likelihood=self.log_likelihood_,
                noise_variance=self.noise_variance_,
                path=self.objective_path_,
                facts=(("DPPCA.shrinkage_", self.shrinkage_),),
            ),
        )


def reduce_labeled(rows, one_of_c, generator):
    """Reduce all rows to coordinates that hold the sums of labeled rows by class, X'one_of_c."""
    reduced = reduce_rows(rows, one_of_c, generator)
    if reduced.T.shape[1] == 0:
        raise ValueError("X is constant: all rows are equal; there is nothing to fit.")
    return reduced


def indicators(index, n_classes):
    """One column a class (n, c), one where the row is known to be of it."""
    known = np.flatnonzero(index >= 0)
    one_of_c = np.zeros((len(index), n_classes))
    one_of_c[known, index[known]] = 1.0
    return one_of_c


def resolve_n_components(n_components, n_separating, rank):
    """Size of the projection: None takes 2, or as many as can separate classes where these are fewer."""
    if n_components is None:
        return min(2, max(n_separating, 1), rank)
    if n_components > rank:
        raise ValueError(f"n_components={n_components} must be at most {rank}, the rank of X.")
    return int(n_components)


def as_components(moved, scale, dtype):
    """Directions of standard units in features (p, k) as rows in units of X, the largest entry of each positive."""
    D = moved / scale
    return np.ascontiguousarray((D * np.sign(D[np.abs(D).argmax(axis=0), range(D.shape[1])])).T, dtype)


def _is_auto(name, value):
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
        return True
    return False
