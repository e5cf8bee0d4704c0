"""Structural correspondence learning as a scikit-learn transformer."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from ..describe import Projection
from ..models import scl as model
from ..rows.by_chunk import by_chunk
from ..rows.products import Append
from ..targets import read as read_targets
from ._domains import WithDomains, block_scale, read_domains
from ._estimator import Transformer, above, as_given, integer, one_of, rules

N_PIVOTS = {"frequency": 1000, "mutual_information": 100}


@dataclass(eq=False, repr=False)
class SCL(WithDomains, Transformer):
    """Structural correspondence learning: directions in which features of several domains play the same part.

    Pivots are features that occur in every domain. Each is predicted from all other features by ridge regression over
    the rows of all domains, labeled or not; features of different domains that predict the same pivots get similar
    weights. The leading left singular vectors theta (p, k) of the weights are the projection, z = theta'(x - mean).
    Train a classifier on the labeled rows of one domain and on ``[x, scale z]``, and use it in the other.

    Parameters
    ----------
    n_components : int, default=None
        Size k of the projection, at most the rank of the predictors. None takes 50, or the rank where it is smaller.
    pivots : {"frequency", "mutual_information"}, default="frequency"
        How pivots are found. "frequency" takes the features whose smallest share of rows over the domains is largest
        (SCL). "mutual_information" takes those that tell most about the labels (SCL-MI), among the features that occur
        in every domain; it needs class labels. A feature occurs in a row where it is not zero: the word is there. Among
        equals those that vary most are taken, then those that vary most with the squared length of a row.
    n_pivots : int or "auto", default="auto"
        Number of pivots, at most the number of features. "auto" takes 1000 frequent ones, or 100 by mutual information.
    ridge : float or "auto", default="auto"
        Ridge added to the covariance of the features, in squared units of X. "auto" takes ten times the mean variance
        of a feature.
    augment : bool, default=False
        Whether `transform` returns the features beside the projection, ``[x, scale z]``, sparse when X is, or the
        projection alone, in units of X. Its columns are called scl0, scl1, ..., those of the features as in X.
    scale : float, default=1.0
        With `augment`, the root of the total variance of the projection over that of the features.
    solver : {"auto", "covariance", "gram"}, default="auto"
        Which matrix is factorized: the covariance of the features, or the inner products of the rows. The weights are
        the same; "auto" takes the smaller matrix. The choice is in `solver_`.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        theta transposed: orthonormal rows by falling singular value, the largest entry of each positive.
    singular_values_ : ndarray of shape (n_components_,)
        Of the predictor weights.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    pivots_ : ndarray of shape (n_pivots_,)
        Columns of the pivots, the best first.
    pivot_scores_ : ndarray of shape (n_pivots_,)
        Their smallest share of rows over the domains, or their mutual information with the label in nats.
    ridge_ : float
        Ridge used, in squared units of X.
    block_scale_ : float
        What z is multiplied by with ``augment=True``.
    solver_ : {"covariance", "gram"}
        The matrix that was factorized.
    n_components_, n_pivots_, n_domains_ : int
        Size of the projection, and numbers of pivots and domains.
    n_samples_, n_features_in_, feature_names_in_
        As in `SPPCA`.

    Raises
    ------
    ValueError
        When no feature can be a pivot, nothing predicts the pivots, n_components exceeds the rank of the predictors, or
        both sides of X are too long for a matrix of p x p or n x n numbers.

    See Also
    --------
    DomainStack : A classifier on projections that were fitted to all domains; its projection may be an `SCL`.

    Notes
    -----
    All pivot predictors come from one Cholesky factorization: with Theta = (Cov + ridge I)^-1 the weights that predict
    feature c from the others are w_c = -Theta_c / Theta_cc. Memory: about three matrices of the smaller side of X
    squared (at most 10,000 squared), and two of n_features x n_pivots; a sparse X is never made dense.

    References
    ----------
    Blitzer, McDonald and Pereira, EMNLP 2006. Blitzer, Dredze and Pereira, ACL 2007, for mutual information.

    Examples
    --------
    >>> from gnomon import SCL
    >>> from gnomon.datasets import make_text
    >>> data = make_text(n_samples=300, n_features=200, random_state=0)
    >>> domain = [0] * 150 + [1] * 150
    >>> SCL(5, n_pivots=40).fit(data.data, domain=domain).transform(data.data).shape
    (300, 5)
    """

    _sparse_forms = ("csr",)
    _rules = rules(
        n_pivots=integer(1, "auto"),
        pivots=one_of(*N_PIVOTS),
        ridge=above(0, "auto"),
        scale=above(0),
        solver=one_of("auto", "covariance", "gram"),
    )

    n_components: Any = None
    _: KW_ONLY
    pivots: Any = "frequency"
    n_pivots: Any = "auto"
    ridge: Any = "auto"
    augment: Any = False
    scale: Any = 1.0
    solver: Any = "auto"
    target: Any = "auto"
    unlabeled: Any = "auto"

    def _read_y(self, y, n_samples, rows=None):
        return read_targets(y, n_samples, target=self.target, unlabeled=self.unlabeled, model="SCL")

    def _fit(self, rows, targets, domain):
        if rows.shape[1] < 2:
            raise ValueError(
                f"X has n_features={rows.shape[1]}; pivots are predicted from other features, so at least 2 are wanted."
            )
        domains, group = read_domains(domain, targets.labeled)
        self.n_domains_ = len(domains)
        self._choose_pivots(rows, group, targets)
        ridge = None if self.ridge == "auto" else float(self.ridge)
        fitted = model.fit(rows, self.pivots_, self.n_components, ridge, self.solver)
        self.components_ = np.ascontiguousarray(fitted.projection.theta.T, dtype=rows.dtype)
        self.mean_ = fitted.projection.mean.astype(rows.dtype)
        self.singular_values_ = fitted.singular_values
        self.ridge_, self.solver_ = fitted.ridge, fitted.solver
        self.n_components_ = len(self.components_)
        self._loadings = fitted.loadings
        self.block_scale_ = block_scale(self.scale, fitted.x_variance, fitted.z_variance)

    @by_chunk
    def transform(self, X: Any) -> Any:
        rows = self._check_rows(X)
        Z = self._projected(rows)
        return as_given(rows.with_columns(more=Z).map(Append(self.block_scale_)), X) if self.augment else Z

    def _projected(self, rows):
        own = model.Projection(self.mean_.astype(np.float64), self.components_.T.astype(np.float64))
        return model.posterior(own, rows)[0]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        names = super().get_feature_names_out(input_features)
        if not self.augment:
            return names
        return np.concatenate([OneToOneFeatureMixin.get_feature_names_out(self, input_features), names])

    def _choose_pivots(self, rows, group, targets):
        """Set `pivots_` and `pivot_scores_`."""
        score = model.pivot_frequency(*model.occurrences(rows, group))
        if self.pivots == "mutual_information":
            if targets.kind != "classes" or not targets.vector or len(targets.classes) < 2:
                raise ValueError("pivots='mutual_information' needs class labels of at least two classes in y.")
            everywhere = score > 0
            information = model.mutual_information(*model.occurrences(rows, targets.index))
            score = np.where(everywhere, information, 0.0)
        wanted = N_PIVOTS[self.pivots] if self.n_pivots == "auto" else self.n_pivots
        pivots = model.choose_pivots(score, min(wanted, int((score > 0).sum())), *model.variation(rows))
        if len(pivots) == 0:
            tells = " and tells about the labels" if self.pivots == "mutual_information" else ""
            raise ValueError(
                f"no feature of X occurs in every one of the {self.n_domains_} domains{tells}; there is no pivot."
            )
        self.pivots_, self.pivot_scores_ = pivots, score[pivots]
        self.n_pivots_ = len(pivots)

    def _said(self):
        def project(X):  # without the columns of X that may stand beside it
            return Projection(np.asarray(self._projected(self._check_rows(X))))

        return super()._said() | {"loadings": vars(self).get("_loadings"), "project": project}
