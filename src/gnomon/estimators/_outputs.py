"""Outputs of several kinds, each with linear predictors V z + b: what CPPCA does with them once it is fitted."""

import numpy as np

from ..likelihoods.inference import sites_of
from ..likelihoods.layout import Layout
from ..models.linear.class_likelihood import Labeled, LabelParams, applies, log_evidence
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
    kinds, sizes = [], []
    for j in usable(form):
        kinds.append(families[j])
        sizes.append(0 if form[j][1] is None else len(form[j][1]))
    return Layout(tuple(kinds), tuple(sizes))


class Outputs(DeviationPredictor, JointDensity, LinearGaussian):
    """Posterior and density given x and outputs, predictions and samples of outputs."""

    _few_directions = True

    @property
    def _layout(self):
        return Layout(tuple(self._distributions), tuple(self._n_classes))

    def _label_params(self):
        """V (h, k), b (h,) and the noise variances (q,) of the outputs."""
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
        return np.vstack(V), np.concatenate(b), noise

    def _condition(self, X, y=None, want=("mean",)):
        if y is None:
            return super()._condition(X, None, want)
        if self.target_kind_ == "none":
            raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
        post = super()._condition(X, None, ("mean", "cov", *want))
        values = self._values_of(y, X.shape[0])[:, usable(self._form)]
        if "log_density" in want:
            post["log_density"] = post["log_density"] + self._log_evidence(values, post)
            return post
        fit = self._sites(values, post)
        VS = self._label_params()[0] @ post["cov"]  # (h, k) or (n, h, k)
        mean = post["mean"] + np.matmul(fit.slope[:, None, :], VS)[:, 0]
        return {"mean": mean, "cov": post["cov"] - np.matmul(np.swapaxes(VS, -1, -2), np.matmul(fit.curvature, VS))}

    def _sites(self, values, post):
        """The fit of the labels, given what x says of z."""
        V, b, noise = self._label_params()
        sites = sites_of(self._layout, self.inference_)
        return sites(values, post["mean"] @ V.T + b, V @ post["cov"] @ V.T, noise)

    def _log_evidence(self, values, post):
        """Log-density (n,) of the outputs given x."""
        if not applies(self._layout, self.inference_):
            return self._sites(values, post).log_z
        V, b, noise = self._label_params()
        rows = Labeled(values, post["mean"], post["cov"], np.ones(len(values)))
        return log_evidence(self._layout, rows, LabelParams(V, b, noise))

    def _n_free(self):
        (h, k), p = self._label_params()[0].shape, self.components_.shape[1]
        g = self.n_components_ if h else k
        rotations = g * (g - 1) // 2 + (k - g) * (k - g - 1) // 2
        return p * (k + 1) + 1 + h * (g + 1) + int(self._layout.noisy.sum()) - rotations

    def _predicted_with_std(self, X):
        layout = self._layout
        if not layout.kinds:  # one class only
            return [np.zeros((X.shape[0], 1))], None
        V, b, noise = self._label_params()
        post = self._condition(X, None, ("mean", "cov"))
        mean, cov = post["mean"] @ V.T + b, V @ post["cov"] @ V.T
        found, std = [], []
        for (family, at), s in zip(layout.parts, noise, strict=True):
            values = family.predict(mean[:, at], cov[..., at, at])
            with np.errstate(divide="ignore"):
                found.append(np.log(values) if values.ndim == 2 else values)
            std.append(family.deviation(mean[:, at.start], cov[..., at.start, at.start], s))
        return found, np.column_stack(std)

    def _draw_targets(self, X, latent, rng):
        self._require_targets("sample(return_y=True)")
        V, b, y_noise = self._label_params()
        layout, a = self._layout, latent @ V.T + b
        if not layout.kinds:
            return np.repeat(self.classes_, len(X))
        columns = []
        for (family, at), noise, (_, classes, _) in zip(layout.parts, y_noise, self._form, strict=True):
            uniform, normal = rng.random_sample(len(X)), rng.standard_normal(len(X))
            drawn = family.draw(a[:, at], float(noise), uniform, normal)
            columns.append(drawn if classes is None else classes[drawn.astype(np.intp)])
        return columns[0] if self._vector else join(columns)
