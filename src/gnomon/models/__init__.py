"""The models themselves: parameters, statistics, E-steps and M-steps, one file each."""
