"""Mixtures of probabilistic PCA as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags

from .._warn import warn
from ..models import mixture as model
from ..rows.by_chunk import by_chunk
from ..rows.namespace import holding
from ._density import Criterion, JointDensity
from ._estimator import Weighted, check_integer, check_variance, integer, one_of, resolve_n_components, rules
from ._imputation import Imputer
from ._posterior import LatentPosterior

SOLVERS = ("auto", "moments", "latent", "masked")


@dataclass(eq=False, repr=False)
class MixturePPCA(Weighted, JointDensity, Criterion, Imputer, LatentPosterior):
    """Mixture of probabilistic PCA: several local subspaces, each with its own mean, loadings and noise.

    Each sample comes from component c with probability weight_c. It then has a latent vector z ~ N(0, I), and
    x = W_c z + m_c + e with e ~ N(0, noise_var_c I). EM finds a local maximum of the likelihood; missing entries (NaN)
    of a dense X are integrated out exactly, in fitting and in new rows.

    Parameters
    ----------
    n_mixtures : int, default=2
        Number of components of the mixture. `bic` on the same rows compares choices.
    n_components : int, sequence of int or None, default=None
        Latent dimensions of every component, or one number for each: the first is for the largest cluster of the
        start. At least 1, less than the rank of X. None takes 2, or 1 where the shape of X allows no more.
    shared_noise : bool, default=False
        One noise variance for all components instead of one each. It is harder to drive to its floor.
    n_init : int, default=5
        Starts; the best likelihood wins, among those in which no component collapsed where there are any. A single
        component needs one. A fit takes as many times longer; of 24 planted mixtures and 4 real tables one start falls
        short of the best of 20 in 7, five in one. Tables of few rows, or whose columns hold few values, have many
        maxima, and five starts mostly fall short of thirty there.
    init : {"kmeans", "random"}, default="kmeans"
        Starting centers. "kmeans" splits the rows along principal directions and refines by k-means: the first start
        needs no seed, further ones are k-means++. "random" takes random rows.
    solver : {"auto", "moments", "latent", "masked"}, default="auto"
        M-step of EM. "moments": closed form from the covariance of every component. "latent": one EM step over the
        latent vectors, cheap and never dense. "masked": the same row by row for missing entries. "auto" takes "masked"
        when entries are missing, "moments" when a side of a dense table is at most 32 or `n_mixtures=1`, else "latent".
    tol : float, default=1e-6
        EM stops when a step is shorter than this, in the metric whose square is about twice the gain in nats per row.
    max_iter : int, default=1000
        Most EM iterations of a start; every one reads the data once.
    random_state : int, RandomState instance or None, default=0
        Seed of the starts that are random.

    Attributes
    ----------
    mix_weights_ : ndarray of shape (n_mixtures,)
        Probability of each component, falling.
    means_ : ndarray of shape (n_mixtures, n_features)
        Mean of each component.
    components_ : ndarray of shape (n_mixtures, K, n_features)
        Loadings W_c transposed, in units of X per unit latent variable, by falling explained variance; orthogonal
        rows, the largest entry of each positive. K is the largest number of latent dimensions; a component with fewer
        has rows of zeros at the end.
    noise_variances_ : ndarray of shape (n_mixtures,)
        Noise variance of each component, in squared units of X.
    mean_responsibilities_ : ndarray of shape (n_mixtures,)
        Average of `predict_proba` over the training rows: `mix_weights_`, once EM has converged.
    n_components_ : ndarray of shape (n_mixtures,)
        Latent dimensions of each component.
    log_likelihood_ : float
        Of the training rows, in nats.
    objective_path_ : ndarray
        Log-likelihood at the start and after each EM step of the best start, in nats; it never falls.
    objective_residual_ : float
        Length of the last step of the best start, see `tol`.
    noise_floors_ : tuple of str
        "component 2" and so on: whose noise rests on its floor, 1e-6 of the variance of X.
    collapsed_ : tuple of int
        Components left with no more rows than their latent dimensions plus one.
    optima_ : ndarray of shape (n_init,)
        Log-likelihood that each start reached; one that is far below another is not run to its end.
    converged_, n_iter_, n_passes_ : bool, int, float
        Whether `objective_residual_` is at most `tol`; EM iterations of the best start; full reads by all starts.
    solver_, n_samples_, n_features_in_, feature_names_in_
        As in `SPPCA`.

    Raises
    ------
    ValueError
        When n_components reaches the rank of X, a column has no observed entry, or a sparse X holds NaN.

    See Also
    --------
    PPCA : The same with one component.

    Notes
    -----
    Local coordinates of different components are not comparable, so `transform` has columns for each component: the
    posterior mean of its latent vector times the probability that the row comes from it. For a row that clearly belongs
    to component c they are its local coordinates in the columns of c and zeros elsewhere, and they change smoothly
    between components, which a choice of the best one would not. `posterior` has the coordinates in a given component.

    A component left with too few rows for its subspace has a likelihood without bound, so the noise variances have a
    floor, and a warning names such components: fewer `n_mixtures` or `n_components`, `shared_noise=True` or more starts
    help.

    References
    ----------
    Tipping and Bishop, Mixtures of probabilistic principal component analysers, Neural Computation 11 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import MixturePPCA
    >>> X = load_iris().data
    >>> X[::7, 1] = float("nan")
    >>> model = MixturePPCA(n_mixtures=3, n_components=1).fit(X)
    >>> model.predict_proba(X).shape
    (150, 3)
    >>> bool((model.impute(X)[::7, 1] > 2).all())
    True
    """

    _takes_missing = True
    _rules = rules(
        init=one_of("kmeans", "random"),
        n_components=None,
        n_mixtures=integer(1),
        shared_noise=one_of(False, True),
        solver=one_of(*SOLVERS),
    )

    n_mixtures: Any = 2
    n_components: Any = None
    _: KW_ONLY
    shared_noise: Any = False
    n_init: int = 5
    init: Any = "kmeans"
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # says how wide predict_proba is by default
        return tags

    @property
    def _n_features_out(self):
        return int(np.sum(self.n_components_))

    def _fit(self, rows, targets):
        sizes = self._sizes(*rows.shape)
        options = self._options_of(model.Options, sizes=sizes, shared=self.shared_noise)
        self._store(model.fit(rows, options, np.random.default_rng(self._seed())), rows.dtype)

    def _check_parameters(self):
        super()._check_parameters()
        if np.ndim(self.n_components) == 0:
            integer(1, None).check("n_components", self.n_components)
            return
        for i, k in enumerate(self.n_components):
            check_integer(f"n_components[{i}]", k, 1)
        if len(self.n_components) != self.n_mixtures:
            raise ValueError(
                f"n_components={self.n_components!r} holds {len(self.n_components)} numbers; one number, or "
                f"n_mixtures={self.n_mixtures} of them, is wanted."
            )

    def _sizes(self, n_samples, n_features):
        """Latent dimensions of the components, once they fit the shape of X."""
        if self.n_mixtures >= n_samples:
            raise ValueError(f"n_mixtures={self.n_mixtures} must be less than the number of rows, {n_samples}.")
        sizes = [None] if self.n_components is None else np.unique(self.n_components)[::-1]  # largest refused first
        checked = {k: resolve_n_components(k, 0, n_samples, n_features) for k in sizes}
        return tuple(checked[k] for k in np.broadcast_to(self.n_components, self.n_mixtures))

    def _store(self, result, dtype):
        fitted, stats = result.value, result.stats
        params = fitted.params
        check_variance("X", params.noise_vars)
        self.mix_weights_ = params.mix_weights
        self.means_ = params.means.astype(dtype)
        self.components_ = np.ascontiguousarray(params.W.transpose(0, 2, 1), dtype=dtype)
        self.noise_variances_ = params.noise_vars
        self.mean_responsibilities_ = fitted.responsibilities
        self.n_components_ = np.array(fitted.sizes)
        self.log_likelihood_ = fitted.log_likelihood
        self.collapsed_ = tuple(stats["collapsed"])
        self.optima_ = np.array(stats["optima"])
        floors = [f"component {c}" for c in stats["floors"]]
        self._record(result._replace(stats={**stats, "floors": floors}))
        if self.collapsed_ or self.noise_floors_:
            warn(
                f"MixturePPCA: components {sorted({*self.collapsed_, *stats['floors']})} collapsed onto few rows or "
                "onto rows without noise, and their noise variance may rest on its floor; ask for fewer n_mixtures or "
                "n_components, for shared_noise=True, or for a larger n_init."
            )

    def _params(self):
        W = np.asarray(self.components_, dtype=np.float64).transpose(0, 2, 1)
        return model.Mixture(self.mix_weights_, np.asarray(self.means_, dtype=np.float64), W, self.noise_variances_)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then name the most probable component of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows as in `fit`.
        y : Ignored
            Present for the scikit-learn convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    @by_chunk
    def predict(self, X: Any) -> Any:
        """Name the most probable component of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, NaN where an entry of a dense X is missing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components.
        """
        return self.predict_proba(X).argmax(axis=1)

    @by_chunk
    def predict_proba(self, X: Any) -> Any:
        """Responsibilities: the probability of each component given the observed entries of a row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, NaN where an entry of a dense X is missing.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_mixtures)
            Rows sum to one.
        """
        rows = self._check_rows(X)
        return model.predict(self._params(), rows).astype(rows.dtype)

    def _project(self, X, with_cov):
        return self._moments(X, None, with_cov)

    @by_chunk
    def posterior(self, X: Any, y: Any = None, component: Any = None) -> Any:
        """Posterior mean and covariance of what `transform` returns, or of local coordinates in one component.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, NaN where an entry of a dense X is missing.
        y : Ignored
            Present because supervised models have it.
        component : int or None, default=None
            Take this component as given.

        Returns
        -------
        mean : ndarray of shape (n_samples, D)
            As in `transform`; for a given component its D = n_components_[component] local coordinates.
        cov : ndarray of shape (n_samples, D, D) or (D, D)
            One covariance per row; a single one for a given component and rows without missing entries.
        """
        return self._moments(X, component, True)

    def _moments(self, X, component, with_cov):
        rows = self._check_rows(X)
        sizes = tuple(self.n_components_)
        if component is not None:
            check_integer("component", component, 0)
            if component >= len(sizes):
                raise ValueError(f"component={component} must be less than n_mixtures={len(sizes)}, or None.")
        mean, cov = model.posterior(self._params(), rows, sizes, component, with_cov=with_cov)
        return mean.astype(rows.dtype), cov.astype(rows.dtype) if with_cov else None

    def _imputed(self, rows, y):
        return model.impute(self._params(), rows)

    def _log_density(self, rows, y):
        return model.log_density(self._params(), rows)

    def _n_free(self):
        return model.n_free(tuple(self.n_components_), self.n_features_in_, self.shared_noise)

    def aic(self, X: Any, y: Any = None) -> float:
        """Akaike information criterion of the rows: -2 log-likelihood + 2 (free parameters); lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present because supervised models have it.

        Returns
        -------
        aic : float
            In nats times two.
        """
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._n_free())

    def _draw(self, n_samples, rng):
        X, labels = model.sample(self._params(), n_samples, np.random.default_rng(rng.randint(2**31)))
        return X.astype(holding(self.components_.dtype, X)), labels

    def _draw_targets(self, X, latent, rng):
        return latent

    def _said(self):
        floors = tuple(f"noise variance of mixture {name}" for name in self.noise_floors_)
        return super()._said() | {"fit": self._recorded(floors=floors)}
