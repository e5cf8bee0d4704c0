"""Figures 2 to 8 of the semi-supervised IFA paper: what is drawn, and where it is written."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import IFA
from gnomon.experiments import ssifa_figures as figures
from gnomon.experiments import ssifa_table2 as table

QUICK = {"shares": (0, 50), "n_draws": 3, "n_gem": 1}


def test_panels_show_every_row_once_and_the_latents_of_the_fit():
    X, Y, classes = table.load("iris")
    found, drawn_classes, labeled = figures.projections("iris", 10, random_state=3)
    assert_array_equal(drawn_classes, classes)
    assert labeled.sum() == 15
    model = IFA(3, init="labels", random_state=3).fit(X, np.where(labeled[:, None], Y, -1))
    assert_allclose(found["IFA, 10 % labeled"], model.transform(X)[:, :2])
    axes = figures.draw_projections("iris", 10, random_state=3).axes
    assert [ax.get_title() for ax in axes] == list(found)
    for ax, Z in zip(axes, found.values(), strict=True):
        points = np.vstack([dots.get_offsets() for dots in ax.collections])
        assert_allclose(np.sort(points, axis=0), np.sort(Z, axis=0))
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]


def test_boxes_are_those_of_the_draws():
    (ax,) = figures.draw_rates("iris", shares=(0, 50), n_draws=3).axes
    medians = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1 and line.get_color() == "C1"]
    want = [
        100 * np.median(table.detection_rates("iris", share, methods=(method,), n_draws=3)[method])
        for share, method in ((0, "IFA matched"), (50, "IFA"))
    ]
    assert_allclose(medians, want)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pictures_are_written_as_they_are_made(tmp_path):
    names = ["ssifa-figure5-iris.png", "ssifa-figure6a-iris.png", "ssifa-figure6b-iris.png"]
    made = figures.reproduce(tmp_path, figures=("figure5", "figure6a", "figure6b"), **QUICK)
    for one, name in zip(made, names, strict=True):
        assert one["file"] == str(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_seconds_are_drawn_for_each_solver():
    (ax,) = figures.draw_seconds("iris", shares=(20, 50), n_gem=1).axes
    gem, natural, default = ax.lines
    assert [gem.get_label(), default.get_label()] == ["GEM, 1 starts", "default solver"]
    assert natural.get_label() == "GEM by the natural gradient, 1 starts"
    assert ax.get_yscale() == "log"
    assert list(gem.get_xdata()) == [20, 50]


@pytest.mark.realdata
def test_every_figure_of_the_paper_has_a_picture_of_its_data():
    assert [name.rstrip("ab") for name in figures.FIGURES] == [f"figure{i}" for i in (2, 3, 4, 5, 6, 6, 7, 8, 8)]
    assert len(figures.draw_rates("crabs", shares=(20,), n_draws=2).axes) == 2
    axes = figures.draw_projections("yaleb5", 40).axes
    assert sum(len(dots.get_offsets()) for dots in axes[1].collections) == len(table.load("yaleb5")[2])
