"""Graphs of neighbors: nearest points, spanning trees, and the sparse matrices they make."""
