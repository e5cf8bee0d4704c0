"""Displays of fitted models, as in scikit-learn; matplotlib is imported only when one is drawn."""

from gnomon.plotting.convergence import ConvergenceDisplay
from gnomon.plotting.loadings import LoadingsDisplay
from gnomon.plotting.outliers import OutlierDisplay
from gnomon.plotting.projection import ProjectionDisplay
from gnomon.plotting.selection import SelectionDisplay

__all__ = ["ConvergenceDisplay", "LoadingsDisplay", "OutlierDisplay", "ProjectionDisplay", "SelectionDisplay"]
