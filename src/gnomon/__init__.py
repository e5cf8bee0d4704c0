"""Probabilistic projections of partially labeled tables, with uncertainty.

Estimators and subpackages are imported when they are first asked for, so that `import gnomon.models` needs no
scikit-learn and `import gnomon` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import anndata as anndata
    from . import datasets as datasets
    from . import export as export
    from . import plotting as plotting
    from . import selection as selection
    from . import tables as tables
    from .estimators._mergeable import merge as merge
    from .estimators.colored_mvu import ColoredMVU as ColoredMVU
    from .estimators.cppca import CPPCA as CPPCA
    from .estimators.domain_stack import DomainStack as DomainStack
    from .estimators.dppca import DPPCA as DPPCA
    from .estimators.guided_projection import GuidedProjection as GuidedProjection
    from .estimators.ifa import IFA as IFA
    from .estimators.ifa import combine_one_vs_rest as combine_one_vs_rest
    from .estimators.kda import KDA as KDA
    from .estimators.kernel_sppca import KernelSPPCA as KernelSPPCA
    from .estimators.mixture_ppca import MixturePPCA as MixturePPCA
    from .estimators.neighbor_features import NeighborFeatures as NeighborFeatures
    from .estimators.ppca import PPCA as PPCA
    from .estimators.scl import SCL as SCL
    from .estimators.sdr_glm import SDRGLM as SDRGLM
    from .estimators.sepca import SEPCA as SEPCA
    from .estimators.sppca import SPPCA as SPPCA

__version__ = "0.1.0.dev0"

_HOMES = {
    "CPPCA": "cppca",
    "PPCA": "ppca",
    "MixturePPCA": "mixture_ppca",
    "SPPCA": "sppca",
    "KernelSPPCA": "kernel_sppca",
    "GuidedProjection": "guided_projection",
    "DPPCA": "dppca",
    "SEPCA": "sepca",
    "NeighborFeatures": "neighbor_features",
    "SCL": "scl",
    "DomainStack": "domain_stack",
    "SDRGLM": "sdr_glm",
    "KDA": "kda",
    "IFA": "ifa",
    "combine_one_vs_rest": "ifa",
    "ColoredMVU": "colored_mvu",
    "merge": "_mergeable",
}
_SUBPACKAGES = ("anndata", "datasets", "export", "plotting", "selection", "tables")

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.estimators.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
