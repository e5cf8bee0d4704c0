"""Several targets of their own kinds: gnomon fit --model cppca for classes and numbers, dppca for classes."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, metrics, refusal, run
from gnomon import CPPCA, DPPCA
from gnomon.describe import describe
from gnomon.export import write_report
from gnomon.plotting import ProjectionDisplay
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

N, NAMES = 150, ["a", "b", "c", "d", "e"]
SEX, KIND = np.array(["female", "male"], dtype=object), np.array([3, 5, 8], dtype=object)


def planted():
    """Rows of a sex, a kind and a size, and the values of each that are known."""
    rng = np.random.default_rng(4)
    sex, kind, size = rng.integers(0, 2, N), rng.integers(0, 3, N), rng.normal(50.0, 7.0, N)
    Z = np.column_stack([4.0 * sex, 4.0 * (kind == 1), 4.0 * (kind == 2), size / 3.0])
    X = Z @ rng.normal(size=(4, 5)) + 0.3 * rng.normal(size=(N, 5))
    known = rng.random((N, 3)) < 0.4
    truth = np.empty((N, 3), dtype=object)
    truth[:, 0], truth[:, 1], truth[:, 2] = SEX[sex], KIND[kind], size.round(3)
    return X, truth, np.where(known, truth, None)


X, TRUTH, Y = planted()
CODES = np.where(Y[:, 0] == "male", 1, np.where(Y[:, 0] == "female", 0, -1))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if "page" not in request.fixturenames:
        monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    targets = {name: Y[:, j] for j, name in enumerate(("sex", "kind", "size"))}
    write_table("t.csv", columns | targets | {"tall": np.where(TRUTH[:, 2] > 50, "yes", "no")})
    write_table("new.csv", columns)


@pytest.fixture
def page():
    """Asked for by tests in which reports are written; reads the one in out."""
    return lambda: Path("out/report.html").read_text(encoding="utf-8")


MIXED = ("fit", "t.csv", "--target", "sex", "kind", "size", "--drop", "tall", "--model", "cppca")


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_classes_and_numbers_guide_one_projection(scale):
    text = run(*MIXED, "--scale", scale, "--out", "out")
    reasons = "text; 3 different whole numbers; numbers with fractions"
    assert f"target sex, kind, size: 2 classes and 3 classes and numbers ({reasons})" in " ".join(text.split())
    assert "CPPCA: 4 components" in text  # one for the sex, two for three kinds, one for the size
    assert "The predictions of CPPCA itself" in " ".join(text.split())
    rows = X if scale == "none" else X / X.std(axis=0)
    own = CPPCA(4, random_state=0).fit(rows, Y)
    run("predict", "out", "new.csv", "--out", "p.csv")
    predicted, shares = own.predict(rows), own.predict_proba(rows)
    assert column("p.csv", "predicted_sex") == predicted[:, 0].tolist()
    assert column("p.csv", "predicted_kind") == [str(kind) for kind in predicted[:, 1]]
    assert_allclose(np.array(column("p.csv", "predicted_size"), dtype=float), predicted[:, 2].astype(float), rtol=1e-6)
    assert_allclose(np.array(column("p.csv", "p_kind_5"), dtype=float), shares[1][:, 1], atol=1e-6)
    std = own.predict(rows, return_std=True)[1][:, 2]
    assert_allclose(np.array(column("p.csv", "predicted_size_std"), dtype=float), std, rtol=1e-5)
    assert np.mean(predicted[:, 0] == TRUTH[:, 0]) > 0.9
    assert column("out/projection.csv", "predicted_size") == column("p.csv", "predicted_size")


def test_metrics_say_what_each_target_is():
    run(*MIXED, "--no-compare", "--out", "out")
    found = metrics()
    assert found["classes"] == [["female", "male"], [3, 5, 8], None]
    assert found["settings"]["target_kind"] == "mixed"
    assert found["n_labeled"] == int(np.not_equal(Y, None).any(axis=1).sum())
    assert found["y_noise_variance"][:2] == [None, None]
    assert found["y_noise_variance"][2] > 0


def test_the_report_has_every_target(page):
    run(*MIXED, "--out", "out")
    text = page()
    assert "with a value of sex, kind, size" in text
    start = text.index("<h2>Predictions for the unlabeled rows</h2>")
    assert re.findall("<h3>(.*?)</h3>", text[start : text.index("<h2>", start + 4)])[:3] == ["sex", "kind", "size"]
    assert text.count('alt="Scatter plot of 150 rows') == 3
    assert "noise variance of size" in text
    assert "noise variance of sex" not in text
    assert text.count("± std") == 1


def test_targets_that_are_all_numbers_stay_real():
    numbers = ("--target", "size", "a", "--drop", "sex", "kind", "tall")
    text = run("fit", "t.csv", *numbers, "--model", "cppca", "--no-compare", "--out", "o")
    assert "2 real targets" in text


def test_several_labels_are_one_projection():
    labels = ("--target", "sex", "tall", "--drop", "kind", "size")
    text = run("fit", "t.csv", *labels, "--model", "dppca", "--no-compare", "--out", "out")
    assert "target sex, tall: 2 columns of 2 classes (text); 150 of 150 rows labeled" in text
    own = DPPCA(2).fit(X, np.column_stack([CODES, TRUTH[:, 2] > 50]))
    run("predict", "out", "new.csv", "--out", "p.csv")
    assert_allclose(np.array(column("p.csv", "p_sex_male"), dtype=float), own.predict_proba(X)[0][:, 1], atol=1e-6)
    assert_allclose(np.array(column("p.csv", "p_sex_female"), dtype=float), own.predict_proba(X)[0][:, 0], atol=1e-6)
    assert column("p.csv", "predicted_tall") == np.where(own.predict(X)[:, 1], "yes", "no").tolist()


def test_the_report_of_several_labels(page, tmp_path):
    table = np.column_stack([Y[:, 0], np.where(CODES < 0, None, np.where(TRUTH[:, 2] > 50, "tall", "short"))])
    model = DPPCA(2).fit(X, table)
    write_report("own.html", estimator=model, X=X, y=table)
    text = Path("own.html").read_text(encoding="utf-8")
    assert f"{int((CODES >= 0).sum())} of them with a class of " in text
    assert "Predictions for the unlabeled rows" in text
    assert "female" in text
    assert "short" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sex", "size", "--model", "dppca"), "column 'size' holds real numbers; DPPCA takes class labels"),
        (("sex", "size", "--model", "sppca"), "column 'sex' holds '{}', which is not a number, in row "),
        (("sex", "size", "--model", "cppca", "--target-kind", "real"), "which is not a number"),
        (("sex", "same", "--model", "cppca"), "column 'same': only the value 7 in 150 labeled rows"),
        (("sex", "none", "--model", "cppca"), "column 'none': no value at all"),
    ],
)
def test_what_does_not_fit_is_refused(words, message):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    targets = {"sex": Y[:, 0], "kind": Y[:, 1], "size": Y[:, 2], "same": [7] * N, "none": [None] * N}
    write_table("bad.csv", columns | {name: targets[name] for name in words[:2]})
    said = refusal("fit", "bad.csv", "--target", *words, "--out", "out")
    assert message.format(next(value for value in Y[:, 0] if value)) in said
    assert not Path("out").exists()


def test_every_target_is_read_as_if_it_were_the_only_one():
    model = CPPCA(4).fit(X, Y)
    said = describe(model)
    sex, kind, size = said.targets
    assert (sex.kind, size.kind) == ("classes", "real")
    assert kind.classes.tolist() == [3, 5, 8]
    assert kind.given(Y).tolist() == Y[:, 1].tolist()
    assert_allclose(size.values(Y), [np.nan if value is None else value for value in Y[:, 2]])
    assert_allclose(said.predict(X)[2].values, model.predict(X)[:, 2].astype(float))
    Z, cov = said.project(X)
    assert_allclose(Z, model.transform(X))
    assert cov.shape == (N, 4, 4)
    assert said.labeled(Y, N).tolist() == np.not_equal(Y, None).any(axis=1).tolist()
    display = ProjectionDisplay.from_estimator(model, X, Y, output=2, target_name="size")
    assert display.class_names is None
    assert display.labeled.tolist() == np.not_equal(Y[:, 2], None).tolist()


def test_counts_are_read_as_numbers():
    counts = np.random.default_rng(0).poisson(3.0, N).astype(float)
    said = describe(CPPCA(2, families="poisson").fit(X, counts))
    (only,) = said.targets
    assert_allclose(only.values(counts), counts)
    assert said.predict(X)[0].values.shape == (N,)


def test_rows_unlike_those_of_the_fit_are_named():
    names = {name: X[:, j] for j, name in enumerate(NAMES)}
    write_table("t.csv", names | {"kind": Y[:, 1]})
    run("fit", "t.csv", "--target", "kind", "--no-compare", "--out", "out")
    write_table("new.csv", {name: np.append(values[:20], 30.0 * values[20]) for name, values in names.items()})
    said = run("predict", "out", "new.csv", "--out", "p.csv")
    assert "row is unlike those of the fit (typicality below 0.01): 21" in said
    typicality = np.array(column("p.csv", "typicality"), dtype=float)
    assert np.flatnonzero(typicality < 0.01).tolist() == [20]
    run("transform", "out", "new.csv", "--out", "z.csv")
    assert_allclose(np.array(column("z.csv", "typicality"), dtype=float), typicality)
    run("fit", "t.csv", "--target", "kind", "--model", "sppca", "--no-compare", "--out", "plain")
    assert "unlike" not in run("predict", "plain", "new.csv", "--out", "q.csv")
    assert "typicality" not in Path("q.csv").read_text(encoding="utf-8")
