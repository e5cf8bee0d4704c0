"""Models whose scores have no distribution, and IFA, as ONNX operators: scores of a row, and what is read off them."""

from typing import Any

import numpy as np

from gnomon.describe import describe
from gnomon.export._onnx_classes import LEAST, give_classes, softmax, with_opinion
from gnomon.export._onnx_graph import Graph, give_numbers
from gnomon.export._onnx_mixture import SMALL


def add_scl(graph: Graph, rows: str, model: Any) -> None:
    """Add `SCL` and its output."""
    Z = _times(graph, rows, model.mean_, np.asarray(model.components_, dtype=np.float64).T)
    if model.augment:
        Z = graph.add("Concat", rows, graph.add("Mul", Z, float(model.block_scale_)), axis=1)
    graph.give("transform", Z, ["n", model.n_components_ + model.n_features_in_ * bool(model.augment)])


def add_sepca(graph: Graph, rows: str, model: Any) -> None:
    """Add `SEPCA` with a linear kernel and its outputs."""
    if not (isinstance(model.kernel, str) and model.kernel == "linear"):
        raise TypeError(
            f"SEPCA with kernel={model.kernel!r} has no ONNX graph: it compares rows with those of the fit; "
            "kernel='linear' has one."
        )
    T = _times(graph, rows, model._shift, model._basis)
    Z = graph.affine(T, model._weights, model._offset)
    graph.give("transform", Z, ["n", model.n_components_])
    if describe(model).targets:
        proba = softmax(graph, graph.affine(Z, np.asarray(model.coef_).T, model.intercept_))
        give_classes(graph, with_opinion(graph, proba, Z, model.calibration_), model.classes_)


def add_sdr_glm(graph: Graph, rows: str, model: Any) -> None:
    """Add `SDRGLM` of Gaussian features and its outputs."""
    if model.x_family != "gaussian":
        raise TypeError(
            f"SDRGLM with x_family={model.x_family!r} has no ONNX graph: each row is projected by steps that go on "
            "until they are short; x_family='gaussian' has one."
        )
    targets, V = describe(model).targets, np.asarray(model._V)
    if len(targets) > 1 and any(target.kind == "classes" for target in targets):
        raise TypeError("SDRGLM of several targets of classes has no ONNX graph; fit one for each.")
    inverse = np.linalg.inv(V @ V.T + float(model.projection_ridge_) * np.eye(len(V)))
    shift = np.asarray(model._x_shift) + np.asarray(model._b) * model.x_scale_
    Z = _times(graph, rows, shift, V.T @ inverse / model.x_scale_)
    graph.give("transform", Z, ["n", len(V)])
    if not targets:
        return
    means = _means(graph, graph.affine(Z, np.asarray(model.coef_).T, model.intercept_), model.families_)
    if targets[0].kind != "classes":
        give_numbers(graph, means, targets)
        return
    if model.families_ == "bernoulli":  # of the second class, where there are two
        means = graph.add("Concat", graph.add("Sub", 1.0, means), means, axis=1)
        if len(model.classes_) == 1:
            means = graph.total(means, 1, keep=True)
    give_classes(graph, with_opinion(graph, means, Z, model.calibration_), model.classes_)


def _means(graph: Graph, predictors: str, family: str) -> str:
    """Means of outputs of a family with these predictors."""
    if family == "multinomial":
        return softmax(graph, predictors)
    return (
        predictors
        if family == "gaussian"
        else graph.add({"bernoulli": "Sigmoid", "poisson": "Exp"}[family], predictors)
    )


def add_ifa(graph: Graph, rows: str, model: Any) -> None:
    """Add `IFA` without noise and its outputs: one class variable, of one latent or of all."""
    if model.noise != "none":
        raise TypeError(f"IFA with noise={model.noise!r} has no ONNX graph; noise='none' has one.")
    if not model._vector and model.target_kind_ == "classes":
        raise TypeError("IFA of several targets has no ONNX graph; fit one for each.")
    Z = _times(graph, rows, model.mean_, np.asarray(model.unmixing_).T)
    graph.give("transform", Z, ["n", model.n_components_])
    if model.target_kind_ != "classes":
        return
    weights = np.asarray(model.mix_weights_[0])
    means, variances = (np.array(moments)[None] for moments in (model.mix_means_, model.mix_variances_))  # (1, S, c)
    latents = graph.add("Slice", Z, np.array([0]), np.array([means.shape[1]]), np.array([1]))
    away = graph.add("Sub", graph.add("Unsqueeze", latents, np.array([2])), means)
    squares = graph.total(graph.add("Mul", graph.add("Mul", away, away), -0.5 / variances), 1)
    with np.errstate(divide="ignore"):
        joint = graph.add("Add", squares, np.log(weights) - 0.5 * np.log(variances[0]).sum(axis=0))
    proba = softmax(graph, joint)
    if (found := model.calibration_) is not None:
        odds = graph.add("Div", graph.add("Log", graph.add("Max", proba, LEAST)), float(found["temperatures"][0]))
        mean = graph.add("Mul", softmax(graph, odds), float(found["weights"][0]))
        logs = graph.add("Log", graph.add("Max", mean, SMALL))
        powers = np.broadcast_to(found["exponent"], len(weights))
        power = graph.add("Gather", powers, graph.add("ArgMax", logs, axis=1, keepdims=1))
        proba = softmax(graph, graph.add("Mul", logs, power))
    give_classes(graph, proba, model.classes_)


def _times(graph: Graph, rows: str, shift: Any, matrix: Any) -> str:
    """Rows less a shift, times a matrix."""
    return graph.add("MatMul", graph.add("Sub", rows, np.asarray(shift, dtype=np.float64)), np.asarray(matrix))
