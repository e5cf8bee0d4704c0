"""What every supervised estimator shares: the reading of y, what it says of it, and the face scikit-learn sees."""

from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from .._warn import warn
from ..describe import Prediction, Target, Traits
from ..rows.dask import bring_home
from ..rows.namespace import to_host
from ..targets import KINDS, check_target, read, read_like
from ..targets.code import check_variation
from ._estimator import check_digits, check_size


class Guided:
    """Parameters `target` and `unlabeled`; attributes `target_kind_`, `classes_` and `n_labeled_`.

    A subclass may say which kinds of targets it takes; what a table of several columns is to it, its traits say.
    """

    traits = Traits()

    _kinds = KINDS
    _required = False  # whether there is no model without labels
    _fewest_classes = 1
    _constant = "error"  # a column of a single value cannot guide; "labels": one label among several may, or "kept"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._required
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = self.traits.several != "one"
        return tags

    def _read_y(self, y, n_samples, rows=None):
        """Read y for `fit`, and warn where it says nothing; `rows` are those that count."""
        check_target(self.target)
        name = type(self).__name__
        if y is None and self._required:
            raise ValueError(f"{name} requires y to be passed, but the target y is None; give labels, or fit PPCA.")
        if self.traits.several == "one" and isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
            warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        target = self._asked_target() or self.target
        targets = read(
            to_host(y), n_samples, target=target, unlabeled=self.unlabeled, kinds=self._kinds,
            several=self.traits.several, model=name, rows=rows,
        )  # fmt: skip
        return self._checked(targets)

    def _checked(self, targets):
        """The targets, which can guide, once they are recorded."""
        name = type(self).__name__
        self._check_table(targets)
        if targets.kind == "none" and self._required:
            raise ValueError(f"y marks every row as unlabeled; {name} needs a labeled row of each class, or fit PPCA.")
        for column in targets.columns:
            if column.classes is not None and len(column.classes) < self._fewest_classes:
                raise ValueError(
                    f"{column.name} holds the classes {column.classes.tolist()} among its labeled rows; {name} "
                    "needs at least two classes to separate."
                )
        if self._constant != "kept":
            check_variation(targets, classes=self._constant == "error")
        for column in targets.columns:
            if column.kind in ("real", "counts"):
                check_size("y", column.values)
                check_digits("y", np.nanmax(np.abs(column.values), initial=0.0))
        if targets.columns and targets.kind == "none":
            warn("y marks every row as unlabeled; the unsupervised model is fitted.")
        elif targets.kind == "classes" and targets.vector and len(targets.classes) == 1:
            warn(
                f"y holds the single class {targets.classes.tolist()[0]!r}; it cannot guide the projection, and "
                "predict returns it for every row."
            )
        self._record_y(targets)
        return targets

    def _check_table(self, targets):
        """Raise where a column of several is of classes, for a model that takes tables of numbers."""
        for column in targets.columns:
            if column.classes is not None and self.traits.several == "real" and len(targets.columns) > 1:
                name = type(self).__name__
                raise ValueError(
                    f"target={self.target!r} asks for classes in {column.name}; y has {len(targets.columns)} columns, "
                    f"which are numbers to {name}: give one column, or fit CPPCA, which takes columns of classes."
                )

    def _asked_target(self):
        """What other parameters say of `target`, or None."""

    def _record_y(self, targets):
        """Set what the fitted model knows of y."""
        self.__dict__.pop("classes_", None)
        self.target_kind_, self.n_labeled_ = targets.kind, targets.n_labeled
        self._form, self._vector = targets.form, targets.vector
        if any(column.classes is not None for column in targets.columns):
            self.classes_ = targets.classes

    def _values_of(self, y, n_samples, **options):
        """New targets as in fit (n, q): class numbers or numbers, NaN where missing."""
        return read_like(to_host(y), n_samples, self._form, unlabeled=self.unlabeled, **options)

    def _said(self):
        if self.target_kind_ == "none":
            return super()._said()
        noise = np.array(vars(self).get("y_noise_variance_"), dtype=object)
        if self.target_kind_ == "classes" and noise.ndim:
            noise = noise.mean()  # of the codes of the classes
        noises = np.broadcast_to(noise, len(self._form)).tolist()
        targets = tuple(
            Target("real" if classes is None else "classes", classes, None if self._vector else j, noises[j])
            for j, (_, classes, _) in enumerate(self._form)
        )
        return super()._said() | {"n_labeled": int(self.n_labeled_), "targets": targets}

    def _require_targets(self, method):
        if self.target_kind_ == "none":
            raise ValueError(f"{method} needs a model fitted with labeled rows; this one was fitted without any.")


class GuidedPredictor(Guided):
    """A `Guided` model that predicts: scikit-learn's tags of classifiers and regressors, and `score`."""

    _with_std = False  # whether `predict` returns standard deviations of numbers
    _few_directions = False  # whether classes are told apart in one direction where X has two columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        asked = self.target if isinstance(self.target, str) else "mixed"
        kind = vars(self).get("target_kind_", {"auto": "classes"}.get(asked, asked))
        tags.estimator_type = {"classes": "classifier", "none": None}.get(kind, "regressor")
        tags.classifier_tags = ClassifierTags(poor_score=self._few_directions) if kind == "classes" else None
        tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
        return tags

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of predicted classes, R2 of predicted numbers, over the labeled rows of y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`; rows without a label do not count. With several targets the scores are averaged. None
            gives the average log-density of rows, in nats, for models that have one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        score : float
            At most 1 with y.
        """
        check_is_fitted(self)
        if y is None:
            if not hasattr(self, "score_samples"):
                raise ValueError(f"score of {type(self).__name__} needs y: this model has no density of x.")
            density = np.asarray(to_host(self.score_samples(X)), dtype=np.float64)
            return float(np.average(density, weights=sample_weight))
        self._require_targets("score")
        found = np.asarray(to_host(self.predict(X)))
        values = self._values_of(bring_home(y), len(found), strict=False)
        predicted = np.reshape(found, (len(values), -1))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        scores = [
            _column_score(classes, values[:, j], predicted[:, j], weights)
            for j, (kind, classes, _) in enumerate(self._form)
            if kind != "none"
        ]
        return float(np.mean(scores))

    def _said(self):
        found = {} if self.target_kind_ == "none" else {"predict": self._predictions}
        return super()._said() | found

    def _predictions(self, X):
        q, lists = len(self._form), [classes for _, classes, _ in self._form]
        proba = std = [None] * q
        if self._with_std and any(classes is None for classes in lists):
            found, std = (columns_of(part, q) for part in self.predict(X, return_std=True))
        else:
            found = columns_of(self.predict(X), q)
        if any(classes is not None for classes in lists):
            proba = self.predict_proba(X)
            proba = [proba] if self._vector else proba
        return tuple(
            Prediction(found[j].astype(float), None, std[j]) if classes is None else Prediction(found[j], proba[j])
            for j, classes in enumerate(lists)
        )


def _column_score(classes, values, predicted, weights):
    """Accuracy or R2 of one target over its labeled rows; a class that was not in fit is never right."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        raise ValueError("y labels no row; there is nothing to score.")
    weights = None if weights is None else weights[known]
    if classes is None:
        power = -np.frexp(np.abs(values[known]).max())[1]  # R2 has no units; squares of these numbers are numbers
        found = predicted[known].astype(np.float64)
        return r2_score(np.ldexp(values[known], power), np.ldexp(found, power), sample_weight=weights)
    position = {label: i for i, label in enumerate(classes.tolist())}
    right = values[known] == [position[label] for label in predicted[known].tolist()]
    return np.average(right, weights=weights)


def columns_of(values, q):
    """The columns of what `predict` gave for one target or several."""
    values = np.asarray(values)
    return [values] if values.ndim == 1 and q == 1 else list(values.T)
