"""Probabilistic projections of partially labeled tables, with uncertainty.

Estimators and subpackages are imported when they are first asked for, so that `import gnomon.models` needs no
scikit-learn and `import gnomon` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import export as export
    from . import plotting as plotting
    from . import selection as selection
    from . import tables as tables
    from .estimators.colored_mvu import ColoredMVU
    from .estimators.cppca import CPPCA
    from .estimators.domain_stack import DomainStack
    from .estimators.dppca import DPPCA
    from .estimators.ifa import IFA, combine_one_vs_rest
    from .estimators.kda import KDA
    from .estimators.kernel_sppca import KernelSPPCA
    from .estimators.mixture_ppca import MixturePPCA
    from .estimators.neighbor_features import NeighborFeatures
    from .estimators.ppca import PPCA
    from .estimators.scl import SCL
    from .estimators.sdr_glm import SDRGLM
    from .estimators.sepca import SEPCA
    from .estimators.sppca import SPPCA

__version__ = "0.1.0.dev0"

_HOMES = {
    "CPPCA": "cppca",
    "PPCA": "ppca",
    "MixturePPCA": "mixture_ppca",
    "SPPCA": "sppca",
    "KernelSPPCA": "kernel_sppca",
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
}
_SUBPACKAGES = ("datasets", "export", "plotting", "selection", "tables")

__all__ = [
    "CPPCA",
    "PPCA",
    "MixturePPCA",
    "SPPCA",
    "KernelSPPCA",
    "DPPCA",
    "SEPCA",
    "NeighborFeatures",
    "SCL",
    "DomainStack",
    "SDRGLM",
    "KDA",
    "IFA",
    "combine_one_vs_rest",
    "ColoredMVU",
    "__version__",
]


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
