"""Fitted linear models as ONNX: one graph for everything they say of complete rows, for runtimes without Python."""

import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import gnomon
from gnomon.describe import describe
from gnomon.export._onnx_graph import Graph
from gnomon.export._onnx_models import add_model, check_model
from gnomon.export._onnx_steps import add_step

__all__ = ["to_onnx"]


def to_onnx(model: Any) -> Any:
    """Return a fitted linear model as an ONNX model, which any ONNX runtime computes without Python or this library.

    The input is "X", rows of complete features in float32. Outputs are in float32, computed in float64, and each is
    there where the model has it:

    - "transform", the projection;
    - "variance", that of each component: the diagonal of the covariance of ``posterior(X, uncertainty="plug-in")``;
    - "predict", numbers;
    - "probabilities" and "labels" of classes, labels as text or int64 (booleans and floats as they are).

    A row with an entry that is missing or infinite gives NaN; where there are labels it has none, so that the runtime
    fails ("indices element out of data bounds"). `feature_names` and `classes` are in the metadata of the graph, as
    JSON.

    Parameters
    ----------
    model : fitted PPCA, SPPCA, CPPCA, DPPCA, GuidedProjection, SEPCA, SDRGLM, IFA, SCL, or a pipeline that ends in one
        SEPCA with ``kernel="linear"``, SDRGLM with ``x_family="gaussian"``, IFA with ``noise="none"``.
        Of `GuidedProjection` it is what needs none of its teachers: of one target of classes its `pupil`; of numbers
        their predictions as far as they are linear in the columns. The metadata have "pupil_of", and "pupil_agreement",
        the model's `pupil_agreement_`.
        Before it may stand `Columns`, `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `Normalizer`
        and `GapFiller`, which leaves complete rows as they are. Classes are those of one target.

    Returns
    -------
    onnx.ModelProto
        Of opset 17; ``onnx.save(model, path)`` writes it.

    Raises
    ------
    TypeError
        When the model, a step before it or its classes have no graph.
    ImportError
        When the library onnx is missing: ``pip install 'gnomon[onnx]'``.

    See Also
    --------
    save_model : The model itself as a file, for Python.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gnomon import SPPCA
    >>> from gnomon.export import to_onnx
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SPPCA(2)).fit(X, y)
    >>> [output.name for output in to_onnx(model).graph.output]
    ['transform', 'variance', 'probabilities', 'labels']
    """
    steps, facts = _steps(model), {}
    check_model(steps[-1])
    check_is_fitted(steps[-1])
    if type(steps[-1]) is gnomon.GuidedProjection:
        steps, facts = _with_pupil(steps)
    try:
        graph = Graph(steps[-1].n_features_in_)
    except ImportError:
        raise ImportError("to_onnx needs the library onnx: pip install 'gnomon[onnx]'.") from None
    rows = _nothing_of_bad_rows(graph, graph.rows)
    for step in steps[:-1]:
        rows = add_step(graph, rows, step)
    add_model(graph, rows, steps[-1])
    return graph.model(_facts(steps, describe(steps[-1])) | facts, gnomon.__version__)


def _steps(model: Any) -> list[Any]:
    if isinstance(model, Pipeline):
        return [step for _, step in model.steps if step not in (None, "passthrough")]
    return [model]


def _with_pupil(steps: list[Any]) -> tuple[list[Any], dict[str, str]]:
    """The steps with the pupil of the last in its place, and what is to be said of it."""
    guide, found = steps[-1], steps
    if not describe(guide).numeric:
        try:
            found = [*steps[:-1], *_steps(guide.pupil())]
        except ValueError:
            raise TypeError(
                "GuidedProjection of several targets of which some are classes has no ONNX graph; fit one for each."
            ) from None
    return found, {"pupil_of": "GuidedProjection", "pupil_agreement": f"{guide.pupil_agreement_:.4f}"}


def _nothing_of_bad_rows(graph: Graph, rows: str) -> str:
    """Rows of NaN where an entry is missing or infinite, so that no operator behind makes a number of it."""
    return graph.add("Add", rows, graph.total(graph.add("Mul", rows, 0.0), 1, keep=True))


def _facts(steps: list[Any], said: Any) -> dict[str, str]:
    names = vars(steps[0]).get("feature_names_in_")
    facts = {"model": said.model}
    if names is not None:
        facts["feature_names"] = json.dumps([str(name) for name in names])
    if said.targets and said.targets[0].classes is not None:
        facts["classes"] = json.dumps(np.asarray(said.targets[0].classes).tolist())
    return facts
