"""Models that gnomon fit takes by name alone: kernels, generalized linear models, colored unfolding."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, metrics, refusal, run
from gnomon import KDA, SDRGLM, SEPCA, ColoredMVU
from gnomon.datasets import load_iris, make_partial
from gnomon.export import load_model
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

IRIS = load_iris()
PARTIAL = make_partial(np.array(IRIS.target_names, dtype=object)[IRIS.target], n_per_class=8, random_state=0)
NAMES = ["a", "b", "c", "d"]
RBF = ("--set", "kernel=rbf", "gamma=0.5")
CASES = {
    "sepca": (SEPCA, RBF, {"kernel": "rbf", "gamma": 0.5}),
    "sdr-glm": (SDRGLM, ("--set", "alpha=0.1"), {"alpha": 0.1}),
    "kda": (KDA, RBF, {"kernel": "rbf", "gamma": 0.5}),
    "colored-mvu": (ColoredMVU, ("--set", "n_basis=8"), {"n_basis": 8}),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if "page" not in request.fixturenames:
        monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    columns = {name: IRIS.data[:, j] for j, name in enumerate(NAMES)}
    write_table("t.csv", columns | {"species": PARTIAL})


def fit(model, *more, out="out", compare="--no-compare"):
    if model == "colored-mvu":
        pytest.importorskip("clarabel", reason="the extra gnomon[convex] is not installed")
    return run("fit", "t.csv", "--target", "species", "--model", model, *more, compare, "--out", out)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_is_that_of_the_library_and_serves_new_tables(name):
    cls, words, parameters = CASES[name]
    text = fit(name, *words)
    assert f"{cls.__name__}: 2 components" in text
    Z = cls(2, **parameters).fit(IRIS.data, PARTIAL).transform(IRIS.data)
    assert_allclose(np.array(column("out/projection.csv", "z2"), dtype=float), Z[:, 1], rtol=1e-6, atol=1e-9)
    run("transform", "out", "t.csv", "--out", "z.csv")
    assert column("z.csv", "z1") == column("out/projection.csv", "z1")
    assert "z1_std" not in Path("z.csv").read_text(encoding="utf-8")
    assert metrics()["settings"]["set"] == list(words[1:])
    assert metrics()["log_likelihood_nats"] is None


@pytest.mark.parametrize("name", ["sepca", "sdr-glm", "kda"])
def test_classes_are_predicted_and_holes_of_new_tables_filled(name):
    fit(name)
    run("predict", "out", "t.csv", "--out", "p.csv")
    model = load_model("out/model.gnomon")[-1]
    assert column("p.csv", "predicted") == model.predict(IRIS.data).tolist()
    assert column("out/projection.csv", "predicted") == column("p.csv", "predicted")
    holes = IRIS.data.copy()
    holes[3, 1] = np.nan
    write_table("new.csv", {name: holes[:, j] for j, name in enumerate(NAMES)})
    run("predict", "out", "new.csv", "--out", "new-p.csv")
    assert column("new-p.csv", "predicted")[4:] == column("p.csv", "predicted")[4:]


@pytest.mark.parametrize("name", ["kda", "dppca"])
def test_a_model_without_a_plane_is_watched_by_the_one_that_fills_gaps(name):
    fit(name, "--scale", "standard")
    odd = IRIS.data.copy()
    odd[0, 2] *= 10
    write_table("odd.csv", {name: odd[:, j] for j, name in enumerate(NAMES)})
    run("predict", "out", "odd.csv", "--out", "p.csv")
    plane = load_model("out/model.gnomon")["gaps"].model_
    rows, limits = odd / IRIS.data.std(axis=0), plane.control_limits(0.05)
    for name, values in (("t2", plane.hotelling_t2(rows) / limits.t2), ("spe", plane.spe(rows) / limits.spe)):
        found = np.array(column("p.csv", f"{name}_of_limit"), dtype=float)
        assert_allclose(found, values, rtol=1e-6, atol=1e-9)
        assert (found < 1.0).mean() > 0.9
    assert found[0] > 10


COUNTS = np.rint(20 * IRIS.data[:, 2])  # 43 different even numbers


def test_real_targets_of_counts_have_no_standard_deviations():
    write_table("counts.csv", {name: IRIS.data[:, j] for j, name in enumerate(NAMES)} | {"n": COUNTS})
    run("fit", "counts.csv", "--target", "n", "--model", "sdr-glm", "--set", "families=poisson", "--out", "out")
    run("predict", "out", "counts.csv", "--out", "p.csv")
    found = SDRGLM(2, families="poisson").fit(IRIS.data, COUNTS).predict(IRIS.data)
    assert_allclose(np.array(column("p.csv", "predicted"), dtype=float), found, rtol=1e-6)
    assert "predicted_std" not in Path("p.csv").read_text(encoding="utf-8")
    assert metrics()["comparison"]["rows"][0]["method"] == "SDRGLM"


def test_kda_has_a_direction_less_than_classes():
    labels = np.where(PARTIAL == "virginica", "versicolor", PARTIAL)
    write_table("two.csv", {name: IRIS.data[:, j] for j, name in enumerate(NAMES)} | {"species": labels})
    assert "KDA: 1 component," in run("fit", "two.csv", "--target", "species", "--model", "kda", "--out", "out")


def test_certificates_are_written_and_said():
    text = " ".join(fit("sepca").split())
    model = SEPCA(2).fit(IRIS.data, PARTIAL)
    kept = {name: model.certificate_[name] for name in ("lower", "upper", "gap")}
    assert metrics()["certificate"] == kept
    assert f"within {model.certificate_['gap']:.0e} of the optimum of the relaxation" in text
    assert ("which is not tight" in text) == (not model.relaxation_tight_)


def test_a_model_that_does_not_predict_says_so():
    fit("colored-mvu")
    said = refusal("predict", "out", "t.csv", "--out", "p.csv")
    assert "ColoredMVU does not predict; use gnomon transform" in said


@pytest.mark.parametrize(
    "words, said",
    [
        (("kda", "--set", "kernel"), "--set kernel: NAME=VALUE is wanted"),
        (("kda", "--set", "kernl=rbf"), "kda has no parameter 'kernl'; it has coef0, degree, gamma, kernel"),
        (("sepca", "--set", "random_state=1"), "--set random_state=1: use --seed."),
        (("auto", "--set", "beta=1"), "--set needs a model to set: name one by --model."),
        (("sepca", "--set", "penalty=-1"), "penalty=-1 must be finite and above 0"),
        (("sepca", "--set", "n_landmarks=many"), "n_landmarks='many' must be one of 'auto'"),
    ],
)
def test_bad_settings_are_named(words, said):
    assert said in refusal("fit", "t.csv", "--target", "species", "--model", *words, "--out", "out")


def test_words_of_python_are_values():
    fit("sepca", "--set", "rank_exact=True", "n_landmarks=None", "penalty=0.5")
    model = load_model("out/model.gnomon")[-1]
    assert (model.rank_exact, model.n_landmarks, model.penalty) == (True, None, 0.5)


def test_sdr_glm_takes_empty_cells_and_fills_them():
    holes = IRIS.data.copy()
    holes[::7, 1] = np.nan
    write_table("holes.csv", {name: holes[:, j] for j, name in enumerate(NAMES)} | {"species": PARTIAL})
    run("fit", "holes.csv", "--target", "species", "--model", "sdr-glm", "--no-compare", "--out", "out")
    run("impute", "out", "holes.csv", "--out", "filled.csv")
    filled = SDRGLM(2).fit(holes, PARTIAL).impute(holes)
    assert_allclose(np.array(column("filled.csv", "b"), dtype=float), filled[:, 1], rtol=1e-6)


@pytest.mark.parametrize("name", ["sepca", "kda"])
def test_empty_cells_are_refused_with_the_way_out(name):
    holes = IRIS.data.copy()
    holes[3, 1] = np.nan
    write_table("holes.csv", {name: holes[:, j] for j, name in enumerate(NAMES)} | {"species": PARTIAL})
    said = refusal("fit", "holes.csv", "--target", "species", "--model", name, "--out", "out")
    assert "holes.csv: Input X contains NaN" in said
    assert "gnomon impute" in said


def test_without_the_conic_solver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "clarabel", None)
    said = refusal("fit", "t.csv", "--target", "species", "--model", "colored-mvu", "--out", "out")
    assert "pip install 'gnomon[convex]'" in said


@pytest.fixture
def page():
    """Asked for by tests in which reports are written; reads the one in out."""
    return lambda: Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name, said",
    [
        ("sepca", ["relative gap of these bounds", "relaxation tight", "Best lower bound after each iteration"]),
        ("sdr-glm", ["Objective after each iteration", "SDRGLM.projection_ridge_", "<h2>Loadings</h2>"]),
        ("kda", ["variance of class means along direction 2", "were left out"]),
        ("colored-mvu", ["change of a squared distance of neighbors", "and no matrix has more than"]),
    ],
)
def test_the_report_says_what_the_model_knows(page, name, said):
    fit(name)
    text = page()
    assert [words for words in said if words not in text] == []
    assert "projected from its columns alone" in text
    assert "posterior" not in text.partition("Settings and versions")[0]
    assert ("Predictions for the unlabeled rows" in text) == (name != "colored-mvu")
