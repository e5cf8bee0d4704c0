"""A stored model as a graph for runtimes without Python."""

import json

from gnomon._cli import outputs
from gnomon._cli.commands import InputError, one_line
from gnomon._cli.stored import StoredModel
from gnomon._files import new_file
from gnomon.export import to_onnx


def write_onnx(path: str, stored: StoredModel, *, replace: bool) -> list[str]:
    """Write the graph of a model to a file; returns the names of its outputs."""
    try:
        model = to_onnx(stored.pipeline)
    except (TypeError, ImportError) as error:
        raise InputError(one_line(error)) from error
    model.metadata_props.add(key="targets", value=json.dumps(stored.targets))
    with outputs.said_in_one_line(path), new_file(path, replace=replace) as file:
        file.write(model.SerializeToString(deterministic=True))
    return [output.name for output in model.graph.output]
