"""The part of a report that says how the fit went: what the solver reached, noise, certificate, path."""

import numpy as np

from gnomon.export import _report_page as html
from gnomon.plotting import ConvergenceDisplay

SAME = 1.0  # nats: starts that end so near one another have found the same


def fit_section(said, names, units):
    """Return the section; every line is of something that the model says."""
    fit = said.fit
    rows = [*_solver(fit), *_likelihood(said, f", in squared {units}" if units else "")]
    rows += [(name, value if isinstance(value, str) else html.number(float(value))) for name, value in fit.facts]
    for target, name in zip(said.targets, names, strict=bool(said.targets)):
        if target.noise_variance is not None:
            of = name if target.kind == "real" else "the class codes"
            rows.append((f"noise variance of {of}", html.number(float(target.noise_variance))))
    rows += [("held at its floor", name) for name in fit.floors]
    found = _tables(fit, names) + _path(said)
    if not rows and not found:
        return ""
    doubts = html.tag("p", " ".join(_doubts(fit, said.parameters))) if any(_doubts(fit, said.parameters)) else ""
    return html.tag("h2", "Fit") + doubts + html.table([], rows) + found


def _doubts(fit, parameters):
    """What of the fit matters to who reads the rest of the page, a sentence each; none where all is well."""
    if fit.converged is False:
        limit = f" (max_iter={parameters['max_iter']})" if "max_iter" in parameters else ""
        yield f"The fit stopped after {fit.n_iter} iterations{limit} before it converged: with more it may move."
    if fit.floors:
        yield (
            f"Noise was held at its floor ({', '.join(fit.floors)}): the model leaves next to nothing open there, "
            "and what it says of its own precision is not to be trusted; fewer components may do."
        )
    optima = np.sort(fit.optima)[::-1] if isinstance(fit.optima, np.ndarray) else []  # a list is of several targets
    if len(optima) > 1 and optima[1] < optima[0] - SAME:
        yield (
            f"Of {len(optima)} starts one alone led to the best log-likelihood, {html.number(optima[0] - optima[1])} "
            "nats above the next: there may be better ones, which more starts (n_init) would look for."
        )


def _solver(fit):
    if fit.solver is not None:
        yield "solver", fit.solver
    if fit.converged is not None:
        yield "converged", "yes" if fit.converged else "no"
        yield "iterations", fit.n_iter
    if fit.n_reads is not None:
        yield "passes over the data", f"{fit.n_reads:.3g}"


def _likelihood(said, units):
    fit = said.fit
    if fit.log_likelihood is not None:
        yield "log-likelihood of the training rows", f"{html.number(fit.log_likelihood)} nats"
    if fit.noise_variance is None:
        return
    yield f"noise variance of a column{units}", html.number(fit.noise_variance)
    share = share_in_components(said)
    if share is not None:
        yield "share of the columns' variance in the components", f"{100 * share:.1f} %"


def share_in_components(said):
    """Which part of the variance of the columns is in the components; None where the model does not say."""
    noise = said.fit.noise_variance
    if noise is None or said.loadings is None or said.spectrum is None or said.spectrum.of != "rows":
        return None
    signal = float((said.spectrum.own - noise).sum())
    return signal / (signal + noise * said.n_features)


def _tables(fit, names):
    parts = [html.tag("p", fit.about_tables, "soft")] if fit.about_tables else []
    for header, lines in fit.tables:
        cells = [[value if isinstance(value, int | str) else html.number(value) for value in line] for line in lines]
        numeric = [j for j, value in enumerate(lines[0]) if not isinstance(value, str)]
        for j, name in enumerate(names):
            header = [cell.replace(f"column {j} of y", name) for cell in header]
        parts.append(html.table(header, cells, numeric=numeric))
    return "".join(parts)


def _path(said):
    if said.fit.path is None or len(said.fit.path) < 3:  # there is nothing to see of a fit in two steps
        return ""
    ax = ConvergenceDisplay.from_estimator(said, ax=html.axes(6.4, 3.2)).ax_
    what = said.fit.objective
    caption = f"{what[0].upper()}{what[1:]} after each iteration, in nats (natural-log units)."
    return html.figure(ax, f"Line plot of the {what} by iteration", caption)
