"""Classification probabilistic PCA: outputs of any kind given the latent variables, as a scikit-learn estimator."""

from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ..describe import Traits
from ..likelihoods.bernoulli import logit_offsets
from ..likelihoods.categorical import softmax_offsets
from ..likelihoods.inference import INFERENCES, complaint
from ..likelihoods.layout import Layout
from ..models import linear
from ..models.linear import cppca as model
from ..models.linear.class_likelihood import LabelParams
from ..models.linear.conditioning import Model, draw_outputs
from ..numerics.linear_gaussian import given_x
from ._density import JointDensity
from ._estimator import at_least, check_choice, one_of, resolve_n_components, rules, weigh_labels
from ._kept import kept
from ._linear_gaussian import LinearGaussian
from ._number_intervals import NumberPredictor
from ._opinions import UNCERTAINTY, as_given, as_listed, as_record, from_record, remarks
from ._seen import some_of

MOST_JUDGED = 2000  # rows that tell how sure a model is
TARGET = {"gaussian": "real", "probit": "classes", "logit": "classes", "categorical": "classes", "poisson": "counts"}


@dataclass(eq=False, repr=False)
class CPPCA(NumberPredictor, JointDensity, LinearGaussian):
    """Classification probabilistic PCA: one latent space that explains features and labels of any kind.

    Each sample has a latent vector z ~ N(0, I) of size k. Features are noisy linear views of it, and each output has
    a distribution whose parameter is linear in z::

        x = W z + m + e,   e ~ N(0, noise_variance I)
        label of two classes:   p(second class) = sigmoid(v'z + b)
        class of C:             p(class c) = softmax_c(V z + b)
        count:                  Poisson with rate exp(v'z + b)
        real number:            N(v'z + b, y_noise_variance)

    Outputs may be of several kinds at once, and each entry may be missing. Rows without any count as unlabeled: they
    inform W through x alone.

    Parameters
    ----------
    n_components : int or None, default=None
        Size k of the latent space; at least 1, less than the rank of X. None takes 2, or 1 where the shape of X allows
        no more.
    families : {"gaussian", "probit", "logit", "categorical", "poisson"}, list of these or None, default=None
        Family of every column of y, or a list with one for each. Two classes have a probability that is the logistic
        sigmoid of the predictor ("logit") or its Gaussian distribution function ("probit"). None follows `target`: two
        classes are "logit", more of them "categorical", real numbers "gaussian" and counts "poisson".
    inference : {"auto", "quadrature", "variational", "laplace", "ep"}, default="auto"
        How labels and latent variables are brought together. "quadrature" is exact, for one output of two classes.
        "variational" takes the best Gaussian posterior for each row; the objective is a lower bound of the
        log-likelihood, except that v and b of outputs of several classes are set at the end by the integrated
        likelihood. "laplace" takes mode and curvature, as the paper does, and maximizes the evidence that follows from
        them. "ep" is expectation propagation, for labels of two classes and real outputs; exact with one label. "auto"
        takes "quadrature" or "ep" where they are exact, "ep" for several probit labels, else "variational".
    label_ridge : float, default=0.1
        Half this times the squared length of v is taken off the objective, for all outputs but real ones. Without it
        labels that x separates send v to infinity.
    n_private : int, default=0
        Latent dimensions that explain x only, besides the `n_components` guided ones, as in `SPPCA`: v is zero there.
    label_weight : float, default=1.0
        Each labeled row counts as that many rows, so that few labels are heard among many features.
    solver : {"auto", "moments", "subspace", "em"}, default="auto"
        "moments" takes all second moments at once, on the shorter side of the table; "subspace" grows a small basis and
        reads the data for every block of it; "em" reads the rows once an iteration and takes missing entries. "auto"
        takes "em" when entries are missing, else "moments" or "subspace", whichever costs less for the size.
    tol : float, default=1e-6
        Stop when the relative residual of the likelihood equations is at most this.
    max_iter : int, default=500
        Most EM iterations.
    acceleration : {"alternating", "anderson", "squarem", None}, default="alternating"
        Acceleration of EM; a proposal is kept only if the objective does not fall.
    prior_precision : float, default=0.0
        Precision of a N(0, 1 / precision) prior on every entry of W and of v of real outputs, in units of one standard
        deviation of x and of the output; the objective is then the log-posterior.
    means : {"ml", "fixed"}, default="ml"
        Estimate the means of x and of real outputs with all else, or hold them at those of the observed entries.
    target : {"auto", "classes", "real", "counts"} or list of these, default="auto"
        What y means where `families` is None: "auto" takes text, booleans and few different whole numbers for
        classes, other numbers for numbers; the others override that; a list has one entry per column of y.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row besides None, NaN and pd.NA, as in `SPPCA`.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict` and `predict_proba` of classes know of the uncertainty of the parameters. "full": probabilities
        are the mean of what the model says, brought to the sureness of the other, and of Student densities of the
        labeled rows along the latent variables. "plug-in": those of the model, as if its parameters were known.
    random_state : int, RandomState instance or None, default=0
        Starting block of the basis. The maximum does not depend on it.
    checkpoint : str, path or None, default=None
        File that keeps what every read of the rows says until the fit ends. The same fit of the same rows, after
        whatever has stopped it, goes on from there to the same result. It pays where reads are slow; numbers that
        belong to rows are not kept.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        W transposed, in units of X per unit latent variable, rows ordered by the variance of x they explain; the
        largest entry of each is positive.
    mean_ : ndarray of shape (n_features,)
        m, the mean of the rows as weighted; labels do not move it unless entries of X are missing.
    y_loadings_ : ndarray of shape (n_predictors, n_components)
        v of each output, below one another: one row for an output of two classes, a count or a real number, one row a
        class (summing to zero) for an output of C > 2 classes. Zero for private dimensions.
    y_intercept_ : ndarray of shape (n_predictors,)
        b of each row of `y_loadings_`.
    y_noise_variance_ : float, ndarray of shape (n_outputs,), list or None
        Residual variances of real outputs, in squared units of y. A list with None for every other output where outputs
        are of several kinds; None without real ones.
    classes_ : ndarray of shape (n_classes,) or list
        Sorted labels; with several outputs a list with one array for each, None where it holds numbers. Only set when
        an output has classes.
    families_ : list of str
        Family of each output, as in `families`.
    target_kind_ : {"none", "classes", "real", "mixed"}
        How y was read: one output of classes, real outputs only, or anything else.
    objective_ : float
        Objective at the end: the log-likelihood of the training rows or what stands for it (see `inference`), less the
        ridge; weighted, in nats.
    log_likelihood_ : float
        The same without the ridge.
    objective_path_ : ndarray
        Objective after each iteration. It never falls. With outputs of several classes under "variational" it is the
        bound, and a last entry the integrated likelihood; with one such output that is no lower but for the error of
        integration, with several it is an approximation.
    calibration_ : dict, list or None
        With ``uncertainty="full"`` what probabilities of classes are made of: "axes", "centers", "covariance" and
        "counts" of the densities of labeled rows, as `class_axes_` and so on of `SPPCA`; their "weight" in the mean;
        and the "temperature" that the odds of the model are divided by, which brings the mean probability of the class
        that it names to "confidence". With several outputs a list with one for each, None where it holds numbers.
    solver_, inference_ : str
        What "auto" took.
    noise_variance_, objective_residual_, noise_floors_, converged_, n_iter_, n_passes_
        As in `SPPCA`; with several classes the residual is that of the bound.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_
        As in `SPPCA`.

    Raises
    ------
    ValueError
        When n_components reaches the rank of X, y does not match X or is ambiguous, or entries are not finite.

    See Also
    --------
    SPPCA : Real outputs and class codes with Gaussian noise; takes missing entries of X.

    Notes
    -----
    With one label of two classes the likelihood is exact to about nine digits: a label depends on z through a = v'z + b
    alone, which is Gaussian given x. EM updates W in closed form and v and b by Newton steps of the likelihood itself.

    With several classes W and the noise maximize a lower bound, which is not tight where x says little of z and would
    leave `y_loadings_` too short. Those of classes and their `y_intercept_` therefore maximize the likelihood itself,
    integrated at fixed points with W held, so that `predict_proba` is calibrated there too, see the theory page.

    References
    ----------
    Cheng and Li, Classification probabilistic PCA with application in domain adaptation, PAKDD 2011. E-step eqs.
    12-21; M-step eqs. 25-30, of which (28) is replaced, see the theory page.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from gnomon import CPPCA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, few = scale(X), np.where(np.arange(569) % 20, -1, y)     # 29 labels
    >>> model = CPPCA(n_components=5).fit(X, few)
    >>> model.transform(X).shape
    (569, 5)
    >>> round(float((model.predict(X) == y).mean()), 2)
    0.9
    """

    traits = Traits("cppca", in_place=True)

    _few_directions = True

    _rules = rules(
        inference=one_of("auto", *INFERENCES),
        label_ridge=at_least(0),
        solver=one_of("auto", "moments", "subspace", "em"),
        uncertainty=UNCERTAINTY,
    )

    n_components: Any = None
    _: KW_ONLY
    families: Any = None
    inference: Any = "auto"
    label_ridge: Any = 0.1
    n_private: Any = 0
    label_weight: Any = 1.0
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 500
    acceleration: Any = "alternating"
    prior_precision: Any = 0.0
    means: Any = "ml"
    target: Any = "auto"
    unlabeled: Any = "auto"
    uncertainty: Any = "full"
    random_state: Any = 0
    checkpoint: Any = None

    def _fit(self, rows, targets):
        if rows.masked and self.solver not in ("auto", "em"):
            raise ValueError(
                f"solver={self.solver!r} needs complete rows; X has missing entries, so use solver='auto'."
            )
        labeled = np.flatnonzero(targets.labeled)
        self.families_ = _families_of(targets, self.families)
        layout = self._layout
        wanted = complaint(layout, self.inference)
        if wanted is not None:
            raise ValueError(f"inference={self.inference!r} is for {wanted}; use inference='auto'.")
        self.n_components_ = resolve_n_components(self.n_components, self.n_private, *rows.shape)
        Y = targets.table[np.ix_(labeled, _usable(self._form))]
        options = self._options_of(model.Options, n_components=self.n_components_, ridge=self.label_ridge)
        given, rows = rows, rows.anew(weights=weigh_labels(rows.weights, targets, self.label_weight))
        result = model.fit(rows, labeled, Y, layout, options, np.random.default_rng(self._seed()))
        self._store(result, rows.dtype)
        self._remember(rows, result.stats.get("beyond"))
        self._keep_of_rows(given)
        self._learn_classes(given, labeled, Y)
        self._learn_numbers(given, targets.table[:, _usable(self._form)][:, layout.noisy], rows.weights, rows.shape[1])

    def _learn_classes(self, rows, labeled, Y):
        """What labeled rows say of classes beside the model."""
        found = [None] * len(self._form)
        if self.uncertainty == "full" and not self._layout.noisy.all():
            judged = some_of(rows, self.mean_, float(np.sqrt(self.noise_variance_)), MOST_JUDGED)
            known = rows if len(labeled) == rows.shape[0] else rows.take(labeled)  # no copy of a whole table
            opinions = linear.opinions_of(self._model(), known, Y, judged)
            for j, opinion in zip(_usable(self._form), opinions, strict=True):
                found[j] = as_record(opinion)
        self.calibration_ = as_given(found, self._vector)

    def _check_parameters(self):
        super()._check_parameters()
        for name in self.families if isinstance(self.families, list | tuple) else [self.families]:
            check_choice("families", name, (*TARGET, None))

    def _asked_target(self):
        families = self.families
        if families is None or isinstance(families, str):
            return TARGET.get(families)
        return [TARGET[name] for name in families]

    def _store(self, result, dtype):
        fitted, layout = result.value, self._layout
        x, p = fitted.params.x, fitted.params.labels
        self._store_features(x.W_x, x.m_x, x.x_noise_var, fitted.log_likelihood, dtype)
        contrasts, _ = _contrasts(layout)
        self.y_loadings_, self.y_intercept_ = (contrasts @ p.V).astype(dtype), (contrasts @ p.b).astype(dtype)
        real = layout.noisy
        self.y_noise_variance_ = None
        if real.any():
            mixed = [float(v) if free else None for v, free in zip(p.noise, real, strict=True)]
            self.y_noise_variance_ = mixed[0] if len(mixed) == 1 else p.noise.copy() if real.all() else mixed
        self.objective_, self.inference_ = float(result.path[-1]), result.stats["inference"]
        self._record(result)

    def _said(self):
        return super()._said() | {"fit": self._recorded(remarks=remarks(as_listed(self.calibration_, self._form)))}

    # -- the fitted model ----------------------------------------------------------------------------------------

    @property
    def _layout(self):
        """The outputs that guide the projection."""
        lists = {j: self._form[j][1] for j in _usable(self._form)}
        sizes = (0 if classes is None else len(classes) for classes in lists.values())
        return Layout(tuple(self.families_[j] for j in lists), tuple(sizes))

    def _label_params(self):
        layout = self._layout
        _, back = _contrasts(layout)
        V = back @ np.asarray(self.y_loadings_, dtype=np.float64)
        b = back @ np.asarray(self.y_intercept_, dtype=np.float64)
        noise = np.ones(len(layout.kinds))
        if self.y_noise_variance_ is not None:
            noise = np.array([1.0 if v is None else v for v in np.atleast_1d(self.y_noise_variance_)], dtype=float)
        return LabelParams(V, b, noise)

    def _model(self):
        return Model(self._params(), self._label_params(), self._layout, self.inference_)

    def _code_targets(self, y, n_samples):
        if y is None:
            return None
        if self.target_kind_ == "none":
            raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
        return self._values_of(y, n_samples)[:, _usable(self._form)]

    def _n_free(self):
        (h, k), p = self._label_params()[0].shape, self.components_.shape[1]
        g = self.n_components_ if h else k
        rotations = g * (g - 1) // 2 + (k - g) * (k - g - 1) // 2
        return p * (k + 1) + 1 + h * (g + 1) + int(self._layout.noisy.sum()) - rotations

    def _readings(self):
        layout, (V, b, noise) = self._layout, self._label_params()
        at = [part.start for family, part in layout.parts if family.noisy]
        return V[at], b[at], noise[layout.noisy]

    def _read(self):
        return np.flatnonzero(self._layout.noisy)

    def _predicted_with_std(self, rows):
        if not self._layout.kinds:  # one class only
            return [np.ones((rows.shape[0], 1))], None
        records = as_listed(self.calibration_, self._form)
        opinions = [from_record(records[j]) for j in _usable(self._form)]
        return linear.predict(kept(self, self._numbers(), lambda: self._model().prepared()), rows, opinions)

    def _numbers(self):
        """All that the fitted model is made of, in one list."""
        own = (self.components_, self.mean_, self.noise_variance_, self.y_loadings_, self.y_intercept_)
        return [*own, *np.atleast_1d(self.y_noise_variance_), self.families_, self.inference_]

    def _class_offsets(self):
        """Offsets (s, C) of the logits of the one target's classes over the posterior of z, and their weights (s,)."""
        V = self._label_params().V
        cov = V @ given_x(self._params()).cov @ V.T
        if self.families_[0] == "logit":
            return logit_offsets(float(cov.item()))
        return softmax_offsets(cov, len(self.classes_))

    def _draw_targets(self, X, latent, rng):
        self._require_targets("sample(return_y=True)")
        if not self._layout.kinds:
            return np.repeat(self.classes_, len(X))
        return self._decoded(draw_outputs(self._model(), latent, rng).T)


def _families_of(targets, families):
    """The family of each column of `Targets`, where the caller asks for `families`: None, one name, or a list."""
    asked = families if isinstance(families, list | tuple) else [families] * len(targets.columns)
    pairs = zip(targets.columns, asked, strict=False)  # no column where there is no y; else the reader has counted them
    return [_family(column, name) for column, name in pairs if column.kind != "none"]


def _family(column, asked):
    if column.classes is None:
        return {"real": "gaussian", "counts": "poisson"}[column.kind]
    if asked in ("probit", "logit") and len(column.classes) > 2:
        raise ValueError(
            f"{column.name} has {len(column.classes)} classes, but its family is {asked!r}; use 'categorical'."
        )
    if len(column.classes) != 2:
        return "categorical"
    return "probit" if asked == "probit" else "logit"


@cache
def _contrasts(layout):
    """What makes the rows of `y_loadings_` of the predictors of a layout, and what leads back."""
    found = block_diag(np.zeros((0, 0)), *(family.contrasts for family in layout.families))
    return found, np.linalg.pinv(found)


def _usable(form):
    """Which outputs can guide the projection: those with two classes or more, or numbers."""
    return [j for j, (kind, classes, _) in enumerate(form) if kind != "none" and (classes is None or len(classes) > 1)]
