"""Fitting the Gaussian model of features and targets: what PPCA and SPPCA do with rows that are not read yet."""

import numpy as np

from ..models.linear import sppca as model
from ..rows.contract import NotFinite
from ..rows.threads import one_thread
from ..targets.code import code
from ._estimator import check_observed, check_table, check_values, resolve_n_components, weigh_labels
from ._linear_gaussian import LinearGaussian

RISES = 3  # how often BIC may rise in a row before the search for k ends


class GaussianFit(LinearGaussian):
    """From `_options()`: the two-view Gaussian model, of one view without targets."""

    def _check_rows(self, X, *, reset=False):
        if reset and self.solver == "auto":  # what is not finite shows in the first sums of the rows
            return check_table(self, X, reset=True)
        return super()._check_rows(X, reset=reset)

    def _take(self, rows, kept):
        return super()._take(rows.anew(masked=check_values(rows)), kept)

    def _fit(self, rows, targets):
        options, Y, given = self._options(), np.zeros((rows.shape[0], 0)), rows
        if targets is not None:
            coded = code(targets, rows.weights)
            if self.output_noise == "per_output" and coded.basis is not None:
                raise ValueError(
                    "output_noise='per_output' needs linearly independent outputs; the columns of y satisfy an exact "
                    "relation. Drop one of them, give class labels, or use output_noise='ml'."
                )
            options, Y = options._replace(one_target=coded.one_target(targets.kind)), coded.table
            rows = rows.anew(weights=weigh_labels(rows.weights, targets, self.label_weight))
        seed = self._seed()
        with one_thread(when=rows.own_threads):
            try:
                result = self._fit_sizes(rows, Y, options, seed)
            except NotFinite:
                rows = rows.anew(masked=check_values(rows))
                if rows.masked:
                    check_observed(rows, vars(self).get("feature_names_in_"))
                result = self._fit_sizes(rows, Y, options, seed)
        p = result.value.params
        self._store_features(p.W_x, p.m_x, p.x_noise_var, result.value.log_likelihood, rows.dtype)
        with one_thread():  # the read has left threads spinning
            self._remember(rows, result.stats.get("beyond"))
            read = given.anew(masked=rows.masked)
            if targets is not None:
                self._store_targets(result, rows.dtype, coded)
                beside = result.stats.get("beside_latent")
                self._learn_from_labels(read, targets, rows.weights, rows.shape[1], beside)
            self._keep_of_rows(read)
        self._record(result)

    def _fit_sizes(self, rows, Y, options, seed):
        def fit_one(k):
            return model.fit(rows.anew(), Y, options._replace(n_components=k), np.random.default_rng(seed))

        self.bic_path_ = None
        if self.n_components != "auto":
            self.n_components_ = resolve_n_components(self.n_components, options.n_private, *rows.shape)
            return fit_one(self.n_components_)
        largest = min(rows.shape[0] - 1, rows.shape[1]) - 1 - options.n_private
        resolve_n_components(1, options.n_private, *rows.shape)
        best, criteria = None, []
        for k in range(1, largest + 1):
            result = fit_one(k)
            criteria.append(model.bic(result.value, rows.weight, options.output_noise))
            if best is None or criteria[-1] < min(criteria[:-1]):
                best, self.n_components_ = result, k
            if k > RISES and (np.diff(criteria[-RISES - 1 :]) > 0).all():
                break
        self.bic_path_ = np.array(criteria)
        return best
