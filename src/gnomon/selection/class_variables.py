"""The class variables of independent latents, each read as if it were a model of classes of its own."""

import numpy as np

from gnomon.selection.labels import target_kind


class ClassVariable:
    """One class variable of a fitted `IFA`: its classes by name, its labels, its predictions.

    Parameters
    ----------
    estimator : fitted IFA
        The model.
    index : int
        Which of its class variables.
    names : sequence of length K or None, default=None
        What its components stand for; None numbers them.

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
        size = len(estimator.mix_weights_[index])
        names = range(size) if names is None else [*names, *range(len(names), size)]
        self.estimator, self.index, self.classes_ = estimator, index, np.array(list(names), dtype=object)

    def transform(self, X):
        """Return the latents of rows."""
        return self.estimator.transform(X)

    def predict_proba(self, X):
        """Return the probability (n, K) of each class."""
        found = self.estimator.predict_proba(X)
        return found[self.index] if isinstance(found, list) else found

    def predict(self, X):
        """Return the most probable class (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def labels(self, y):
        """Return the names (n,) of component numbers as given to `fit`, None where unlabelled."""
        codes = np.asarray(y)
        codes = codes if codes.ndim == 1 else codes[:, self.index]
        known = np.array([code is not None and code == code and code >= 0 for code in codes.tolist()], dtype=bool)
        out = np.full(len(codes), None, dtype=object)
        out[known] = self.classes_[codes[known].astype(int)]
        return out


def class_variables(estimator, names=None):
    """Return the class variables of a fitted `IFA`; of any other model, and of one fitted without labels, none.

    Parameters
    ----------
    estimator : fitted gnomon model
        With `tied=True` it has one class variable, whatever the number of latents.
    names : list of sequences or None, default=None
        Classes of each variable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import IFA, PPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> len(class_variables(IFA(tied=True).fit(X, y))), class_variables(PPCA(2).fit(X))
    (1, [])
    """
    if target_kind(estimator) != "latents":
        return []
    count = 1 if estimator.get_params()["tied"] else estimator.n_latents_
    return [ClassVariable(estimator, s, names[s] if names else None) for s in range(count)]
