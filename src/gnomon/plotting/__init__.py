"""Displays of fitted models, as in scikit-learn; matplotlib is imported only when one is drawn."""

from gnomon.plotting.biplot import BiplotDisplay
from gnomon.plotting.contribution import ContributionDisplay
from gnomon.plotting.convergence import ConvergenceDisplay
from gnomon.plotting.loadings import LoadingsDisplay
from gnomon.plotting.outliers import OutlierDisplay
from gnomon.plotting.prediction import PredictionDisplay
from gnomon.plotting.projection import ProjectionDisplay
from gnomon.plotting.scree import ScreeDisplay
from gnomon.plotting.selection import SelectionDisplay

__all__ = [
    "BiplotDisplay",
    "ContributionDisplay",
    "ConvergenceDisplay",
    "LoadingsDisplay",
    "OutlierDisplay",
    "PredictionDisplay",
    "ProjectionDisplay",
    "ScreeDisplay",
    "SelectionDisplay",
]
