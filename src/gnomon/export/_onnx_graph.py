"""A graph of ONNX operators that grows one operator at a time, in float64 between an input and outputs in float32."""

from typing import Any

import numpy as np

OPSET, IR_VERSION = 17, 8  # of ONNX 1.12, so that runtimes since 2022 read it


class Graph:
    """Operators on rows X (n, p); constants are arrays, and what an operator gives is known by a name."""

    def __init__(self, n_features: int) -> None:
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self.input = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, ["n", n_features])
        self.rows = self.add("Cast", "X", to=onnx.TensorProto.DOUBLE)

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Append an operator; inputs are names, or arrays and numbers, which become constants."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def affine(self, rows: str, matrix: Any, offset: Any) -> str:
        """Rows times a matrix, plus an offset."""
        return self.add("Add", self.add("MatMul", rows, matrix), offset)

    def total(self, values: str, axis: int, *, keep: bool = False) -> str:
        """Sum over an axis."""
        return self.add("ReduceSum", values, np.array([axis]), keepdims=int(keep))

    def give(self, name: str, value: str, shape: list[Any]) -> None:
        """Make numbers an output of that name, in float32."""
        self._give(name, self.add("Cast", value, to=self.onnx.TensorProto.FLOAT), self.onnx.TensorProto.FLOAT, shape)

    def give_labels(self, index: str, classes: np.ndarray) -> None:
        """Make classes by their number the output "labels"."""
        label = self.add("Gather", classes, index)
        self._give("labels", label, self.onnx.helper.np_dtype_to_tensor_dtype(classes.dtype), ["n"])

    def model(self, facts: dict[str, str], version: str) -> Any:
        """The graph as a model, checked, with facts beside it."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "gnomon", [self.input], self.outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="gnomon")
        model.producer_version = version
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _give(self, name: str, value: str, kind: int, shape: list[Any]) -> None:
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def _constant(self, value: Any) -> str:
        value = np.asarray(value)
        if value.dtype.kind == "f":
            value = value.astype(np.float64)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name


def give_numbers(graph: Graph, found: str, targets: Any) -> None:
    """The output "predict", a vector where y was one."""
    if targets[0].column is None:
        graph.give("predict", graph.add("Squeeze", found, np.array([1])), ["n"])
    else:
        graph.give("predict", found, ["n", len(targets)])
