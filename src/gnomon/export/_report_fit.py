"""The part of a report that says how the fit went: what the solver reached, noise, certificate, path."""

import numpy as np

from gnomon.export import _report_page as html
from gnomon.plotting import ConvergenceDisplay


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
    found = _tables(fit) + _path(said)
    return html.tag("h2", "Fit") + html.table([], rows) + found if rows or found else ""


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
    if said.loadings is not None:
        signal = float((np.asarray(said.loadings, dtype=float) ** 2).sum())
        share = 100 * signal / (signal + fit.noise_variance * said.n_features)
        yield "share of the columns' variance in the components", f"{share:.1f} %"


def _tables(fit):
    parts = []
    for header, lines in fit.tables:
        cells = [[value if isinstance(value, int | str) else html.number(value) for value in line] for line in lines]
        numeric = [j for j, value in enumerate(lines[0]) if not isinstance(value, str)]
        parts.append(html.table(header, cells, numeric=numeric))
    return "".join(parts)


def _path(said):
    if said.fit.path is None or len(said.fit.path) < 3:  # there is nothing to see of a fit in two steps
        return ""
    ax = ConvergenceDisplay.from_estimator(said, ax=html.axes(6.4, 3.2)).ax_
    what = said.fit.objective
    caption = f"{what[0].upper()}{what[1:]} after each iteration, in nats (natural-log units)."
    return html.figure(ax, f"Line plot of the {what} by iteration", caption)
