"""What y means: one reader of targets for estimators, selection and the command line."""

from .columns import Column, Targets
from .groups import groups_among, read_groups
from .read import KINDS, TARGETS, NewClasses, check_target, read, read_like

__all__ = [
    "KINDS", "TARGETS", "Column", "NewClasses", "Targets", "check_target", "groups_among", "read", "read_groups",
    "read_like",
]  # fmt: skip
