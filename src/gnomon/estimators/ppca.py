"""Probabilistic PCA as a scikit-learn estimator."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..describe import Traits
from ..models.linear import sppca as model
from ._estimator import integer, one_of, rules
from ._fit_gaussian import GaussianFit
from ._mergeable import Mergeable


@dataclass(eq=False, repr=False)
class PPCA(Mergeable, GaussianFit):
    """Probabilistic PCA: principal components with a noise model, densities and uncertainty.

    Each sample has a latent vector z ~ N(0, I) of size k, and x = W z + m + e with e ~ N(0, noise_var I). The
    maximum likelihood is closed form: leading eigenvectors of the covariance, scaled by the square root of
    eigenvalue minus noise.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Size k of the latent space; at least 1, less than the rank of X. None takes 2, or 1 where the shape of X allows
        no more. "auto" takes the smallest BIC of the training rows, from k = 1 upwards until it has risen three times.
    solver : {"auto", "subspace", "moments", "em"}, default="auto"
        "moments" takes the covariance on the shorter side of the table, "subspace" reads the data about ten times, "em"
        once an iteration, and takes missing entries. "auto" takes "em" when entries are missing, else "moments"
        or "subspace", whichever costs less for the size of the table.
    tol : float, default=1e-6
        Stop when the relative residual of the likelihood equations is at most this.
    max_iter : int, default=1000
        Most EM iterations, or most extensions of the basis.
    random_state : int, RandomState instance or None, default=0
        Starting block of the basis. The maximum does not depend on it.
    checkpoint : str, path or None, default=None
        File that keeps what every read of the rows says until the fit ends. The same fit of the same rows, after
        whatever has stopped it, goes on from there to the same result. It pays where reads are slow; numbers that
        belong to rows are not kept.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Loadings W transposed, in units of X per unit latent variable, by falling explained variance; orthogonal
        rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Sample mean; the maximum likelihood estimate where entries of X are missing.
    noise_variance_ : float
        Mean of the discarded eigenvalues of the covariance, in squared units of X.
    log_likelihood_ : float
        Of the training rows, in nats.
    solver_, converged_, n_iter_, n_passes_, objective_path_, objective_residual_, noise_floors_, bic_path_
        As in `SPPCA`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        Size k of the latent space; the others as in `SPPCA`.

    See Also
    --------
    SPPCA : The same model guided by targets.

    Notes
    -----
    From an array of another library (PyTorch, CuPy, JAX), methods return arrays of that library, device and type;
    fitted attributes are NumPy arrays. See `SPPCA`.

    References
    ----------
    Tipping and Bishop, JRSS B 61 (1999), eqs. 7 and 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import PPCA
    >>> X = load_iris().data
    >>> PPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    traits = Traits("ppca", guided=False, in_place=True)

    _rules = rules(
        n_components=integer(1, "auto", None),
        solver=one_of("auto", "subspace", "moments", "em"),
    )

    n_components: Any = None
    _: KW_ONLY
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = 0
    checkpoint: Any = None

    def _options(self):
        return self._options_of(model.Options)


def part_of_model(X, k, **how):
    """A PPCA of k components that serves another model, which has chosen its units: no noise floor is warned of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* at its floor")
        return PPCA(k, **how).fit(X)
