"""Classify rows of a domain without labels: rows of all domains stacked, projected, and joined to their features."""

import inspect
from dataclasses import KW_ONLY, dataclass
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid, check_cv

from ..describe import Projection, Traits
from ..numerics.folds import deal_folds
from ..rows.by_chunk import by_chunk
from ..rows.products import side_by_side
from ._domains import WithDomains, block_scale, match_domains, read_domains
from ._estimator import Estimator, above, check_integer, one_of, rules
from ._guided import GuidedPredictor
from .sppca import SPPCA

SCALES = (0.25, 0.5, 1.0, 2.0)
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)  # C for features of total variance one


@dataclass(eq=False, repr=False)
class DomainStack(WithDomains, GuidedPredictor, Estimator):
    """Domain adaptation by a projection of stacked rows: labels of one domain, predictions in another.

    Rows of all domains, labeled or not, are stacked and a projection is fitted to them; logistic regression is trained
    on the labeled rows, on their features x beside their projections z, ``[x, scale z]``, or on z alone. What the
    domains share in z carries the labels over to features that occur in the unlabeled domain only.

    Parameters
    ----------
    projection : transformer, default=None
        Fitted to all rows, with unlabeled targets marked by -1 or None; any estimator of this library or of
        scikit-learn that has `transform`. An `SCL` is told the domains. None takes `SPPCA`.
    grid : dict or list of dicts, default=None
        Values of parameters of the projection to choose among, as in scikit-learn's `ParameterGrid`.
    augment : bool, default=True
        Train on the features beside the projections, or on the projections alone.
    scale : float or "auto", default="auto"
        With `augment`, the root of the total variance of the projections over that of the features. "auto" chooses
        among 1/4, 1/2, 1 and 2.
    C : float or "auto", default="auto"
        Inverse strength of the penalty of logistic regression, for features scaled to a total variance of one. "auto"
        chooses among 1, 3, 10, 30 and 100.
    center : {"rows", "domains"}, default="rows"
        Leave the projections as they are, or subtract from each the mean of its domain, so that what merely tells the
        domains apart carries no weight.
    cv : int or splitter, default=5
        How labeled rows are held out to choose `grid`, `scale` and `C` by their log loss: folds, at most the rows of
        the rarest class, or a scikit-learn splitter. The projection is fitted again with the labels of the held-out
        rows hidden.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.
    random_state : int, RandomState instance or None, default=0
        Of the folds.

    Attributes
    ----------
    target_kind_, classes_ : {"classes"}, ndarray of shape (n_classes,)
        What y was read as, and its sorted labels.
    projection_ : transformer
        Fitted to all rows and all labels.
    classifier_ : LogisticRegression
        Trained on the scaled features of the labeled rows.
    best_params_ : dict
        What was taken from `grid`.
    scale_, C_ : float
        The values used; `scale_` is 1 without `augment`.
    results_ : list of dict
        Every combination tried: its "params", "scale", "C" and "log_loss" (mean over held-out rows, in nats).
    domains_ : ndarray of shape (n_domains,)
        Labels of the domains; without `domain` in `fit`, False for unlabeled and True for labeled rows.
    target_ : int
        Which of `domains_` has no labeled row: the one that `predict` assumes; -1 when there is none or several.
    n_samples_, n_labeled_, n_features_in_, feature_names_in_
        As in `SPPCA`.

    See Also
    --------
    SCL : A projection made for several domains.

    Notes
    -----
    `Rows` are brought into this process as a whole: the classifier reads them beside the projection.

    Nothing is chosen by labels of the target domain. Labels that guide the projection make its labeled rows look
    better than others, so that choices are made on rows whose labels it has not seen.

    References
    ----------
    Cheng and Li, "Classification probabilistic PCA with application in domain adaptation", PAKDD 2011, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from gnomon import PPCA, DomainStack
    >>> X, y = load_wine(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> strong = X[:, 0] > np.median(X[:, 0])
    >>> model = DomainStack(PPCA(2)).fit(X, np.where(strong, y, -1))
    >>> bool(model.score(X[~strong], y[~strong]) > 0.5)
    True
    """

    traits = Traits(several="one")

    _kinds = ("classes",)
    _required = True
    _fewest_classes = 2
    _sparse_forms = ("csr",)
    _in_memory = True
    _rules = rules(C=above(0, "auto"), center=one_of("rows", "domains"), scale=above(0, "auto"))
    _fitted = "classifier_"

    projection: Any = None
    _: KW_ONLY
    grid: Any = None
    augment: Any = True
    scale: Any = "auto"
    C: Any = "auto"
    center: Any = "rows"
    cv: Any = 5
    target: Any = "auto"
    unlabeled: Any = "auto"
    random_state: Any = 0

    def _fit(self, rows, targets, domain):
        X = rows.gather()
        index, labeled = targets.index, targets.labeled
        self.domains_, group = read_domains(domain, labeled)
        without = np.setdiff1d(np.arange(len(self.domains_)), group[labeled])
        self.target_ = 0 if len(self.domains_) == 1 else int(without[0]) if len(without) == 1 else -1
        self._unit = float(np.sqrt(_total_variance(rows)))
        self._choose(X, index, group)
        self.projection_, self._means, self._factor, Z = self._project_all(X, index, group, self.best_params_)
        rows = np.flatnonzero(labeled)
        self.classifier_ = _learned(self.C_, self._features(X[rows], Z[rows], self.scale_), index[rows])

    @by_chunk
    def predict(self, X: Any, domain: Any = None) -> Any:
        """Predict the class of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        domain : array-like of shape (n_samples,), default=None
            Their domains, which only ``center="domains"`` reads; None takes the domain without labels.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        features = self._new_features(X, domain)
        return self.classes_[self.classifier_.predict(features)]

    @by_chunk
    def predict_proba(self, X: Any, domain: Any = None) -> Any:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        domain : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns in the order of `classes_`.
        """
        features = self._new_features(X, domain)
        return self.classifier_.predict_proba(features)

    def _check_parameters(self):
        super()._check_parameters()
        if isinstance(self.cv, (int, float)):
            check_integer("cv", self.cv, 2)
        if self.projection is not None and not hasattr(self.projection, "transform"):
            raise TypeError(f"projection={self.projection!r} must have the methods fit and transform.")

    def _choose(self, X, index, group):
        """Set `best_params_`, `scale_` and `C_` by the log loss of held-out labeled rows."""
        scales = (SCALES if self.scale == "auto" else (float(self.scale),)) if self.augment else (1.0,)
        strengths = STRENGTHS if self.C == "auto" else (float(self.C),)
        candidates = list(ParameterGrid(self.grid or {}))
        self.results_ = []
        if len(candidates) * len(scales) * len(strengths) == 1:
            self.best_params_, self.scale_, self.C_ = candidates[0], scales[0], strengths[0]
            return
        labeled = np.flatnonzero(index >= 0)
        splits = [(labeled[train], labeled[test]) for train, test in self._splits(X[labeled], index[labeled])]
        for params in candidates:
            losses = sum(self._held_out_losses(X, index, group, params, scales, strengths, *split) for split in splits)
            for (i, scale), (j, C) in product(enumerate(scales), enumerate(strengths)):
                loss = float(losses[i, j]) / sum(len(test) for _, test in splits)
                self.results_.append({"params": params, "scale": scale, "C": C, "log_loss": loss})
        best = min(self.results_, key=lambda result: result["log_loss"])
        self.best_params_, self.scale_, self.C_ = best["params"], best["scale"], best["C"]

    def _splits(self, X, index):
        if not isinstance(self.cv, Integral):
            return check_cv(self.cv).split(np.zeros((len(index), 1)), index)
        fewest = int(np.bincount(index).min())
        if fewest < 2:
            raise ValueError(
                f"class {self.classes_[np.bincount(index).argmin()]} has one labeled row, so that none can be held "
                "out to choose by: give scale and C as numbers, and no grid."
            )
        n_folds, generator = min(self.cv, fewest), np.random.default_rng(self._seed())
        folds = deal_folds(X - X.mean(axis=0) if isinstance(X, np.ndarray) else X, index, n_folds, generator)
        return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_folds)]

    def _held_out_losses(self, X, index, group, params, scales, strengths, train, test):
        """Summed log loss of the rows `test`, whose labels nothing has seen: (n_scales, n_strengths)."""
        if len(np.unique(index[train])) < len(self.classes_):
            raise ValueError("cv leaves no labeled row of some class to train on; use folds that keep every class.")
        hidden = np.full(len(index), -1)
        hidden[train] = index[train]
        Z = self._project_all(X, hidden, group, params)[-1]
        losses = np.empty((len(scales), len(strengths)))
        for i, scale in enumerate(scales):
            seen, held_out = (self._features(X[rows], Z[rows], scale) for rows in (train, test))
            for j, C in enumerate(strengths):
                proba = _learned(C, seen, index[train]).predict_proba(held_out)
                losses[i, j] = log_loss(index[test], proba, normalize=False, labels=np.arange(len(self.classes_)))
        return losses

    def _project_all(self, X, index, group, params):
        """Fit the projection; return it, the means of the domains, the factor to the variance of x, and all Z."""
        projection = clone(SPPCA() if self.projection is None else self.projection).set_params(**params)
        told = {"domain": group} if "domain" in inspect.signature(projection.fit).parameters else {}
        Z = _dense(projection.fit(X, index, **told).transform(X))
        if self.center == "rows":
            means = np.repeat(Z.mean(axis=0)[None], len(self.domains_), axis=0)
        else:
            means = np.array([Z[group == g].mean(axis=0) for g in range(len(self.domains_))])
        Z = Z - means[group]
        factor = block_scale(1.0, self._unit**2, float((Z**2).mean(axis=0).sum()))
        return projection, means, factor, factor * Z

    def _features(self, X, Z, scale):
        """Features of total variance one, with projections of `scale` squared that next to them; or these alone."""
        return side_by_side(X * (1.0 / self._unit), Z * (scale / self._unit)) if self.augment else Z / self._unit

    def _new_features(self, X, domain):
        return self._features(*self._with_projections(X, domain), self.scale_)

    def _with_projections(self, X, domain):
        X = self._check_rows(X).gather()
        Z = _dense(self.projection_.transform(X)) - self._means[self._domain_numbers(domain, X.shape[0])]
        return X, self._factor * Z

    def _said(self):
        said = {
            "n_components": self._means.shape[1],
            "project": lambda X: Projection(self._with_projections(X, None)[1]),
        }
        return super()._said() | said

    def _domain_numbers(self, domain, n_samples):
        if self.center == "rows":
            return np.zeros(n_samples, dtype=int)
        if domain is None:
            if self.target_ < 0:
                raise ValueError(
                    f"center='domains' needs domain: of the {len(self.domains_)} domains in fit not exactly one is "
                    "without labels, so it is not clear which one is meant."
                )
            return np.full(n_samples, self.target_)
        return match_domains(domain, self.domains_, n_samples)


def _learned(C, features, index):
    """So near the optimum, in double precision, that where the search stops decides nothing."""
    return LogisticRegression(C=C, solver="newton-cg", tol=1e-8, max_iter=1000).fit(features.astype(float), index)


def _dense(Z):
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)


def _total_variance(rows):
    summary = rows.summarize()
    variance = float(summary.squares.sum()) * summary.unit**2 / rows.shape[0]
    if not variance > 0:
        raise ValueError("X is constant: every row is the same; there is nothing to learn from.")
    return variance
