"""MultiLabelDPPCA against its dense oracle, DPPCA on one label, and its promises on odd data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gnomon import DPPCA, MultiLabelDPPCA
from gnomon.estimators import dppca as dppca_file
from gnomon.estimators import multi_label_dppca as multi_label_file
from gnomon.export import load_model, save_model
from gnomon.solvers import reduction
from namespaces import LIBRARIES, get, put
from oracles import dppca as one_label
from oracles import multi_label_dppca as oracle

FIXED = {"n_factors": 3, "shrinkage": 0.0, "unlabeled_weight": 1.0}


def planted(rng, hidden=0.7, **kwargs):
    """Rows, all labels, and the labels with entries hidden one by one, as floats."""
    X, Y = oracle.random_rows(rng, **kwargs)
    seen = np.where(rng.random(Y.shape) < hidden, np.nan, Y)
    seen[:16] = Y[:16]  # rows of both values
    return X, Y, seen


def dense(model):
    return [one_label.of(one) for one in model.estimators_]


# 1 oracle


def test_probabilities_are_those_of_the_definition(rng):
    X, _, y = planted(rng)
    X = 100 + 7 * X
    model = MultiLabelDPPCA(2, **FIXED).fit(X, y)
    joint = oracle.log_joints(dense(model), X)
    assert_allclose(model.predict_proba(X), np.exp(joint[:, :, 1] - logsumexp(joint, axis=2)), atol=1e-9)
    assert_array_equal(model.predict(X), joint.argmax(axis=2))
    assert model.predict(X).dtype.kind == "i"


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_projection_solves_the_dense_eigenproblem(rng, k):
    X, _, y = planted(rng)
    model = MultiLabelDPPCA(k, **FIXED).fit(X, y)
    S, D = oracle.within(dense(model)), model.components_.T
    expected = oracle.projection(dense(model), k)
    size = np.where(np.arange(k) < 3, 1.0, 0.1)  # the others separate no labels
    assert_allclose(D.T @ S @ D, np.diag(size**2), atol=1e-8)
    assert_allclose(np.abs(D.T @ S @ expected), np.diag(size), atol=1e-6)
    assert model.n_class_components_ == min(k, 3)
    center = np.mean([one.prior @ one.means for one in dense(model)], axis=0)
    assert_allclose(model.mean_, center, atol=1e-8)
    assert_allclose(model.transform(X), (X - center) @ D, atol=1e-8)


def test_each_label_is_a_fixed_point_of_em(rng):
    X, _, y = planted(rng)
    model = MultiLabelDPPCA(1, **FIXED, tol=1e-9, max_iter=5000).fit(X, y)
    for one, column in zip(dense(model), y.T, strict=True):
        index = np.where(np.isnan(column), -1, column).astype(int)
        again = one_label.em_step(one, X, index, 1.0, s2=one.s2, n_factors=3)
        assert_allclose(again.means, one.means, atol=1e-6)
        assert_allclose(again.prior, one.prior, atol=1e-6)
        assert_allclose(one_label.covariance(again), one_label.covariance(one), atol=1e-5)


def test_label_models_have_factors_for_what_labels_leave(rng):
    X, _, y = planted(rng)
    for k in (2, 3, 5):
        model = MultiLabelDPPCA(k, **FIXED).fit(X, y)
        assert model.components_.shape == (k, 8)
        assert [one.n_components_ for one in model.estimators_] == [max(1, k - 2)] * 3


# 3 two routes to one answer


def test_rows_are_reduced_once(rng, monkeypatch):
    X, _, y = planted(rng)
    calls = []

    def counted(rows, one_of_c, generator):
        calls.append(one_of_c)
        return dppca_file.reduce_labeled(rows, one_of_c, generator)

    monkeypatch.setattr(multi_label_file, "reduce_labeled", counted)
    MultiLabelDPPCA(2, **FIXED).fit(X, y)
    assert len(calls) == 1
    assert_array_equal(calls[0], np.column_stack([column == value for column in y.T for value in (0, 1)]))


def test_sparse_rows_give_the_fit_of_dense_ones_and_stay_sparse(rng, monkeypatch):
    X, _, y = planted(rng, p=30)
    X[np.abs(X) < 1.0] = 0.0
    full = MultiLabelDPPCA(4, **FIXED).fit(X, y)
    for form in (sp.csr_array, sp.csc_matrix):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(form, name, lambda self: pytest.fail("made dense"))
        sparse = MultiLabelDPPCA(4, **FIXED).fit(form(X), y)
        assert_allclose(sparse.components_, full.components_, atol=1e-7)
        assert_allclose(sparse.predict_proba(form(X)), full.predict_proba(X), atol=1e-7)
        assert_allclose(sparse.transform(form(X)), full.transform(X), atol=1e-7)


def test_leading_directions_of_a_large_table_hold_the_labels(rng, monkeypatch):
    X, _, y = planted(rng, p=60, n=200)
    exact = MultiLabelDPPCA(3, **FIXED).fit(X, y)
    monkeypatch.setattr(reduction, "EXACT_SIDE", 10)
    monkeypatch.setattr(reduction, "N_LEADING", 12)
    model = MultiLabelDPPCA(3, **FIXED).fit(sp.csr_array(X), y)
    assert (exact.solver_, model.solver_) == ("exact", "leading")
    assert (model.predict(X) == exact.predict(X)).mean() > 0.97
    S = oracle.within(dense(exact))
    assert np.linalg.svd(model.components_ @ S @ exact.components_.T)[1].min() > 0.95


def test_the_order_of_labels_does_not_matter(rng):
    X, _, y = planted(rng)
    model, turned = (MultiLabelDPPCA(3).fit(X, labels) for labels in (y, y[:, ::-1]))
    assert_allclose(turned.predict_proba(X), model.predict_proba(X)[:, ::-1], atol=1e-8)
    assert_allclose(turned.components_, model.components_, atol=1e-6 * np.abs(model.components_).max())
    for one, other in zip(model.estimators_, turned.estimators_[::-1], strict=True):
        assert_allclose(one.agreement_path_, other.agreement_path_, atol=1e-6)


# 4 special case


@pytest.mark.parametrize("parameters", [FIXED, {}, {"class_prior": "uniform", **FIXED}, {"noise": 0.5, **FIXED}])
@pytest.mark.parametrize(("k", "p"), [(None, 8), (1, 8), (5, 8), (4, 200)])
def test_one_label_is_dppca(rng, parameters, k, p):
    X, _, y = planted(rng, n_labels=1, p=p, n=160 if p == 8 else 50)
    model, single = MultiLabelDPPCA(k, **parameters).fit(X, y), DPPCA(k, **parameters).fit(X, y[:, 0])
    assert_allclose(model.components_, single.components_, rtol=1e-12)
    assert_allclose(model.mean_, single.mean_, rtol=1e-12)
    assert_allclose(model.transform(X), single.transform(X), rtol=1e-10, atol=1e-12)
    assert_allclose(model.predict_proba(X)[:, 0], single.predict_proba(X)[:, 1], rtol=1e-12)
    assert_array_equal(model.predict(X)[:, 0], single.predict(X))
    own = model.estimators_[0]
    choices = [(m.n_factors_, m.shrinkage_, m.unlabeled_weight_, m.agreement_path_) for m in (own, single)]
    assert choices[0] == choices[1]
    for name in ("n_iter_", "converged_", "n_components_", "n_class_components_", "solver_"):
        assert getattr(model, name) == getattr(single, name)


def test_two_labels_that_are_one_give_one_direction(rng):
    X, _, y = planted(rng, n_labels=1)
    model = MultiLabelDPPCA(2, **FIXED).fit(X, np.hstack([y, y]))
    assert model.n_class_components_ == 1
    assert_allclose(model.components_, DPPCA(2, **FIXED).fit(X, y[:, 0]).components_, atol=1e-8)


# 6 recovery


def test_unlabeled_rows_help(rng):
    X, Y, _ = planted(rng, n=600, p=40, noise=2.0)
    y = np.where(np.arange(600)[:, None] < 16, Y, np.nan)
    errors = [
        (MultiLabelDPPCA(3, n_factors=6, shrinkage=1e-2, unlabeled_weight=w).fit(X, y).predict(X) != Y)[16:].mean()
        for w in (1.0, 0.0)
    ]
    assert errors[0] < 0.3 * errors[1]


# what y may be


def test_marks_of_unlabeled_entries_mean_the_same(rng):
    X, _, y = planted(rng)
    whole = np.where(np.isnan(y), -1, y)
    boxed = np.where(np.isnan(y), None, y.astype(object))
    truth = np.where(np.isnan(y), None, (y == 1).astype(object))
    first = MultiLabelDPPCA(3, **FIXED).fit(X, y)
    for other in (whole, whole.astype(int), boxed, truth, y.tolist()):
        assert_array_equal(MultiLabelDPPCA(3, **FIXED).fit(X, other).components_, first.components_)
    assert_array_equal(first.n_labeled_, (~np.isnan(y)).sum(axis=0))
    assert [c.tolist() for c in first.classes_] == [[0, 1]] * 3


def test_frames_and_bool_labels(rng):
    pd = pytest.importorskip("pandas")
    X, Y, _ = planted(rng)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = MultiLabelDPPCA(3, **FIXED).fit(frame, pd.DataFrame(Y == 1))
    assert_array_equal(model.predict(frame), MultiLabelDPPCA(3, **FIXED).fit(X, Y).predict(X))
    assert model.get_feature_names_out().tolist() == ["multilabeldppca0", "multilabeldppca1", "multilabeldppca2"]
    assert model.feature_names_in_.tolist() == list("abcdefgh")
    one = model.estimators_[1]
    assert_array_equal(one.predict(frame), model.predict(frame)[:, 1])  # knows the names too


def test_priors_are_the_probability_of_one(rng):
    X, _, y = planted(rng)
    model = MultiLabelDPPCA(1, class_prior=[0.2, 0.5, 0.7], **FIXED).fit(X, y)
    assert_allclose([one.class_prior_[1] for one in model.estimators_], [0.2, 0.5, 0.7])
    for bad in ([0.2, 0.8], [0.2, 0.5, 1.0]):
        with pytest.raises(ValueError, match=r"probability of 1 for each of the 3 labels"):
            MultiLabelDPPCA(1, class_prior=bad, **FIXED).fit(X, y)
    with pytest.raises(ValueError, match="class_prior"):
        MultiLabelDPPCA(1, class_prior="even", **FIXED).fit(X, y)


def test_single_precision_is_kept(rng):
    X, _, y = planted(rng)
    model, double = (MultiLabelDPPCA(2, **FIXED).fit(rows, y) for rows in (X.astype(np.float32), X))
    for found in (model.components_, model.mean_, model.transform(X.astype(np.float32))):
        assert found.dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.predict_proba(X), double.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_other_libraries_are_read_where_they_are(rng, library):
    X, _, y = planted(rng)
    model = MultiLabelDPPCA(3, **FIXED).fit(X, y)
    rows = put(X, library)
    other = MultiLabelDPPCA(3, **FIXED).fit(rows, put(y, library))
    assert_allclose(other.components_, model.components_, atol=1e-8)
    for name in ("transform", "predict_proba"):
        found = getattr(other, name)(rows)
        assert type(found) is type(rows)
        assert_allclose(get(found), getattr(model, name)(X), atol=1e-8)
    assert_array_equal(get(other.predict(rows)), model.predict(X))


# bad input


def test_errors_say_what_to_do(rng):
    X, Y, y = planted(rng)
    with pytest.raises(ValueError, match="MultiLabelDPPCA"):
        DPPCA().fit(X, Y)
    single = y.copy()
    single[:, 1] = np.where(np.isnan(y[:, 1]), np.nan, 1)
    with pytest.raises(ValueError, match=r"label column 1 of y has the single value 1 in its \d+ labeled rows"):
        MultiLabelDPPCA().fit(X, single)
    single[:, 1] = np.nan
    with pytest.raises(ValueError, match="label column 1 of y has no labeled row"):
        MultiLabelDPPCA().fit(X, single)
    single[4, 1] = 2
    with pytest.raises(ValueError, match=r"Unknown label type: y holds 2\.0 in row 4 of label column 1"):
        MultiLabelDPPCA().fit(X, single)
    with pytest.raises(ValueError, match="y holds yes in row 0"):
        MultiLabelDPPCA().fit(X, np.full(Y.shape, "yes"))
    with pytest.raises(ValueError, match="-1 and no 0"):
        MultiLabelDPPCA().fit(X, 2 * Y - 1)
    with pytest.raises(ValueError, match="rank of X"):
        MultiLabelDPPCA(9).fit(X, y)
    with pytest.raises(ValueError, match="constant"):
        MultiLabelDPPCA().fit(np.ones((4, 2)), [[0], [1], [0], [1]])
    with pytest.raises(ValueError, match="at least one"):
        MultiLabelDPPCA().fit(X, y[:, :0])
    hole = X.copy()
    hole[3, 2] = np.nan
    model = MultiLabelDPPCA(1, **FIXED).fit(X, y)
    for call in (lambda: MultiLabelDPPCA().fit(hole, y), lambda: model.predict(hole)):
        with pytest.raises(ValueError, match=r"MultiLabelDPPCA needs complete rows.*impute"):
            call()
    for bad in (
        {"shrinkage": 1.0},
        {"unlabeled_weight": 1.5},
        {"n_factors": 0},
        {"noise": "none"},
        {"n_components": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MultiLabelDPPCA(**bad).fit(X, y)


def test_one_warning_names_the_labels_that_did_not_converge(rng):
    X, _, y = planted(rng)
    y[:, 1] = planted(rng, hidden=0)[1][:, 1]  # all rows labeled: nothing to iterate
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter.*label columns \[0, 2\]") as caught:
        model = MultiLabelDPPCA(1, **FIXED, max_iter=1, tol=1e-12).fit(X, y)
    assert len(caught) == 1
    assert not model.converged_
    assert model.n_iter_ == max(one.n_iter_ for one in model.estimators_)


# model files


def test_a_model_file_keeps_the_models_of_all_labels(rng, tmp_path):
    X, _, y = planted(rng)
    model = MultiLabelDPPCA(3).fit(X, y)
    save_model(model, tmp_path / "labels.gnomon")
    loaded = load_model(tmp_path / "labels.gnomon")
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert set(vars(loaded)) == set(vars(model))
    again = clone(loaded).fit(X, y)
    assert_array_equal(again.components_, model.components_)
