"""What y means: one reader of targets for estimators, selection and the command line."""

from .columns import Column, Targets
from .read import KINDS, TARGETS, NewClasses, check_target, read, read_like

__all__ = ["KINDS", "TARGETS", "Column", "NewClasses", "Targets", "check_target", "read", "read_like"]
