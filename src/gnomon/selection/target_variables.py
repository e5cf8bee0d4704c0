"""The targets of a model that has several of different kinds, each read as if it were the only one."""

import numpy as np

from gnomon.selection.labels import real_targets, target_kind
from gnomon.selection.readings import project


class _Variable:
    def __init__(self, estimator, index):
        self.estimator, self.index = estimator, index

    def transform(self, X, return_cov=False):
        """Return the projection of rows, and its posterior covariance, None where the model has none."""
        Z, cov = project(self.estimator, X)
        return (Z, cov) if return_cov else Z

    def _column(self, y):
        values = np.asarray(y)
        return values if values.ndim == 1 else values[:, self.index]


class ClassVariable(_Variable):
    """A target of classes: their names, its labels, its predictions.

    Parameters
    ----------
    estimator : fitted model
        With several targets, see `target_variables`.
    index : int
        Which of them.
    names : sequence of length K or None, default=None
        What its classes stand for, in order; None takes them as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import IFA
    >>> X, y = load_iris(return_X_y=True)
    >>> variable = ClassVariable(IFA().fit(X, y), 0, ["setosa", "versicolor", "virginica"])
    >>> variable.predict(X[:2]).tolist(), variable.labels(y)[:2].tolist()
    (['setosa', 'setosa'], ['setosa', 'setosa'])
    """

    target_kind_ = "classes"

    def __init__(self, estimator, index, names=None):
        super().__init__(estimator, index)
        if hasattr(estimator, "classes_"):
            codes = estimator.classes_[index].tolist()
        else:
            codes = list(range(len(estimator.mix_weights_[index])))
        names = codes if names is None else [*names, *codes[len(names) :]]
        self.classes_ = np.array(names, dtype=object)
        self._names = dict(zip(codes, names, strict=True))

    def predict_proba(self, X):
        """Return the probability (n, K) of each class."""
        found = self.estimator.predict_proba(X)
        if isinstance(found, list):
            return found[self.index]
        if isinstance(getattr(self.estimator, "classes_", None), list):  # a column for each label of two classes
            return np.column_stack([1.0 - found[:, self.index], found[:, self.index]])
        return found

    def predict(self, X):
        """Return the most probable class (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def labels(self, y):
        """Return the names (n,) of targets as given to `fit`, None where unlabelled."""
        out = np.full(len(y), None, dtype=object)
        out[:] = [self._names.get(value) for value in self._column(y).tolist()]
        return out


class RealVariable(_Variable):
    """A target of numbers: its values and its predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import CPPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> Y = np.array(list(zip(y.astype(str), X[:, 3])), dtype=object)
    >>> variable = target_variables(CPPCA(2).fit(X[:, :3], Y))[1]
    >>> variable.predict(X[:2, :3]).shape, variable.labels(Y)[:2].tolist()
    ((2,), [0.2, 0.2])
    """

    target_kind_ = "real"

    def predict(self, X, return_std=False):
        """Return the expected value (n,), and its standard deviation."""
        if not return_std:
            return self._column(self.estimator.predict(X)).astype(float)
        return tuple(self._column(values).astype(float) for values in self.estimator.predict(X, return_std=True))

    def labels(self, y):
        """Return the values (n,) of targets as given to `fit`, NaN where unlabelled."""
        return real_targets(self._column(y)).ravel()


def target_variables(estimator, names=None):
    """Return the targets of a fitted model one by one; none where it has one target, real ones only or none.

    Parameters
    ----------
    estimator : fitted gnomon model
        `IFA` (with `tied=True` it has one class variable, whatever the number of latents), `MultiLabelDPPCA`, or
        `CPPCA` with outputs that are not all real.
    names : list of sequences or None, default=None
        Classes of each target, None for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import IFA, PPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> len(target_variables(IFA(tied=True).fit(X, y))), target_variables(PPCA(2).fit(X))
    (1, [])
    """
    kind = target_kind(estimator)
    if kind not in ("latents", "labels", "mixed"):
        return []
    if kind == "latents":
        real = [False] * (1 if estimator.get_params()["tied"] else estimator.n_latents_)
    elif kind == "labels":
        real = [False] * len(estimator.classes_)
    else:
        real = [likelihood in ("gaussian", "poisson") for likelihood in estimator.likelihoods_]
    names = names or [None] * len(real)
    return [
        RealVariable(estimator, j) if number else ClassVariable(estimator, j, names[j]) for j, number in enumerate(real)
    ]
