"""Choosing the number of components and the strength of the labels."""
