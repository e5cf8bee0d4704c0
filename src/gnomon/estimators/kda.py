"""Kernel discriminant analysis with shrinkage, as a scikit-learn estimator."""

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..describe import Traits
from ..models import kda as model
from ..rows import read
from ._estimator import at_least, at_most, one_of, rules
from ._kernel import KernelTransformer
from ._predictions import Predictor

MOST_CALIBRATED = 1000  # labeled rows, beyond which parameters are taken as known


@dataclass(eq=False, repr=False)
class KDA(Predictor, KernelTransformer):
    """Kernel discriminant analysis with shrinkage: the directions of feature space that separate classes most.

    With phi(x) the features of a kernel, S the covariance of phi within classes (divisor n) and B that of the class
    means, the directions maximize::

        a' B a / a' S_shrunk a,     S_shrunk = (1 - shrinkage) S + shrinkage tr(S) / effective_dimension I

    and a new row goes to the class that is most probable for normal classes with the common covariance S_shrunk. With
    ``kernel="linear"`` this is linear discriminant analysis: directions and probabilities of scikit-learn's
    ``LinearDiscriminantAnalysis`` for ``shrinkage=0``, and its probabilities with the same ``shrinkage`` for any.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions `transform` returns, at most n_classes - 1, which None takes. Prediction uses them all.
    kernel : {"linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="linear"
        As in `KernelSPPCA`. With "precomputed", `fit` takes the kernel matrix of all its rows, unlabeled ones
        included, and every other method the kernel values (n_samples, n_training_rows) of new rows with them.
    gamma, degree, coef0, kernel_params : float, float, float, dict, default=(None, 3, 1, None)
        Of "rbf", "poly", "sigmoid" and "laplacian"; of "poly"; of it and "sigmoid"; of a function as kernel; as in
        `KernelSPPCA`.
    shrinkage : float, default=1e-3
        Share of the identity in the covariance, from 0 to 1. With fewer labeled rows than dimensions, as in most
        kernels, 0 is an error because nothing varies within classes along some directions.
    target, unlabeled : {"auto", "classes"}, "auto" or None or a label, default=("auto", "auto")
        How to read y, and what marks an unlabeled row, as in `SPPCA`; "classes" takes numbers of any kind for labels.
        Unlabeled rows are left out: they change nothing, neither the mean nor the directions.
    n_landmarks : int, default=None
        For many labeled rows: work in the span of this many of them, drawn at random (Nystrom). Memory n_labeled x
        n_landmarks instead of n_labeled squared. None uses all labeled rows.
    uncertainty : {"full", "plug-in"}, default="full"
        What `predict_proba` knows of the uncertainty of the parameters. "full": probabilities are as sure as they are
        right of labels held out, by fits to the other four fifths. "plug-in", and with more than 1,000 labeled rows or
        where four fifths leave the covariance singular: those of the model itself, as if its parameters were known, far
        too sure where labels are few. The predicted class is the same.
    random_state : int, RandomState instance or None, default=0
        Draws the landmarks; nothing else is random.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_references, n_directions)
        Directions as combinations of the reference rows, by falling between-class variance. The labeled row farthest
        along a direction lies on its positive side. There are n_classes - 1, or `rank_` if that is less.
    kernel_mean_ : ndarray of shape (n_references,)
        Mean kernel value of the labeled rows with each reference.
    class_centers_ : ndarray of shape (n_classes, n_directions)
        Projected class means, that of all labeled rows at zero; the variance within classes, shrinkage included, is 1
        in every direction.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log share of each class among the labeled rows.
    between_variance_ : ndarray of shape (n_directions,)
        Variance of the class means along each direction, in units of the variance within classes.
    calibration_ : dict or None
        Unless probabilities are those of the model itself, what the odds are divided by: one of "temperatures", which
        grows with the squared distance of a row from all classes over the median one, in "distances"; the "exponent" of
        the result, or one for each class, of rows that name it, where labels are more unequal than chance makes them;
        the mean "confidence" that it is brought to, and "n_held_out", the labels that told how often the model is
        right. Where no class has two labels nothing is known of that, and probabilities are those of the model itself.
    target_kind_, classes_ : {"classes"}, ndarray of shape (n_classes,)
        What y was read as, and its sorted labels.
    references_, X_fit_, rank_, gamma_
        As in `KernelSPPCA`, of the labeled rows.
    effective_dimension_ : float
        n_features for the linear kernel, else `rank_`.
    n_components_, n_samples_, n_labeled_, n_features_in_, feature_names_in_
        Number of directions that `transform` returns; the others as in `KernelSPPCA`.

    Raises
    ------
    ValueError
        When y holds fewer than two classes or real numbers, n_components exceeds n_classes - 1, n_landmarks exceeds
        the labeled rows, the kernel matrix is not symmetric and positive semi-definite (the error names the
        eigenvalue), or shrinkage is too small.

    See Also
    --------
    DPPCA : Class directions that unlabeled rows help to find.
    KernelSPPCA : A latent variable model in the feature space of a kernel.

    Notes
    -----
    `Rows` are brought into this process as a whole: the kernel needs pairs of them.

    Time n^3 and memory n^2 for n labeled rows, whatever the kernel; n m^2 and n m with m landmarks. Where a class
    has one row and all others too, nothing varies within classes; the total variance then takes the place of the
    variance within, so that directions are those of PCA of the rows, and probabilities rest on that assumption.

    References
    ----------
    Mika, Ratsch, Weston, Scholkopf and Muller, IEEE Neural Networks for Signal Processing 1999. Friedman, Journal of
    the American Statistical Association 84 (1989), for the shrinkage.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from gnomon import KDA
    >>> X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    >>> y[50:] = -1                                  # 150 rows are unlabeled
    >>> model = KDA(kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.transform(X).shape
    (200, 1)
    >>> model.predict(X[50:54])
    array([0, 1, 1, 0])
    """

    traits = Traits("kda", own_size=True, several="one")

    _kinds = ("classes",)
    _required = True
    _fewest_classes = 2
    _rules = rules(shrinkage=at_least(0), uncertainty=one_of("full", "plug-in"))
    _fitted = "dual_coef_"

    n_components: Any = None
    _: KW_ONLY
    shrinkage: Any = 1e-3
    target: Any = "auto"
    unlabeled: Any = "auto"
    n_landmarks: Any = None
    uncertainty: Any = "full"
    random_state: Any = 0

    def _fit(self, rows, targets):
        most = len(targets.classes) - 1
        at_most(self.n_components, most, f": {most + 1} classes differ in {most} directions.")
        labeled = np.flatnonzero(targets.labeled)
        X, most_rows = rows.gather(), f"{len(labeled)}, the labeled rows"
        landmarks = self._drawn_landmarks(X, labeled, most_rows, check_random_state(self.random_state))
        feature_map, T, _ = self._feature_map(X, labeled, landmarks, principal=False)
        self.rank_ = T.shape[1]
        if self.rank_ == 0:
            raise ValueError(
                f"the {len(labeled)} labeled rows of X are all the same to the kernel; nothing separates them."
            )
        dimension = self.effective_dimension_ = float(self.n_features_in_ if self._linear else self.rank_)
        size = np.sqrt((T**2).mean())  # the model works at the size of one, whatever the units of the kernel
        fitted = model.fit(read(T / size), targets.index[labeled], most + 1, float(self.shrinkage), dimension)
        self._store(fitted, feature_map, size)
        self.calibration_ = None
        if self.uncertainty == "full" and len(labeled) <= MOST_CALIBRATED:
            with suppress(ValueError):  # without some of the rows the covariance is singular
                of_size = T / size, targets.index[labeled], most + 1, float(self.shrinkage), dimension
                self.calibration_ = model.calibrated(*of_size)._asdict()

    def _projected(self, rows):
        return model.posterior(self._model(), read(self._cross(rows.gather())))[0][:, : self.n_components_]

    def _check_parameters(self):
        super()._check_parameters()
        if self.shrinkage > 1:
            raise ValueError(
                f"shrinkage={self.shrinkage!r} must be at most 1: it is the share of the identity in the covariance."
            )

    def _store(self, fitted, feature_map, size):
        self.dual_coef_ = feature_map.basis @ fitted.directions / size
        self.kernel_mean_ = feature_map.shift
        self.class_centers_ = fitted.centers
        self.class_log_prior_ = fitted.log_prior
        self.between_variance_ = fitted.between
        found = fitted.directions.shape[1]
        wanted = found if self.n_components is None else self.n_components
        self.n_components_ = at_most(wanted, found, f": the labeled rows span {found} dimensions.")

    def _model(self):
        directions = (self.kernel_mean_, self.dual_coef_)
        return model.Fitted(*directions, self.class_centers_, self.class_log_prior_, self.between_variance_)

    def _predicted(self, rows):
        calibration = None if self.calibration_ is None else model.Calibration(**self.calibration_)
        return [model.predict(self._model(), read(self._cross(rows.gather())), calibration)]

    def _said(self):
        name = "variance of class means along direction {}, in units of the variance within"
        facts = tuple((name.format(j), variance) for j, variance in enumerate(self.between_variance_, start=1))
        return super()._said() | {"uses_unlabeled": False, "fit": self._recorded(facts=facts)}
