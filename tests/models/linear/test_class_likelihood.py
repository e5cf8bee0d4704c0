"""Label parameters by the integrated evidence: above the bound, no nearby point better, outputs in their order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.likelihoods.categorical import logit_contrasts
from gnomon.likelihoods.inference import sites_of
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear import class_likelihood as file
from gnomon.models.linear.class_likelihood import Labeled, LabelParams, log_evidence, refine_classes

LAYOUTS = [
    Layout(("categorical",), (4,)),
    Layout(("gaussian", "categorical"), (0, 3)),
    Layout(("categorical", "categorical"), (3, 3)),
]
IDS = ["alone", "with a number", "two of them"]


def problem(rng, layout, n=60, k=3):
    B = rng.normal(size=(k, k))
    columns = [rng.normal(size=n) if c == 0 else rng.integers(0, c, n).astype(float) for c in layout.n_classes]
    Y = np.column_stack(columns)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    V, b = 0.3 * rng.normal(size=(layout.size, k)), np.zeros(layout.size)
    params = LabelParams(V, b, np.full(len(layout.kinds), 0.7))
    return Labeled(Y, rng.normal(size=(n, k)), 0.2 * B @ B.T + 0.1 * np.eye(k), rng.uniform(0.5, 2.0, n)), params


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=IDS[:2])
def test_the_evidence_is_above_the_bound(rng, layout):
    rows, params = problem(rng, layout)
    params = params._replace(V=10.0 * params.V)
    mean, cov = rows.latent @ params.V.T + params.b, params.V @ rows.cov @ params.V.T
    bound = sites_of(layout, "variational")(rows.Y, mean, cov, params.noise).log_z
    found = log_evidence(layout, rows, params)
    assert not found[np.isnan(rows.Y).all(axis=1)].any()
    assert found.sum() > bound.sum() + 0.2


@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_no_nearby_label_parameters_are_better(rng, monkeypatch, layout):
    rows, params = problem(rng, layout)
    monkeypatch.setattr(file, "POINTS", 1 << 20)
    monkeypatch.setattr(file, "MOST", 4096)
    monkeypatch.setattr(file, "FINAL_POINTS", 4096)
    found, left = refine_classes(layout, rows, params, 0.5, 3, 1e-8)
    last = layout.parts[-1][1]  # what comes before it is set without it

    def value(V, b):
        return float(rows.weights @ log_evidence(layout, rows, found._replace(V=V, b=b))) - 0.25 * (V[last] ** 2).sum()

    best = value(found.V, found.b)
    assert best > value(params.V, params.b) + 1.0
    for _ in range(4):
        dV, db = np.zeros_like(found.V), np.zeros_like(found.b)
        dV[last], db[last] = 0.05 * rng.normal(size=dV[last].shape), 0.05 * rng.normal(size=db[last].shape)
        up, down = value(found.V + dV, found.b + db), value(found.V - dV, found.b - db)
        assert max(up, down) < best
        assert abs(up - down) < 0.1 * (2 * best - up - down)
    for j, (family, at) in enumerate(layout.parts):
        assert (found.V[at] == params.V[at]).all() == (family.name != "categorical"), j


def test_private_dimensions_stay_out(rng):
    rows, params = problem(rng, LAYOUTS[0])
    params.V[:, 2] = 0.0
    found, left = refine_classes(LAYOUTS[0], rows, params, 0.1, 2, 1e-6)
    assert not found.V[:, 2].any()
    assert found.V[:, :2].all()


def test_real_outputs_enter_exactly(rng):
    """The evidence of a class behind a real output is that of both less that of the real output alone."""
    layout = LAYOUTS[1]
    rows, params = problem(rng, layout, n=5, k=2)
    params = params._replace(V=4.0 * params.V)
    rows = rows._replace(Y=np.column_stack([rng.normal(size=5), np.arange(5) % 3]))
    S, (v, V) = rows.cov, (params.V[0], params.V[1:])
    axis = np.linspace(-8.0, 8.0, 401)
    z = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    H = logit_contrasts(3)
    logits = (z @ V.T + params.b[1:]) @ H.T
    for i, (y, c) in enumerate(rows.Y):
        left = z - rows.latent[i]
        logs = -0.5 * np.einsum("ij,ij->i", left @ np.linalg.inv(S), left) - 0.5 * np.log(np.linalg.det(2 * np.pi * S))
        logs += -0.5 * (y - z @ v - params.b[0]) ** 2 / 0.7 - 0.5 * np.log(2 * np.pi * 0.7)
        logs += logits[:, int(c)] - np.log(np.exp(logits).sum(axis=1))
        expected = np.log(np.exp(logs).sum() * (axis[1] - axis[0]) ** 2)
        assert_allclose(log_evidence(layout, rows, params)[i], expected, atol=5e-3)
