"""Discriminant probabilistic PCA of several labels a row as a scikit-learn estimator."""

import copy
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..describe import Description, Fit, Prediction, Target
from ..models.dppca import directions, posterior
from ..rows.namespace import host_dtype, like, to_host
from ..rows.read import read
from ._class_reader import project_rows, refuse_missing
from ._described import identity, mean_of
from ._gaussian import check_table
from ._label_table import read_label_table
from ._validation import check_choice
from .dppca import DPPCA, as_components, indicators, reduce_labeled, resolve_n_components


class MultiLabelDPPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Discriminant probabilistic PCA of several labels a row: one model a label, one projection for all.

    Each label, present or absent, divides the rows into two classes of a `DPPCA` of its own, in which unlabeled rows
    count as there. The projection separates all labels at once: its directions are the leading ones of the sum of the
    between-class covariances of the labels against the mean of their within-class covariances.

    Parameters
    ----------
    n_components : int or None, default=None
        Size K of the projection: at most as many directions as there are labels separate them, further ones are leading
        within-class factors. None takes 2, or 1 where there is one label.
    n_factors : {"auto", "usual"} or int, default="auto"
        Number P of within-class factors of each label; a number at or above the rank of X keeps them all. "auto"
        chooses for each label and "usual" goes by the number of rows, as in `DPPCA`.
    shrinkage : {"auto"} or float, default="auto"
        Share in [0, 1) by which within-class covariances are drawn towards a multiple of the identity.
    unlabeled_weight : {"auto"} or float, default="auto"
        How many rows a row without the label counts for, in [0, 1]; 0 learns from the labeled rows only.
    class_prior : None, "uniform" or array-like of shape (n_labels,), default=None
        Probability of 1 for each label. None estimates it, with the unlabeled rows.
    noise : {"half", "ml"} or float, default="half"
        Noise variance, as in `DPPCA`; a number is in squared units of X.
    tol : float, default=1e-6
        EM stops when its steps are shorter, as in `DPPCA`.
    max_iter : int, default=200
        Most EM iterations for each label at the final noise level.
    random_state : int, RandomState instance or None, default=0
        Seed of the halves by which "auto" chooses, the same for all labels, and of the reduction of large tables.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions D transposed: `transform` is (X - mean_) components_'. Within classes, on average over the labels,
        projections are uncorrelated, of variance one in the first `n_class_components_` and of 0.01 in the others.
    mean_ : ndarray of shape (n_features,)
        Mean of the `mean_` of the labels' models.
    estimators_ : list of DPPCA
        The fitted model of each label. All have read the data together: their `n_passes_` count the same reads.
    classes_ : list of ndarray
        0 and 1 for each label.
    target_kind_ : {"labels"}
        How y was read.
    n_components_ : int
        Size of the projection.
    n_class_components_ : int
        How many of the components separate labels; the others are within-class factors.
    n_samples_ : int
        Rows used.
    n_labeled_ : ndarray of shape (n_labels,)
        Rows where each label is known.
    converged_ : bool
        Whether EM converged for every label.
    n_iter_ : int
        EM iterations of the label that took most.
    n_passes_ : float
        Full reads of the data.
    solver_ : {"exact", "leading"}
        "leading" where X is large on both sides and only leading directions are modelled one by one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, when X had them.

    Raises
    ------
    ValueError
        When y is None, holds another value than 0, 1 and marks of unlabeled entries, or has a column without labeled
        rows of both values; X holds NaN or is constant; n_components is more than the rank of X.

    See Also
    --------
    DPPCA : One label of two or more classes.
    SPPCA : Labels as real outputs of one latent space.

    Notes
    -----
    X is reduced to coordinates once for all labels, sparse X is never made dense, and each label then costs one EM in
    these coordinates. With one label everything is that of `DPPCA`. The models hold about n_labels (P + 4) numbers for
    each feature. Labels are independent given x: what one says about another is not used.

    Examples
    --------
    >>> import numpy as np
    >>> from gnomon import MultiLabelDPPCA
    >>> from gnomon.datasets import load_wine
    >>> data = load_wine()
    >>> X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    >>> truth = np.column_stack([data.target == 0, data.target != 2]).astype(float)
    >>> y = truth.copy()
    >>> y[np.arange(178) % 10 > 0] = np.nan        # 18 of 178 rows keep their labels
    >>> model = MultiLabelDPPCA(2).fit(X, y)
    >>> model.transform(X).shape, model.predict_proba(X).shape
    ((178, 2), (178, 2))
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

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
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one model a label, and the projection of all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without missing entries; float32 stays float32.
        y : array-like of shape (n_samples, n_labels)
            0 or 1, or bool, in a column for each label; NaN, None, pd.NA or -1 where a label of a row is not known. A
            vector is one label.

        Returns
        -------
        self : MultiLabelDPPCA
            Fitted.
        """
        self._label_model(self.n_components, None)._check_parameters()
        X = check_table(self, X, reset=True, min_samples=2, anywhere=True)
        refuse_missing(X, "MultiLabelDPPCA")
        index = read_label_table("MultiLabelDPPCA", to_host(y), X.shape[0])
        priors = self._priors(index.shape[1])
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        dtype = host_dtype(X)
        rows = reduce_labeled(read(X), np.hstack([indicators(column, 2) for column in index.T]), generator)
        n_labels = index.shape[1]
        k = resolve_n_components(self.n_components, n_labels, rows.T.shape[1])
        own = max(1, k - n_labels + 1)  # the labels bring n_labels directions, every model has factors for the rest
        self.estimators_, results = [], []
        for column, prior in zip(index.T, priors, strict=True):
            one = self._label_model(own, prior)
            results.append(one._fit_rows(rows, column, copy.deepcopy(generator), dtype))
            self.estimators_.append(one)
        projection, self.n_class_components_ = directions([result.value.params for result in results], k)
        self.components_ = as_components(rows.expand(projection), rows.standard.scale, dtype)
        self._finish(index, results, rows.standard.reads)
        return self

    def transform(self, X: Any) -> Any:
        """Project rows: (X - mean_) components_'.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Projections.
        """
        X = self._check_rows(X)
        return project_rows(X, self.mean_, self.components_)

    def predict(self, X: Any) -> Any:
        """Say for each label whether its presence is more probable than its absence.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_labels)
            0 or 1, integers.
        """
        X = self._check_rows(X)
        return np.column_stack([one._log_joint(X).argmax(axis=1) for one in self.estimators_])

    def predict_proba(self, X: Any) -> Any:
        """Probability of 1 for each label, given x.

        One column a label: rows do not sum to one, since labels do not exclude each other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_labels)
            Between 0 and 1.
        """
        X = self._check_rows(X)
        return like(np.column_stack([posterior(one._log_joint(X))[0][:, 1] for one in self.estimators_]), X)

    def describe(self) -> Description:
        """Return what the fitted model says of itself, as plots, reports and the command line read it.

        Returns
        -------
        Description
        """
        check_is_fitted(self, "components_")
        targets = tuple(Target("classes", classes, j) for j, classes in enumerate(self.classes_))

        def predict(X):
            shares = self.predict_proba(X)
            return tuple(
                Prediction((share > 0.5).astype(int), np.column_stack([1.0 - share, share])) for share in shares.T
            )

        return Description(
            **identity(self),
            targets=targets,
            predict=predict,
            n_labeled=int(self.n_labeled_.max()),
            n_components=self.n_components_,
            project=mean_of(self),
            loadings=self.components_,
            fit=Fit(solver=self.solver_, converged=self.converged_, n_iter=self.n_iter_, n_reads=self.n_passes_),
        )

    def _check_rows(self, X):
        check_is_fitted(self, "components_")
        X = check_table(self, X, reset=False, min_samples=1, anywhere=True)
        refuse_missing(X, "MultiLabelDPPCA")
        return X

    def _label_model(self, n_components, class_prior):
        shared = self.get_params(deep=False) | {"n_components": n_components, "class_prior": class_prior}
        one = DPPCA(**shared)
        one.classes_ = np.array([0, 1])
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(one, name, getattr(self, name))
        return one

    def _priors(self, n_labels):
        """`class_prior` of the model of each label."""
        if self.class_prior is None or isinstance(self.class_prior, str):
            if self.class_prior is not None:
                check_choice("class_prior", self.class_prior, ("uniform",))
            return [self.class_prior] * n_labels
        prior = np.asarray(self.class_prior, dtype=np.float64)
        if prior.shape != (n_labels,) or not ((prior > 0) & (prior < 1)).all():
            raise ValueError(
                f"class_prior={self.class_prior!r} must hold the probability of 1 for each of the {n_labels} labels, "
                "between 0 and 1."
            )
        return [np.array([1.0 - one, one]) for one in prior]

    def _finish(self, index, results, reads):
        models = self.estimators_
        self.mean_ = np.mean([one.mean_ for one in models], axis=0, dtype=np.float64).astype(self.components_.dtype)
        self.classes_, self.target_kind_ = [one.classes_ for one in models], "labels"
        self.n_components_, self.n_samples_ = len(self.components_), len(index)
        self.n_labeled_ = np.array([one.n_labeled_ for one in models])
        self.n_iter_ = max(one.n_iter_ for one in models)
        self.n_passes_, self.solver_ = float(reads), models[0].solver_
        stopped = [i for i, one in enumerate(models) if not one.converged_]
        self.converged_ = not stopped
        if stopped:
            worst = max(models[i].objective_residual_ for i in stopped)
            warnings.warn(
                f"MultiLabelDPPCA {results[stopped[0]].status.value} (label columns {stopped[:10]}, last step up to "
                f"{worst:.1e}, tol={self.tol}).",
                ConvergenceWarning,
                stacklevel=3,
            )
