"""The part of a report that says what the components are made of, and how much is along each."""

import numpy as np

from gnomon.export import _report_page as html
from gnomon.plotting import LoadingsDisplay, ScreeDisplay
from gnomon.plotting._columns import names_of, own_columns
from gnomon.plotting.loadings import picture_of, regressed

N_LOADINGS = 15
N_COMPONENTS = 4


def loadings_section(said, X, names, units, shape):
    """Return the loadings, of the rows shown where the model knows none, and the variances along the components."""
    return _loadings(said, X, names, units, shape) + _scree(said, units)


def _loadings(said, X, names, units, shape):
    if said.parameters.get("kernel") == "precomputed":  # its columns are rows
        return ""
    own = said.loadings is not None
    found = said.loadings if own else regressed(said, X)
    k, p = found.shape
    if names is None and own and (said.feature_names is not None or X.shape[1] != p):
        names = said.column_names()
    elif names is None or not own:
        names = names_of(own_columns(X, said), said, names)
    names = [str(name) for name in names]
    dims = range(min(k, N_COMPONENTS))
    display = LoadingsDisplay(
        loadings=found[: len(dims)], feature_names=names, dims=dims, n_top=N_LOADINGS, shape=shape
    )
    kind = picture_of(display)[0]
    how = (
        f"Change of each column per unit of a component in the mean, in {units or 'the units that the model was given'}"
    )
    how += "." if own else ", by least squares over the rows shown: the projection itself need not be linear."
    if kind == "bars" and p > N_LOADINGS:
        how += f" The {N_LOADINGS} largest of each component are shown."
    if k > len(dims):
        how += f" The first {len(dims)} of {k} components are shown."
    start = html.tag("h2", "Loadings") + html.tag("p", how)
    return start + (_bars(display) if kind == "bars" else _picture(display, kind))


def _bars(display):
    largest = np.abs(display.loadings).max() or 1.0
    panels = []
    for row in range(len(display.loadings)):
        top = display.top(row)
        shown = [display.feature_names[j] for j in top]
        panels.append(html.bars(f"Component {row + 1}", shown, display.loadings[row, top], largest))
    return f'<div class="panels">{"".join(panels)}</div>'


def _picture(display, kind):
    k = len(display.dims)
    if kind == "curve":
        axes = html.axes(7.6, 0.7 + 1.5 * k, n_rows=k)
        caption = "Columns lie where the numbers in their names say; curves away from zero make the component."
    else:
        axes = html.axes(7.6, 0.6 + (7.6 / k - 0.9) * min(2.0, display.shape[0] / display.shape[1]), n_columns=k)
        caption = "Blue pixels grow with the component, red ones fade."
    return html.figure(display.plot(ax=axes).ax_[0], f"Loadings of {k} components", caption)


def _scree(said, units):
    if said.spectrum is None or len(said.spectrum.own) + len(said.spectrum.behind) < 2:  # one bar says nothing
        return ""
    captions = {
        "rows": f"Variances of the rows along the components, in squared {units or 'units that the model was given'}, "
        "and along the directions behind them as far as the fit has seen them. One behind them that is far above the "
        "noise asks for one component more.",
        "classes": "How far the classes lie apart along each direction: variances of the rows, of which one is that "
        "within a class. A direction behind the components that is far above one separates classes, too: it asks for "
        "one component more.",
        "predictions": "How much of the predictions lies along each direction: their variances, each target in units "
        "of its deviation. Directions behind the components are predicted as well, but not seen in the projection.",
    }
    ax = ScreeDisplay.from_estimator(said, ax=html.axes(5.6, 3.4)).ax_
    found = html.figure(ax, "Bars of the variance along each direction", captions[said.spectrum.of])
    return html.tag("h2", "Variances") + found
