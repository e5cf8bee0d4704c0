"""SCL as an estimator: pivots, what makes a domain, augmentation, bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from gnomon import SCL
from oracles import scl as oracle


def two_domains(rng, n=200):
    """Words: 0-3 tell the label in both domains; 4-9 do in domain 0 only, 10-15 in domain 1 only; 16-29 are noise."""
    y, domain = rng.integers(2, size=n), np.repeat([0, 1], n // 2)
    rate = np.full((n, 30), 0.3)
    rate[:, :4] = np.where(y[:, None] == 1, 0.7, 0.1)
    rate[:, 4:10] = np.where(y[:, None] == 1, 0.6, 0.1) * (domain[:, None] == 0)
    rate[:, 10:16] = np.where(y[:, None] == 1, 0.6, 0.1) * (domain[:, None] == 1)
    return rng.poisson(rate).astype(float), y, domain


@pytest.fixture
def words(rng):
    return two_domains(rng)


def test_projection_is_that_of_the_definition(words):
    X, _, domain = words
    model = SCL(3, n_pivots=6, ridge=0.2).fit(X, domain=domain)
    occurs = oracle.occurs(X)
    share = np.minimum(occurs[domain == 0].mean(axis=0), occurs[domain == 1].mean(axis=0))
    assert_allclose(model.pivot_scores_, np.sort(share)[::-1][:6])
    assert_allclose(share[model.pivots_], model.pivot_scores_)
    U, s, _ = np.linalg.svd(oracle.pivot_predictors(X, model.pivots_, 0.2))
    assert_allclose(model.singular_values_, s[:3])
    assert_allclose(model.components_.T @ model.components_, U[:, :3] @ U[:, :3].T, atol=1e-10)
    assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ model.components_.T, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_a_word_of_every_row_is_a_pivot_however_often_it_occurs(form):
    """Counts of 1 and 5: the word is there in all rows, above its mean in a quarter of them."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(40, 6)).astype(float)
    X[:, 2] = np.where(np.arange(40) % 4, 1.0, 5.0)
    model = SCL(1, n_pivots=1).fit(form(X), domain=np.arange(40) % 2)
    assert_array_equal(model.pivots_, [2])
    assert_allclose(model.pivot_scores_, [1.0])


def test_pivots_by_mutual_information_read_labeled_rows_only(words):
    X, y, domain = words
    seen = np.where(domain == 0, y, -1)
    model = SCL(2, pivots="mutual_information", n_pivots=4).fit(X, seen)
    told = np.zeros(30)
    occurs = X > 0
    for j in range(30):
        for label in (0, 1):
            for state in (True, False):
                joint = np.mean((y[:100] == label) & (occurs[:100, j] == state))
                parts = np.mean(y[:100] == label) * np.mean(occurs[:100, j] == state)
                told[j] += joint * np.log(joint / parts) if joint > 0 else 0.0
    told[4:16] = 0.0  # absent in one of the domains
    assert_array_equal(np.sort(model.pivots_), np.sort(np.argsort(-told)[:4]))
    assert_allclose(model.pivot_scores_, np.sort(told)[::-1][:4])
    other = SCL(2, pivots="mutual_information", n_pivots=4).fit(X, np.array(["bad", "good"])[y], domain=domain)
    assert not np.allclose(other.pivot_scores_, model.pivot_scores_)  # here the labels of both domains count


def test_sparse_equals_dense_and_float32_stays(words):
    X, y, domain = words
    dense = SCL(3, n_pivots=8, augment=True).fit(X, domain=domain)
    wanted = dense.transform(X)
    for form in (sp.csr_matrix, sp.csc_array, sp.coo_matrix):
        model = SCL(3, n_pivots=8, augment=True).fit(form(X), domain=domain)
        out = model.transform(form(X))
        assert sp.issparse(out)
        assert_allclose(out.toarray(), wanted, atol=1e-9)
    single = SCL(3, n_pivots=8, augment=True).fit(sp.csr_matrix(X.astype(np.float32)), domain=domain)
    assert single.transform(sp.csr_matrix(X.astype(np.float32))).dtype == np.float32
    assert_allclose(single.transform(X.astype(np.float32)), wanted, atol=1e-4)


def test_both_solvers_and_any_unit_give_one_answer(words):
    X, _, domain = words
    one = SCL(3, solver="covariance").fit(X, domain=domain)
    other = SCL(3, solver="gram").fit(X, domain=domain)
    assert_allclose(one.components_, other.components_, atol=1e-9)
    for unit in (1e-150, 1e-6, 1e100):
        scaled = SCL(3).fit(unit * X, domain=domain)
        assert_allclose(scaled.components_, one.components_, atol=1e-9)
        assert_allclose(scaled.ridge_ / unit**2, one.ridge_) if unit > 1e-100 else None


def test_without_domain_labels_make_the_domains(words):
    X, y, domain = words
    given = SCL(3, n_pivots=8).fit(X, domain=np.array(["books", "dvd"])[domain])
    for hidden in (np.where(domain == 0, y, -1), np.where(domain == 0, y.astype(float), np.nan)):
        found = SCL(3, n_pivots=8).fit(X, hidden)
        assert found.n_domains_ == 2
        assert_allclose(found.components_, given.components_)
    assert SCL(3).fit(X).n_domains_ == SCL(3).fit(X, y).n_domains_ == 1
    assert not np.isin(np.arange(4, 16), given.pivots_).any()
    assert np.isin(np.arange(4, 16), SCL(3, n_pivots=30).fit(X).pivots_).any()


def test_augmented_features_carry_labels_to_the_other_domain():
    gains = []
    for seed in range(10):
        X, y, domain = two_domains(np.random.default_rng(seed), 600)
        source, target = domain == 0, domain == 1
        model = SCL(2, n_pivots=10, augment=True).fit(X, domain=domain)
        F = model.transform(X)
        assert_allclose(F[:, 30:].var(axis=0).sum(), X.var(axis=0).sum())
        plain = LogisticRegression().fit(X[source], y[source]).score(X[target], y[target])
        gains.append(LogisticRegression().fit(F[source], y[source]).score(F[target], y[target]) - plain)
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(10)


def test_names_of_columns(words):
    X = pd.DataFrame(words[0]).add_prefix("w")
    model = SCL(2, augment=True).set_output(transform="pandas").fit(X, domain=words[2])
    assert list(model.transform(X).columns) == [*X.columns, "scl0", "scl1"]
    assert list(SCL(2).fit(X).get_feature_names_out()) == ["scl0", "scl1"]


@pytest.mark.parametrize(
    "options, match, error",
    [
        ({"n_components": 0}, "n_components=0 must be at least 1", ValueError),
        ({"n_components": 31}, "n_components=31 must be at most", ValueError),
        ({"pivots": "random"}, "pivots='random' must be one of", ValueError),
        ({"n_pivots": 2.5}, "n_pivots=2.5 must be an integer", TypeError),
        ({"ridge": -1.0}, "ridge=-1.0 must be finite and above 0", ValueError),
        ({"ridge": "small"}, "ridge='small' must be one of 'auto'", ValueError),
        ({"scale": 0}, "scale=0 must be", ValueError),
        ({"solver": "svd"}, "solver='svd' must be one of", ValueError),
    ],
)
def test_bad_parameters(words, options, match, error):
    with pytest.raises(error, match=match):
        SCL(**options).fit(words[0], domain=words[2])


def test_bad_rows_labels_and_domains(words):
    X, y, domain = words
    holes = X.copy()
    holes[3, 2] = np.nan
    for rows, match in (
        (holes, "Input X contains NaN; SCL needs every entry"),
        (np.where(np.isnan(holes), np.inf, X), "infinity"),
    ):
        with pytest.raises(ValueError, match=match):
            SCL(2).fit(rows, domain=domain)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SCL(2).fit(X, domain=domain).transform(holes)
    for wrong, match in (
        (domain[:-1], r"domain has shape \(199,\); one value for each of the 200 rows"),
        (np.where(domain == 0, np.nan, 1.0), "domain is missing in row 0"),
    ):
        with pytest.raises(ValueError, match=match):
            SCL(2).fit(X, domain=wrong)
    by_labels = SCL(2, pivots="mutual_information")
    for labels in (None, np.where(domain == 0, 3, -1), y + 0.5):
        with pytest.raises(ValueError, match="needs class labels of at least two classes"):
            by_labels.fit(X, labels)
    apart = np.where(np.arange(30) < 15, domain[:, None] == 0, domain[:, None] == 1) * X
    with pytest.raises(ValueError, match="no feature of X occurs in every one of the 2 domains"):
        SCL(2).fit(apart, domain=domain)
