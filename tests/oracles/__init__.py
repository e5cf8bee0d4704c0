"""Slow dense versions typed from the definitions and the paper; they import nothing of the library."""
