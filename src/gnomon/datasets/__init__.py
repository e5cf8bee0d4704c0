"""Generators and loaders of example data."""
