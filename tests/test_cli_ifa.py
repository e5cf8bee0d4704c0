"""gnomon fit --model ifa: several targets that are classes, each the class variable of a latent of its own."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, metrics, refusal, run
from gnomon import IFA
from gnomon.export import load_model, write_report
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

NAMES = ["a", "b", "c", "d"]


def planted():
    """Rows of a sex and a kind, and the few of each that are known."""
    rng = np.random.default_rng(4)
    ids = np.column_stack([rng.integers(0, 2, 120), rng.integers(0, 3, 120)])
    Z = rng.normal(size=(120, 4))
    Z[:, :2] += 5.0 * ids
    return Z @ rng.normal(size=(4, 4)) + 10.0, ids, np.where(rng.random(ids.shape) < 0.3, ids, -1)


X, IDS, KNOWN = planted()
SEX, KIND = (np.array(names, dtype=object) for names in (["female", "male"], [3, 5, 8]))


def cells(names, codes):
    return np.array([names[code] if code >= 0 else None for code in codes], dtype=object)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if "page" not in request.fixturenames:
        monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    write_table("t.csv", columns | {"sex": cells(SEX, KNOWN[:, 0]), "kind": cells(KIND, KNOWN[:, 1])})
    write_table("new.csv", columns)


def fit(*more):
    return run("fit", "t.csv", "--target", "sex", "kind", "--model", "ifa", *more, "--out", "out")


@pytest.fixture
def page():
    """Asked for by tests in which reports are written; reads the one in out."""
    return lambda: Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_every_target_is_the_class_variable_of_a_latent(scale):
    text = fit("--scale", scale)
    assert "target sex, kind: 2 classes and 3 classes (text; 3 different whole numbers)" in text
    assert "IFA: 4 components" in text
    assert re.search("column 'sex': (The labels|It cannot be told).*: IFA errs on", " ".join(text.split()))
    own = IFA(random_state=0).fit(X if scale == "none" else X / X.std(axis=0), KNOWN)
    Z = own.transform(X if scale == "none" else X / X.std(axis=0))
    for j in range(4):
        assert_allclose(np.array(column("out/projection.csv", f"z{j + 1}"), dtype=float), Z[:, j], atol=1e-6)
    run("predict", "out", "new.csv", "--out", "p.csv")
    assert np.mean(np.array(column("p.csv", "predicted_sex")) == SEX[IDS[:, 0]]) > 0.95
    assert np.mean(np.array(column("p.csv", "predicted_kind"), dtype=int) == KIND[IDS[:, 1]].astype(int)) > 0.95
    shares = [np.array(column("p.csv", f"p_kind_{label}"), dtype=float) for label in KIND]
    assert_allclose(np.sum(shares, axis=0), 1.0)
    assert column("out/projection.csv", "predicted_sex") == column("p.csv", "predicted_sex")
    found = metrics()
    assert found["classes"] == [["female", "male"], [3, 5, 8]]
    assert found["n_labeled"] == int((KNOWN >= 0).any(axis=1).sum())
    assert found["settings"]["target_kind"] == "classes"


def test_one_target_is_compared_and_predicted_by_name():
    text = run(
        "fit", "t.csv", "--target", "kind", "--drop", "sex", "--model", "ifa", "--set", "tied=True", "--out", "out"
    )
    assert "error of own predictions" in text
    assert metrics()["comparison"]["rows"][0]["method"] == "IFA"
    run("predict", "out", "new.csv", "--out", "p.csv")
    assert np.mean(np.array(column("p.csv", "predicted"), dtype=int) == KIND[IDS[:, 1]].astype(int)) > 0.95
    assert len(load_model("out/model.gnomon")[-1].mix_weights_) == 2


def test_components_are_principal_components():
    fit("--components", 3)
    assert load_model("out/model.gnomon")[-1].pca_components == 3
    assert "--set pca_components=2: use --components." in refusal(
        "fit", "t.csv", "--target", "sex", "--model", "ifa", "--set", "pca_components=2", "--out", "other"
    )


def test_holes_of_new_tables_are_filled_before():
    fit()
    holes = X.copy()
    holes[3, 1] = np.nan
    write_table("holes.csv", {name: holes[:, j] for j, name in enumerate(NAMES)})
    run("predict", "out", "holes.csv", "--out", "p.csv")
    run("predict", "out", "new.csv", "--out", "q.csv")
    assert column("p.csv", "predicted_kind")[4:] == column("q.csv", "predicted_kind")[4:]


def test_what_is_no_class_is_refused():
    write_table("r.csv", {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": SEX[IDS[:, 0]], "size": X[:, 3]})
    said = refusal("fit", "r.csv", "--target", "sex", "size", "--model", "ifa", "--out", "out")
    assert "r.csv: Unknown label type: column 'size' holds real numbers; IFA takes class labels" in said
    write_table("one.csv", {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": SEX[IDS[:, 0]], "kind": [7] * 120})
    said = refusal("fit", "one.csv", "--target", "sex", "kind", "--model", "ifa", "--out", "out")
    assert "column 'kind': only the value 7 in 120 labeled rows" in said


def test_the_report_has_every_class_variable(page):
    fit()
    text = page()
    n = int((KNOWN >= 0).any(axis=1).sum())
    assert f"{n} of them with a class of sex, kind." in text
    assert "<h3>sex</h3>" in text
    assert "<h3>kind</h3>" in text
    start = text.index("<h2>Predictions for the unlabeled rows</h2>")
    assert re.findall("<h3>(.*?)</h3>", text[start : text.index("<h2>", start + 4)]) == ["sex", "kind"]
    assert "projected from its columns alone" in text
    assert "Log-likelihood after each iteration" in text
    assert "<h2>Loadings</h2>" in text
    assert "posterior" not in text.partition("Settings and versions")[0]
    model = load_model("out/model.gnomon")[-1]
    assert f"{model.mix_weights_[1][2]:.3g}"[:4] in text
    assert "noise variance" not in text


def test_the_report_needs_no_names_and_no_labels(tmp_path):
    model = IFA().fit(X, KNOWN)
    text = write_report(tmp_path / "r.html", estimator=model, X=X, y=KNOWN, y_true=IDS).read_text(encoding="utf-8")
    assert "with a class of y0, y1." in text
    assert text.count("of the predictions agree with the hidden truth") == 2
    plain = write_report(tmp_path / "s.html", estimator=IFA().fit(X), X=X).read_text(encoding="utf-8")
    assert "without labels" in plain
