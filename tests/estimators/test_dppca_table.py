"""DPPCA of a table of labels: against its dense oracle, DPPCA on one column, and its promises on odd data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gnomon import DPPCA
from gnomon.export import load_model, save_model
from namespaces import LIBRARIES, get, put
from oracles import dppca as one_column
from oracles import dppca_table as oracle

FIXED = {"n_factors": 3, "shrinkage": 0.0, "unlabeled_weight": 1.0, "target": "classes"}


def planted(rng, hidden=0.7, **kwargs):
    """Rows, all labels, and the labels with entries hidden one by one, as floats."""
    X, Y = oracle.random_rows(rng, **kwargs)
    seen = np.where(rng.random(Y.shape) < hidden, np.nan, Y)
    seen[:16] = Y[:16]  # rows of both values
    return X, Y, seen


def stacked(proba):
    """Probabilities of several targets of two classes (n, targets, 2)."""
    assert isinstance(proba, list)
    return np.stack(proba, axis=1)


# 1 oracle


def test_probabilities_are_those_of_the_definition(rng):
    X, _, y = planted(rng)
    X = 100 + 7 * X
    model = DPPCA(2, uncertainty="plug-in", **FIXED).fit(X, y)
    joint = oracle.log_joints(one_column.of_table(model), X)
    assert_allclose(stacked(model.predict_proba(X)), np.exp(joint - logsumexp(joint, axis=2)[:, :, None]), atol=1e-9)
    assert_array_equal(model.predict(X), joint.argmax(axis=2))
    assert model.predict(X).dtype.kind == "i"


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_projection_solves_the_dense_eigenproblem(rng, k):
    X, _, y = planted(rng)
    model = DPPCA(k, **FIXED).fit(X, y)
    dense = one_column.of_table(model)
    S, D = oracle.within(dense), model.components_.T
    expected = oracle.projection(dense, k)
    size = np.where(np.arange(k) < 3, 1.0, 0.1)  # the others separate no labels
    assert_allclose(D.T @ S @ D, np.diag(size**2), atol=1e-8)
    assert_allclose(np.abs(D.T @ S @ expected), np.diag(size), atol=1e-6)
    assert model.n_class_components_ == min(k, 3)
    center = np.mean([one.prior @ one.means for one in dense], axis=0)
    assert_allclose(model.mean_, center, atol=1e-8)
    assert_allclose(model.transform(X), (X - center) @ D, atol=1e-8)


def test_each_column_is_a_fixed_point_of_em(rng):
    X, _, y = planted(rng)
    model = DPPCA(1, **FIXED, tol=1e-9, max_iter=5000).fit(X, y)
    for one, column in zip(one_column.of_table(model), y.T, strict=True):
        index = np.where(np.isnan(column), -1, column).astype(int)
        again = one_column.em_step(one, X, index, 1.0, s2=one.s2, n_factors=3)
        assert_allclose(again.means, one.means, atol=1e-6)
        assert_allclose(again.prior, one.prior, atol=1e-6)
        assert_allclose(one_column.covariance(again), one_column.covariance(one), atol=1e-5)


# 3 two routes to one answer


def test_each_column_alone_has_the_same_model(rng):
    """More than two classes beside two, text beside numbers."""
    X, Y, y = planted(rng)
    kinds = np.where(np.isnan(y[:, 0]), None, np.array(["a", "b", "c"], dtype=object)[Y[:, 0] + Y[:, 1]])
    table = [kinds, np.where(np.isnan(y[:, 2]), -1, Y[:, 2])]
    model = DPPCA("auto", **FIXED).fit(X, table)
    assert model.components_.shape == (3, 8)
    assert [c.tolist() for c in model.classes_] == [["a", "b", "c"], [0, 1]]
    for j, column in enumerate(table):
        alone = DPPCA("auto", **FIXED).fit(X, column)
        assert_allclose(model.predict_proba(X)[j], alone.predict_proba(X), atol=1e-10)
        assert_array_equal(model.predict(X)[:, j], alone.predict(X))
        assert_allclose(model.log_likelihood_[j], alone.log_likelihood_)
    assert 0.7 < model.score(X, [kinds, Y[:, 2]]) <= 1.0


def test_sparse_rows_give_the_fit_of_dense_ones_and_stay_sparse(rng, monkeypatch):
    X, _, y = planted(rng, p=30)
    X[np.abs(X) < 1.0] = 0.0
    full = DPPCA(4, **FIXED).fit(X, y)
    for form in (sp.csr_array, sp.csc_matrix):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(form, name, lambda self: pytest.fail("made dense"))
        sparse = DPPCA(4, **FIXED).fit(form(X), y)
        assert_allclose(sparse.components_, full.components_, atol=1e-7)
        assert_allclose(stacked(sparse.predict_proba(form(X))), stacked(full.predict_proba(X)), atol=1e-7)
        assert_allclose(sparse.transform(form(X)), full.transform(X), atol=1e-7)


def test_the_order_of_columns_does_not_matter(rng):
    X, _, y = planted(rng)
    model, turned = (DPPCA(3, target="classes").fit(X, labels) for labels in (y, y[:, ::-1]))
    assert_allclose(stacked(turned.predict_proba(X)), stacked(model.predict_proba(X))[:, ::-1], atol=1e-8)
    assert_allclose(turned.components_, model.components_, atol=1e-6 * np.abs(model.components_).max())
    for one, other in zip(model.agreement_path_, turned.agreement_path_[::-1], strict=True):
        assert_allclose(one, other, atol=1e-6)


# 4 special case


@pytest.mark.parametrize(
    ("k", "p", "parameters"),
    [(None, 8, {"target": "classes"}), (None, 8, {"class_prior": "uniform", **FIXED}), (5, 8, FIXED), (4, 200, FIXED)],
)
def test_two_columns_that_are_one_have_its_projection(rng, k, p, parameters):
    X, _, y = planted(rng, n_labels=1, p=p, n=160 if p == 8 else 50)
    single = DPPCA(k, **parameters).fit(X, y[:, 0])
    model = DPPCA(len(single.components_), **parameters).fit(X, np.hstack([y, y]))
    assert model.n_class_components_ == single.n_class_components_ == 1
    assert_allclose(model.components_[0], single.components_[0], atol=1e-8 * np.abs(single.components_).max())
    assert_allclose(model.predict_proba(X)[1], single.predict_proba(X), atol=1e-8)


def test_a_table_of_one_column_is_a_vector(rng):
    X, _, y = planted(rng, n_labels=1)
    model, single = DPPCA(2, **FIXED).fit(X, y), DPPCA(2, **FIXED).fit(X, y[:, 0])
    assert_array_equal(model.components_, single.components_)
    assert_array_equal(model.predict_proba(X), single.predict_proba(X))


# 6 recovery


def test_unlabeled_rows_help(rng):
    X, Y, _ = planted(rng, n=600, p=40, noise=2.0)
    y = np.where(np.arange(600)[:, None] < 16, Y, np.nan)
    errors = [
        (DPPCA(3, n_factors=6, shrinkage=1e-2, unlabeled_weight=w, target="classes").fit(X, y).predict(X) != Y)[16:]
        for w in (1.0, 0.0)
    ]
    assert errors[0].mean() < 0.3 * errors[1].mean()


# what y may be


def test_marks_of_unlabeled_entries_mean_the_same(rng):
    X, _, y = planted(rng)
    whole = np.where(np.isnan(y), -1, y)
    boxed = np.where(np.isnan(y), None, y.astype(object))
    truth = np.where(np.isnan(y), None, (y == 1).astype(object))
    first = DPPCA(3, **FIXED).fit(X, y)
    for other in (whole, whole.astype(int), boxed, truth, y.tolist()):
        assert_array_equal(DPPCA(3, **FIXED).fit(X, other).components_, first.components_)
    assert first.n_labeled_ == (~np.isnan(y)).any(axis=1).sum()
    assert [c.tolist() for c in first.classes_] == [[0, 1]] * 3


def test_frames_and_bool_labels(rng):
    pd = pytest.importorskip("pandas")
    X, Y, _ = planted(rng)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = DPPCA(3, **FIXED).fit(frame, pd.DataFrame(Y == 1))
    assert_array_equal(model.predict(frame), DPPCA(3, **FIXED).fit(X, Y).predict(X))
    assert model.feature_names_in_.tolist() == list("abcdefgh")


def test_priors_are_given_for_each_column(rng):
    X, _, y = planted(rng)
    given = [[0.8, 0.2], [0.5, 0.5], None]
    model = DPPCA(1, class_prior=given, **FIXED).fit(X, y)
    assert_allclose(model.class_prior_[0], given[0])
    assert_allclose(model.class_prior_[1], given[1])
    for bad, message in (([[0.2, 0.8]], "has 1 entries; y has 3 columns"), ([[1.0]] * 3, "2 positive prob.*column 0")):
        with pytest.raises(ValueError, match=message):
            DPPCA(1, class_prior=bad, **FIXED).fit(X, y)


def test_single_precision_is_kept(rng):
    X, _, y = planted(rng)
    model, double = (DPPCA(2, **FIXED).fit(rows, y) for rows in (X.astype(np.float32), X))
    for found in (model.components_, model.transform(X.astype(np.float32))):
        assert found.dtype == np.float32
    assert model.predict_proba(X.astype(np.float32))[0].dtype == np.float32
    assert_allclose(stacked(model.predict_proba(X)), stacked(double.predict_proba(X)), atol=1e-3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_other_libraries_are_read_where_they_are(rng, library):
    X, _, y = planted(rng)
    model = DPPCA(3, **FIXED).fit(X, y)
    rows = put(X, library)
    other = DPPCA(3, **FIXED).fit(rows, put(y, library))
    assert_allclose(other.components_, model.components_, atol=1e-8)
    assert_allclose(get(other.transform(rows)), model.transform(X), atol=1e-8)
    for found, expected in zip(other.predict_proba(rows), model.predict_proba(X), strict=True):
        assert type(found) is type(rows)
        assert_allclose(get(found), expected, atol=1e-8)
    assert_array_equal(get(other.predict(rows)), model.predict(X))


# bad input


def test_errors_say_what_to_do(rng):
    X, _, y = planted(rng)
    empty = y.copy()
    empty[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of y is never observed"):
        DPPCA(target="classes").fit(X, empty)
    with pytest.raises(ValueError, match="rank of X"):
        DPPCA(9, target="classes").fit(X, y)
    model = DPPCA(1, **FIXED).fit(X, y)
    for name in ("posterior", "score_samples", "sample", "inverse_transform"):
        assert not hasattr(model, name)
        assert hasattr(DPPCA(), name)
    with pytest.raises(AttributeError) as caught:
        model.score_samples(X)
    assert "3 targets, each with a model of x of its own" in str(caught.value.__cause__)


def test_one_warning_names_the_columns_that_did_not_converge(rng):
    X, _, y = planted(rng)
    y[:, 1] = planted(rng, hidden=0)[1][:, 1]  # all rows labeled: nothing to iterate
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter.*columns \[0, 2\] of y") as caught:
        model = DPPCA(1, **FIXED, max_iter=1, tol=1e-12).fit(X, y)
    assert len(caught) == 1
    assert not model.converged_
    assert model.objective_residual_ > 1e-12


# model files


def test_a_model_file_keeps_the_models_of_all_columns(rng, tmp_path):
    X, _, y = planted(rng)
    model = DPPCA(3, target="classes").fit(X, y)
    save_model(model, tmp_path / "labels.gnomon")
    loaded = load_model(tmp_path / "labels.gnomon")
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(stacked(loaded.predict_proba(X)), stacked(model.predict_proba(X)))
    assert set(vars(loaded)) == set(vars(model))
    again = clone(loaded).fit(X, y)
    assert_array_equal(again.components_, model.components_)
