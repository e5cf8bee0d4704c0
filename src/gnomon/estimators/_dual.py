"""The paper's algorithm 3 for the linear model: inner products of rows in, loadings of features out."""

from ..models.linear import dual, sppca
from ..rows.masked import incomplete_rows
from ..rows.read import read


def fit_dual(X, Y, weights, options, generator):
    """Fit by algorithm 3 and return a result in the form of the primal model.

    Raises ValueError for what the paper's dual form does not have: weights, missing entries, a prior, output noise of
    its own, private dimensions.
    """
    neutral = (0, "ml", 0.0)
    if weights is not None or (options.n_private, options.output_noise, options.prior_precision) != neutral:
        raise ValueError(
            "solver='dual' is algorithm 3 of the paper: without sample_weight, label_weight, n_private, output_noise "
            "and prior_precision. Use solver='auto', which is exact on the n x n side too."
        )
    if len(incomplete_rows(X)):
        raise ValueError("solver='dual' needs complete rows; X has missing entries, so use solver='auto'.")
    rows = read(X)
    standard = rows.standard(rows.summarize())
    coordinates = standard.coordinates()
    inner = dual.Options(
        options.n_components, X.shape[1], "dual", options.tol, options.max_iter, options.init, options.noise_init,
        one_target=options.one_target,
    )  # fmt: skip
    result = dual.fit(coordinates.T * standard.scale, Y, inner, generator, orient=coordinates.expand)
    p = result.value.params
    params = p._replace(W_x=coordinates.expand(p.W_x), m_x=standard.mean)
    stats = {**result.stats, "n_passes": rows.reads}
    return result._replace(value=sppca.Fitted(params, result.value.log_likelihood), stats=stats)
