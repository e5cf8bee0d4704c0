"""Rows: where X lives, and the one contract by which everything else reads it."""

from .contract import Block, Kept, NotFinite, Rows, Step, View
from .door import read
from .standard import ScaledRows, StandardRows

__all__ = ["Block", "Kept", "NotFinite", "Rows", "ScaledRows", "StandardRows", "Step", "View", "read"]
