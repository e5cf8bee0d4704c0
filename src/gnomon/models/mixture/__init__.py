"""Mixtures of probabilistic PCA."""
