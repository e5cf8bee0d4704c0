"""A stored model as a graph for runtimes without Python."""

import json
from typing import NamedTuple

from gnomon._cli import outputs
from gnomon._cli.commands import InputError, one_line
from gnomon._cli.stored import StoredModel
from gnomon._files import new_file
from gnomon.export import to_onnx


class Exported(NamedTuple):
    """What a graph holds."""

    what: str
    outputs: list[str]
    metadata: dict[str, str]


def write_onnx(path: str, stored: StoredModel, *, replace: bool) -> Exported:
    """Write the graph of a model to a file."""
    try:
        model = to_onnx(stored.pipeline)
    except (TypeError, ImportError) as error:
        raise InputError(one_line(error)) from error
    model.metadata_props.add(key="targets", value=json.dumps(stored.targets))
    with outputs.said_in_one_line(path), new_file(path, replace=replace) as file:
        file.write(model.SerializeToString(deterministic=True))
    facts = {one.key: one.value for one in model.metadata_props}
    what = stored.said.model
    if "pupil_of" in facts:
        share, classes = float(facts["pupil_agreement"]), "classes" in facts
        does = "names the class that it names in" if classes else "has what is linear in its predictions,"
        of = "the rows of the fit" if classes else "their variance"
        what = f"the pupil of {what}, which {does} {100 * share:.1f} % of {of}"
    return Exported(what, [output.name for output in model.graph.output], facts)
