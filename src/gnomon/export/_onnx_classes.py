"""Probabilities of classes as ONNX operators: densities of labeled points, a softmax over a posterior, a mean of both.

Formulas are those of the model's own probabilities, for complete rows.
"""

from typing import Any

import numpy as np
from scipy.special import erfcx

from gnomon.export._onnx_graph import Graph

LEAST = 1e-300  # probability whose logarithm is taken
DEGREE = 20  # of a polynomial, by which it has twelve digits
WIDEST = 600.0  # range of offsets whose exponentials are numbers


def student(graph: Graph, points: str, axes: Any, centers: Any, cov: Any, counts: Any) -> str:
    """Log-joint densities (n, C), up to a constant of the row: Student's of points along axes, and shares."""
    n_classes, r = np.shape(centers)
    freedom = r + 2.0 + max(float(np.sum(counts)) - n_classes, 0.0)
    wider = np.sqrt(1.0 + 1.0 / (counts + 1.0))
    root = np.linalg.inv(np.linalg.cholesky(cov))
    offsets = np.log(counts + 1.0) - r * np.log(wider)
    white = graph.add("Unsqueeze", graph.add("MatMul", points, axes @ root.T), np.array([1]))
    away = graph.add("Sub", white, (centers @ root.T)[None])
    squares = graph.add("Div", graph.total(graph.add("Mul", away, away), 2), wider**2)
    far = graph.add("Log", graph.add("Add", graph.add("Div", squares, freedom), 1.0))
    return graph.add("Add", graph.add("Mul", far, -0.5 * (freedom + r)), offsets)


def softmax(graph: Graph, logs: str) -> str:
    """Shares in proportion to exponentials along the last axis."""
    return graph.add("Softmax", logs, axis=-1)


def mean_softmax(graph: Graph, logits: str, offsets: np.ndarray, weights: np.ndarray) -> str:
    """The mean of softmax(logits + offset) over offsets (s, C) of these weights (s,)."""
    if np.ptp(offsets, axis=1).max() < WIDEST:  # exponentials of sums are products, and so are sums over classes
        own = graph.add("Exp", graph.add("Sub", logits, graph.add("ReduceMax", logits, axes=[1], keepdims=1)))
        point = np.exp(offsets - offsets.max(axis=1, keepdims=True))
        shares = graph.add("Div", weights, graph.add("MatMul", own, point.T))
        found = graph.add("Mul", own, graph.add("MatMul", shares, point))
    else:
        each = graph.add("Add", graph.add("Unsqueeze", logits, np.array([1])), offsets[None])
        found = graph.total(graph.add("Mul", softmax(graph, each), weights[None, :, None]), 1)
    return graph.add("Div", found, graph.total(found, 1, keep=True))


def probit(graph: Graph, values: str) -> str:
    """Normal probabilities (n, 2) of being above and below values (n, 1).

    The smaller one, half the complementary error function of z, is t exp(-z^2 + a polynomial in t) / 2 with
    t = 2 / (2 + z); the logarithm behind it is smooth, so that interpolation has nearly all digits in the tail, too.
    """
    z = graph.add("Mul", graph.add("Abs", values), float(np.sqrt(0.5)))
    t = graph.add("Div", 2.0, graph.add("Add", z, 2.0))
    found = graph.add("Mul", t, 0.0)
    for coefficient in _log_of_tail()[::-1]:
        found = graph.add("Add", graph.add("Mul", found, t), float(coefficient))
    exponent = graph.add("Sub", found, graph.add("Mul", z, z))
    less = graph.add("Mul", graph.add("Mul", graph.add("Exp", exponent), t), 0.5)
    above, more = graph.add("Greater", values, 0.0), graph.add("Sub", 1.0, less)
    parts = graph.add("Where", above, less, more), graph.add("Where", above, more, less)
    return graph.add("Concat", *parts, axis=1)


def _log_of_tail() -> np.ndarray:
    """Coefficients of the polynomial in t that is near log(erfcx(z) / t), z = 2 / t - 2, for t from 0 to 1."""
    found = np.polynomial.Chebyshev.interpolate(lambda t: np.log(erfcx(2.0 / t - 2.0) / t), DEGREE, domain=[0.0, 1.0])
    return np.asarray(found.convert(kind=np.polynomial.Polynomial, domain=[-1.0, 1.0]).coef)


def with_opinion(graph: Graph, proba: str, points: str, record: dict[str, Any] | None) -> str:
    """Probabilities by a model and by densities of the labeled points, as `calibration_` has it; without it the same.

    The odds of the model are divided by a temperature.
    """
    if record is None:
        return proba
    odds = graph.add("Log", graph.add("Max", proba, LEAST))
    own = softmax(graph, graph.add("Div", odds, float(record["temperature"])))
    away = graph.add("Sub", points, record["origin"])
    parts = (record[name] for name in ("axes", "centers", "covariance", "counts"))
    other = softmax(graph, student(graph, away, *parts))
    weight = float(record["weight"])
    return graph.add("Add", graph.add("Mul", own, 1.0 - weight), graph.add("Mul", other, weight))


def give_classes(graph: Graph, proba: str, classes: np.ndarray) -> None:
    """Outputs "probabilities" and "labels"; a row that is not finite has no label, which is an error."""
    graph.give("probabilities", proba, ["n", len(classes)])
    best = graph.add("ArgMax", proba, axis=1, keepdims=0)
    lacking = graph.add("IsNaN", graph.total(proba, 1))
    beyond = graph.add("Mul", graph.add("Cast", lacking, to=graph.onnx.TensorProto.INT64), np.int64(len(classes)))
    graph.give_labels(graph.add("Add", best, beyond), _labels(classes))


def _labels(classes: np.ndarray) -> np.ndarray:
    """Classes in a type of ONNX: text, int64, or what booleans and floats are."""
    values = np.asarray(classes)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    return values if values.dtype.kind in "bf" else values.astype(str).astype(object)
