"""How new rows are read: the classifier on codes beside its definition, folds, the loss of hidden labels."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from gnomon.models.sepca import classifier, model
from gnomon.models.sepca.classifier import Map, held_out_loss, learn, posterior, predict
from gnomon.rows import read
from models.sepca_problem import problem
from oracles import sepca as oracle
from rows.copied import copied_rows


def orthogonal(data):
    """The same rows with orthogonal columns, as principal coordinates have."""
    U, s, _ = np.linalg.svd(data.rows, full_matrices=False)
    return data._replace(rows=U * s, base=U * s)


def test_the_classifier_is_ridge_regression_on_standardized_codes(rng):
    data = orthogonal(problem(rng, n=20, unlabeled=6))
    Z = rng.normal(size=(20, 2))
    found = learn(data, Z, Map(0.5))
    codes = posterior(found, read(data.rows))[0]
    size = codes.std(axis=0)
    T = ((codes - codes.mean(axis=0)) / size)[:14]

    def loss(v):
        P = oracle.softmax(T @ v[:6].reshape(2, 3) + v[6:])
        return -np.log((P * data.Y).sum(axis=1)).sum() + 0.5 * v @ v

    best = minimize(loss, np.zeros(9), tol=1e-12).x
    expected = oracle.softmax(((codes - codes.mean(axis=0)) / size) @ best[:6].reshape(2, 3) + best[6:])
    assert_allclose(predict(found, copied_rows(data.rows))[1], expected, atol=1e-5)
    assert found.residual < 1e-9


def test_codes_of_new_rows_are_those_of_kernel_ridge_regression(rng):
    data, Z, new = orthogonal(problem(rng, n=20)), rng.normal(size=(20, 2)), rng.normal(size=(4, 3))
    K = data.rows @ data.rows.T
    expected = Z.mean(axis=0) + new @ data.rows.T @ np.linalg.solve(K + 0.5 * np.eye(20), Z - Z.mean(axis=0))
    assert_allclose(posterior(learn(data, Z, Map(0.5)), copied_rows(new))[0], expected, atol=1e-9)


def test_whole_weights_are_repeated_rows(rng):
    data, Z, w = problem(rng, n=12, unlabeled=3), rng.normal(size=(12, 2)), rng.integers(1, 4, 12)
    U, s, _ = np.linalg.svd(np.sqrt(w)[:, None] * (data.rows - w @ data.rows / w.sum()), full_matrices=False)
    rows = U * s / np.sqrt(w)[:, None]
    weighted = data._replace(rows=rows, base=rows, weights=w.astype(float), base_weights=w.astype(float))
    owner = np.repeat(np.arange(12), w)
    seen = np.flatnonzero(owner < 9)
    twice = data._replace(rows=rows[owner], base=rows[owner], Y=data.Y[owner[seen]], labeled=seen)
    a, b = learn(weighted, Z, Map(0.3)), learn(twice, Z[owner], Map(0.3))
    assert_allclose(posterior(a, read(rows))[0], posterior(b, read(rows))[0], atol=1e-10)
    assert_allclose(predict(a, read(rows))[1], predict(b, read(rows))[1], atol=1e-5)


def test_the_held_out_loss_is_that_of_models_that_never_saw_the_labels(rng):
    data = orthogonal(problem(rng, n=14, unlabeled=4))
    folds = np.r_[-1, np.arange(9) % 2]
    options, wanted, losses = model.Options(tol=1e-6), Map(0.5), []
    for fold in range(2):
        keep = np.flatnonzero(folds != fold)
        known = data._replace(Y=data.Y[keep], labeled=keep)
        found = classifier.learn(known, model.fit(known, options).value.ranked.Z, wanted)
        for i in np.flatnonzero(folds == fold):
            scores = posterior(found, read(data.rows[[i]]))[0] @ found.slopes + found.intercept
            losses.append(-np.log(oracle.softmax(scores)[0] @ data.Y[i]))
    assert_allclose(held_out_loss(data, folds, options, wanted), np.mean(losses), rtol=1e-8)
