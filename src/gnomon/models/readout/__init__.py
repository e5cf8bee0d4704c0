"""Numbers read from principal coordinates: Gaussian processes of many kernels, averaged by evidence."""

from .average import Average, fit, posterior, predict
from .evidence import Factor, Readout
from .kernels import Kernel, Seen
