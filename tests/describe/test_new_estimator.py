"""An estimator that fills `describe` and `traits` is drawn, reported, stored and fitted by name, and that is all."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris

import gnomon
from commands import column, metrics, run
from gnomon.describe import Description, Fit, Prediction, Projection, Target, Traits, models
from gnomon.export import load_model, save_model, write_report
from gnomon.plotting import ConvergenceDisplay, LoadingsDisplay, ProjectionDisplay
from gnomon.tables import write_table

X, SPECIES = load_iris(return_X_y=True)
Y = np.where(np.arange(150) % 3 == 0, np.array(["a", "b", "c"], dtype=object)[SPECIES], None)
METHODS = ("predict", "predict_proba", "transform")
OUTER = ("_cli", "export", "plotting", "selection", "tables")


class FirstColumns(TransformerMixin, BaseEstimator):
    """The first columns, and the class whose mean in them is nearest."""

    traits = Traits("first-columns")

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        known = np.array([label is not None for label in y])
        self.classes_ = np.unique(y[known].astype(str))
        self.centers_ = np.array([self.transform(X)[y == label].mean(axis=0) for label in self.classes_])
        self.n_labeled_ = int(known.sum())
        return self

    def transform(self, X):
        return X[:, : self.n_components]

    def predict_proba(self, X):
        near = np.exp(-((self.transform(X)[:, None] - self.centers_) ** 2).sum(axis=2))
        return near / near.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def describe(self):
        return Description(
            model="FirstColumns",
            parameters=self.get_params(),
            n_features=self.n_features_in_,
            n_components=self.n_components,
            project=lambda X: Projection(self.transform(X)),
            targets=(Target("classes", self.classes_),),
            n_labeled=self.n_labeled_,
            predict=lambda X: (Prediction(self.predict(X), self.predict_proba(X)),),
            loadings=np.eye(self.n_components, self.n_features_in_),
            fit=Fit(solver="by hand", converged=True, n_iter=2, path=np.array([-2.0, -1.0]), facts=(("luck", 0.5),)),
        )


@pytest.fixture(autouse=True)
def registered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gnomon, "FirstColumns", FirstColumns, raising=False)
    monkeypatch.setattr(gnomon, "__all__", [*gnomon.__all__, "FirstColumns"])


def test_plots_report_and_file():
    model = FirstColumns().fit(X, Y)
    assert ProjectionDisplay.from_estimator(model, X, Y).class_names == ["a", "b", "c"]
    assert LoadingsDisplay.from_estimator(model).loadings.shape == (2, 4)
    assert ConvergenceDisplay.from_estimator(model).path.tolist() == [-2.0, -1.0]
    text = write_report("r.html", estimator=model, X=X, y=Y).read_text(encoding="utf-8")
    assert "150 rows of 4 columns in 2 components, by FirstColumns; 50 of them with a label" in text
    assert "Predictions for the unlabeled rows" in text
    assert "luck" in text
    save_model(model, "m.gnomon")
    assert load_model("m.gnomon").predict(X).tolist() == model.predict(X).tolist()


def test_command_line():
    assert models(gnomon)["first-columns"] is FirstColumns
    write_table("t.csv", {name: X[:, j] for j, name in enumerate("pqrs")} | {"kind": Y})
    text = run("fit", "t.csv", "--target", "kind", "--model", "first-columns", "--components", 3, "--out", "out")
    assert "FirstColumns: 3 components, scale none; solver by hand, converged" in text
    assert metrics()["settings"]["model"] == "firstcolumns"
    run("predict", "out", "t.csv", "--out", "p.csv")
    assert column("p.csv", "predicted") == FirstColumns(3).fit(X, Y).predict(X).tolist()


def outer_files():
    package = Path(gnomon.__file__).parent
    yield package / "cli.py"
    for folder in OUTER:
        yield from sorted((package / folder).glob("*.py"))


def probes(tree, names):
    """Lines that ask a model for an attribute, or compare something with the name of a model."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
            attribute = node.args[1]
            if isinstance(attribute, ast.Constant) and (attribute.value.endswith("_") or attribute.value in METHODS):
                yield node.lineno
        if isinstance(node, ast.Compare):
            words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if words & names:
                yield node.lineno


def test_nothing_outside_describe_probes_a_model_or_compares_its_name():
    names = {name for name in gnomon.__all__ if name[0].isupper()} | set(models(gnomon))
    found = []
    for file in outer_files():
        found += [f"{file.name}:{line}" for line in probes(ast.parse(file.read_text(encoding="utf-8")), names)]
    assert found == []


def test_selection_asks_no_model_for_an_attribute():
    """Tags say what any estimator does, and `describe` what else there is to know."""
    for file in sorted((Path(gnomon.__file__).parent / "selection").glob("*.py")):
        calls = [
            node.func for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        ]
        asked = {func.id for func in calls if isinstance(func, ast.Name)}
        assert not asked & {"hasattr", "getattr"}, file.name


def test_a_probe_would_be_found():
    names = {"KDA", "kda"}
    for line in (
        'hasattr(model, "classes_")',
        'getattr(m, "predict", None)',
        'type(m).__name__ == "KDA"',
        'x in ("kda",)',
    ):
        assert list(probes(ast.parse(line), names)) == [1]
    assert not list(probes(ast.parse('hasattr(X, "columns")\nmodel == "auto"'), names))
