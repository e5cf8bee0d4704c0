"""Outputs of several kinds, each with linear predictors V z + b: what CPPCA does with them once it is fitted."""

import numpy as np

from ..likelihoods.layout import Layout
from ..models import linear
from ..models.linear.class_likelihood import LabelParams
from ..models.linear.conditioning import Model, draw_outputs
from ._density import JointDensity
from ._linear_gaussian import LinearGaussian
from ._predictions import DeviationPredictor, join

TARGET = {"gaussian": "real", "probit": "classes", "logit": "classes", "categorical": "classes", "poisson": "counts"}


def families_of(targets, families):
    """The family of each column of `Targets`, where the caller asks for `families`: None, one name, or a list."""
    asked = families if isinstance(families, list) else [families] * len(targets.columns)
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


def usable(form):
    """Which outputs can guide the projection: those with two classes or more, or numbers."""
    return [j for j, (kind, classes, _) in enumerate(form) if kind != "none" and (classes is None or len(classes) > 1)]


def layout_of(form, families):
    """The outputs that guide the projection."""
    lists = {j: form[j][1] for j in usable(form)}
    sizes = (0 if classes is None else len(classes) for classes in lists.values())
    return Layout(tuple(families[j] for j in lists), tuple(sizes))


class Outputs(DeviationPredictor, JointDensity, LinearGaussian):
    """Posterior and density given x and outputs, predictions and samples of outputs."""

    _few_directions = True

    @property
    def _layout(self):
        return Layout(tuple(self._distributions), tuple(self._n_classes))

    def _label_params(self):
        layout, row = self._layout, 0
        coef = np.asarray(self.y_loadings_, dtype=np.float64)
        intercept = np.asarray(self.y_intercept_, dtype=np.float64)
        V, b = [coef[:0]], [intercept[:0]]
        for family in layout.families:
            back = np.linalg.pinv(family.contrasts)
            rows = slice(row, row + len(family.contrasts))
            V.append(back @ coef[rows])
            b.append(back @ intercept[rows])
            row = rows.stop
        noise = np.ones(len(layout.kinds))
        if self.y_noise_variance_ is not None:
            noise = np.array([1.0 if v is None else v for v in np.atleast_1d(self.y_noise_variance_)], dtype=float)
        return LabelParams(np.vstack(V), np.concatenate(b), noise)

    def _model(self):
        return Model(self._params(), self._label_params(), self._layout, self.inference_)

    def _code_targets(self, y, n_samples):
        if y is None:
            return None
        if self.target_kind_ == "none":
            raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
        return self._values_of(y, n_samples)[:, usable(self._form)]

    def _n_free(self):
        (h, k), p = self._label_params()[0].shape, self.components_.shape[1]
        g = self.n_components_ if h else k
        rotations = g * (g - 1) // 2 + (k - g) * (k - g - 1) // 2
        return p * (k + 1) + 1 + h * (g + 1) + int(self._layout.noisy.sum()) - rotations

    def _predicted_with_std(self, rows):
        if not self._layout.kinds:  # one class only
            return [np.ones((rows.shape[0], 1))], None
        return linear.predict(self._model(), rows)

    def _draw_targets(self, X, latent, rng):
        self._require_targets("sample(return_y=True)")
        if not self._layout.kinds:
            return np.repeat(self.classes_, len(X))
        drawn = draw_outputs(self._model(), latent, rng)
        columns = [
            values if classes is None else classes[values.astype(np.intp)]
            for values, (_, classes, _) in zip(drawn.T, self._form, strict=True)
        ]
        return columns[0] if self._vector else join(columns)
