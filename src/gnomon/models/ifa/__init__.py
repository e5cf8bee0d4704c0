"""Independent factor analysis: likelihood, starts, solvers, with and without noise."""
