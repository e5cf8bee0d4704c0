"""The twelve pairs of Amazon domains: the protocol on made-up reviews, one small pair of the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from estimators.test_scl import two_domains
from gnomon.experiments import amazon
from gnomon.experiments._cells import Cell, rows_of
from gnomon.experiments.amazon import METHODS, accuracy, draw_fold, draw_pair


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


@pytest.mark.parametrize("method", [method for method in METHODS if "100" not in method])
def test_labels_of_the_target_change_nothing_but_the_score(reviews, rng, method, monkeypatch):
    monkeypatch.setattr(amazon, "STRENGTHS", (0.1, 1.0))
    rows = np.concatenate(draw_pair(reviews, 0, 1, rng, 60))
    X, y, domain = (reviews.data[rows] > 0).astype(float), reviews.target[rows], reviews.domain[rows]
    score, chosen = accuracy(method, X, y, domain, 60, 80, dims=(2, 3))
    other, same = accuracy(method, X, np.where(np.arange(len(y)) < 60, y, 1 - y), domain, 60, 80, dims=(2, 3))
    assert_allclose(other, 1 - score)
    assert same == chosen


def test_a_fold_of_one_domain_sees_its_unlabeled_rows(reviews):
    parts = [draw_fold(reviews, 1, fold) for fold in range(5)]
    for labeled, predicted, others in parts:
        assert (len(labeled), len(predicted)) == (64, 16)
        assert set(others) == set(range(200, 240))
    assert sorted(np.concatenate([predicted for _, predicted, _ in parts])) == list(range(120, 200))


def test_gains_are_means_over_all_pairs_beside_the_printed_ones(rng):
    records = [
        {"task": cell.task, "method": cell.method, "k": None, "seed": 0, "scores": {"accuracy": float(rng.random())}}
        for cell in amazon.cells()
        if cell.method in ("LR", "SCL", "DPPCA") and "->" in cell.task
    ]
    mean = {m: np.mean([r["scores"]["accuracy"] for r in records if r["method"] == m]) for m in ("LR", "SCL", "DPPCA")}
    rows = {(row.method, row.score): row for row in rows_of(records, amazon.TABLE) if row.task == amazon.MEAN}
    assert_allclose([rows[m, "accuracy"].mean for m in mean], list(mean.values()))
    assert_allclose(rows["SCL", amazon.GAIN].mean, mean["SCL"] - mean["LR"])
    assert rows["SCL", amazon.GAIN].printed.mean == 0.023
    assert rows["DPPCA", amazon.GAIN].printed is None
    assert not list(amazon.gains(records[1:3]))


def test_wide_projections_have_a_hundred_dimensions():
    assert amazon.classifier("CPPCA alone 100").grid == {"cppca__n_components": [100]}
    assert not amazon.classifier("CPPCA alone 100").augment
    assert amazon.classifier("CPPCA").augment


@pytest.mark.slow
@pytest.mark.realdata
def test_projections_help_from_books_to_electronics(monkeypatch):
    data = amazon.datasets.fetch_amazon()
    often = np.argsort(-np.asarray((data.data > 0).sum(axis=0)).ravel())[:800]
    data.data = data.data[:, np.sort(often)]
    data.labeled = data.labeled.copy()
    monkeypatch.setattr(amazon.datasets, "fetch_amazon", lambda: data)
    monkeypatch.setattr(amazon, "N_LABELED", 800)
    monkeypatch.setattr(amazon, "load", lambda: ((data.data > 0).astype(float).tocsr(), data))
    score = {m: amazon.scores(Cell("books -> electronics", m, None, 0))["accuracy"] for m in ("LR", "SCL", "PPCA")}
    assert score["LR"] > 0.6
    assert score["SCL"] > score["LR"] + 0.01
    assert score["PPCA"] > score["LR"] + 0.01
