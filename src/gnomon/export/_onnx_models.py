"""Fitted linear models as ONNX operators on complete rows: projection, posterior variance and predictions."""

from collections.abc import Callable
from typing import Any

import numpy as np

import gnomon
from gnomon.describe import describe
from gnomon.export._onnx_classes import give_classes, mean_softmax, probit, softmax, student, with_opinion
from gnomon.export._onnx_graph import Graph, give_numbers
from gnomon.export._onnx_mixture import add_dppca
from gnomon.export._onnx_scores import add_ifa, add_scl, add_sdr_glm, add_sepca


def check_model(model: Any) -> None:
    """Refuse a model whose class has no graph."""
    if type(model) not in MODELS:
        why = OTHERS.get(type(model), "it is not among the models that have one")
        known = ", ".join(one.__name__ for one in MODELS)
        raise TypeError(
            f"{type(model).__name__} has no ONNX graph: {why}; fit one of those that have, {known}, alone or behind "
            "scalers in a pipeline."
        )


def add_model(graph: Graph, rows: str, model: Any) -> None:
    """Add a fitted model and its outputs."""
    MODELS[type(model)](graph, rows, model)


def _ppca(graph: Graph, rows: str, model: Any) -> None:
    _latent(graph, rows, model)


def _sppca(graph: Graph, rows: str, model: Any) -> None:
    Z, _ = _latent(graph, rows, model)
    targets = describe(model).targets
    if targets and targets[0].kind == "classes":
        parts = (model.class_axes_, model.class_centers_, model.class_covariance_, model.class_counts_)
        give_classes(graph, softmax(graph, student(graph, Z, *parts)), model.classes_)
    elif targets:
        give_numbers(graph, _read_out(graph, Z, model), targets)


def _cppca(graph: Graph, rows: str, model: Any) -> None:
    Z, cov = _latent(graph, rows, model)
    targets = describe(model).targets
    if not targets:
        return
    classes = targets[0].classes
    if len(targets) > 1 and any(target.kind == "classes" for target in targets):
        raise TypeError("CPPCA of several targets of which some are classes has no ONNX graph; fit one for each.")
    if classes is not None and len(classes) == 1:
        give_classes(graph, graph.add("Add", graph.add("MatMul", Z, np.zeros((len(cov), 1))), 1.0), classes)
        return
    predictor = _read_out(graph, Z, model)
    V = np.asarray(model.y_loadings_, dtype=np.float64)
    if classes is None:
        half = 0.5 * np.diag(V @ cov @ V.T)
        counts = np.array([family == "poisson" for family in model.families_])
        rates = graph.add("Exp", graph.add("Add", predictor, half))
        give_numbers(graph, graph.add("Where", counts, rates, predictor), targets)
        return
    if model.families_[0] == "probit":
        proba = probit(graph, graph.add("Div", predictor, float(np.sqrt(1.0 + V @ cov @ V.T).item())))
    else:
        logits = graph.add("MatMul", predictor, np.array([[0.0, 1.0]])) if len(classes) == 2 else predictor
        proba = mean_softmax(graph, logits, *model._class_offsets())
    give_classes(graph, with_opinion(graph, proba, Z, model.calibration_), classes)


def _guided(graph: Graph, rows: str, model: Any) -> None:
    """`GuidedProjection` of numbers; of classes its pupil is asked instead."""
    D = np.asarray(model.components_, dtype=np.float64)
    graph.give("transform", graph.add("MatMul", graph.add("Sub", rows, model.mean_), D.T), ["n", len(D)])
    slopes, mean, middle = model._line
    found = graph.affine(graph.add("Sub", rows, mean), slopes, middle)
    give_numbers(graph, found, describe(model).targets)


def _latent(graph: Graph, rows: str, model: Any) -> tuple[str, np.ndarray]:
    """Posterior means of z given x, and their covariance: the outputs "transform" and "variance"."""
    W, noise = np.asarray(model.components_, dtype=np.float64), float(model.noise_variance_)
    inverse = np.linalg.inv(W @ W.T + noise * np.eye(len(W)))
    Z = graph.add("MatMul", graph.add("Sub", rows, np.asarray(model.mean_)), (inverse @ W).T)
    graph.give("transform", Z, ["n", len(W)])
    cov = noise * inverse
    graph.give("variance", graph.add("Add", graph.add("Mul", Z, 0.0), np.diag(cov)), ["n", len(W)])
    return Z, cov


def _read_out(graph: Graph, Z: str, model: Any) -> str:
    return graph.affine(Z, np.asarray(model.y_loadings_).T, np.asarray(model.y_intercept_))


MODELS: dict[type, Callable[[Graph, str, Any], None]] = {
    gnomon.PPCA: _ppca,
    gnomon.SPPCA: _sppca,
    gnomon.CPPCA: _cppca,
    gnomon.DPPCA: add_dppca,
    gnomon.GuidedProjection: _guided,
    gnomon.SEPCA: add_sepca,
    gnomon.SDRGLM: add_sdr_glm,
    gnomon.IFA: add_ifa,
    gnomon.SCL: add_scl,
}
OTHERS: dict[type, str] = {
    gnomon.KernelSPPCA: "it compares rows with those of the fit by a kernel",
    gnomon.KDA: "it compares rows with those of the fit by a kernel",
    gnomon.ColoredMVU: "it is placed by a graph of neighbors",
    gnomon.MixturePPCA: "its projection is not linear",
    gnomon.NeighborFeatures: "it compares rows with those of the fit",
}
