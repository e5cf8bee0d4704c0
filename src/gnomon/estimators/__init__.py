"""The scikit-learn face of the models."""
