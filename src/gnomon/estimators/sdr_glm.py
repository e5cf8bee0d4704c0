"""Supervised dimension reduction with generalized linear models, as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..describe import Traits, slopes
from ..models import sdr_glm as model
from ..models.sdr_glm import FAMILIES
from ..rows import read
from ..rows.kind import is_sparse
from ._estimator import Invertible, Transformer, above, at_most, check_complete, one_of, rules
from ._glm_table import TARGET, glm_table
from ._imputation import Imputer
from ._opinions import UNCERTAINTY, CodedClasses


@dataclass(eq=False, repr=False)
class SDRGLM(CodedClasses, Imputer, Invertible, Transformer):
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
        Stop when a sweep changes the natural parameters by less than this share of their size. At 1e-4 and below the
        minimum is exact to about nine digits.
    max_iter : int, default=2000
        Most sweeps and Newton steps.
    target : {"auto", "classes", "real", "counts"} or list of these, default="auto"
        What y means: "auto" follows `families`, else what the values are, as in `SPPCA`; the others override that.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row besides None, NaN and pd.NA, as in `SPPCA`.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict` and `predict_proba` of classes know of the uncertainty of the parameters. "full": probabilities
        are the mean of what the regression says, brought to the sureness of the other, and of Student densities of the
        labeled rows among the projected scores. "plug-in": those of the regression.
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
    calibration_ : dict, list or None
        With ``uncertainty="full"`` what probabilities of classes are made of, as in `CPPCA`, with "origin", the mean of
        the scores, that densities are around.
    x_scale_ : float
        Standard deviation that Gaussian x is divided by; 1 for other families.
    families_, target_kind_, classes_ : str or None, str, ndarray or list
        Family of y as used, what y was taken for, and the sorted labels of class targets.
    objective_path_ : ndarray
        -J after each sweep and Newton step, in nats, terms of the data alone left out; it never falls.
    objective_residual_ : float
        Share by which the last sweep changed the natural parameters; or what the projection of the training rows and
        the regression of the targets on it left undone, where that is more.
    converged_, n_iter_ : bool, int
        Whether that is at most `tol`; number of sweeps and Newton steps.
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
    Jaakkola and Jordan (Bernoulli) and Boehning (multinomial); for counts Newton steps are halved until J falls. Once
    sweeps are short, Newton steps on scores and loadings together end at the minimum, also where J is almost flat; they
    are found by conjugate gradients, and rows' Hessians (n, k, k) are held. J is not convex, so the minimum may be
    local. Sparse X stays sparse for every family: its natural parameters are formed
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
        uncertainty=UNCERTAINTY,
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
    uncertainty: Any = "full"
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
        outputs, *units = glm_table(targets, self.families)
        self.families_ = outputs.family
        why = " (n_samples={}, n_features={}): scores are read off x.".format(*rows.shape)
        self.n_components_ = at_most(self.n_components, min(rows.shape), why)
        options = model.Options(self.n_components_, float(self.alpha), float(self.penalty), self.tol, self.max_iter)
        generator = np.random.default_rng(self._seed())
        ridge = None if isinstance(self.projection_ridge, str) else float(self.projection_ridge)
        result = model.fit(rows, self.x_family, outputs, options, ridge, generator)
        self._fit_ridge = options.penalty / (options.alpha if result.value.reader.y is not None else 1.0)
        self._store(result, units, rows.dtype)
        self._loadings = slopes(rows.gather(), self._projected(rows))
        self._learn_opinions(rows, [c.numbers for c in targets.columns if c.kind == "classes"])

    def _projected(self, rows):
        return model.posterior(self._reader(self.projection_ridge_), rows)[0]

    def _imputed(self, rows, y):
        X = rows.gather()
        means = self.inverse_transform(model.posterior(self._reader(self._fit_ridge), rows)[0])
        return read(np.where(np.isnan(X), means, X).astype(X.dtype))

    def _back(self, Z):
        return FAMILIES[self.x_family].mean(Z @ self.components_ + self.x_intercept_)

    def _coded(self, rows):
        U, found = model.predict(self._reader(self.projection_ridge_), rows)
        if self.families_ == "multinomial":
            return [(U, found)]
        if self.families_ == "bernoulli":  # of the second class, where there are two
            pairs = zip(found.T, self._form, strict=True)
            return [(U, np.column_stack([1.0 - p, p] if len(form[1]) > 1 else [np.ones_like(p)])) for p, form in pairs]
        return [(U, one) for one in found.T]

    def _said(self):
        facts = (("SDRGLM.projection_ridge_", self.projection_ridge_),)
        record = self._recorded(objective="objective", facts=facts, remarks=self._remarks)
        return super()._said() | {"loadings": vars(self).get("_loadings"), "fit": record}

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
            low = (
                f"Negative values in data: {values.min():g}"
                if values.min() < 0
                else f"the value {values[(values != 0) & (values != 1)][0]:g}"
            )
            raise ValueError(f"X holds {low}; x_family={self.x_family!r} wants {wanted}.")
        return rows

    # -- the fitted model ----------------------------------------------------------------------------------------

    def _store(self, result, units, dtype):
        (p, reader), (shift, scale) = result.value, units
        self._x_shift, self.x_scale_, self.projection_ridge_ = reader.shift, reader.scale, reader.ridge
        self.components_ = (p.x.V * self.x_scale_).astype(dtype)
        self.x_intercept_ = (p.x.b * self.x_scale_ + self._x_shift).astype(dtype)
        self.y_loadings_ = (p.y.V * scale).T.astype(dtype)
        self.y_intercept_ = (p.y.b * scale + shift).astype(dtype)
        self.embedding_ = p.U.astype(dtype)
        self._V, self._b = p.x.V, p.x.b
        if reader.y is not None:
            self.coef_ = (reader.y.V * scale).T.astype(dtype)
            self.intercept_ = (reader.y.b * scale + shift).astype(dtype)
        self.objective_path_ = result.path
        self._record_end(result.status, result.stats)

    def _reader(self, ridge):
        """What new rows are read by, with a ridge."""
        y = model.Loadings(self.coef_.T.astype(np.float64), self.intercept_) if "coef_" in vars(self) else None
        x = model.Loadings(self._V, self._b)
        return model.Reader(self.x_family, self._x_shift, self.x_scale_, x, ridge, self.families_, y)
