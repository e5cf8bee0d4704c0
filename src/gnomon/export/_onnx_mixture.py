"""Discriminant probabilistic PCA as ONNX operators: classes that share factors, and how sure they may be."""

from typing import Any, NamedTuple

import numpy as np

from gnomon.describe import describe
from gnomon.export._onnx_classes import give_classes, softmax
from gnomon.export._onnx_graph import Graph

SMALL, TINY = 1e-12, 1e-300  # probabilities of a mean, and distances, that are taken for no smaller


class Mixture(NamedTuple):
    """Class c is N(means_c, factors' factors + noise_var I) with weight prior_c."""

    prior: np.ndarray  # (c,)
    means: np.ndarray  # (c, p)
    factors: np.ndarray  # (m, p) orthogonal rows
    noise_var: float

    @property
    def center(self) -> np.ndarray:
        """Mean of the class means (p,)."""
        return np.asarray(self.prior @ self.means)

    def explained(self, A: np.ndarray) -> np.ndarray:
        """Rows A (m, p) times noise_var times the inverse covariance of a class."""
        along = A @ self.factors.T
        return np.asarray(A - (along / (self.noise_var + (self.factors**2).sum(axis=1))) @ self.factors)


def add_dppca(graph: Graph, rows: str, model: Any) -> None:
    """Add a fitted model and its outputs."""
    targets = describe(model).targets
    if len(targets) > 1:
        raise TypeError("DPPCA of several targets has no ONNX graph; fit one for each.")
    own = Mixture(model.class_prior_, model.class_means_, model.factors_, float(model.noise_variance_))
    D = np.asarray(model.components_, dtype=np.float64)
    graph.give("transform", graph.add("MatMul", graph.add("Sub", rows, model.mean_), D.T), ["n", len(D)])
    distances = _distances(graph, rows, own)
    alone = softmax(graph, _log_joint(graph, distances, own))
    graph.give("variance", _variance(graph, alone, own, D), ["n", len(D)])
    record = model.calibration_
    give_classes(graph, alone if record is None else _calibrated(graph, rows, distances, own, model), model.classes_)


def _distances(graph: Graph, rows: str, one: Mixture) -> str:
    """Squared distances (n, c) of rows from the classes, in deviations within a class."""
    away = graph.add("Sub", rows, one.center)
    means = one.means - one.center
    slopes = one.explained(means) / one.noise_var
    along = graph.add("MatMul", away, one.factors.T)
    shrink = 1.0 / (one.noise_var + (one.factors**2).sum(axis=1))
    taken = graph.add("MatMul", graph.add("Mul", along, along), shrink[:, None])
    left = graph.add("Sub", graph.total(graph.add("Mul", away, away), 1, keep=True), taken)
    middle = graph.add("Div", graph.add("Max", left, 0.0), one.noise_var)
    linear = graph.affine(away, -2.0 * slopes.T, (means * slopes).sum(axis=1))
    return graph.add("Add", middle, linear)


def _log_joint(graph: Graph, distances: str, one: Mixture) -> str:
    """Log-joint densities (n, c), up to a constant."""
    with np.errstate(divide="ignore"):
        return graph.add("Add", graph.add("Mul", distances, -0.5), np.log(one.prior))


def _variance(graph: Graph, resp: str, one: Mixture, D: np.ndarray) -> str:
    """Variances (n, k) of the projection of a row without its noise, over the classes."""
    lost = one.explained(D)
    shift = (one.means - one.center) @ lost.T
    away = graph.add("MatMul", resp, shift)
    between = graph.add("Sub", graph.add("MatMul", resp, shift**2), graph.add("Mul", away, away))
    return graph.add("Add", between, one.noise_var * (D * (D - lost)).sum(axis=1))


def _calibrated(graph: Graph, rows: str, distances: str, own: Mixture, model: Any) -> str:
    """Probabilities by several models, each as sure as it may be."""
    record, parts = model.calibration_, []
    others = [Mixture(*other) for other in model._others]
    measured = [distances, *(_distances(graph, rows, other) for other in others)]
    found = zip([own, *others], measured, record["temperature"], record["distance"], record["weight"], strict=True)
    for one, away, temperature, middle, weight in found:
        open_to = away
        if (one.prior <= 0.0).any():  # which are no nearest class
            open_to = graph.add("Add", away, np.where(one.prior > 0.0, 0.0, np.inf))
        least = graph.add("Max", graph.add("ReduceMin", open_to, axes=[1], keepdims=1), 0.0)
        softer = graph.add("Add", graph.add("Div", least, max(float(middle), TINY)), 1.0)
        joint = _log_joint(graph, away, one)
        odds = graph.add("Sub", joint, graph.add("ReduceMax", joint, axes=[1], keepdims=1))
        soft = graph.add("Div", graph.add("Div", odds, softer), float(temperature))
        parts.append(graph.add("Mul", softmax(graph, soft), float(weight)))
    mean = graph.add("Sum", *parts)
    logs = graph.add("Log", graph.add("Max", mean, SMALL))
    return softmax(graph, graph.add("Mul", logs, float(record["exponent"])))
