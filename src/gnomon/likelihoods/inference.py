"""Which way of inference serves which outputs, and the sites of each."""

from .ep import ExpectationPropagation
from .exact import GaussianSites, OneOutput
from .gaussian_rows import GaussianRows
from .laplace import LaplaceEvidence
from .layout import Layout
from .sites import Sites
from .softmax_rows import SoftmaxRows

INFERENCES = ("quadrature", "variational", "laplace", "ep")


def choose_inference(layout: Layout) -> str:
    """Name the inference that "auto" takes.

    Exact where a row has at most one label of two classes: "quadrature", or "ep" when real outputs stand beside it.
    "ep" for several probit labels, "variational" for everything else.
    """
    labels = [family.name for family in layout.families if not family.noisy]
    if len(layout.kinds) == 1 and labels and layout.families[0].exact:
        return "quadrature"
    return "ep" if labels == ["logit"] or set(labels) == {"probit"} else "variational"


def complaint(layout: Layout, inference: str) -> str | None:
    """What outputs an inference is for, if these are not of that kind."""
    if inference == "quadrature" and layout.kinds and (len(layout.kinds) > 1 or not layout.families[0].exact):
        return f"one output of two classes, y has {', '.join(layout.kinds)}"
    unfit = [family.name for family in layout.families if not family.exact]
    if inference == "ep" and unfit:
        return f"labels of two classes and real outputs, y has {unfit[0]}"
    return None


def sites_of(layout: Layout, inference: str) -> Sites:
    """The way to condition rows on their outputs; real outputs alone are conditioned on exactly in any case."""
    if layout.gaussian:
        return GaussianSites()
    if inference == "quadrature":
        return OneOutput(layout)
    if inference == "ep":
        return ExpectationPropagation(layout)
    if inference == "variational" and set(layout.kinds) == {"categorical"}:
        return SoftmaxRows(layout)
    return GaussianRows(layout, variational=inference == "variational")


def evidence_of(layout: Layout, inference: str) -> Sites:
    """The way to the evidence that a fit maximizes: slope and curvature are its derivatives, to rounding."""
    if inference == "laplace" and not layout.gaussian:
        return LaplaceEvidence(layout)
    return sites_of(layout, inference)
