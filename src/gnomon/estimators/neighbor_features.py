"""Features from a nearest-neighbor graph, as a scikit-learn transformer."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..models import neighbor_features as model
from ._estimator import Transformer, above, integer, one_of, rules


@dataclass(eq=False, repr=False)
class NeighborFeatures(Transformer):
    """Smooth coordinates of a nearest-neighbor graph: a nonlinear preparation for the linear models.

    Each row is joined to its nearest neighbors. The new features are the leading eigenvectors of the random walk on
    this graph, scaled by 1 / (1 + damping - eigenvalue), so that the directions which change least between neighbors
    count most. Where classes are clouds of any shape, they come out compact. Labels take no part.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbors of each row; at most half of the distinct rows are used.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows. "cosine" is the Euclidean distance of rows scaled to length one, the usual choice for
        text; a row of zeros then lies equally far from all others.
    n_components : int, default=60
        Most features. Eigenvectors with an eigenvalue below 0.1, which are not smooth, are left out, so a small table
        may give fewer.
    damping : float, default=0.02
        Above 0; the smaller, the more the smoothest directions outweigh the others.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        "exact" compares all pairs of rows, block by block. "approximate" needs the package pynndescent, of
        ``pip install 'gnomon[neighbors]'``. "auto" is exact up to 20,000 distinct rows and approximate above; where
        pynndescent is missing it stays exact and warns. The choice is in `algorithm_`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the normalized adjacency, falling; the trivial one is left out. Values near 1 tell of clusters.
    n_components_, n_neighbors_ : int
        Number of features, and neighbors used.
    n_parts_ : int
        Connected parts of the graph; the first `n_parts_` - 1 features tell these apart.
    algorithm_ : {"exact", "approximate"}
        How neighbors were found.
    origin_, unit_ : ndarray of shape (n_features_in_,) or None, float
        What Euclidean rows were moved and divided by before their distances were taken; sparse rows are not moved.
    points_ : {ndarray, csr_matrix} of shape (n_points, n_features)
        The distinct rows, scaled as the metric wants them.
    features_ : ndarray of shape (n_points, n_components_)
        Their features before centering.
    mean_ : ndarray of shape (n_components_,)
        Mean of the features over the rows of the fit.
    n_samples_, n_features_in_, feature_names_in_
        As in `SPPCA`.

    See Also
    --------
    SPPCA : A linear model that can stand behind this preparation in a pipeline.
    sklearn.kernel_approximation.Nystroem : Another preparation, of one global kernel.

    Notes
    -----
    `Rows` are brought into this process as a whole: distances need pairs of them.

    A row of the fit gets the same features from `fit_transform` and from `transform`. Any other row gets the mean of
    the features of its nearest rows of the fit, each divided by its eigenvalue (the Nystrom extension, by brute force
    whatever `algorithm` is). Rows that occur several times are one point of the graph. The graph has weight 1 between
    rows that are each other's neighbors and 1/2 where only one is the other's; rows that are equally far share the last
    places (of more than 2^24 / n_samples such rows the first ones do). Nothing is drawn at random.

    References
    ----------
    Coifman and Lafon, Applied and Computational Harmonic Analysis 21 (2006), for random walks on data. Smola and
    Kondor, COLT 2003, for kernels 1 / (constant - eigenvalue) on graphs. Bengio and others, Neural Computation 16
    (2004), for the values at new rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gnomon import NeighborFeatures
    >>> X = load_digits().data
    >>> preparation = NeighborFeatures(n_components=20).fit(X[:1000])
    >>> preparation.transform(X[1000:]).shape
    (797, 20)
    """

    _sparse_forms = ("csr",)
    _in_memory = True
    _rules = rules(
        algorithm=one_of("auto", "exact", "approximate"),
        damping=above(0),
        metric=one_of("euclidean", "cosine"),
        n_components=integer(1),
    )
    _fitted = "features_"

    n_neighbors: Any = 15
    _: KW_ONLY
    metric: Any = "euclidean"
    n_components: Any = 60
    damping: Any = 0.02
    algorithm: Any = "auto"

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        return self._fit_rows(X, y, **fit_params)  # with one search

    def _projected(self, rows):
        own = (self.origin_, self.unit_, self.points_, self.features_, self.eigenvalues_, self.mean_)
        return model.posterior(model.Map(*own, self.n_neighbors_, self.metric), rows)[0]

    def _fit(self, rows, targets):
        fitted = model.fit(rows, self._options_of(model.Options))
        found = fitted.map
        self.origin_, self.unit_, self.points_ = found.origin, found.unit, found.points
        self.features_, self.eigenvalues_, self.mean_ = found.features, found.eigenvalues, found.mean
        self.n_neighbors_, self.n_parts_, self.algorithm_ = found.n_neighbors, fitted.n_parts, fitted.algorithm
        self.n_components_ = len(self.eigenvalues_)
        return fitted.of_rows.astype(rows.dtype)
