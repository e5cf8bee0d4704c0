"""Supervised and semi-supervised probabilistic PCA as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..describe import Traits
from ..likelihoods.family import drawn_class
from ..models.linear import sppca as model
from ..models.linear.conditioning import draw_outputs
from ._density import JointDensity
from ._estimator import above, integer, one_of, rules
from ._fit_gaussian import GaussianFit
from ._gaussian_targets import GaussianTargets
from ._mergeable import Mergeable


@dataclass(eq=False, repr=False)
class SPPCA(Mergeable, GaussianTargets, JointDensity, GaussianFit):
    """Supervised probabilistic PCA: one latent space that explains features and whatever targets are known.

    Each sample has a latent vector z ~ N(0, I) of size k. Features and targets are noisy linear views of it::

        x = W_x z + m_x + e_x,   e_x ~ N(0, x_noise_var I)
        y = W_y z + m_y + e_y,   e_y ~ N(0, y_noise_var I)

    Rows without a target count as unlabeled: they inform W_x through x alone (semi-supervised PPCA). Single outputs of
    a row may be missing too. Class targets are coded on n_classes - 1 orthonormal contrasts.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Size k of the latent space; at least 1, less than the rank of X. None takes 2, or 1 where the shape of X allows
        no more. "auto" takes the smallest BIC of the training rows, from k = 1 upwards until it has risen three times.
    solver : {"auto", "ratio", "subspace", "moments", "em", "dual", "paper"}, default="auto"
        "ratio" (all rows labeled) searches the ratio of the two noise variances for the global maximum. "moments"
        takes all second moments at once, on the shorter side of the table. "subspace" grows a small basis and reads
        the data about ten times. "em" reads the data once an iteration; it is the one that takes missing entries in X.
        "dual" is the paper's algorithm 3, EM on the inner products of rows, with sample means and no acceleration.
        "paper" is "dual" as the paper ran it: random start, noise variances 1e-5; with its 1000 iterations it stops far
        from the maximum. "auto" takes "em" when entries of X are missing, "ratio" when
        nothing is, else "moments" or "subspace", whichever costs less for the size; `solver_` has the choice.
    tol : float, default=1e-6
        Stop when the relative residual of the likelihood equations, ``|X'Z - W_x C| / |X'Z|``, is at most this.
    max_iter : int, default=1000
        Most EM iterations, or most extensions of the basis.
    n_private : int, default=0
        Latent dimensions that explain x only, besides the `n_components` guided ones: their loadings on y are zero. The
        guided ones come first, ordered by how much of y they explain; `transform` returns all, guided first.
    label_weight : float, default=1.0
        Each labeled row counts as that many rows, so that few labels are heard among many features.
    output_noise : "ml", "per_output" or float, default="ml"
        One share of noise for all outputs by maximum likelihood, each in its own unit, the standard deviation; a noise
        variance for each; or a fixed value in squared units of y.
        A small fixed value makes the projection follow the labels closely.
    prior_precision : float, default=0.0
        Precision of an isotropic Gaussian prior on every loading, with x and y scaled to unit mean variance. Above zero
        the fit is the maximum a posteriori.
    means : {"ml", "fixed"}, default="ml"
        Estimate the means together with the loadings, or hold them at the sample means, as the paper does.
    n_init : int, default=2
        Random starts that "em" tries besides PCA. "moments" and "subspace" start from computed points, "ratio" needs
        none.
    init : {"pca", "random"}, default="pca"
        Start of `solver="em"`.
    noise_init : float, default=None
        Starting value of both noise variances of `solver="em"`, in squared units of X and of y. None derives it.
    acceleration : {"alternating", "anderson", "squarem", None}, default="alternating"
        Acceleration of `solver="em"`, over parameter-expanded EM; None is the plain algorithm of the paper. A proposal
        is kept only if the likelihood does not fall.
    target : {"auto", "classes", "real"}, default="auto"
        What y means: "auto" takes text, booleans and few different whole numbers for classes, other numbers for
        numbers, and a table of numbers for numbers; the others override that.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row besides None, NaN and pd.NA: "auto" takes -1 in a column of numbers read as classes;
        None takes nothing, so that -1 is a class; any other value is itself the mark.
    random_state : int, RandomState instance or None, default=0
        Starting block of the basis and random starts. The maximum does not depend on it.
    checkpoint : str, path or None, default=None
        File that keeps what every read of the rows says until the fit ends. The same fit of the same rows, after
        whatever has stopped it, goes on from there to the same result. It pays where reads are slow; numbers that
        belong to rows are not kept.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        W_x transposed, in units of X per unit latent variable. Rows are ordered by the variance they explain in
        (x, y) jointly, each relative to its noise; the largest entry of each is positive. Not orthogonal when y is
        used.
    mean_ : ndarray of shape (n_features,)
        m_x, the mean of the rows as weighted; targets do not move it, however many are missing. Where entries of X are
        missing, it is the maximum likelihood estimate, which differs from the mean of what is observed.
    noise_variance_ : float
        Residual variance per feature, in squared units of X.
    y_noise_variance_ : float, ndarray of shape (n_outputs,) or None
        Residual variance per output, in squared units of y; an array for several outputs, None without
        targets.
    y_loadings_ : ndarray of shape (n_outputs, n_components)
        W_y, zero for private dimensions; for classes n_outputs = n_classes - 1 contrasts.
    y_intercept_ : ndarray of shape (n_outputs,)
        m_y. With unlabeled rows this is the maximum likelihood estimate, not the mean of the labeled rows.
    y_basis_ : ndarray of shape (n_outputs, rank) or None
        When real outputs satisfy an exact linear relation (one-of-C columns, say), y has a density only on the span of
        this basis, and the model lives there: y - y_intercept_ = y_basis_ @ c, where every output counts in its own
        unit. `y_noise_variance_` is then that of each coordinate c, whose volume is that of y.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels; only for class targets.
    class_axes_ : ndarray of shape (n_components, r)
        Orthonormal directions of the latent space that foretell the codes of classes, the row space of `y_loadings_`.
        This and the next three only for class targets.
    class_centers_, class_covariance_ : ndarray of shape (n_classes, r), (r, r)
        Where rows of each class are along them, and their covariance within a class.
    class_counts_ : ndarray of shape (n_classes,)
        Labeled rows of each class, as weighted by `sample_weight`. Shares of classes are those of the counts plus one.
    target_kind_ : {"none", "classes", "real"}
        How y was read.
    log_likelihood_, objective_path_ : float, ndarray
        Log-likelihood of the training rows, weighted, in nats; and what it was (log-posterior with a prior) after each
        maximization, which never falls.
    bic_path_ : ndarray or None
        BIC for k = 1, 2, ... with ``n_components="auto"``.
    objective_residual_ : float
        Relative residual of the likelihood equations at the end, see `tol`.
    noise_floors_ : tuple of str
        Which noise variances rest on their floor ("x": 1e-6 of the variance of x, with a warning; "y": 1e-5 of that of
        y).
    certificate_ : dict or None
        For "ratio": "optima", the log-likelihoods (nats) of all local maxima over the noise ratio, the first one taken,
        and "lower", what was reached; "upper" and "gap" are None, for the search over the ratio leaves no bound.
    solver_ : str
        The solver that ran.
    converged_ : bool
        Whether the residual reached `tol`, or is below 1e-6 and rounding allows no further step.
    n_iter_, n_passes_ : int, float
        Iterations of EM or maximizations inside the basis, and full reads of the data, of some rows by their share.
    n_components_ : int
        Number of guided dimensions, k.
    n_samples_, n_labeled_ : int
        Rows used, and rows with at least one observed target.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names when X had them.

    Raises
    ------
    ValueError
        When n_components reaches the rank of X, y does not match X or is ambiguous, or entries are not finite.

    See Also
    --------
    PPCA : The same model without targets.

    Notes
    -----
    A class is told by Bayes' rule from shares and Student densities of labeled rows along `class_axes_`, which count
    that few labels leave centers and covariance open; `predict`, `predict_proba` and `sample` say the same. A row far
    from all classes is sure of none. Where labels are a random draw their shares are those of the rows.

    Memory: with R (the larger of 160 and 6 k) basis directions, R (2 p + rows outside the most frequent pattern of
    missing targets) numbers for "subspace", and p^2 or n^2 for "moments" and "ratio" on small tables.

    Arrays of other libraries (PyTorch, CuPy, JAX, any of the array API) stay on their device: blocks of X are
    multiplied there, with sums in float64; only small products and numbers per row and direction come to the host, and
    posterior covariances are computed there. What methods return is of the same library, device and type, except for
    class labels; fitted attributes are NumPy arrays. On a device without float64 sums over blocks are added on the
    host; ``solver="moments"`` suits it best, since the others stall before `tol`.

    References
    ----------
    Yu, Yu, Tresp, Kriegel and Wu, KDD 2006. E-step eqs. 5, 6, 11, 12; M-step eqs. 8-10, 13-16; closed form theorem 2.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gnomon import SPPCA
    >>> X, y = load_wine(return_X_y=True)
    >>> y[5:] = -1                                   # 173 of 178 rows are unlabeled, one class is left
    >>> y[[60, 61, 150, 151]] = [1, 1, 2, 2]         # a few more labels
    >>> model = SPPCA(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (178, 2)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    traits = Traits("sppca", in_place=True, several="real")

    _rules = rules(
        init=one_of("pca", "random"),
        n_components=integer(1, "auto", None),
        n_init=integer(0),
        output_noise=above(0, "ml", "per_output"),
        solver=one_of("auto", "ratio", "subspace", "moments", "em", "dual", "paper"),
    )

    n_components: Any = None
    _: KW_ONLY
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    n_private: Any = 0
    label_weight: Any = 1.0
    output_noise: Any = "ml"
    prior_precision: Any = 0.0
    means: Any = "ml"
    n_init: int = 2
    init: Any = "pca"
    noise_init: Any = None
    acceleration: Any = "alternating"
    target: Any = "auto"
    unlabeled: Any = "auto"
    random_state: Any = 0
    checkpoint: Any = None

    def _options(self):
        options = self._options_of(model.Options)
        if self.solver != "paper":
            return options
        return options._replace(solver="dual", init="random", noise_init=1e-5)

    def _draw_targets(self, X, latent, rng):
        self._require_targets("sample(return_y=True)")
        Y = draw_outputs(self._params(), latent, rng)
        if self.target_kind_ == "classes":
            return self.classes_[drawn_class(self.predict_proba(X), rng.random_sample(len(X))).astype(np.intp)]
        if self.y_basis_ is not None:
            Y = self.y_intercept_ + Y @ self.y_basis_.T
        return Y[:, 0] if self._vector else Y
