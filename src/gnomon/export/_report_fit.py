"""The part of a report that says how the fit went: what the solver reached, noise, certificate, path."""

import numpy as np

from gnomon.export import _report_page as html
from gnomon.plotting import ConvergenceDisplay
from gnomon.selection.labels import target_kind


def fit_section(estimator, names, units, variables=()):
    """Return the section; every line is of an attribute that the model has. `variables` are several targets."""
    said = f", in squared {units}" if units else ""
    rows = [*_solver(estimator), *_likelihood(estimator, said), *_certificate(estimator), *_discriminants(estimator)]
    rows += [*_neighbours(estimator), *_target_noise(estimator, names)]
    rows += [("held at its floor", name) for name in getattr(estimator, "noise_floors_", ())]
    rows += [
        ("variance at its floor", f"component {component} of latent {latent + 1}")
        for latent, component in getattr(estimator, "variance_floors_", ())
    ]
    return html.tag("h2", "Fit") + html.table([], rows) + _mixtures(estimator, names, variables) + _path(estimator)


def _solver(estimator):
    if hasattr(estimator, "solver_"):
        yield "solver", estimator.solver_
    if hasattr(estimator, "converged_"):
        yield "converged", "yes" if estimator.converged_ else "no"
        yield "iterations", estimator.n_iter_
    if hasattr(estimator, "n_passes_"):
        yield "passes over the data", html.number(estimator.n_passes_)
    for name in ("beta_", "kernel_share_", "projection_ridge_", "ridge_"):
        if hasattr(estimator, name):
            yield f"{type(estimator).__name__}.{name}", html.number(getattr(estimator, name))


def _likelihood(estimator, said):
    if not hasattr(estimator, "log_likelihood_"):
        return
    yield "log-likelihood of the training rows", f"{html.number(estimator.log_likelihood_)} nats"
    if not hasattr(estimator, "components_"):
        if estimator.noise_variance_ > 0:
            yield f"noise variance of a column{said}", html.number(estimator.noise_variance_)
        return
    signal = float((np.asarray(estimator.components_, dtype=float) ** 2).sum())
    noise = float(estimator.noise_variance_) * estimator.n_features_in_
    yield f"noise variance of a column{said}", html.number(estimator.noise_variance_)
    yield "share of the columns' variance in the components", f"{100 * signal / (signal + noise):.1f} %"


def _certificate(estimator):
    found = getattr(estimator, "certificate_", None) or {}
    if "relative_gap" in found:
        yield "optimum of the relaxation, in nats", f"{found['lower']:.10g} to {found['upper']:.10g}"
        yield "relative gap of these bounds", f"{found['relative_gap']:.1e}"
        yield "value of the codes before the relaxation, in nats", f"{found['rank_constrained']:.10g}"
        yield "relaxation tight, so that the codes are a global optimum", "yes" if estimator.relaxation_tight_ else "no"
    elif "bound" in found:
        yield "objective, negative", f"{found['value']:.10g}, and no matrix has less than {found['bound']:.10g}"


def _discriminants(estimator):
    for j, variance in enumerate(getattr(estimator, "between_variance_", ()), start=1):
        yield f"variance of class means along direction {j}, in units of the variance within", html.number(variance)


def _neighbours(estimator):
    if hasattr(estimator, "edge_errors_"):
        rms = float(np.sqrt((estimator.edge_errors_**2).mean()))
        yield "root mean square change of a squared distance of neighbours, relative", f"{100 * rms:.1f} %"


def _target_noise(estimator, names):
    variance = getattr(estimator, "y_noise_variance_", None)
    if variance is None:
        return
    if target_kind(estimator) in ("real", "mixed"):
        for name, value in zip(names, np.broadcast_to(variance, len(names))):
            if value == value:  # not that of classes or counts
                yield f"noise variance of {name}", html.number(float(value))
    elif target_kind(estimator) == "classes" and len(estimator.classes_) > 1:  # one class has no code
        yield "noise variance of the class codes", html.number(float(variance))


def _mixtures(estimator, names, variables):
    """Return the components of the latents with classes; every latent has variance one over the rows."""
    body = []
    for s in range(estimator.n_latents_ if target_kind(estimator) == "latents" else 0):
        variable, name = (variables[s], names[s]) if len(variables) > 1 else (variables[0], names[0])
        parts = (estimator.mix_weights_[s], estimator.mix_means_[s], estimator.mix_vars_[s])
        for label, *values in zip(variable.classes_, *parts, strict=True):
            body.append([s + 1, name, label, *map(html.number, map(float, values))])
    header = ["latent", "class variable", "class", "weight", "mean", "variance"]
    return html.table(header, body, numeric=(0, 3, 4, 5)) if body else ""


def _path(estimator):
    from matplotlib.figure import Figure

    if not hasattr(estimator, "objective_path_"):
        return ""
    drawn = Figure(figsize=(6.4, 3.2), layout="constrained")
    display = ConvergenceDisplay.from_estimator(estimator, ax=drawn.subplots())
    what = display.label.removesuffix(" in nats")
    caption = f"{what[0].upper()}{what[1:]} after each iteration, in nats (natural-log units)."
    return html.figure(drawn, f"Line plot of the {what} by iteration", caption)
