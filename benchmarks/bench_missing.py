"""Missing entries: exact EM to convergence beside one round of scikit-learn's IterativeImputer."""

import warnings

import numpy as np
from bench_dense import planted
from common import paired, ratio, record
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge

from gnomon import PPCA


def main():
    """20,000 x 200 with 20 % of the entries missing at random, K = 10."""
    X = planted(20_000, 200, 1, 10, 0)[0]
    lost = np.random.default_rng(1).random(X.shape) < 0.2
    gaps = np.where(lost, np.nan, X)

    def one_round():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return IterativeImputer(BayesianRidge(), max_iter=1).fit_transform(gaps)

    seconds = paired({"PPCA": lambda: PPCA(10).fit(gaps), "IterativeImputer": one_round})
    model = PPCA(10).fit(gaps)
    ours = np.sqrt(((model.impute(gaps) - X)[lost] ** 2).mean())
    theirs = np.sqrt(((one_round() - X)[lost] ** 2).mean())
    rows = [
        (
            "20,000 x 200, 20 % missing: PPCA / one IterativeImputer round",
            ratio(seconds, "PPCA", "IterativeImputer"),
            0.5,
        ),
        ("relative residual at the end", model.objective_residual_, 1e-6),
        ("passes over the data", model.n_passes_, None),
        ("root mean squared error of the imputation / IterativeImputer's", ours / theirs, None),
    ]
    record("missing", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
