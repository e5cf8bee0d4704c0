"""Latent variables that explain x linearly, with outputs of any kind: PPCA, SPPCA, CPPCA and the dual form."""
