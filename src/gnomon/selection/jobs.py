"""Fits that do not wait for one another: in this process, or in several by joblib."""

from sklearn.utils.parallel import Parallel, delayed


def run_jobs(function, arguments, n_jobs=None):
    """Return `function(*one)` for each of `arguments`, in their order.

    Examples
    --------
    >>> run_jobs(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    return Parallel(n_jobs=n_jobs)(delayed(function)(*one) for one in arguments)
