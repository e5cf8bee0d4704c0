"""Steps before a model as ONNX operators: scalers of scikit-learn, and what leaves complete rows as they are."""

from collections.abc import Callable
from typing import Any

from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from gnomon.export._onnx_graph import Graph
from gnomon.export.steps import Columns, GapFiller


def add_step(graph: Graph, rows: str, step: Any) -> str:
    """What a step makes of rows; TypeError where it has no graph."""
    make = STEPS.get(type(step))
    if make is None:
        names = ", ".join(cls.__name__ for cls in STEPS)
        raise TypeError(f"{type(step).__name__} before a model has no ONNX graph; those that have one: {names}.")
    return make(graph, rows, step)


def _as_they_are(graph: Graph, rows: str, step: Any) -> str:
    """Complete rows, with columns in order."""
    return rows


def _standard(graph: Graph, rows: str, step: Any) -> str:
    return _scaled(graph, rows, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None)


def _robust(graph: Graph, rows: str, step: Any) -> str:
    center, scale = step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    return _scaled(graph, rows, center, scale)


def _largest(graph: Graph, rows: str, step: Any) -> str:
    rows = _scaled(graph, rows, None, step.scale_)
    return _clipped(graph, rows, -1.0, 1.0) if getattr(step, "clip", False) else rows


def _range(graph: Graph, rows: str, step: Any) -> str:
    rows = graph.add("Add", graph.add("Mul", rows, step.scale_), step.min_)
    return _clipped(graph, rows, *step.feature_range) if step.clip else rows


def _unit(graph: Graph, rows: str, step: Any) -> str:
    size = graph.add("Abs", rows)
    if step.norm == "max":
        length = graph.add("ReduceMax", size, axes=[1], keepdims=1)
    elif step.norm == "l1":
        length = graph.total(size, 1, keep=True)
    else:
        length = graph.add("Sqrt", graph.total(graph.add("Mul", rows, rows), 1, keep=True))
    return graph.add("Div", rows, graph.add("Where", graph.add("Equal", length, 0.0), 1.0, length))


def _scaled(graph: Graph, rows: str, center: Any, scale: Any) -> str:
    if center is not None:
        rows = graph.add("Sub", rows, center)
    return rows if scale is None else graph.add("Div", rows, scale)


def _clipped(graph: Graph, rows: str, low: float, high: float) -> str:
    return graph.add("Min", graph.add("Max", rows, float(low)), float(high))


STEPS: dict[type, Callable[[Graph, str, Any], str]] = {
    Columns: _as_they_are,
    GapFiller: _as_they_are,
    StandardScaler: _standard,
    MinMaxScaler: _range,
    MaxAbsScaler: _largest,
    RobustScaler: _robust,
    Normalizer: _unit,
}
