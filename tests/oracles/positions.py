"""The region of one latent vector that counts that parameters are estimates, typed from the definition."""

import numpy as np
from scipy.stats import chi2, f


def region(components, noise, n, values, z, new):
    """From components (k, p), the eigenvalues of the covariance, and a posterior mean z (k,) under the estimates."""
    k, p = components.shape
    gamma = p / (n - 1)
    explained, axes = np.linalg.eigh(components @ components.T)
    s = noise
    for _ in range(50):  # noise that the leading directions took up is given back
        strength, taken = [], 0.0
        for d in explained:
            b = (d + noise) / s - 1 - gamma
            root = b * b - 4 * gamma
            strength.append((b + np.sqrt(root)) / 2 if b > 0 and root > 0 else 0.0)
            taken += 1 + gamma + gamma / strength[-1] if strength[-1] else (1 + np.sqrt(gamma)) ** 2
        s = noise * (p - k) / (p - taken)
    at, cov = np.zeros(k), np.zeros((k, k))
    for j, (d, e) in enumerate(zip(explained, strength, strict=True)):
        e = e if e * e > gamma else 0.0
        rows = (1 - gamma / e**2) / (1 + 1 / e) if e else 0.0
        columns = (1 - gamma / e**2) / (1 + gamma / e) if e else 0.0
        unit = axes[:, j] @ z / np.sqrt(d / (d + noise))  # variance one over the rows of the fit
        gain = np.sqrt(e * columns) / (e * columns + 1)
        at[j] = unit * (gain * np.sqrt((d + noise) / s) if new else np.sqrt(rows))
        cov[j, j] = (1 / (1 + e * columns) + gain**2 / n if new else 1 - rows) + 1 / n
        for other in values[k:]:
            if other > 1.05 * noise * (1 + np.sqrt(gamma)) ** 2:
                cov[j, j] += (other / max(d + noise - other, 1e-3 * (d + noise))) ** 2 / n
    cov += (at @ at * np.eye(k) + np.outer(at, at)) / (4 * n)
    widen = k * (n - 1) / (n - k) * f.ppf(0.95, k, n - k) / chi2.ppf(0.95, k)
    return axes @ at, widen * axes @ cov @ axes.T
