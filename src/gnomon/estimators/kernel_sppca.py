"""Supervised probabilistic PCA in the feature space of a kernel, as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..describe import Traits
from ..models.linear import dual as model
from ..models.linear.positions import learn, place
from ..numerics import gram
from ..numerics import linear_gaussian as lg
from ..numerics.moments import output_sets
from ..rows import read
from ..rows.products import project
from ..targets.code import code
from ._estimator import Weighted, above, one_of, rules, weigh_labels
from ._gaussian_targets import GaussianTargets
from ._kernel import KernelTransformer
from ._placed_posterior import PlacedPosterior, n_equal
from ._seen import remembered, seen


@dataclass(eq=False, repr=False)
class KernelSPPCA(Weighted, GaussianTargets, PlacedPosterior, KernelTransformer):
    """Supervised probabilistic PCA in the feature space of a kernel: nonlinear projections guided by partial labels.

    The model of `SPPCA` with phi(x) in place of x, where k(a, b) = <phi(a), phi(b)> is the kernel::

        phi(x) = W_x z + m_x + e_x,   e_x ~ N(0, x_noise_var I)
        y      = W_y z + m_y + e_y,   e_y ~ N(0, y_noise_var I)

    Only kernel values are computed; W_x is a combination of the training rows, and m_x is their mean, about which
    kernel matrices are centered. With a linear kernel the projection is that of `SPPCA`.

    Parameters
    ----------
    n_components : int, default=None
        Size k of the latent space; at least 1, less than the rank of the centered kernel matrix. None takes 2, or 1
        where the rank allows no more.
    kernel : {"linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="linear"
        A kernel of `sklearn.metrics.pairwise`. A function takes two tables and returns the matrix of their kernel
        values, or takes two rows and returns a number. With "precomputed", `fit` takes the kernel matrix of the
        training rows, and every other method the kernel values (n_samples, n_training_rows) of new rows with them.
    gamma : float, default=None
        Of "rbf", "poly", "sigmoid" and "laplacian"; None takes 1 / n_features.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a function as kernel.
    effective_dimension : {"auto", "rank"} or float, default="auto"
        In how many dimensions the noise of phi(x) lives: the paper's M, which a kernel does not give. "rank" takes the
        rank of the centered kernel matrix; "auto" takes n_features for the linear kernel, where it is known, else
        "rank". More dimensions mean less noise in each, so that projections shrink less.
    n_landmarks : int, default=None
        For many rows: work in the span of this many of them, drawn at random (Nystrom). Memory n_samples x n_landmarks
        instead of n_samples squared. None uses all rows.
    solver : {"auto", "ratio", "moments", "dual"}, default="auto"
        "ratio" (all rows labeled) searches the ratio of the two noise variances for the global maximum; "moments" is
        accelerated EM from several starts in the coordinates of the kernel matrix. "auto" takes "ratio" when nothing
        is missing, no dimension is private and the effective dimension is at least the rank, else "moments". "dual" is
        algorithm 3 of the paper, plain EM on the kernel matrix with the means fixed at those of the sample; it may need
        many thousand iterations, and it takes rows that are labeled fully or not at all, without weights or private
        dimensions. The choice is in `solver_`.
    tol : float, default=1e-6
        Stop when the relative residual of the likelihood equations is at most this.
    max_iter : int, default=1000
        Most iterations.
    n_private : int, default=0
        Latent dimensions that explain phi(x) only, besides the `n_components` guided ones, as in `SPPCA`.
    label_weight : float, default=1.0
        Each labeled row counts as that many rows, so that few labels are heard among many features.
    init : {"pca", "random"}, default="pca"
        Start of ``solver="dual"``.
    noise_init : float, default=None
        Starting value of both noise variances of ``solver="dual"``, in the units of the kernel and squared units of y.
        None derives it. The paper's own setting is ``init="random", noise_init=1e-5``.
    target, unlabeled : {"auto", "classes", "real"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`.
    random_state : int, RandomState instance or None, default=0
        Landmarks, starting block of the basis and random starts. Without landmarks the maximum does not depend on it.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_references, n_components)
        W_x as combinations of the reference rows: training rows, or landmarks. Columns are ordered by the variance of
        (phi(x), y) they explain, each relative to its noise. Signs: for the linear kernel those of
        ``SPPCA.components_``, else the training row farthest along a column has a positive product with it.
    X_fit_ : {ndarray, sparse matrix} of shape (n_references, n_features) or None
        The reference rows; None with a precomputed kernel.
    references_ : ndarray of shape (n_references,)
        Which rows of the fit these are.
    landmarks_ : ndarray of shape (n_landmarks,) or None
        Training rows that were drawn as references; None without landmarks. Rows of weight zero are none.
    kernel_mean_ : ndarray of shape (n_references,)
        Mean kernel value of the training rows, weighted, with each reference.
    rank_ : int
        Rank of the centered kernel matrix, or of its approximation by landmarks.
    effective_dimension_, gamma_ : float, float or None
        As used; no gamma with a precomputed kernel.
    noise_variance_ : float
        Noise variance of phi(x) per dimension.
    y_noise_variance_, y_loadings_, y_intercept_, y_basis_, classes_, target_kind_
        As in `SPPCA`.
    class_axes_, class_centers_, class_covariance_, class_counts_ : ndarray
        As in `SPPCA`.
    log_likelihood_ : float
        Log-likelihood of the training rows, weighted, in nats, phi(x) having `effective_dimension_` dimensions;
        comparable only between models of the same kernel and dimension.
    objective_path_, objective_residual_, noise_floors_, certificate_, solver_, converged_, n_iter_
        As in `SPPCA`.
    n_passes_ : float
        Times the kernel matrix was computed, 1.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_
        As in `SPPCA`; with a precomputed kernel `n_features_in_` is the number of training rows.

    Raises
    ------
    ValueError
        When the kernel matrix is not square, symmetric, finite and positive semi-definite (the error names the
        eigenvalue), n_components reaches its rank, or y does not match X or is ambiguous.

    See Also
    --------
    SPPCA : The same model of the features themselves.

    Notes
    -----
    `Rows` are brought into this process as a whole: the kernel needs pairs of them.

    `posterior`, and the covariance of `transform`, count by default that loadings, mean and scale are estimates, as in
    `SPPCA`, whose regions they are with the linear kernel; p is `effective_dimension_`. Rows of the fit are known by
    their entries, with a precomputed kernel by their kernel values with the references. With landmarks, the directions
    are drawn towards these alone: landmarks are placed as rows of a fit to so many rows, all others as new ones.
    Regions rest on Gaussian phi(x) with noise that is the same in that many dimensions; kernels for which this is far
    off have regions that hold more, or fewer, than they say.

    There is no `score_samples`: x has no density under the model, only phi(x) has, relative to a dimension that is
    chosen rather than known. Time and memory: n^3 and n^2 for n rows, n m^2 and n m for m landmarks.

    References
    ----------
    Yu, Yu, Tresp, Kriegel and Wu, KDD 2006: algorithm 3, theorem 3 with n x_noise_var D^-1 where (ii) prints D^-1,
    eqs. 20-28, the effective dimension in place of M in eq. 25.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from gnomon import KernelSPPCA
    >>> X, y = load_wine(return_X_y=True)
    >>> y[5:] = -1                                   # 173 of 178 rows are unlabeled, one class is left
    >>> y[[60, 61, 150, 151]] = [1, 1, 2, 2]         # a few more labels
    >>> model = KernelSPPCA(n_components=2, kernel="rbf", gamma=0.02).fit(scale(X), y)
    >>> model.transform(scale(X)).shape
    (178, 2)
    >>> model.predict(scale(X)[:2])
    array([0, 0])
    """

    traits = Traits(several="real")

    _rules = rules(
        effective_dimension=above(0, "auto", "rank"),
        init=one_of("pca", "random"),
        solver=one_of("auto", "ratio", "moments", "dual"),
    )
    _fitted = "dual_coef_"

    n_components: Any = None
    _: KW_ONLY
    effective_dimension: Any = "auto"
    n_landmarks: Any = None
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    n_private: Any = 0
    label_weight: Any = 1.0
    init: Any = "pca"
    noise_init: Any = None
    target: Any = "auto"
    unlabeled: Any = "auto"
    random_state: Any = 0

    @property
    def _n_features_out(self):
        return self.dual_coef_.shape[1]

    def _fit(self, rows, targets):
        X, weights = rows.gather(), weigh_labels(rows.weights, targets, self.label_weight)
        coded = code(targets, rows.weights)
        rng = check_random_state(self.random_state)
        feature_map, T, outside = self._map_features(X, weights, rng)
        generator = np.random.default_rng(rng.randint(2**31))
        result = self._fit_model(
            feature_map, T, outside, coded.table, coded.one_target(targets.kind), weights, generator
        )
        self._store(result, feature_map)
        self._remember(X, T, weights, result.stats.get("beyond"))
        self._store_targets(result, X.dtype, coded)
        self._learn_from_labels(rows, targets, weights, self.effective_dimension_)
        self._record(result._replace(stats={**result.stats, "n_passes": 1.0}))

    def _check_parameters(self):
        super()._check_parameters()
        if self.n_landmarks is not None and self.solver == "dual":
            raise ValueError("solver='dual' works on the whole kernel matrix; use n_landmarks=None.")

    # -- the feature space ---------------------------------------------------------------------------------------

    def _map_features(self, X, weights, rng):
        """Set the references; return the map from kernel values to coordinates, and those of the rows.

        With landmarks also the rank of the kernel matrix, as far as they tell, and the energy outside their span.
        """
        n = X.shape[0]
        self.landmarks_ = self._drawn_landmarks(X, np.arange(n), f"n_samples={n}", rng)
        principal = not isinstance(self.effective_dimension, str)  # all eigenvalues say whether a number will do
        feature_map, T, values = self._feature_map(X, np.arange(n), self.landmarks_, weights, principal)
        if values is None:
            return feature_map, T, None
        cross, among, error = values
        lengths, spanned = gram.lengths_outside(cross, among, self._squared_lengths(X), error)
        # landmarks that depend on one another span all there is; else no two rows may be taken to be alike
        rank = n - 1 if spanned == self.n_landmarks else T.shape[1]
        return feature_map, T, (rank, float(lengths.sum() if weights is None else weights @ lengths))

    # -- the model -----------------------------------------------------------------------------------------------

    def _fit_model(self, feature_map, T, outside, Y, together, weights, generator):
        self.rank_ = T.shape[1]
        rank, beyond = (self.rank_, 0.0) if outside is None else outside
        if self.rank_ < 2:
            raise ValueError(
                f"the centered kernel matrix has rank {self.rank_} (n_samples={len(T)}, n_features="
                f"{self.n_features_in_}); a latent space and noise need a rank of at least 2."
            )
        most = max(self.rank_ - 1 - self.n_private, 1)
        k = min(2, most) if self.n_components is None else int(self.n_components)
        d = self.effective_dimension
        if isinstance(d, str):
            d = self.n_features_in_ if d == "auto" and self._linear else rank
        options = self._options_of(model.Options, n_components=k, effective_dimension=float(d), one_target=together)
        self.n_components_, self.effective_dimension_ = k, float(d)
        orient = (lambda W: self.X_fit_.T @ (feature_map.basis @ W)) if self._linear else None  # components_ of SPPCA
        return model.fit(T, Y, options, generator, orient, weights, beyond, principal=feature_map.principal)

    def _store(self, result, feature_map):
        p = result.value.params
        self.dual_coef_ = feature_map.basis @ p.W_x
        self.kernel_mean_ = feature_map.shift
        self._loadings_root = np.linalg.qr(p.W_x, mode="r")
        self.noise_variance_ = float(p.x_noise_var)
        self.log_likelihood_ = result.value.log_likelihood

    def _params(self):
        """The parameters in k dimensions that hold W_x: inner products with W_x are all that conditioning needs."""
        root = self._loadings_root
        return lg.Params(root, np.zeros(len(root)), self.noise_variance_, *self._target_params())

    def _remember(self, X, T, weights, beyond):
        """What tells how well the parameters are known, and which rows the directions were drawn towards.

        `beyond` are eigenvalues of the covariance behind the largest ones, None where coordinates T are principal.
        """
        w, k = np.ones(len(T)) if weights is None else weights, self.dual_coef_.shape[1]
        beyond = (w @ T**2 / w.sum())[k:] if beyond is None else beyond
        self._beyond = beyond[beyond > self.noise_variance_]
        self._n_equal = n_equal(len(T), weights)
        self._n_landmarks = n_equal(len(self.references_), w[self.references_])
        rows = self._known_by(X[self.references_])
        summary = rows.summarize()
        self._spread = np.sqrt(summary.squares / summary.weight) * summary.unit
        self._seen = remembered(rows, *self._prints_by(), self.effective_dimension_)

    def _known_by(self, X):
        """What rows of the fit are known by: their entries, with a precomputed kernel their kernel values."""
        return read(X[:, self.references_] if self._precomputed else X)

    def _prints_by(self):
        return self._spread[None, :], float(self._spread.max())

    def _placed(self, rows, mean, cov):
        """Posterior means and covariances given x, once it is counted that the parameters are estimates.

        With landmarks the directions are combinations of these, which are placed as the rows of a fit to them alone;
        the other rows of the fit have drawn the directions little towards themselves, and are placed as new ones.
        """
        ns = (self._n_equal, self._n_landmarks)
        known, own = (
            learn(self._loadings_root, self.noise_variance_, n, self._beyond, self.effective_dimension_) for n in ns
        )
        of_fit = seen(self._known_by(rows.gather()), *self._prints_by(), self._seen)
        if self.landmarks_ is None:
            return place(known, mean, of_fit)
        at, covs = place(known._replace(settled=False), mean, np.zeros(len(mean), dtype=bool))
        at[of_fit], covs[of_fit] = place(own._replace(settled=False), mean[of_fit], of_fit[of_fit])
        return at, covs

    def _condition(self, rows, y=None):
        """Posterior mean of validated rows, and covariance by row or shared."""
        X, params = rows.gather(), self._params()
        Y = self._code_targets(y, X.shape[0])
        XW = project(self._cross(X).astype(np.float64), self.kernel_mean_, self.dual_coef_)
        if Y is None:
            cov = lg.given_x(params).cov
            return XW @ cov / params.x_noise_var, cov
        observed = ~np.isnan(Y)
        post = lg.row_posterior(params, XW, Y, observed, output_sets(observed))
        return post.mean, post.covs[0] if len(post.covs) == 1 else post.covs[post.of_row]
