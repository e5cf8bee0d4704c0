"""The twelve pairs of Amazon domains: the protocol on made-up reviews, one small pair of the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from estimators.test_scl import two_domains
from gnomon.experiments import amazon
from gnomon.experiments.amazon import METHODS, accuracy, draw_pair, format_table, reproduce


class Reviews:
    """Three domains of 80 labeled and 40 unlabeled rows."""

    domain_names = ("a", "b", "c")

    def __init__(self):
        parts = [two_domains(np.random.default_rng(seed), 240) for seed in range(3)]
        rows = [X[120 * (seed > 0) :][:120] for seed, (X, _, _) in enumerate(parts)]
        self.data = sp.csr_matrix(np.vstack(rows)).astype(np.uint8)
        self.target = np.concatenate([y[120 * (seed > 0) :][:120] for seed, (_, y, _) in enumerate(parts)])
        self.domain = np.repeat([0, 1, 2], 120)
        self.labeled = np.tile(np.arange(120) < 80, 3)


@pytest.fixture
def reviews(monkeypatch):
    data = Reviews()
    monkeypatch.setattr(amazon.datasets, "fetch_amazon", lambda: data)
    return data


def test_a_pair_shows_labels_of_the_source_only(reviews, rng):
    labeled, predicted, others = draw_pair(reviews, 0, 2, rng, 60)
    assert len(set(labeled)) == 60
    assert set(reviews.domain[labeled]) == {0}
    assert reviews.labeled[labeled].all()
    assert set(predicted) == set(range(240, 320))
    assert set(others) == {*range(80, 120), *range(320, 360)}


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_the_target_change_nothing_but_the_score(reviews, rng, method, monkeypatch):
    monkeypatch.setattr(amazon, "STRENGTHS", (0.1, 1.0))
    rows = np.concatenate(draw_pair(reviews, 0, 1, rng, 60))
    X, y, domain = (reviews.data[rows] > 0).astype(float), reviews.target[rows], reviews.domain[rows]
    score, chosen = accuracy(method, X, y, domain, 60, 80, dims=(2, 3))
    other, same = accuracy(method, X, np.where(np.arange(len(y)) < 60, y, 1 - y), domain, 60, 80, dims=(2, 3))
    assert_allclose(other, 1 - score)
    assert same == chosen


def test_the_table_has_means_and_gains_beside_the_printed_ones(reviews):
    records = list(reproduce(("LR", "SCL", "PPCA"), pairs=[(0, 1), (1, 2)], dims=(2,), n_labeled=60))
    assert [(r["source"], r["target"]) for r in records[:2]] == [("a", "b"), ("b", "c")]
    lines = format_table(records).splitlines()
    assert len(lines) == 6
    mean = {m: np.mean([r["accuracy"] for r in records if r["method"] == m]) for m in ("LR", "SCL", "PPCA")}
    assert lines[3].split() == ["mean", *(f"{value:.3f}" for value in mean.values())]
    assert lines[4].split()[3:] == [f"{value - mean['LR']:+.3f}" for value in mean.values()]
    assert lines[5].split()[-2:] == ["+0.000", "+0.023"]


@pytest.mark.slow
@pytest.mark.realdata
def test_projections_help_from_books_to_electronics(monkeypatch):
    data = amazon.datasets.fetch_amazon()
    often = np.argsort(-np.asarray((data.data > 0).sum(axis=0)).ravel())[:800]
    data.data = data.data[:, np.sort(often)]
    data.labeled = data.labeled.copy()
    monkeypatch.setattr(amazon.datasets, "fetch_amazon", lambda: data)
    records = reproduce(("LR", "SCL", "PPCA"), pairs=[(0, 2)], dims=(10,), n_labeled=800)
    score = {r["method"]: r["accuracy"] for r in records}
    assert score["LR"] > 0.6
    assert score["SCL"] > score["LR"] + 0.01
    assert score["PPCA"] > score["LR"] + 0.01
