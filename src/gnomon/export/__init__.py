"""Stored models and reports."""
