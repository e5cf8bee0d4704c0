"""What fits to the same labeled rows share, and how often it is made."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca import anneal, choice
from gnomon.models.dppca.anneal import Options, Problem, fit_coordinates
from gnomon.models.dppca.choice import Open, Trials, choose
from gnomon.models.dppca.labeled import START_SHRINKAGE, Labeled
from models.dppca.planted import planted, reduced


def counted(monkeypatch, place, name):
    calls, real = [], getattr(place, name)
    monkeypatch.setattr(place, name, lambda *a, **k: calls.append(a) or real(*a, **k))
    return calls


def test_ridge_lda_is_the_scatter_within_classes(rng):
    X, index = planted(rng)
    rows = reduced(X, index)
    labeled = Labeled(rows, index, 3)
    means, within, variance = labeled.lda
    T, known = rows.T[index >= 0], index[index >= 0]
    D = T - np.array([T[known == c].mean(axis=0) for c in range(3)])[known]
    covariance = within.Q * (within.values - within.noise_var) @ within.Q.T
    assert_allclose(covariance, (1.0 - START_SHRINKAGE) * D.T @ D / len(T), atol=1e-12)
    assert_allclose(within.noise_var, START_SHRINKAGE * variance)
    assert_allclose(means[known] + D, T)
    assert_allclose(labeled.gram, T.T @ T)


def test_a_fit_is_the_same_whoever_reads_its_labeled_rows(rng):
    X, index = planted(rng)
    rows, options = reduced(X, index), Options(3, 0.01)
    one = fit_coordinates(rows, index, 3, options)
    other = fit_coordinates(rows, index, 3, options, labeled=Labeled(rows, index, 3))
    assert_array_equal(one.value.params.means, other.value.params.means)


def test_candidates_share_labeled_rows_and_those_of_all_rows_their_span(rng, monkeypatch):
    X, index = planted(rng, n=600, p=100, spread=1.0)
    rows = reduced(X, index)
    made, spans = counted(monkeypatch, choice, "Labeled"), counted(monkeypatch, Problem, "_leading")
    settled = counted(monkeypatch, anneal, "_settle")
    trials = Trials(rows, index, Options())
    sizes = (12, 9, 6)
    for n_factors in sizes:
        for i in range(2):
            trials.score((n_factors, 1e-3, 1.0), i)
    assert len(made) == 4  # the halves of two splits
    assert len(spans) == len(sizes)
    assert len(settled) == 4 * len(sizes)  # once in a fit: it comes no closer by going on


def test_a_span_as_wide_as_the_coordinates_is_all_of_them(rng):
    X, index = planted(rng, n=300, p=40, spread=1.0)
    problem = Problem(reduced(X, index), index, 3, Options(8, 1e-3))
    span, point = problem.span(), problem.moments(anneal.init(problem, 1.0))
    assert len(span.scatter) == 27
    params, _ = problem.at(point, None, span)
    wide = problem.widened(point, params, span)
    assert len(wide.scatter) == len(problem.scatter) == 40
    roots = point.means * np.sqrt(point.counts)[:, None]
    assert_allclose(wide.basis.T @ (problem.scatter - roots.T @ roots) @ wide.basis, np.diag(wide.values), atol=1e-8)
    assert_allclose(wide.basis.T @ problem.scatter @ wide.basis, wide.scatter, atol=1e-8)


def test_choosing_by_shared_parts_is_choosing(rng):
    X, index = planted(rng, spread=1.0)
    rows, given = reduced(X, index), Open(3, "auto", "auto")
    best, _ = choose(given, len(index), rows.T.shape[1], 2, Trials(rows, index, Options()))
    alone = Trials(rows, index, Options())
    alone._labeled_of = lambda seen, train: None
    assert choose(given, len(index), rows.T.shape[1], 2, alone)[0] == best


@pytest.mark.parametrize("n_labeled", [12, 100])
def test_factors_of_labeled_rows_alone_are_found_once_for_all_candidates(rng, monkeypatch, n_labeled):
    X = rng.normal(size=(n_labeled, 40)) + (np.arange(n_labeled) % 3)[:, None]
    index = np.arange(n_labeled) % 3
    rows = reduced(X, index)
    labeled = Labeled(rows, index, 3)
    T, means = rows.T, np.array([rows.T[index == c].mean(axis=0) for c in range(3)])
    values = np.linalg.eigvalsh((T - means[index]).T @ (T - means[index]))[::-1]
    found = [counted(monkeypatch, np.linalg, name) for name in ("eigh", "svd")]
    for n_factors in (8, 5, 2):
        within = fit_coordinates(rows, index, 3, Options(n_factors, 0.0), labeled=labeled).value.params.within
        assert_allclose(within.values, values[:n_factors] / n_labeled)
    assert sum(map(len, found)) == 1


def test_candidates_begin_where_the_first_of_their_weight_has_ended(rng, monkeypatch):
    X, index = planted(rng, n=300, p=40, spread=1.0)
    cooled, begun = counted(monkeypatch, anneal, "_cool"), counted(monkeypatch, anneal, "_begun")
    trials = Trials(reduced(X, index), index, Options())
    first = [trials.fit(one, index) for one in ((8, 1e-3, 1.0), (5, 1e-3, 1.0), (8, 1e-3, 0.1), (8, 1e-3, 1.0))]
    assert [len(cooled), len(begun)] == [3, 1]
    assert_array_equal(begun[0][1].means, first[0].params.means)
    assert_array_equal(first[3].params.means, first[0].params.means)  # whatever has been fitted since


def test_a_fit_that_begins_at_its_end_stays_there(rng):
    X, index = planted(rng, n=300, spread=1.0)
    rows, options = reduced(X, index), Options(3, 1e-3)
    end = fit_coordinates(rows, index, 3, options).value.params
    again = fit_coordinates(rows, index, 3, options, begin=end)
    assert_allclose(again.value.params.means, end.means, atol=1e-3)
