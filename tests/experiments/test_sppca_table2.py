"""Table 2 of the SPPCA paper: the protocol on a small set, the printed columns on the real faces."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from gnomon.experiments import sppca_table2 as table
from gnomon.experiments._cells import Cell, as_text, rows_of
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments._record import provenance
from gnomon.experiments._registry import chosen


@pytest.fixture
def digits(monkeypatch):
    """Four digits in place of the faces."""
    X, y = load_digits(n_class=4, return_X_y=True)
    found = normalize(X[:120]), y[:120]
    monkeypatch.setattr(table, "load", lambda name: found)
    table.principal.cache_clear()
    yield found
    table.principal.cache_clear()


def error(method, k, seed=0):
    return table.scores(Cell("yale", method, k, seed))["1-NN error"]


def test_draws_label_the_same_number_of_each_class(rng):
    y = rng.permutation(np.repeat([0, 1, 2], [5, 9, 20]))
    labeled = draw_labeled(y, 2, rng)
    assert_array_equal(np.bincount(y[labeled]), [2, 2, 2])


@pytest.mark.parametrize(("method", "k"), [("FULL", None), ("PCA", 3), ("PCA", 5)])
def test_full_and_pca_are_nearest_neighbors_on_unit_rows(digits, method, k):
    X, y = digits
    for seed in range(2):
        labeled = draw_labeled(y, 2, np.random.default_rng(seed))
        Z = PCA(k).fit_transform(X) if method == "PCA" else X
        score = KNeighborsClassifier(1).fit(Z[labeled], y[labeled]).score(Z[~labeled], y[~labeled])
        assert_allclose(error(method, k, seed), 1 - score)


def test_sparse_rows_are_as_good(digits, monkeypatch):
    X, y = digits
    dense = [error(method, k) for method, k in (("FULL", None), ("PCA", 5), ("LDA", 3))]
    monkeypatch.setattr(table, "load", lambda name: (sp.csr_matrix(X), y))
    table.principal.cache_clear()
    assert_allclose([error(method, k) for method, k in (("FULL", None), ("PCA", 5), ("LDA", 3))], dense)


def test_every_method_runs_and_beats_guessing(digits):
    for method in (*table.METHODS, *table.OTHERS, "logistic"):
        assert error(method, None if method in table.WHOLE else 3) < 0.6, method  # guessing: 0.75


def test_the_semi_supervised_model_sees_the_unlabeled_rows(digits):
    assert any(error("SPPCA", 3, seed) != error("S2PPCA", 3, seed) for seed in range(2))


def test_more_dimensions_than_labeled_rows_are_as_many_as_they_allow(digits):
    assert error("SPPCA", 20) == error("SPPCA", 6)
    assert 0 < error("PLS", 20) < 0.6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_em_differs_from_the_maximum(digits, monkeypatch):
    monkeypatch.setitem(table.PAPER_EM, "max_iter", 1)
    assert any(error("S2PPCA-paper", 3, seed) != error("S2PPCA", 3, seed) for seed in range(2))


def test_all_numbers_of_the_paper_have_cells_and_large_sets_few_of_other_methods():
    cells = table.cells()
    known = {cell[:3] for cell in cells}
    for task, methods in table.PRINTED.items():
        for method in methods:
            wanted = (None,) if method in table.WHOLE else table.DIMS
            assert task == "14_tumors" or all((task, method, k) in known for k in wanted)
    counts = Counter(cell[:3] for cell in cells)
    assert counts["yale", "S2PPCA", 5] == counts["tdt2", "PCA", 5] == 50
    assert counts["yale", "DPPCA", 5] == table.OWN_DRAWS
    assert counts["tdt2", "DPPCA", 5] == table.FEW_DRAWS
    assert max(cell.seed for cell in table.cells(quick=True)) == 1
    assert table.printed("yale", "PCA", 20, "") == (0.5437, 0.0414, 50)
    assert table.printed("yale", "logistic", None, "") is None


def test_provenance_names_versions_and_threads():
    record = provenance()
    assert record["versions"]["numpy"] == np.__version__
    assert record["threads"] >= 1
    assert record["commit"] is None or len(record["commit"]) == 40


def rows(*only, draws):
    cells = chosen(table.cells(draws), only)
    return rows_of([{**cell._asdict(), "scores": table.scores(cell)} for cell in cells], table.TABLE)


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("name", ["yale", "orl"])
def test_full_pca_and_pls_are_near_the_printed_table(name):
    found = rows(name, "FULL", "PCA", "PLS", draws=50)
    assert len(found) == 7
    assert max(abs(row.z) for row in found) < 2.5, as_text(found)


@pytest.mark.realdata
def test_semi_supervised_sppca_is_near_the_printed_table_on_orl():
    found = {row.method: row for row in rows("orl", "PCA", "S2PPCA", "K=20", draws=8)}
    assert found["S2PPCA"].mean < found["PCA"].mean - 0.02
    assert max(abs(row.z) for row in found.values()) < 3
