"""Supervised exponential family PCA by convex optimization, as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..describe import Traits
from ..models import sepca as model
from ..numerics.folds import deal_folds
from ..rows import read
from ..rows.threads import one_thread
from ._estimator import Weighted, above, at_most, integer, one_of, rules
from ._kernel import KernelCoordinates
from ._opinions import UNCERTAINTY, CodedClasses

SMALL = 2000  # rows up to which one thread is no slower than several, and often faster
PENALTIES, FOLDS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01), 5  # the larger one wins a tie
MOST = 2.0**53  # of all weights: beyond, a float cannot hold one row more or less
SOLVERS = ("fista", "bundle", "coordinate")


@dataclass(eq=False, repr=False)
class SEPCA(Weighted, CodedClasses, KernelCoordinates):
    """Supervised exponential family PCA: codes that explain kernel features and class labels, to a certified optimum.

    Each row has a code z of size d; the codes Z of all rows have orthonormal columns. Given z, features and label are
    draws from exponential families with natural parameters linear in z::

        p(x_j | z)   proportional to exp(z' W phi(x_j))   over the training rows x_j (or the landmarks)
        p(class | z) = softmax(Omega' z + b)

    No Gaussian is assumed, and the kernel makes the map nonlinear. What is maximized, in nats, is::

        sum over all rows i        of log p(x_i | z_i)
      + sum over labeled rows i   of log p(class_i | z_i)   - penalty / 2 (|W|^2 + |Omega|^2 + |b|^2)

    A row without a label contributes its first term only; one of weight w counts as w rows. The problem is not concave
    in Z, W and Omega together; its tightest relaxation by a norm is, and is solved to the global optimum with a bound
    from either side.

    Parameters
    ----------
    n_components : int, default=None
        Number of codes d; at least 1, less than the number of rows. None takes 2, or 1 where no more can be had.
    kernel : {"linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="linear"
        As in `KernelSPPCA`.
    gamma, degree, coef0, kernel_params : float, float, float, dict, default=(None, 3, 1, None)
        Of "rbf", "poly", "sigmoid" and "laplacian"; of "poly"; of it and "sigmoid"; of a function as kernel; as in
        `KernelSPPCA`.
    penalty : float or "auto", default=0.1
        Penalty on the loadings, above 0, for a kernel scaled to unit mean squared distance from the mean, which `fit`
        sees to. As it grows, codes tend to principal components of (phi(x), one-of-C labels - 1/C).
        "auto" takes the one of 0.01, 0.03, 0.1, 0.3, 1, 3 with the smallest cross-validated log-loss of labels.
    projection_ridge : {"auto", "pinv"} or float, default="auto"
        Ridge of the kernel ridge regression of codes on kernel features that projects rows. "auto" takes the smallest
        leave-one-out error; "pinv" is the pseudo-inverse of the paper, without ridge and intercept.
    solver : {"fista", "bundle", "coordinate"}, default="fista"
        "fista" solves the dual by accelerated proximal steps and is the one to use. "bundle" is the paper's algorithm 1
        with its mu = 1, "coordinate" the same on blocks of rows in turn: hundreds of times slower,
        and they take no weights.
    rank_exact : bool, default=False
        Go on from the codes of the relaxation to a local maximum of the problem in Z, W and Omega itself.
    n_landmarks : int, "auto" or None, default="auto"
        Rows that stand for all as the base of p(x | z) and, unless the kernel is linear on few features, as
        Nystrom landmarks. None uses all rows; "auto" does so up to 2000 rows and takes 300 beyond.
    max_rank : int, default=400
        Leading eigenvectors of the kernel matrix that are used.
    tol : float, default=1e-6
        Stop when upper and lower bound of the optimum are this close, relative to the lower one.
    max_iter : int, default=1000
        Most iterations.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict` and `predict_proba` know of the uncertainty of the parameters. "full": probabilities are the mean
        of what the classifier says, brought to the sureness of the other, and of Student densities of the labeled rows
        among the projections. "plug-in": those of the classifier.
    random_state : int, RandomState instance or None, default=0
        Draws the landmarks, and the folds of ``penalty="auto"``; nothing else is random.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Codes Z of the training rows, orthonormal columns (Z' diag(sample_weight) Z = I), by how much they carry; the
        largest entry of each is positive. Rows of weight zero are left out. They know the labels: `transform` of the
        same rows does not, so use that beside new rows.
    certificate_ : dict
        "upper" and "lower" bound of the optimum of the relaxation, in nats without constants; "gap", (upper - lower) /
        |lower|; and "optima": values of the local maxima of the problem before the relaxation that were found, best
        first, None without `rank_exact`.
    rank_value_ : float
        Value at `embedding_` of the problem before the relaxation.
    relaxation_tight_ : bool
        Whether `rank_value_` is within 1e-5 of the upper bound, relatively: then the codes are a global optimum.
    y_loadings_, y_intercept_ : ndarray of shape (n_classes, n_components), (n_classes,)
        Omega transposed, in nats per unit of `embedding_`, and the bias b, in nats.
    coef_, intercept_ : ndarray of shape (n_classes, n_components), (n_classes,)
        Of the classifier on projected rows that `predict` uses.
    calibration_ : dict or None
        With ``uncertainty="full"`` what probabilities are made of, as in `SDRGLM`.
    penalty_ : float
        As used.
    penalty_losses_ : dict of ndarray of shape (6,), or None
        With ``penalty="auto"``: the candidates as "penalty", and as "log_loss" for each the mean of -log P(class) in
        nats over labeled rows whose label was hidden, in five folds.
    projection_ridge_ : float
        As used, relative to the scaled kernel.
    kernel_scale_, kernel_share_, rank_ : float, float, int
        Mean squared distance of the training rows from their mean in feature space, which the kernel was divided by;
        the share of it within the eigenvectors used, and how many these are.
    gamma_, X_fit_, references_
        As in `KernelSPPCA`; None also with a linear kernel on few features.
    landmarks_ : ndarray of shape (n_landmarks,) or None
        Training rows that are the base of p(x | z); None when all are.
    target_kind_, classes_ : {"none", "classes"}, ndarray of shape (n_classes,)
        What guided the fit, and the labels, not set without y.
    objective_path_, solver_ : ndarray of shape (n_iter_,), str
        Best lower bound after each iteration, which never falls, and the solver that ran.
    objective_residual_ : float
        The larger of the relative gap and of what the search for the loadings, given the codes, left undone.
    converged_ : bool
        Whether that is at most `tol`.
    n_iter_, n_components_ : int
        Iterations, size of the codes.
    n_samples_, n_labeled_, n_features_in_, feature_names_in_
        As in `KernelSPPCA`.

    Raises
    ------
    ValueError
        When y holds real numbers, penalty is not positive, n_components is too large for the rows, all rows are the
        same, or the kernel matrix is not positive semi-definite (the error names the eigenvalue).

    See Also
    --------
    KernelSPPCA : Gaussian views, uncertainty of projections.    KDA : Directions that separate classes, labels only.

    Notes
    -----
    `Rows` are brought into this process as a whole: the kernel needs pairs of them.

    Values are log-likelihoods less the constants that do not depend on the fit: n log m for a base of m rows. A single
    class, or none, gives no guidance: the unsupervised model is fitted, with a warning. Classes are predicted by
    multinomial regression on the projections of the labeled training rows, in units of their standard deviation over
    all rows, with ridge 1. An iteration costs about n m (r + d) operations for rank r.

    References
    ----------
    Guo, Supervised exponential family principal component analysis via convex optimization, NIPS 2008. Theorem 1 there
    says that the relaxation is always tight, which is not so; see docs/theory/sepca.md.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SEPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SEPCA(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> model.certificate_["gap"] <= 1e-6
    True
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    traits = Traits("sepca", several="one")

    _kinds = ("classes",)
    _fitted = "embedding_"
    _rules = rules(
        max_rank=integer(1),
        n_landmarks=integer(2, "auto", None),
        penalty=above(0, "auto"),
        projection_ridge=above(0, "auto", "pinv"),
        rank_exact=one_of(True, False),
        solver=one_of(*SOLVERS),
        uncertainty=UNCERTAINTY,
    )

    n_components: Any = None
    _: KW_ONLY
    penalty: Any = 0.1
    projection_ridge: Any = "auto"
    solver: Any = "fista"
    rank_exact: Any = False
    n_landmarks: Any = "auto"
    max_rank: Any = 400
    tol: float = 1e-6
    max_iter: int = 1000
    target: Any = "auto"
    unlabeled: Any = "auto"
    uncertainty: Any = "full"
    random_state: Any = 0

    def _fit(self, rows, targets):
        weights = rows.weights
        if weights is not None and self.solver != "fista":
            raise ValueError(f"solver={self.solver!r} takes no sample_weight; use solver='fista'.")
        if weights is not None and weights.sum() > MOST:
            raise ValueError(
                f"sample_weight sums to {weights.sum():.3g}; it says how many rows each row is, at most {MOST:.1e} in "
                "all: divide it by a number."
            )
        with one_thread(when=rows.shape[0] <= SMALL):
            self._fit_codes(rows.gather(), targets, weights)
            self._learn_opinions(rows, [c.numbers for c in targets.columns], weights)

    def _fit_codes(self, X, targets, weights):
        rng = check_random_state(self.random_state)
        T, base = self._fit_coordinates(X, rng, weights)
        labeled = np.flatnonzero(targets.labeled)
        Y = np.eye(len(targets.classes))[targets.index[labeled]] if len(labeled) else np.zeros((0, 0))
        rank = T.shape[1] + min(len(Y), max(Y.shape[1] - 1, 0))
        why = (
            f": less than n_samples={len(T)}, and no more than the rank of kernel features and labels together, {rank}."
        )
        self.n_components_ = at_most(self.n_components, min(len(T) - 1, rank), why)
        among = weights if weights is None or self.landmarks_ is None else weights[self.landmarks_]
        data = model.Data(T, base, Y, labeled, self.n_components_, 0.1, weights, among)
        options = model.Options(self.solver, self.tol, self.max_iter, self.rank_exact)
        auto = isinstance(self.penalty, str)
        self.penalty_losses_ = None if not auto else self._compare_penalties(data, options, rng)
        self.penalty_ = float(PENALTIES[self.penalty_losses_["log_loss"].argmin()] if auto else self.penalty)
        data = data._replace(penalty=self.penalty_)
        result = model.fit(data, options)
        classifier = model.learn(data, result.value.ranked.Z, self._map_wanted())
        self._store(result, classifier, X.dtype)

    def _coded(self, rows):
        return [model.predict(self._reader(), read(self._coordinates(rows)))]

    def _compare_penalties(self, data, options, rng):
        """Cross-validated log-loss of each candidate."""
        generator, classes = np.random.default_rng(rng.randint(2**31)), np.flatnonzero(data.Y)
        folds = deal_folds(data.rows[data.labeled], classes % max(data.Y.shape[1], 1), FOLDS, generator)
        if data.Y.shape[1] < 2 or folds.max(initial=-1) < 0:
            raise ValueError(
                f"penalty='auto' needs two classes, one of them with two labeled rows; y has {data.Y.shape[1]} classes "
                f"and {len(data.Y)} labeled rows. Give a number."
            )
        quick = options._replace(tol=max(self.tol, 1e-4), rank_exact=False)
        wanted = self._map_wanted()
        losses = [model.held_out_loss(data._replace(penalty=p), folds, quick, wanted) for p in PENALTIES]
        return {"penalty": np.array(PENALTIES), "log_loss": np.array(losses)}

    def _map_wanted(self):
        """How rows are mapped to codes."""
        special = {"auto": model.Map(None), "pinv": model.Map(0.0, centered=False)}
        return special.get(self.projection_ridge) or model.Map(float(self.projection_ridge))

    def _store(self, result, classifier, dtype):
        fitted, ranked = result.value, result.value.ranked
        self.embedding_ = ranked.Z.astype(dtype)
        self.y_loadings_, self.y_intercept_ = ranked.Omega.T.astype(dtype), ranked.b.astype(dtype)
        self.certificate_ = {
            "upper": fitted.upper,
            "lower": fitted.lower,
            "gap": model.relative_gap(fitted.lower, fitted.upper),
            "optima": fitted.optima,
        }
        self.rank_value_, self.relaxation_tight_ = ranked.value, fitted.tight
        self._weights, self._offset, self.projection_ridge_ = classifier.map
        if classifier.slopes.shape[1]:
            self.coef_, self.intercept_ = classifier.slopes.T, classifier.intercept
        self.objective_path_ = result.path
        self.solver_ = self.solver
        what = f"relative gap {self.certificate_['gap']:.1e}, residual"
        self._record_end(result.status, result.stats, what)

    def _said(self):
        bounds, tight = self.certificate_, "yes" if self.relaxation_tight_ else "no"
        facts = (
            *((f"SEPCA.{name}", getattr(self, name)) for name in ("penalty_", "kernel_share_", "projection_ridge_")),
            ("optimum of the relaxation, in nats", f"{bounds['lower']:.10g} to {bounds['upper']:.10g}"),
            ("relative gap of these bounds", f"{bounds['gap']:.1e}"),
            ("value of the codes before the relaxation, in nats", f"{self.rank_value_:.10g}"),
            ("relaxation tight, so that the codes are a global optimum", tight),
        )
        not_tight = "" if self.relaxation_tight_ else " not"
        gap = f"within {bounds['gap']:.0e} of the optimum of the relaxation, which is{not_tight} tight"
        record = self._recorded(objective="best lower bound", remarks=(gap, *self._remarks), facts=facts)
        return super()._said() | {"fit": record}

    def _projected(self, rows):
        return model.posterior(self._reader(), read(self._coordinates(rows)))[0]

    def _reader(self):
        own = vars(self)
        found = model.RidgeMap(self._weights, self._offset, self.projection_ridge_)
        return model.Classifier(found, own.get("coef_", np.zeros((0, 0))).T, own.get("intercept_", np.zeros(0)))
