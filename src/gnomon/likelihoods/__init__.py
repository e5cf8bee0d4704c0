"""What outputs say of their linear predictors: distributions, exact integrals, bounds and approximations."""
