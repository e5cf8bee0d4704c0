"""What a fitted model makes of its parameters is made once, and anew when one of them is another."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import CPPCA, DPPCA
from gnomon.estimators import _estimator
from gnomon.estimators._kept import kept
from gnomon.models.dppca import mixture
from gnomon.models.linear import conditioning

FIXED = {"n_factors": 2, "shrinkage": 0.1, "unlabeled_weight": 1.0}


def planted(rng, n=120, p=8):
    y = rng.integers(0, 3, n)
    X = 2.0 * rng.standard_normal((3, p))[y] + rng.standard_normal((n, p))
    return X, np.where(rng.random(n) < 0.4, y, -1)


def models(rng):
    X, y = planted(rng)
    pairs = np.column_stack([y, np.where(y < 0, -1, y % 2)])
    found = [DPPCA(**FIXED).fit(X, y), DPPCA(**FIXED).fit(X, pairs), CPPCA().fit(X, y), CPPCA().fit(X, pairs)]
    return X, y, found


def same(one, other):
    for a, b in zip(*(found if isinstance(found, list) else [found] for found in (one, other)), strict=True):
        assert_array_equal(a, b)


def counted(monkeypatch, *places):
    calls = []
    for place, name in places:
        real = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *a, real=real, name=name: calls.append(name) or real(*a))
    return calls


def test_what_parts_make_is_made_once_for_each_of_their_values():
    class Owner:
        pass

    one, other, part, made = Owner(), Owner(), np.arange(4.0), []
    for owner in (one, one, other, one):
        assert kept(owner, [part, 1.0, "a"], lambda: made.append(0) or len(made)) == (2 if owner is other else 1)
    part[2] = -1.0  # in place
    assert kept(one, [part, 1.0, "a"], lambda: 3) == 3
    assert kept(one, [part.reshape(2, 2), 1.0, "a"], lambda: 4) == 4
    assert kept(one, [part, 1.0, "b"], lambda: 5) == 5
    assert vars(one) == {}


@pytest.mark.parametrize("which", range(4))
def test_rows_are_asked_one_at_a_time_without_making_anything_of_the_parameters(rng, monkeypatch, which):
    X, _, found = models(rng)
    model = found[which]
    same(model.predict_proba(X[:1]), model.predict_proba(X[:1].tolist()))
    calls = counted(
        monkeypatch, (mixture, "log_odds"), (conditioning.lg, "given_x"), (_estimator, "look"), (np.linalg, "eigh"),
        (np.linalg, "cholesky"),
    )  # fmt: skip
    for row in X[:5, None]:
        model.predict_proba(row)
    assert calls == []


@pytest.mark.parametrize("which", range(4))
def test_parameters_may_change_in_any_way(rng, which):
    X, y, found = models(rng)
    model = found[which]
    before = model.predict_proba(X)
    fresh = pickle.loads(pickle.dumps(model))
    assert sorted(vars(fresh)) == sorted(vars(model))
    same(before, fresh.predict_proba(X))
    name = "class_means_" if isinstance(model, DPPCA) else "y_loadings_"
    values = getattr(model, name)
    for one in values if isinstance(values, list) else [values]:
        one *= 0.5  # in place
    same(model.predict_proba(X), deepcopy(model).predict_proba(X))
    a, b = (one[0] if isinstance(one, list) else one for one in (before, model.predict_proba(X)))
    assert np.abs(a - b).max() > 1e-3
    model.fit(3.0 * X[::-1], y)
    same(model.predict_proba(X), type(model)(**model.get_params()).fit(3.0 * X[::-1], y).predict_proba(X))


def test_threads_ask_the_same_model(rng):
    X, _, found = models(rng)
    for model in found:
        wanted = deepcopy(model).predict(X)
        with ThreadPoolExecutor(8) as pool:
            rows = list(pool.map(lambda i, model=model: model.predict(X[i : i + 1])[0], range(len(X))))
        assert_array_equal(rows, wanted)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e200])
def test_an_array_that_one_sum_does_not_clear_is_looked_at(rng, entry):
    X, _, found = models(rng)
    row = X[:1].copy()
    row[0, 3] = entry
    with pytest.raises(ValueError, match=r"infinity|NaN|rescale"):
        found[0].predict_proba(row)
    assert_allclose(found[0].predict_proba(np.zeros_like(row)).sum(), 1.0)  # its squares say nothing
