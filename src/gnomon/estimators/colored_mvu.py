"""Colored maximum variance unfolding, as a scikit-learn transformer."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..describe import Traits
from ..models import colored_mvu as model
from ..models.colored_mvu import conic_solver
from ..rows import read
from ..rows.products import row_counts
from ..targets.code import code
from ._estimator import TINY, above, at_least, at_most, integer, rules
from ._guided import Guided
from ._kernel import KernelTransformer


@dataclass(eq=False, repr=False)
class ColoredMVU(Guided, KernelTransformer):
    """Colored maximum variance unfolding: an embedding that varies with the labels and keeps short distances.

    The embedding's kernel matrix K maximizes its dependence on the labels, tr(H K H L), while distances d_ij between
    neighbors are kept::

        tr(H K H L) / unit - penalty mean over neighbors of ((K_ii + K_jj - 2 K_ij - d_ij^2) / d^2)^2

    H centers, L is 1 for two rows of one class (a Gaussian kernel for real outputs) and an unlabeled row is like
    itself alone: without labels L = I, and this is maximum variance unfolding. K is confined to the smoothest
    eigenvectors of the neighbor graph, which makes a small semi-definite program. It needs the package clarabel, of
    ``pip install 'gnomon[convex]'``. The paper has no map for new rows; theirs comes from kernel ridge regression of
    the embedding on the rows, and training rows go through the same map.

    Parameters
    ----------
    n_components : int, default=None
        Size of the embedding, at most `n_basis`; None takes 2, or 1 where there are two rows.
    kernel : {"linear", "rbf", "poly", "sigmoid", "cosine", "laplacian"} or callable, default="rbf"
        Kernel of the map from rows to the embedding, as in `KernelSPPCA`.
    gamma, degree, coef0, kernel_params : float, float, float, dict, default=(None, 3, 1, None)
        Of "rbf", "poly", "sigmoid" and "laplacian"; of "poly"; of it and "sigmoid"; of a function as kernel; as in
        `KernelSPPCA`, but a gamma of None is 1 / the mean squared distance of rows.
    n_neighbors : int, default=5
        Neighbors of each row whose distances are kept, and those as near as the last; fewer when there are not as many
        rows. The edges of minimum spanning trees are added, because parts of a graph could move apart for ever.
    n_basis : int, default=20
        Eigenvectors of the graph Laplacian that K is made of; fewer where eigenvalues beyond are the same as the last.
        The program has n_basis (n_basis + 1) / 2 unknowns.
    penalty : float, default=100.0
        Penalty on changes of distances, above 0. The larger, the better they are kept.
    projection_ridge : "auto" or float, default="auto"
        Ridge of the map, in units of the mean kernel value of a centered row with itself. "auto" takes the one with the
        least leave-one-out error; 0 is the pseudo-inverse, which is what comparisons in print use.
    tol : float, default=1e-8
        Accuracy of the conic solver: gap between primal and dual value, and infeasibility.
    max_iter : int, default=200
        Most iterations of the conic solver.
    target, unlabeled : {"auto", "classes", "real"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`. With several real outputs, a row that misses one
        counts as unlabeled.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components_)
        Embedding of the training rows by the program, in units of X; columns are orthogonal, by falling length, and the
        entry farthest from zero is positive. `transform` returns its approximation by the map.
    edges_ : ndarray of shape (n_edges, 2)
        Pairs of rows whose distances are kept.
    edge_errors_ : ndarray of shape (n_edges,)
        (squared distance in K - squared distance of rows) / mean squared distance along edges.
    spectrum_ : ndarray of shape (n_basis,) or less
        Eigenvalues of K, falling, in squared units of X: how many dimensions the embedding needs.
    certificate_ : dict
        "lower": the objective that was reached, without terms that K does not enter; "upper": a bound on it from the
        dual program; "gap", (upper - lower) / |lower|; and "optima", None: the program is convex.
    dual_coef_ : ndarray of shape (n_samples, n_components_)
        The map as combinations of the training rows.
    kernel_mean_ : ndarray of shape (n_samples,)
        Mean kernel value of the training rows with each of them.
    projection_ridge_, gamma_ : float
        As used.
    references_, X_fit_ : ndarray of shape (n_samples,), {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows the map rests on, which are all, and their entries.
    target_kind_, classes_ : {"none", "classes", "real"}, ndarray of shape (n_classes,)
        What y was taken for; the sorted labels of class targets.
    objective_residual_ : float
        Of the conic solver: the largest of the gap to the dual value, relative where it is above 1, and of the relative
        infeasibilities.
    converged_, n_iter_ : bool, int
        Whether that is at most `tol`; its iterations.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_
        Size of the embedding, number of rows, labeled rows and features; column names, when X had them.

    Raises
    ------
    ImportError
        When clarabel is not installed.
    ValueError
        When all rows are the same, n_components exceeds n_basis, or y does not match X or is ambiguous.

    See Also
    --------
    NeighborFeatures : Coordinates of a neighbor graph without a program to solve.
    KernelSPPCA : A probabilistic projection in the feature space of a kernel.

    Notes
    -----
    `Rows` are brought into this process as a whole: distances need pairs of them.

    Memory n_samples squared. With one class and no unlabeled row L says nothing, and L = I is taken.

    References
    ----------
    Song, Smola, Borgwardt and Gretton, NIPS 2007. Weinberger, Sha, Zhu and Saul, NIPS 2006, for the eigenvectors and
    the penalty. Guo, NIPS 2008, eq. 11, for the map to new rows, there with the pseudo-inverse.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import ColoredMVU
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1                                  # half of the rows are unlabeled
    >>> ColoredMVU(n_components=2).fit(X, y).transform(X).shape  # doctest: +SKIP
    (150, 2)
    """

    traits = Traits("colored-mvu", several="real")

    _kinds = ("classes", "real")

    _fitted = "dual_coef_"
    _rules = rules(n_basis=integer(1), penalty=above(0), projection_ridge=at_least(0, "auto"))

    n_components: Any = None
    _: KW_ONLY
    n_neighbors: Any = 5
    n_basis: Any = 20
    penalty: Any = 100.0
    kernel: Any = "rbf"
    projection_ridge: Any = "auto"
    tol: float = 1e-8
    max_iter: int = 200
    target: Any = "auto"
    unlabeled: Any = "auto"

    def _fit(self, rows, targets):
        conic_solver()
        X = rows.gather()
        L = self._label_kernel(targets, X.shape[0])
        most = min(self.n_basis, X.shape[0] - 1)
        why = f" (n_basis={self.n_basis}, n_samples={X.shape[0]})."
        self.n_components_ = at_most(self.n_components, most, why)
        options = model.Options(
            min(self.n_neighbors, X.shape[0] - 1), self.n_basis, float(self.penalty), self.tol, self.max_iter,
            self.n_components_,
        )  # fmt: skip
        result = model.fit(rows, L, options)
        self._mean_squared = result.value.mean_squared * result.value.unit**2
        if self.gamma is None and self._mean_squared < TINY:
            raise ValueError(
                f"the mean squared distance of rows of X, {self._mean_squared:.1e}, is too small a number to compute "
                "with: rescale X."
            )
        self._store(result, X.dtype)
        self._fit_map(X, result.value.Z[:, : self.n_components_] * result.value.unit)

    def _projected(self, rows):
        return model.posterior(model.Map(self.kernel_mean_, self.dual_coef_), read(self._cross(rows.gather())))[0]

    def _check_parameters(self):
        super()._check_parameters()
        if self._precomputed:
            raise ValueError(
                "kernel='precomputed' gives no distances of rows; pass X and a kernel by name or function."
            )

    def _label_kernel(self, targets, n_samples):
        if targets.kind == "real":
            coded = code(targets).table
            complete = row_counts(~np.isnan(coded)) == coded.shape[1]
            if np.unique(coded[complete], axis=0).shape[0] > 1:
                return model.real_kernel(coded, complete)
        elif targets.kind == "classes" and not (len(targets.classes) == 1 and self.n_labeled_ == n_samples):
            return model.class_kernel(targets.index)
        return np.eye(n_samples)

    def _default_gamma(self, X):
        return 1.0 / self._mean_squared

    def _fit_map(self, X, Z):
        feature_map, T, _ = self._feature_map(X, np.arange(X.shape[0]))
        unit = float((T**2).sum()) / len(T)
        if unit == 0.0:
            raise ValueError(
                f"all {len(T)} rows of X are the same to the kernel, and cannot be mapped to the embedding: rescale X, "
                "or choose another kernel or gamma."
            )
        ridge = None if isinstance(self.projection_ridge, str) else self.projection_ridge * unit
        fitted = model.ridge_map(T, Z, ridge, grid=model.RIDGES)
        self.projection_ridge_ = fitted.ridge / unit
        self.dual_coef_, self.kernel_mean_ = feature_map.basis @ fitted.weights, feature_map.shift

    def _store(self, result, dtype):
        fitted, size = result.value, result.value.unit
        Z = fitted.Z
        self.embedding_ = (Z[:, : self.n_components_] * size).astype(dtype)
        self.spectrum_ = (Z**2).sum(axis=0) * size**2
        self.edges_ = fitted.edges
        kept = ((Z[fitted.edges[:, 0]] - Z[fitted.edges[:, 1]]) ** 2).sum(axis=1)
        self.edge_errors_ = (kept - fitted.squared) / fitted.squared.mean()
        lower, upper = -fitted.optimum.value, -fitted.optimum.bound
        gap = max(upper - lower, 0.0) / max(abs(lower), TINY)
        self.certificate_ = {"upper": upper, "lower": lower, "gap": gap, "optima": None}
        self._record_end(result.status, result.stats, "residual of the conic solver")

    def _said(self):
        rms = float(np.sqrt((self.edge_errors_**2).mean()))
        bounds = self.certificate_
        value = f"{bounds['lower']:.10g}, and no matrix has more than {bounds['upper']:.10g}"
        facts = (
            ("ColoredMVU.projection_ridge_", self.projection_ridge_),
            ("objective", value),
            ("root mean square change of a squared distance of neighbors, relative", f"{100 * rms:.1f} %"),
        )
        return super()._said() | {"fit": self._recorded(facts=facts)}
