"""Probabilistic projections of partially labelled tables, with uncertainty."""

from .estimators.colored_mvu import ColoredMVU
from .estimators.cppca import CPPCA
from .estimators.domain_stack import DomainStack
from .estimators.dppca import DPPCA
from .estimators.ifa import IFA, combine_one_vs_rest
from .estimators.kda import KDA
from .estimators.kernel_sppca import KernelSPPCA
from .estimators.mixture_ppca import MixturePPCA
from .estimators.multi_label_dppca import MultiLabelDPPCA
from .estimators.neighbor_features import NeighborFeatures
from .estimators.ppca import PPCA
from .estimators.scl import SCL
from .estimators.sdr_glm import SDRGLM
from .estimators.sepca import SEPCA
from .estimators.sppca import SPPCA

__version__ = "0.1.0.dev0"

__all__ = [
    "CPPCA",
    "PPCA",
    "MixturePPCA",
    "SPPCA",
    "KernelSPPCA",
    "DPPCA",
    "MultiLabelDPPCA",
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
