"""What DPPCA does with new rows once it is fitted."""

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..models import dppca as model
from ..rows.namespace import asarray_like, holding
from ._density import JointDensity
from ._estimator import Invertible
from ._posterior import LatentPosterior
from ._predictions import Predictor


def _has_one_target(estimator):
    if not vars(estimator).get("_vector", True):
        raise AttributeError(
            f"this DPPCA has {len(estimator.classes_)} targets, each with a model of x of its own: it has transform, "
            "predict, predict_proba and score. For densities, posteriors and samples fit one target."
        )
    return True


one_target = available_if(_has_one_target)


class DPPCARows(Predictor, JointDensity, Invertible, LatentPosterior):
    """Projection, class probabilities, density and samples of fitted models, one for each target."""

    _takes_devices = True

    def _per_target(self, values):
        """The values of all targets: a list with a table of labels, the one value with one column."""
        return values[0] if self._vector else values

    def _listed(self, value):
        """The opposite of `_per_target`."""
        return [value] if self._vector else value

    def _models(self):
        """The fitted model of each target."""
        parts = (self.class_prior_, self.class_means_, self.factors_, self.noise_variance_)
        return [model.Model(*one) for one in zip(*map(self._listed, parts), strict=True)]

    def _predicted(self, rows):
        return [model.predict(one, rows) for one in self._models()]

    def _project(self, X, with_cov):
        rows = self._check_rows(X)
        Z = rows.project(self.mean_, self.components_.T.astype(np.float64))
        return Z, self.posterior(X)[1] if with_cov else None

    def _condition(self, rows, y):
        (one,) = self._models()
        return model.posterior(one, rows, self.components_.astype(np.float64), self._index(y, rows.shape[0]))

    posterior = one_target(LatentPosterior.posterior)
    inverse_transform = one_target(Invertible.inverse_transform)
    score_samples = one_target(JointDensity.score_samples)
    sample = one_target(JointDensity.sample)

    def _log_density(self, rows, y):
        (one,) = self._models()
        return model.log_density(one, rows, self._index(y, rows.shape[0]))

    def _index(self, y, n_samples):
        """Class number of new rows, -1 where unlabeled."""
        if y is None:
            return None
        values = self._values_of(y, n_samples)[:, 0]
        return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.intp)

    def _back(self, Z):
        (one,) = self._models()
        back = model.back(one, self.components_.astype(np.float64))
        return Z @ asarray_like(back, Z) + asarray_like(self.mean_, Z)

    def _draw(self, n_samples, rng):
        (one,) = self._models()
        X, index = model.sample(one, n_samples, rng)
        return X.astype(holding(self.components_.dtype, X)), index

    def _draw_targets(self, X, latent, rng):
        return self.classes_[latent]
