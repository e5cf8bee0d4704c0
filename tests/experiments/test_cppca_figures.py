"""Figures 1 to 4 of the CPPCA paper: which cells they need, and what is drawn of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.experiments import amazon
from gnomon.experiments import cppca_figures as figures


@pytest.fixture
def accuracy(rng):
    return {(cell.task, cell.method): float(rng.uniform(0.7, 0.9)) for cell in figures.wanted()}


def test_the_cells_are_all_pairs_of_both_kinds_and_the_domains_alone():
    cells = figures.wanted()
    assert len({cell.task for cell in cells if "->" in cell.task}) == 12
    assert {cell.method for cell in cells if "->" in cell.task} == {*figures.ALONE, *figures.BESIDE}
    assert {(cell.task, cell.method) for cell in cells if "->" not in cell.task} == {
        (f"{name} in domain", "LR") for name in amazon.NAMES
    }
    assert sorted(figures.FIGURES["figure1"][0] + figures.FIGURES["figure2"][0]) == sorted(figures.PAIRS)


def test_bars_and_lines_are_the_accuracies(accuracy):
    for name, (pairs, methods) in figures.FIGURES.items():
        (ax,) = figures.draw_figure(name, accuracy).axes
        heights = [[bar.get_height() for bar in group] for group in ax.containers]
        assert_allclose(heights, [[accuracy[pair, method] for pair in pairs] for method in methods])
        lines = [line.get_ydata()[0] for line in ax.lines]
        assert_allclose(lines, [accuracy[f"{pair.partition(' -> ')[2]} in domain", "LR"] for pair in pairs])


def test_a_pair_that_is_not_finished_keeps_its_place(accuracy):
    pairs, _ = figures.FIGURES["figure1"]
    (ax,) = figures.draw_figure("figure1", {key: one for key, one in accuracy.items() if key[0] == pairs[0]}).axes
    assert ax.get_xlim() == (-0.5, len(pairs) - 0.5)


def test_pictures_and_means_are_of_finished_cells(accuracy, tmp_path, monkeypatch):
    records = [
        {**cell._asdict(), "scores": {"accuracy": accuracy[cell.task, cell.method] + 0.01 * cell.seed}}
        for cell in figures.wanted()
    ]
    records.append({"task": "books -> dvd", "method": "SCL", "k": None, "seed": 1, "error": "ValueError: no"})
    monkeypatch.setattr(figures, "run_cells", lambda name, cells, file, n_jobs: records)
    made = list(figures.reproduce(tmp_path))
    assert [(tmp_path / f"cppca-figure{i}.png").exists() for i in (1, 2, 3, 4)] == [True] * 4
    pairs = figures.FIGURES["figure3"][0]
    assert_allclose(made[2]["accuracy"]["SCL"], np.mean([accuracy[pair, "SCL"] for pair in pairs]))
    assert_allclose(figures.means(records)["books in domain", "LR"], accuracy["books in domain", "LR"] + 0.02)
    assert figures.format_table(made).count("cppca-figure") == 4
