"""What all estimators share: checks of parameters, X at the door, the record of a fit, what a model says of itself."""

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from .._types import Status
from .._warn import warn
from ..describe import Description, Fit, Projection
from ..rows import read
from ..rows.by_chunk import by_chunk
from ..rows.checkpoint import checkpointed
from ..rows.contract import Rows
from ..rows.dask import bring_home, read_dask
from ..rows.frames import as_table, check_names, name_column
from ..rows.kind import is_dask, is_foreign
from ..rows.masked import column_range, is_finite, look
from ..rows.namespace import as_floats, as_numbers, to_host
from ..rows.summary import LARGEST

RECORD = {
    "solver": "solver_",
    "converged": "converged_",
    "n_iter": "n_iter_",
    "n_reads": "n_passes_",
    "log_likelihood": "log_likelihood_",
    "noise_variance": "noise_variance_",
    "path": "objective_path_",
    "floors": "noise_floors_",
    "optima": "optima_",
}  # fields of the record of a fit, and the attributes that hold them
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
TINY = float(np.finfo(np.float64).tiny)  # smaller variances have lost their digits, or are zero


# -- parameters --------------------------------------------------------------------------------------------------


def check_integer(name, value, low):
    """Raise unless `value` is a whole number of at least `low`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be an integer of at least {low}.")
    if value < low:
        raise ValueError(f"{name}={value!r} must be at least {low}.")


def check_real(name, value, low, *, included=False):
    """Raise unless `value` is a finite number above `low`, or at least `low` when it is included."""
    wanted = f"at least {low}" if included else f"above {low}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number {wanted}.")
    try:
        finite = np.isfinite(float(value))
    except OverflowError:  # an int that no float can hold
        finite = False
    if not finite or value < low or (value == low and not included):
        raise ValueError(f"{name}={value!r} must be finite and {wanted}.")


def check_choice(name, value, choices, also=""):
    """Raise unless `value` is one of `choices`; `also` names what else there is."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}{also}.")


class Rule(NamedTuple):
    """What a parameter may be: one of `choices`, or a number where there is a smallest one."""

    choices: tuple = ()
    low: float | None = None
    whole: bool = False
    included: bool = False

    def check(self, name, value):
        words = any(isinstance(choice, str) for choice in self.choices)
        if self.low is None or (isinstance(value, str) and words):
            named = tuple(c for c in self.choices if self.low is None or c is not None)
            check_choice(name, value, named, "" if self.low is None else ", or a number")
        elif value is None and None in self.choices:
            return
        elif self.whole:
            check_integer(name, value, self.low)
        else:
            check_real(name, value, self.low, included=self.included)


def one_of(*choices):
    return Rule(choices)


def integer(low, *choices):
    """A whole number of at least `low`, or one of `choices`."""
    return Rule(choices, low, whole=True)


def above(low, *choices):
    """A number above `low`, or one of `choices`."""
    return Rule(choices, low)


def at_least(low, *choices):
    """A number of at least `low`, or one of `choices`."""
    return Rule(choices, low, included=True)


RULES = {
    "acceleration": one_of("alternating", "anderson", "squarem", None),
    "coef0": above(-np.inf),
    "degree": above(0),
    "gamma": above(0, None),
    "label_weight": above(0),
    "max_iter": integer(1),
    "means": one_of("ml", "fixed"),
    "n_components": integer(1, None),
    "n_init": integer(1),
    "n_landmarks": integer(2, None),
    "n_neighbors": integer(1),
    "n_private": integer(0),
    "noise_init": above(0, None),
    "prior_precision": at_least(0),
    "tol": above(0),
}  # of names that mean the same in every estimator


def rules(**own):
    """The rules of an estimator: those of all, and its own; None where it checks a parameter itself."""
    return RULES | own


def check_weights(sample_weight, rows):
    """Return float64 weights (n_samples,), those of the rows themselves or None; finite, not negative, not all zero."""
    n_samples = rows.shape[0]
    if rows.weights is not None and sample_weight is not None:
        raise ValueError("the rows of X have weights already; pass sample_weight, or read X with weights, not both.")
    if sample_weight is None:
        sample_weight = rows.weights
    if sample_weight is None:
        return None
    weights = np.asarray(to_host(sample_weight), dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; X has {n_samples} rows, so ({n_samples},) is wanted."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={weights[bad[0]]} must be finite and not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least two rows must count.")
    return weights


def weigh_labels(weights, targets, label_weight):
    """Weights of rows, of which those with a label stand for `label_weight` times as many."""
    if label_weight == 1.0:
        return weights
    return np.where(targets.labeled, label_weight, 1.0) * (1.0 if weights is None else weights)


def resolve_n_components(n_components, n_private, n_samples, n_features):
    """Return the size of the latent space; raise when it cannot be smaller than the rank of X."""
    bound = min(n_samples - 1, n_features)
    k = min(2, max(bound - 1 - n_private, 1)) if n_components is None else int(n_components)
    if k + n_private >= bound:
        what = f"n_components={k}" if n_private == 0 else f"n_components={k} plus n_private={n_private}"
        raise ValueError(
            f"{what} must be less than the rank of X, which is at most {bound} "
            f"(n_samples={n_samples}, n_features={n_features}), or no noise is left to estimate."
        )
    return k


def at_most(n_components, most, why):
    """Size of the projection, 2 or what there is where None; raise when it is more than `most`, and say `why`."""
    k = min(2, most) if n_components is None else int(n_components)
    if k > most:
        raise ValueError(f"n_components={k} must be at most {most}{why}")
    return k


# -- X at the door -----------------------------------------------------------------------------------------------


def check_table(estimator, X, *, reset):
    """Return `Rows` of a valid form: dense or sparse, float32 or float64. `check_values` looks at the entries.

    An array of another library than NumPy stays where it is for those who take it, and `Rows` are not gathered but by
    those who need them all in memory. A kernel matrix is dense, its entries are looked at first.
    """
    if isinstance(X, Rows):
        if reset and X.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
            name = type(estimator).__name__
            raise ValueError(f"the rows of X have weights, and {name} takes none; read X without them.")
        if not estimator._in_memory:
            return _check_where_it_is(estimator, X, reset).anew(masked=False)
        return check_table(estimator, X.gather(), reset=reset).anew(weights=X.weights)
    if not reset and _is_ready(estimator, X):
        return read(X)
    if is_dask(X) and not estimator._in_memory:
        return _check_where_it_is(estimator, read_dask(X), reset, names=X._meta if hasattr(X, "columns") else None)
    X = bring_home(X)
    check_names(X)
    if estimator._takes_devices and is_foreign(X):
        return read(as_floats(_check_where_it_is(estimator, X, reset)))
    kernel = estimator._precomputed
    options = {
        "accept_sparse": False if kernel else estimator._sparse_forms,
        "dtype": FLOATS,
        "ensure_min_samples": 2 if reset else 1,
        "ensure_all_finite": kernel,
    }
    try:
        table = as_table(X)
        if table is X:
            found = validate_data(estimator, X, reset=reset, **options)
        else:  # the names are those of X
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            found = check_array(table, estimator=estimator, input_name="X", **options)
    except OverflowError as error:
        raise ValueError(f"X holds an integer that no float can hold ({error}); rescale it.") from error
    except (TypeError, ValueError) as error:
        check_complete(estimator, "contains NaN" in str(error))
        raise name_column(X, error) from error
    return read(found)


def _is_ready(estimator, X):
    """Whether X is what scikit-learn's checks would hand back as it is; they take longer than to project one row.

    That is an array of floats, as wide as that of the fit, where no names and no entries are to be looked at.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == vars(estimator).get("n_features_in_")
        and not hasattr(estimator, "feature_names_in_")
        and not estimator._precomputed
    )


def _check_where_it_is(estimator, X, reset, names=None):
    """X, whose shape is right, and whose names (or those of the frame `names`) and number are those of the fit."""
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array: X has shape {tuple(X.shape)}; (n_samples, n_features) is wanted.")
    validate_data(estimator, X if names is None else names, reset=reset, skip_check_array=True)
    for found, least, what in zip(X.shape, (2 if reset else 1, 1), ("sample", "feature"), strict=True):
        if found < least:
            raise ValueError(f"Found array with {found} {what}(s): X must have at least {least}.")
    return X


def as_given(found, X):
    """Rows for who passed `Rows` as X, else their array."""
    return found if isinstance(X, Rows) else found.gather()


def check_values(rows, *, fit=False):
    """Return whether entries are missing; raise for infinity, for what cannot be squared, and for NaN in a sparse X.

    Of the rows of a fit, also when none of them has the digits of a float.
    """
    seen = look(rows)
    if seen.infinite:
        raise ValueError(f"Input X contains infinity or a value too large for {rows.dtype}.")
    check_size("X", np.array([seen.largest]))
    if fit and seen.vanishing:
        check_digits("X", seen.largest)
    if seen.missing and rows.sparse:
        raise ValueError(
            "Input X contains NaN among its stored entries; missing entries need a dense X, since an entry that a "
            "sparse X does not store is a zero."
        )
    return seen.missing


def check_observed(rows, names=None):
    """Raise when a column of incomplete rows is never observed, by its name, and when every column is constant."""
    found = rows.anew().fold(column_range)
    check_size("X", np.concatenate([found.low, found.high]))
    never = np.flatnonzero(np.isnan(found.high))
    if len(never):
        which = never[0] if names is None else repr(str(names[never[0]]))
        raise ValueError(f"column {which} of X is never observed; drop it.")
    if (found.high == found.low).all():
        raise ValueError("X is constant: every column has one value wherever it is observed; there is nothing to fit.")


def check_complete(estimator, missing, why="needs every entry"):
    """Raise when entries of X are missing, for a model that needs them all."""
    if missing:
        raise ValueError(
            f"Input X contains NaN; {type(estimator).__name__} {why}: fill missing ones in first, for "
            "example by the impute method of gnomon.PPCA or by the command gnomon impute."
        )


def check_size(name, values):
    """Raise when a finite value is too large to be squared; NaN is let through."""
    high, low = np.fmax.reduce(values, axis=None, initial=0.0), np.fmin.reduce(values, axis=None, initial=0.0)
    largest = max(float(high), -float(low))
    if largest > LARGEST:
        raise ValueError(
            f"{name} holds {largest:.3g} in absolute value; at most {LARGEST:.0e} can be computed with: rescale it."
        )


def check_digits(name, largest):
    """Raise when the largest absolute value is too small to have the digits of a float."""
    if 0.0 < largest < TINY:
        raise ValueError(
            f"{name} holds nothing larger than {largest:.1e} in absolute value; numbers below {TINY:.1e} have lost "
            "their digits: rescale it."
        )


def check_variance(name, variance):
    """Raise when a fitted variance is too small for a float."""
    if np.min(variance) < TINY:
        raise ValueError(
            f"{name} varies too little to compute with: a noise variance of {np.min(variance):.1e} is below the "
            f"smallest float, {TINY:.1e}; rescale it."
        )


# -- the classes that estimators are made of ---------------------------------------------------------------------


class Estimator(BaseEstimator):
    """Parameters, X at the door, the record of a fit, and what the fitted model says of itself."""

    _rules = RULES
    _fitted = "components_"  # an attribute that a finished fit has set
    _takes_missing = False
    _sparse_forms = ("csr", "csc")
    _takes_devices = False  # whether arrays of other libraries stay where they are
    _precomputed = False  # whether X is a kernel matrix
    _in_memory = False  # whether the model needs all rows in this process

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def __sklearn_is_fitted__(self):
        return self._fitted in vars(self)

    def _check_fitted(self):
        """Raise as scikit-learn does unless there was a fit; what else its check looks up takes long beside one row."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)

    def _check_parameters(self):
        given = vars(self)  # `get_params` looks the signature up, which takes long beside a small fit
        for name, rule in self._rules.items():
            if rule is not None and name in given:
                rule.check(name, given[name])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; the class says what is maximized.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or with a precomputed kernel their kernel matrix (n_samples, n_samples). NaN marks missing entries of
            a dense X where the model takes them; float32 stays float32.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of a model that labels guide: classes (str, int, bool, categorical), unlabeled where -1, None, NaN
            or pd.NA; or numbers, NaN where missing. None fits the unsupervised model, where there is one.

        Returns
        -------
        self : estimator
            Fitted.
        """
        self._fit_rows(X, y)
        return self

    def _fit_rows(self, X, y, sample_weight=None, **more):
        """The outline of every fit; `_fit(rows, targets)` is the part of the model, `more` what only it reads."""
        self._check_parameters()
        rows = self._check_rows(X, reset=True)
        rows = rows.anew(weights=check_weights(bring_home(sample_weight), rows))
        kept = None if rows.weights is None or rows.weights.all() else np.flatnonzero(rows.weights)
        targets = self._read_y(bring_home(y), rows.shape[0], kept)
        if kept is not None:
            rows = self._take(rows, kept)
        if rows.masked:
            check_observed(rows, vars(self).get("feature_names_in_"))
        self.n_samples_ = rows.shape[0]
        with checkpointed(rows, getattr(self, "checkpoint", None)) as rows:
            found = self._fit(rows, targets, **more)
        if kept is not None:
            self._renumber(kept)
        return found

    def _read_y(self, y, n_samples, rows=None):
        """The targets of a model that labels guide; other models ignore y."""

    def _take(self, rows, kept):
        return rows.take(kept)

    def _renumber(self, kept):
        """Where the model names rows, name them by their place in X, of which `kept` were used."""

    def _options_of(self, kind, **own):
        """The fields of `kind` that are parameters by name, and its `own` ones."""
        parameters = self.get_params(deep=False)
        return kind(**{name: parameters[name] for name in kind._fields if name in parameters} | own)

    def _seed(self):
        return check_random_state(self.random_state).randint(2**31)

    def _check_rows(self, X, *, reset=False):
        """Validated `Rows`: of `fit` with `reset`, else of a method of the fitted model."""
        if not reset:
            self._check_fitted()
            if _is_ready(self, X) and is_finite(X):
                return read(X)
        rows = check_table(self, X, reset=reset)
        missing = check_values(rows, fit=reset)
        check_complete(self, missing and not self._takes_missing)
        return rows.anew(masked=missing)

    def _record(self, result):
        """Set what every iterated fit leaves behind; warn when it did not converge."""
        stats = result.stats
        self.objective_path_ = result.path
        self.noise_floors_ = tuple(stats["floors"])
        self.solver_ = stats["solver"]
        self.n_passes_ = float(stats["n_passes"])
        self._record_end(result.status, stats)

    def _record_end(self, status, stats, what="relative residual"):
        """Set how the iterations ended; the warning says of `what` the residual is."""
        residual = self.objective_residual_ = float(stats["residual"])
        self.n_iter_ = max(1, int(stats["n_iter"]))
        self.converged_ = residual <= self.tol
        if not self.converged_:
            status = Status.STALLED if status is Status.CONVERGED else status
            warn(f"{type(self).__name__} {status.value} ({what} {residual:.1e}, tol={self.tol}).", ConvergenceWarning)

    def _recorded(self, **more):
        """The same as a part of the description."""
        known = vars(self)
        bounds = known.get("certificate_")
        if bounds and bounds["gap"] is not None:
            more["certificate"] = {name: bounds[name] for name in ("lower", "upper", "gap")}
        return Fit(**{field: known[name] for field, name in RECORD.items() if name in known} | more)

    def _said(self):
        """What the model says of itself; every capability adds its part."""
        return {"fit": self._recorded()}

    def describe(self) -> Description:
        """Return what the fitted model says of itself, as plots, reports and the command line read it.

        Returns
        -------
        Description
        """
        check_is_fitted(self)
        names = vars(self).get("feature_names_in_")
        return Description(
            model=type(self).__name__,
            parameters=self.get_params(deep=False),
            n_features=int(self.n_features_in_),
            feature_names=None if names is None else tuple(map(str, names)),
            **self._said(),
        )


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator that projects rows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        return self.n_components_

    @by_chunk
    def transform(self, X: Any) -> Any:
        """Project rows; what the projection is, the class says.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or with a precomputed kernel their kernel values with the training rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components_)
            Projections, in the type of X.
        """
        rows = self._check_rows(X)
        return self._projected(rows).astype(rows.dtype)

    def _said(self):
        said = {"n_components": self._n_features_out, "project": lambda X: Projection(np.asarray(self.transform(X)))}
        return super()._said() | said


def fit_words(argument):
    """The docstring of `fit` with one more argument."""
    before, returns, after = (Estimator.fit.__doc__ or "").partition("\n        Returns\n")  # "" under python -OO
    return f"{before}        {argument}\n{returns}{after}"


class Weighted:
    """An estimator whose rows may have weights."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self._fit_rows(X, y, sample_weight)
        return self

    fit.__doc__ = fit_words("""sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for; rows of weight zero are left out.""")


class Invertible:
    """A projection with a way back, `_back(Z)`."""

    def inverse_transform(self, Z: Any) -> Any:
        """Map projections to rows: the mean of x there, unless the class says otherwise.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components_)
            Projections, as `transform` returns them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        """
        check_is_fitted(self)
        Z, k = as_numbers(Z), self._n_features_out
        if Z.ndim != 2 or Z.shape[1] != k:
            raise ValueError(f"Z has shape {tuple(Z.shape)}; (n_samples, {k}) is wanted.")
        return self._back(Z)
