"""Models and results for elsewhere: one-file models without pickle, ONNX graphs, and the HTML report."""

from gnomon.export.model_file import load_metadata, load_model, save_model
from gnomon.export.onnx_model import to_onnx
from gnomon.export.report import write_report
from gnomon.export.steps import Columns, GapFiller

__all__ = ["Columns", "GapFiller", "load_metadata", "load_model", "save_model", "to_onnx", "write_report"]
