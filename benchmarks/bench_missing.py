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


def gaps_of(rank):
    """Rows of some planted factors, and the same with a fifth of the entries missing."""
    X = planted(20_000, 200, 1, rank, 0)[0]
    lost = np.random.default_rng(1).random(X.shape) < 0.2
    return X, np.where(lost, np.nan, X), lost


def beside_imputer():
    """Ten factors, and one round of the imputer, which takes a minute."""
    X, gaps, lost = gaps_of(10)
    found = {}

    def ours():
        found["ours"] = PPCA(10).fit(gaps)

    def one_round():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found["filled"] = IterativeImputer(BayesianRidge(), max_iter=1).fit_transform(gaps)

    seconds = paired({"PPCA": ours, "IterativeImputer": one_round}, repeats=1)
    model = found["ours"]
    errors = [np.sqrt(((filled - X)[lost] ** 2).mean()) for filled in (model.impute(gaps), found["filled"])]
    share = ratio(seconds, "PPCA", "IterativeImputer")
    return [
        ("20,000 x 200, 20 % missing: PPCA / one IterativeImputer round", share, 0.5),
        ("relative residual at the end", model.objective_residual_, 1e-6),
        ("passes over the data", model.n_passes_, None),
        ("root mean squared error of the imputation / IterativeImputer's", errors[0] / errors[1], None),
    ]


def more_factors():
    """Thirty factors, of which ten are fitted."""
    gaps = gaps_of(30)[1]
    model = PPCA(10).fit(gaps)
    return [
        ("30 factors, K 10: relative residual", model.objective_residual_, 1e-6),
        ("30 factors, K 10: passes over the data", model.n_passes_, 40),
    ]


def main():
    """20,000 x 200 with 20 % of the entries missing at random, K = 10."""
    rows = [*beside_imputer(), *more_factors()]
    record("missing", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
