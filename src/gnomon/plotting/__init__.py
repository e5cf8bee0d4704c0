"""Displays of fitted models."""
