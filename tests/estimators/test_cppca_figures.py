"""CPPCA in figures: calibration in simulation, its probabilities beside those of SPPCA on faces; foreign arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import normalize

from estimators.support import quietly
from gnomon import CPPCA, SPPCA
from gnomon.datasets import fetch_yale
from gnomon.experiments._draw import draw_labeled
from gnomon.models.linear import cppca as model_file
from namespaces import LIBRARIES, get, put
from oracles import cppca as oracle

BINS = np.linspace(0.0, 1.0, 11)


def calibration_error(proba, y):
    """Expected calibration error: |share of correct - confidence| over ten bins of confidence, weighted by rows."""
    confidence, correct = proba.max(axis=1), proba.argmax(axis=1) == y
    bin_of = np.clip(np.digitize(confidence, BINS) - 1, 0, 9)
    gaps = [abs((correct - confidence)[bin_of == b].sum()) for b in range(10)]
    return sum(gaps) / len(y)


def simulated(n_classes, seed, noise_var, n=8000):
    """Six features of two latent variables, labels that depend on z strongly, 800 of them known."""
    rng = np.random.default_rng(seed)
    X, Z = oracle.draw(rng, n, 6, noise_var)
    V = rng.normal(size=(2, n_classes)) * 3.0
    y = (Z @ V + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return X, y, np.where(np.arange(n) < 800, y, -1)


@pytest.mark.parametrize("n_classes, noise_var, largest", [(2, 4.0, 0.025), (2, 0.3, 0.025), (4, 0.05, 0.04)])
def test_expected_calibration_error_in_simulation(n_classes, noise_var, largest, seed):
    X, y, known = simulated(n_classes, seed, noise_var)
    proba = CPPCA(2).fit(X, known).predict_proba(X[800:])
    assert calibration_error(proba, y[800:]) < largest
    for power in (0.5, 2.0):  # the threshold sees probabilities that are too sure or not sure enough
        other = proba**power
        other /= other.sum(axis=1, keepdims=True)
        assert calibration_error(other, y[800:]) > 1.2 * largest


def test_predictions_at_the_mean_of_z_are_not_calibrated():
    X, y, known = simulated(2, 0, 4.0)
    model = CPPCA(2).fit(X, known)
    second = 1.0 / (1.0 + np.exp(-(model.transform(X[800:]) @ model.y_loadings_[0] + model.y_intercept_[0])))
    assert calibration_error(np.column_stack([1.0 - second, second]), y[800:]) > 2 * 0.025


@pytest.mark.parametrize("n_classes, noise_var", [(3, 4.0), (3, 1.0), (4, 4.0), (4, 1.0), (6, 4.0)])
def test_several_classes_are_calibrated_where_x_says_little_of_z(n_classes, noise_var, seed):
    """Neither too sure nor too cautious; what the bound alone would give fails, see the test after this."""
    X, y, known = simulated(n_classes, seed, noise_var)
    proba = CPPCA(2).fit(X, known).predict_proba(X[800:])
    assert calibration_error(proba, y[800:]) < 0.035
    assert abs((proba.argmax(axis=1) == y[800:]).mean() - proba.max(axis=1).mean()) < 0.025


def test_the_bound_alone_is_too_cautious(monkeypatch):
    monkeypatch.setattr(model_file, "applies", lambda *_: False)
    for seed in range(3):
        X, y, known = simulated(4, seed, 4.0)
        proba = CPPCA(2, uncertainty="plug-in").fit(X, known).predict_proba(X[800:])
        assert calibration_error(proba, y[800:]) > 1.5 * 0.035
        assert proba.max(axis=1).mean() < (proba.argmax(axis=1) == y[800:]).mean() - 0.04


def test_classes_beside_counts_and_numbers_are_calibrated(seed):
    rng = np.random.default_rng(seed)
    X, Z = oracle.draw(rng, 8000, 6, 4.0)
    y = (3.0 * Z @ rng.normal(size=(2, 4)) + rng.gumbel(size=(8000, 4))).argmax(axis=1)
    Y = np.column_stack([y, rng.poisson(np.exp(0.6 * Z[:, 1])), 3.0 + Z[:, 0] + rng.normal(size=8000)]).astype(float)
    Y[800:] = np.nan
    Y[rng.random(Y.shape) < 0.2] = np.nan
    proba = CPPCA(2, families=["categorical", "poisson", "gaussian"]).fit(X, Y).predict_proba(X[800:])[0]
    assert calibration_error(proba, y[800:]) < 0.035


@pytest.mark.slow
def test_two_outputs_of_classes_are_calibrated_and_near_the_density_of_the_latent_plane(seed):
    rng = np.random.default_rng(seed)
    X, Z = oracle.draw(rng, 8000, 6, 4.0)
    pairs = [(3.0 * Z @ rng.normal(size=(2, c)) + rng.gumbel(size=(8000, c))).argmax(axis=1) for c in (4, 3)]
    Y = np.column_stack(pairs).astype(float)
    known = np.where(np.arange(8000)[:, None] < 800, Y, np.nan)
    model = CPPCA(2, families=["categorical"] * 2).fit(X, known)
    for j, proba in enumerate(model.predict_proba(X[800:])):
        assert calibration_error(proba, Y[800:, j]) < 0.035
    logs = oracle.rows(oracle.of(model), X[:100], Y[:100])[0]
    found = model.score_samples(X[:100], Y[:100])
    assert abs((found - logs).mean()) < 0.02
    assert np.sqrt(((found - logs) ** 2).mean()) < 0.15


@pytest.mark.slow
@pytest.mark.realdata
def test_faces_are_predicted_as_well_as_by_sppca_and_both_are_about_as_sure_as_they_are_right():
    data = fetch_yale()
    X, y = normalize(data.data), np.unique(data.target, return_inverse=True)[1]
    found = {}
    for seed in range(100, 104):
        known = draw_labeled(y, 2, seed)
        for model in (CPPCA(20), SPPCA(20)):
            proba = quietly(model, X, np.where(known, y, -1)).predict_proba(X[~known])
            truth = y[~known]
            loss = -np.log(np.maximum(proba[np.arange(len(truth)), truth], 1e-12)).mean()
            wrong = (proba.argmax(axis=1) != truth).mean()
            found.setdefault(type(model), []).append((wrong, loss, calibration_error(proba, truth)))
    (error, loss, gap), (peer_error, peer_loss, peer_gap) = (np.mean(found[m], axis=0) for m in (CPPCA, SPPCA))
    assert max(error, peer_error) < 0.47
    assert abs(error - peer_error) < 0.04
    assert max(loss, peer_loss) < 1.6  # by chance 2.7
    assert max(gap, peer_gap) < 0.15


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("solver", ["moments", "subspace"])
def test_arrays_of_other_libraries_give_the_same_model(library, solver):
    X, _, known = simulated(3, 0, 1.0, 900)
    model, other = (CPPCA(2, solver=solver, tol=1e-9).fit(rows, known) for rows in (X, put(X, library)))
    assert isinstance(other.components_, np.ndarray)
    assert_allclose(other.components_, model.components_, atol=1e-7)
    proba = other.predict_proba(put(X, library))
    assert type(proba) is type(put(X, library))
    assert_allclose(get(proba), model.predict_proba(X), atol=1e-7)
    assert (other.predict(put(X, library)) == model.predict(X)).all()
