"""Supervised dimension reduction with generalized linear models, as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._warn import warn
from ..describe import Traits
from ..models import sdr_glm as model
from ..models.sdr_glm import FAMILIES
from ..rows.kind import is_sparse
from ..rows.read import read
from ._estimator import Invertible, Transformer, above, check_complete, one_of, rules
from ._glm_table import TARGET, glm_table
from ._imputation import Imputer
from ._predictions import Predictor

NEAR = 1e-6  # of a projection: a longer last step is said


@dataclass(eq=False, repr=False)
class SDRGLM(Predictor, Imputer, Invertible, Transformer):
    """Supervised dimension reduction with generalized linear models: one score vector explains features and targets.

    Row i has scores u_i. Features and targets are of exponential families with natural parameters linear in them::

        theta_x = u V_x + b_x,   theta_y = u V_y + b_y
        J = alpha NLL_x + NLL_y + penalty / 2 (|U|^2 + alpha |V_x|^2 + |V_y|^2)

    J is minimized over scores and loadings together. Rows without y are left out of NLL_y and entries of x that are NaN
    out of NLL_x, except under "multinomial", where the columns of a row are one variable. New rows are projected from
    x alone, and so are training rows: with a small alpha their scores in the fit follow their labels, which no new row
    has, so a classifier trained on those scores would be trained on what it is to predict. `predict` is a regression of
    the targets on the projected scores of the training rows.

    Parameters
    ----------
    n_components : int, default=None
        Number k of scores, at most n_features and n_samples; None takes 2, or 1 where there is one feature.
    x_family : {"gaussian", "bernoulli", "multinomial", "poisson"}, default="gaussian"
        Family of X: real numbers (variance one in units of the mean variance of the columns), 0 and 1, counts that
        share out the total of their row, or counts with rates of their own.
    families : {"gaussian", "bernoulli", "multinomial", "poisson"} or None, default=None
        Family of y: real outputs (each in units of its standard deviation), two classes or a table of 0 and 1, classes,
        or counts. None follows `target`: "multinomial" for class labels, "bernoulli" for a table of them, "gaussian"
        for real numbers, and "poisson" for counts.
    alpha : float, default=0.01
        Weight of the features against the targets. The paper takes 1e-4. Without targets it is 1.
    penalty : float, default=0.1
        Of scores and loadings, above 0. Directions whose singular value is less come out as zero.
    projection_ridge : "auto" or float, default="auto"
        Ridge of the projection of rows, the scores that minimize NLL_x + projection_ridge / 2 |u|^2. "auto" takes
        penalty / alpha, under which these are the scores of the model given x alone.
    tol : float, default=1e-6
        Stop when a sweep changes the natural parameters by less than this share of their size.
    max_iter : int, default=2000
        Most sweeps.
    target : {"auto", "classes", "real", "counts"} or list of these, default="auto"
        What y means: "auto" follows `families`, else the rules of `gnomon.targets.read`, and the others override them.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row besides None, NaN and pd.NA, as in `SPPCA`.
    random_state : int, RandomState instance or None, default=0
        Block that starts the fit of a large table; nothing else is random.

    Attributes
    ----------
    components_, x_intercept_ : ndarray of shape (n_components_, n_features), (n_features,)
        V_x and b_x: natural parameters of x (for Gaussian x its units) per unit of score. Rows are ordered by what they
        explain of both tables, largest entry positive; U'U is diagonal.
    y_loadings_, y_intercept_ : ndarray of shape (n_outputs, n_components_), (n_outputs,)
        V_y transposed, and b_y; one row per class for "multinomial".
    embedding_ : ndarray of shape (n_samples, n_components_)
        Scores of the training rows in the fit, from x and y; `transform` does not return these.
    projection_ridge_ : float
        As used.
    coef_, intercept_ : ndarray of shape (n_outputs, n_components_), (n_outputs,)
        Of the regression of the targets on projected scores that `predict` uses, in natural parameters of y; its ridge
        is 1 for scores of unit variance. Not there without targets.
    x_scale_ : float
        Standard deviation that Gaussian x is divided by; 1 for other families.
    families_, target_kind_, classes_ : str or None, str, ndarray or list
        Family of y as used, what y was taken for, and the sorted labels of class targets.
    objective_path_ : ndarray
        -J after each sweep, in nats, terms of the data alone left out; it never falls.
    objective_residual_ : float
        Share by which the last sweep changed the natural parameters; or what the projection of the training rows and
        the regression of the targets on it left undone, where that is more.
    converged_, n_iter_ : bool, int
        Whether that is at most `tol`; number of sweeps.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_
        Number of scores, of rows, of rows with at least one target, of features; column names, when X had them.

    Raises
    ------
    ValueError
        When X or y holds values that its family does not allow (the error names one), X is constant, a column is never
        observed, or n_components exceeds n_features or n_samples.

    See Also
    --------
    CPPCA : Probabilistic scores with discrete targets; its scores are integrated over instead of fitted.
    SPPCA : The probabilistic model with Gaussian features and targets.

    Notes
    -----
    `Rows` are brought into this process as a whole: every sweep goes over them several times.

    Sweeps alternate between loadings and scores. Each minimizes a quadratic above J: J itself (Gaussian), the bounds of
    Jaakkola and Jordan (Bernoulli) and Boehning (multinomial); for counts Newton steps are halved until J falls. J is
    not convex, so the minimum may be local. Sparse X stays sparse for every family: its natural parameters are formed
    in blocks of rows. A sweep costs about n p k operations, n p k^2 for Bernoulli and Poisson tables and where entries
    are missing. `inverse_transform` gives expected values, probabilities, shares of a row's total, or rates, and
    `impute` those at the scores under the ridge of the fit, penalty / alpha, whatever `projection_ridge_` is.

    References
    ----------
    Rish, Grabarnik, Cecchi, Pereira and Gordon, ICML 2008. Jaakkola and Jordan, Statistics and Computing 10 (2000).
    Boehning, Annals of the Institute of Statistical Mathematics 44 (1992).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gnomon import SDRGLM
    >>> X, y = load_digits(return_X_y=True)
    >>> y[100:] = -1                                     # the other rows are unlabeled
    >>> model = SDRGLM(n_components=10).fit(X[:300], y[:300])
    >>> model.transform(X).shape
    (1797, 10)
    >>> bool((model.predict(X[300:]) == load_digits().target[300:]).mean() > 0.7)
    True
    """

    traits = Traits("sdr-glm")

    _constant = "labels"
    _takes_missing = True
    _in_memory = True
    _sparse_forms = ("csr",)
    _rules = rules(
        x_family=one_of(*FAMILIES),
        families=one_of(*FAMILIES, None),
        alpha=above(0),
        penalty=above(0),
        projection_ridge=above(0, "auto"),
    )

    n_components: Any = None
    _: KW_ONLY
    x_family: Any = "gaussian"
    families: Any = None
    alpha: Any = 0.01
    penalty: Any = 0.1
    projection_ridge: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 2000
    target: Any = "auto"
    unlabeled: Any = "auto"
    random_state: Any = 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.x_family != "multinomial"
        tags.input_tags.positive_only = self.x_family in ("bernoulli", "multinomial", "poisson")
        return tags

    def _asked_target(self):
        follows = ("auto", "real") if self.families == "poisson" else ("auto",)  # counts are numbers too
        return TARGET.get(self.families) if self.target in follows else None

    def _fit(self, rows, targets):
        X, outputs = rows.gather(), glm_table(targets, self.families)
        labeled = np.flatnonzero(targets.labeled)
        self.families_ = outputs.family
        most = min(X.shape)
        self.n_components_ = min(2, most) if self.n_components is None else int(self.n_components)
        if self.n_components_ > most:
            raise ValueError(
                f"n_components={self.n_components} must be at most {most} (n_samples={X.shape[0]}, "
                f"n_features={X.shape[1]}): scores are read off x."
            )
        self._set_units(X)
        guided = len(labeled) > 0 and outputs.values.shape[1] > 0
        alpha = float(self.alpha) if guided else 1.0
        observed = outputs.observed if guided else np.zeros((X.shape[0], 0))
        table = outputs.values if guided else np.zeros((X.shape[0], 0))
        views = (
            model.make_view(self.x_family, self._in_units(X), _observed(X), alpha),
            model.make_view(self.families_ or "gaussian", table, observed, 1.0),
        )
        options = model.Options(self.n_components_, alpha, float(self.penalty), self.tol, self.max_iter)
        generator = np.random.default_rng(self._seed())
        self._fit_ridge = options.penalty / alpha
        auto = isinstance(self.projection_ridge, str)
        self.projection_ridge_ = self._fit_ridge if auto else float(self.projection_ridge)
        result = model.fit(views, options, generator)
        U, left = model.project(views[0]._replace(strength=1.0), result.value.x, self.projection_ridge_)
        residuals = [float(result.stats["residual"]), left]
        found = None
        if guided:
            found = model.regress(views[1].rows(labeled), U[labeled])
            residuals.append(found.residual)
        self._store(result, found, max(residuals), outputs, X.dtype)

    def _projected(self, rows):
        return self._project(rows.gather(), self.projection_ridge_)

    def _imputed(self, rows, y):
        X = rows.gather()
        means = self.inverse_transform(self._project(X, self._fit_ridge))
        return read(np.where(np.isnan(X), means, X).astype(X.dtype))

    def _back(self, Z):
        return FAMILIES[self.x_family].mean(Z @ self.components_ + self.x_intercept_)

    def _predicted(self, rows):
        theta = self._project(rows.gather(), self.projection_ridge_) @ self.coef_.T.astype(np.float64) + self.intercept_
        if self.families_ == "multinomial":
            return [theta]
        if self.families_ == "bernoulli":  # log-odds of the second class, where there are two
            pairs = [np.column_stack([np.zeros_like(one), one]) for one in theta.T]
            return [pair[:, : len(classes)] for pair, (_, classes, _) in zip(pairs, self._form, strict=True)]
        return list(FAMILIES[self.families_].mean(theta).T)

    def _said(self):
        record = self._recorded(objective="objective", facts=(("SDRGLM.projection_ridge_", self.projection_ridge_),))
        return super()._said() | {"loadings": self.components_, "fit": record}

    # -- rows -------------------------------------------------------------------------------------

    def _check_rows(self, X, *, reset=False):
        rows = super()._check_rows(X, reset=reset)
        X = rows.gather()
        values = X.data if is_sparse(X) else X
        values = values[~np.isnan(values)] if (missing := np.isnan(values).any()) else values
        check_complete(
            self, missing and self.x_family == "multinomial", "with x_family='multinomial' needs every entry"
        )
        wanted = FAMILIES[self.x_family].complaint(values)
        if wanted:
            low = f"Negative values in data: {values.min():g}" if values.min() < 0 else f"the value {_odd(values):g}"
            raise ValueError(f"X holds {low}; x_family={self.x_family!r} wants {wanted}.")
        return rows

    def _set_units(self, X):
        """Set what is subtracted from Gaussian x and what it is divided by; raise when X is constant."""
        sparse = is_sparse(X)
        top = np.asarray(X.max(axis=0).todense() if sparse else np.fmax.reduce(X, axis=0), dtype=np.float64).ravel()
        low = np.asarray(X.min(axis=0).todense() if sparse else np.fmin.reduce(X, axis=0), dtype=np.float64).ravel()
        if np.isnan(top).any():
            raise ValueError(f"column {np.flatnonzero(np.isnan(top))[0]} of X is never observed; drop it.")
        if (top == low).all():
            raise ValueError("X is constant: every column has one value; there is nothing to reduce.")
        self._x_shift, self.x_scale_ = np.zeros(X.shape[1]), 1.0
        if self.x_family != "gaussian":
            return
        size = float(np.maximum(np.abs(top), np.abs(low)).max()) if sparse else float((top - low).max())
        mean = np.asarray(X.mean(axis=0) if sparse else np.nanmean(X, axis=0), dtype=np.float64).ravel()
        if sparse:  # not moved, so that it stays sparse
            scaled = X.astype(np.float64) * (1.0 / size)
            variance = scaled.multiply(scaled).mean() - ((mean / size) ** 2).mean()
        else:
            self._x_shift = mean
            variance = np.nanmean(((X - mean) / size) ** 2, dtype=np.float64)
        self.x_scale_ = size * float(np.sqrt(variance))

    def _in_units(self, X):
        if is_sparse(X):
            return X.astype(np.float64) * (1.0 / self.x_scale_)
        units = (X - self._x_shift) / self.x_scale_ if self.x_family == "gaussian" else X.astype(np.float64)
        return np.where(np.isnan(units), 0.0, units)

    # -- the fitted model ----------------------------------------------------------------------------------------

    def _store(self, result, found, residual, outputs, dtype):
        p = result.value
        self.components_ = (p.x.V * self.x_scale_).astype(dtype)
        self.x_intercept_ = (p.x.b * self.x_scale_ + self._x_shift).astype(dtype)
        scale, shift = (outputs.scale, outputs.shift) if p.y.V.shape[1] else (np.ones(0), np.zeros(0))
        self.y_loadings_ = (p.y.V * scale).T.astype(dtype)
        self.y_intercept_ = (p.y.b * scale + shift).astype(dtype)
        self.embedding_ = p.U.astype(dtype)
        self._V, self._b = p.x.V, p.x.b
        if found is not None:
            self.coef_ = (found.part.V * scale).T.astype(dtype)
            self.intercept_ = (found.part.b * scale + shift).astype(dtype)
        self.objective_path_ = result.path
        self._record_end(result.status, {**result.stats, "residual": residual})

    def _project(self, X, ridge):
        """Scores of validated rows in double precision."""
        kind, values = FAMILIES[self.x_family], self._in_units(X)
        trials = np.asarray(values.sum(axis=1)).reshape(-1, 1) if self.x_family == "multinomial" else _observed(X)
        view = model.View(kind, values, trials, 1.0, self._b)
        U, left = model.project(view, model.Loadings(self._V, self._b), ridge)
        if left > NEAR:
            warn(f"the projection of some rows is off by {left:.1e} of its size: rescale X.", ConvergenceWarning)
        return U


def _observed(X):
    """1 where a dense X is observed, else 0 (n, p); None where all of it is."""
    if is_sparse(X) or not (missing := np.isnan(X)).any():
        return None
    return 1.0 - missing


def _odd(values):
    """The first value that is neither 0 nor 1."""
    return values[(values != 0) & (values != 1)].flat[0]
