"""ONNX graphs say what the models say, in a process that has neither gnomon nor scikit-learn."""

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from gnomon import CPPCA, DPPCA, IFA, KDA, PPCA, SCL, SDRGLM, SEPCA, SPPCA, GuidedProjection
from gnomon.datasets import fetch_corn, load_breast_cancer, load_diabetes, load_digits, load_wine, make_partial
from gnomon.export import Columns, GapFiller, load_model, save_model, to_onnx
from gnomon.export._onnx_classes import mean_softmax, probit
from gnomon.export._onnx_graph import Graph

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

WINE, CANCER, DIGITS, DIABETES = load_wine(), load_breast_cancer(), load_digits(), load_diabetes()
CULTIVARS = np.array(["ancellotta", "barbera", "croatina"])[WINE.target]
ACCURACY = 1e-5  # of the largest value of an output


def few(y, n_per_class=5):
    return make_partial(y, n_per_class=n_per_class, random_state=0)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def of_wine(model, y=None):
    return lambda: (model.fit(WINE.data, few(CULTIVARS) if y is None else y), WINE.data)


def of_cancer(**parameters):
    return lambda: (scaled(CPPCA(3, **parameters)).fit(CANCER.data, few(CANCER.target)), CANCER.data)


def of_numbers(model, y=DIABETES.target + 0.5):
    return lambda: (model.fit(DIABETES.data, y), DIABETES.data)


TWO = np.column_stack([DIABETES.target, DIABETES.data[:, 0]])
COUNTS = np.round(DIABETES.target / 50)
WIDE = np.hstack([WINE.data[:30], WINE.data[30:60] ** 2, WINE.data[60:90] ** 3])
COUNTED = np.floor(3 * WINE.data / WINE.data.max(axis=0))
MODELS = {
    "ppca": lambda: (PPCA(3).fit(WINE.data), WINE.data),
    "sppca text": of_wine(scaled(SPPCA(2))),
    "sppca unequal classes": of_wine(scaled(SPPCA(2)), np.where(np.arange(178) < 40, CULTIVARS, few(CULTIVARS, 2))),
    "sppca private": of_wine(scaled(SPPCA(2, n_private=1))),
    "sppca float32": lambda: (SPPCA(2).fit(WINE.data.astype(np.float32), few(WINE.target)), WINE.data),
    "sppca number": of_numbers(SPPCA(2)),
    "sppca numbers": of_numbers(scaled(SPPCA(2)), TWO),
    "sppca dependent numbers": of_wine(scaled(SPPCA(2)), np.eye(3)[WINE.target]),
    "sppca no targets": of_wine(scaled(SPPCA(2)), np.full(178, np.nan)),
    "cppca classes": of_wine(scaled(CPPCA(2))),
    "cppca classes alone": of_wine(scaled(CPPCA(2, uncertainty="plug-in"))),
    "cppca ten classes": lambda: (CPPCA(5).fit(DIGITS.data, few(DIGITS.target)), DIGITS.data),
    "cppca one class": of_wine(scaled(CPPCA(2)), np.where(np.arange(178) < 9, "a", None).astype(object)),
    "cppca logit": of_cancer(),
    "cppca logit alone": of_cancer(uncertainty="plug-in"),
    "cppca probit": of_cancer(families="probit"),
    "cppca probit alone": of_cancer(families="probit", uncertainty="plug-in"),
    "cppca number": of_numbers(CPPCA(2)),
    "cppca counts": of_numbers(CPPCA(2, families="poisson"), COUNTS),
    "cppca numbers and counts": of_numbers(
        scaled(CPPCA(2, families=["gaussian", "poisson"])), np.column_stack([DIABETES.target, COUNTS])
    ),
    "dppca": of_wine(scaled(DPPCA(2))),
    "dppca alone": of_wine(scaled(DPPCA(2, uncertainty="plug-in"))),
    "dppca one label": of_wine(scaled(DPPCA(2)), few(WINE.target, 1)),
    "dppca ten classes": lambda: (DPPCA(5).fit(DIGITS.data, few(DIGITS.target)), DIGITS.data),
    "sepca": of_wine(scaled(SEPCA(2))),
    "sepca alone": of_wine(scaled(SEPCA(2, uncertainty="plug-in", projection_ridge="pinv"))),
    "sepca wide": lambda: (SEPCA(2, n_landmarks=20).fit(WIDE, few(WINE.target[:30], 3)), WIDE),
    "sepca no labels": lambda: (SEPCA(2).fit(WINE.data), WINE.data),
    "sdrglm classes": of_wine(scaled(SDRGLM(2))),
    "sdrglm classes alone": of_wine(SDRGLM(2, uncertainty="plug-in", projection_ridge=0.5)),
    "sdrglm two classes": lambda: (scaled(SDRGLM(3)).fit(CANCER.data, few(CANCER.target)), CANCER.data),
    "sdrglm one class": of_wine(scaled(SDRGLM(2)), np.where(np.arange(178) < 9, "a", None).astype(object)),
    "sdrglm number": of_numbers(SDRGLM(2)),
    "sdrglm numbers": of_numbers(scaled(SDRGLM(2)), TWO),
    "sdrglm counts": of_numbers(SDRGLM(2, families="poisson"), COUNTS),
    "sdrglm no labels": lambda: (SDRGLM(2).fit(WINE.data), WINE.data),
    "ifa": of_wine(IFA(random_state=0, n_init=1)),
    "ifa alone": of_wine(scaled(IFA(uncertainty="plug-in", n_init=1))),
    "ifa tied": of_wine(scaled(IFA(tied=True, n_init=1))),
    "ifa rare": of_wine(
        scaled(IFA(tied=True, n_init=1)), np.where(np.arange(178) % 9 < 8 * (WINE.target > 0), -1, WINE.target)
    ),
    "ifa no labels": lambda: (IFA([2, 2], pca_components=4, n_init=1).fit(WINE.data), WINE.data),
    "scl": lambda: (SCL(2, n_pivots=5).fit(COUNTED, domain=WINE.target > 0), COUNTED),
    "scl augmented": lambda: (SCL(2, n_pivots=5, augment=True).fit(COUNTED, domain=WINE.target > 0), COUNTED),
    "range": of_wine(make_pipeline(MinMaxScaler(), DPPCA(2))),
    "clipped range": lambda: (of_wine(make_pipeline(MinMaxScaler(clip=True), SPPCA(2)))()[0], 1.2 * WINE.data),
    "sppca clipped": of_numbers(make_pipeline(MinMaxScaler(clip=True), SPPCA(2))),
    "largest": of_wine(make_pipeline(MaxAbsScaler(), SPPCA(2))),
    "robust": of_wine(make_pipeline(RobustScaler(unit_variance=True), SPPCA(2))),
    "unscaled": of_wine(make_pipeline(StandardScaler(with_std=False), SPPCA(2))),
    "l2": of_wine(make_pipeline(Normalizer(), SPPCA(2))),
    "l1": of_wine(make_pipeline(Normalizer("l1"), SPPCA(2))),
    "max": of_wine(make_pipeline(Normalizer("max"), "passthrough", SPPCA(2))),
}


@cache
def fitted(name):
    """A model and rows."""
    return MODELS[name]()


def session_of(graph):
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def answers(model, X):
    """What a runtime gives of the graph of a model, by the name of the output."""
    session = session_of(to_onnx(model))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X.astype(np.float32)}), strict=True))


def said(model, X):
    """The same by the model itself."""
    last, rows = (model[-1], model[:-1].transform(X)) if hasattr(model, "steps") else (model, X)
    found = {"transform": model.transform(X)}
    if hasattr(last, "posterior"):
        variances = np.diagonal(last.posterior(rows, uncertainty="plug-in")[1], axis1=-2, axis2=-1)
        found["variance"] = np.broadcast_to(variances, found["transform"].shape)
    return found | predictions(model, X, getattr(last, "target_kind_", "none"))


def predictions(model, X, kind):
    if kind == "classes":
        return {"probabilities": model.predict_proba(X), "labels": model.predict(X)}
    return {} if kind == "none" else {"predict": model.predict(X)}


def assert_alike(found, wanted):
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        assert found[name].shape == values.shape
        if name == "labels":
            assert_array_equal(found[name], values)
        else:
            assert found[name].dtype == np.float32
            assert_allclose(found[name], values, rtol=0, atol=ACCURACY * np.abs(values).max())


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_says_what_the_model_says(name):
    model, X = fitted(name)
    X = X.astype(np.float32).astype(np.float64)
    assert_alike(answers(model, X), said(model, X))


UNITS = {
    "far from zero": (1.0, 1e4),
    "small": (1e-6, 0.0),
    "small and far from zero": (1e-6, 1e-3),
    "large and far from zero": (1e6, 1e8),
    "all different": (10.0 ** np.linspace(-6, 6, 13), 0.0),
}
IN_ANY_UNIT = {
    "ppca": (PPCA(3), None),
    "sppca": (SPPCA(2), few(CULTIVARS)),
    "sppca numbers": (
        SPPCA(2),
        np.where(few(WINE.target) < 0, np.nan, WINE.data[:, 0])[:, None] * [1.0, 1e-5] + [0.0, 3e3],
    ),
    "cppca": (CPPCA(2), few(CULTIVARS)),
    "cppca counts": (CPPCA(2, families="poisson"), np.round(WINE.data[:, 3] / 5)),
    "dppca": (DPPCA(2), few(CULTIVARS)),
    "sepca": (SEPCA(2), few(CULTIVARS)),
    "sdrglm": (SDRGLM(2), few(CULTIVARS)),
    "ifa": (IFA(n_init=1), few(CULTIVARS)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", IN_ANY_UNIT)
def test_columns_in_any_unit(name, unit, scale):
    model, y = IN_ANY_UNIT[name]
    factor, shift = UNITS[unit]
    X = ((WINE.data - WINE.data.mean(axis=0)) / WINE.data.std(axis=0) * factor + shift).astype(np.float32)
    model = (scaled(clone(model)) if scale else clone(model)).fit(X.astype(float), y)
    found, wanted = answers(model, X), said(model, X.astype(float))
    assert_alike(found, wanted)
    for output in set(wanted) - {"labels"}:  # every column by itself, in its own unit
        table, given = (np.asarray(one, dtype=float).reshape(len(X), -1) for one in (found[output], wanted[output]))
        assert (np.abs(table - given).max(axis=0) <= ACCURACY * np.abs(given).max(axis=0)).all()


@pytest.mark.parametrize(
    "name", ["sppca text", "cppca classes", "cppca logit", "cppca probit", "dppca", "sepca", "sdrglm classes", "ifa"]
)
def test_far_rows(name):
    model, X = fitted(name)
    far = (X.mean(axis=0) + 30 * (X - X.mean(axis=0))).astype(np.float32).astype(np.float64)
    assert_alike(answers(model, far), said(model, far))


@pytest.mark.realdata
def test_spectra(data_dir):
    corn = fetch_corn()
    X, y = corn.data.astype(np.float32).astype(np.float64), np.asarray(corn.target, dtype=float)
    y[20:] = np.nan
    model = make_pipeline(StandardScaler(with_std=False), SPPCA(5)).fit(X, y)
    assert_alike(answers(model, X), said(model, X))


ALONE = """
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
names = [output.name for output in session.get_outputs()]
found = session.run(names, {"X": numpy.load(sys.argv[2])})
numpy.savez(sys.argv[3], **{n: v.astype(str) if v.dtype == object else v for n, v in zip(names, found)})
assert not {"gnomon", "sklearn", "scipy", "onnx"} & set(sys.modules)
"""


def test_a_process_with_a_runtime_and_numpy_alone(tmp_path):
    model, X = fitted("dppca")
    X = X.astype(np.float32)
    onnx.save(to_onnx(model), tmp_path / "model.onnx")
    np.save(tmp_path / "X.npy", X)
    files = [str(tmp_path / name) for name in ("model.onnx", "X.npy", "found.npz")]
    subprocess.run([sys.executable, "-I", "-c", ALONE, *files], check=True, timeout=120)
    with np.load(tmp_path / "found.npz") as found:
        assert_alike(dict(found), said(model, X.astype(np.float64)))


@pytest.mark.parametrize("name", ["ppca", "sppca number", "cppca counts", "sppca clipped"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_has_no_answer(name, bad):
    model, X = fitted(name)
    X = X[:3].copy()
    X[1, 2] = bad
    for values in answers(model, X).values():
        assert np.isnan(values[1]).all()
        assert np.isfinite(values[[0, 2]]).all()


@pytest.mark.parametrize("name", ["sppca text", "cppca logit", "cppca probit", "dppca", "clipped range"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_has_no_class(name, bad):
    model, X = fitted(name)
    X = X[:3].copy()
    X[1, 2] = bad
    with pytest.raises(Exception, match="out of data bounds"):
        answers(model, X)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64, bool, str, object])
def test_types_of_classes(dtype):
    y = (WINE.target == 1).astype(int)
    y = np.array(["no", "yes"], dtype=dtype)[y] if dtype in (str, object) else y.astype(dtype)
    model = SPPCA(2).fit(WINE.data, y)
    found = answers(model, WINE.data)["labels"]
    assert_array_equal(found, model.predict(WINE.data))
    if dtype in (np.int8, np.int64):
        assert found.dtype == np.int64


def test_complete_rows_pass_what_fills_gaps():
    X = WINE.data.copy()
    X[::7, 1] = np.nan
    model = make_pipeline(StandardScaler(), GapFiller(2), PPCA(2)).fit(X)
    X = WINE.data.astype(np.float32).astype(np.float64)
    assert_alike(answers(model, X), said(model, X))
    X[0, 1] = np.nan
    assert np.isnan(answers(model, X)["transform"][0]).all()


def test_the_graph_of_a_loaded_model_is_the_same(tmp_path):
    model, _ = fitted("dppca")
    save_model(model, tmp_path / "model.gnomon")
    assert to_onnx(load_model(tmp_path / "model.gnomon")) == to_onnx(model)


@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("data", [WINE, DIGITS])
def test_the_graph_of_a_guide_is_that_of_its_pupil(data, pipeline):
    guide = GuidedProjection(3).fit(data.data[::2], few(data.target[::2]))
    model = make_pipeline(Columns(), guide) if pipeline else guide
    X = data.data.astype(np.float32).astype(np.float64)
    assert_alike(answers(model, X), said(guide.pupil(), X))
    facts = session_of(to_onnx(model)).get_modelmeta().custom_metadata_map
    assert (facts["model"], facts["pupil_of"]) == ("DPPCA", "GuidedProjection")
    labels = answers(model, data.data[::2])["labels"]
    assert float(facts["pupil_agreement"]) == pytest.approx((labels == guide.predict(data.data[::2])).mean(), abs=1e-3)


@pytest.mark.parametrize("y", [DIABETES.target + 0.5, TWO], ids=["one", "two"])
def test_of_a_guide_by_numbers_the_graph_has_what_is_linear(y):
    seen = np.where((np.arange(442) < 60).reshape((-1,) + (1,) * (y.ndim - 1)), y, np.nan)
    guide = GuidedProjection(2, target="real").fit(DIABETES.data, seen)
    found = answers(guide, DIABETES.data)
    told, wanted = found["predict"].reshape(442, -1), guide.predict(DIABETES.data).reshape(442, -1)
    C = (DIABETES.data - guide.mean_) @ guide.components_.T
    assert_allclose(found["transform"], C, atol=1e-5 * np.abs(C).max())
    fitted = (
        np.column_stack([np.ones(442), DIABETES.data])
        @ np.linalg.lstsq(np.column_stack([np.ones(442), DIABETES.data]), wanted, rcond=None)[0]
    )  # but for its small ridge
    assert_allclose(told, fitted, atol=0.02 * np.abs(fitted).max())
    units = seen[:60].reshape(60, -1).std(axis=0)
    left = (((wanted - told) / units) ** 2).sum() / (((wanted - wanted.mean(axis=0)) / units) ** 2).sum()
    assert guide.pupil_agreement_ == pytest.approx(1.0 - left, abs=1e-4)
    assert guide.pupil_agreement_ > 0.9


def test_names_of_columns_and_classes_are_in_the_file():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(WINE.data, columns=WINE.feature_names)
    facts = session_of(to_onnx(make_pipeline(Columns(), DPPCA(2)).fit(frame, few(CULTIVARS)))).get_modelmeta()
    assert json.loads(facts.custom_metadata_map["feature_names"]) == list(WINE.feature_names)
    assert json.loads(facts.custom_metadata_map["classes"]) == sorted(set(CULTIVARS))


TWO_TARGETS = np.column_stack([WINE.target, WINE.target == 1])
REFUSED = {
    "guided by classes and numbers": (
        lambda: GuidedProjection().fit(WINE.data, np.column_stack([CULTIVARS, WINE.data[:, 0]]).astype(object)),
        "several targets of which some are classes .* one for each",
    ),
    "kernel": (lambda: KDA(2).fit(WINE.data, WINE.target), "kernel"),
    "foreign": (lambda: LinearDiscriminantAnalysis().fit(WINE.data, WINE.target), "not among the models"),
    "step": (lambda: make_pipeline(PCA(3), PPCA(2)).fit(WINE.data), "PCA before a model .* StandardScaler"),
    "several": (lambda: DPPCA(2).fit(WINE.data, TWO_TARGETS), "several targets .* one for each"),
    "kernel of SEPCA": (lambda: SEPCA(2, kernel="rbf").fit(WINE.data, WINE.target), "kernel='rbf' .* kernel='linear'"),
    "family": (
        lambda: SDRGLM(2, x_family="poisson").fit(COUNTED, WINE.target),
        "x_family='poisson' .* x_family='gaussian' has one",
    ),
    "several of SDRGLM": (
        lambda: SDRGLM(2).fit(WINE.data, TWO_TARGETS > 0),
        "several targets of classes .* one for each",
    ),
    "noise": (lambda: IFA(noise="isotropic", n_init=1).fit(WINE.data, WINE.target), "noise='none' has one"),
    "several of IFA": (lambda: IFA(n_init=1).fit(WINE.data, TWO_TARGETS), "several targets .* one for each"),
    "several of CPPCA": (lambda: CPPCA(2).fit(WINE.data, TWO_TARGETS), "several targets .* one for each"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_graph_says_why(name):
    make, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        to_onnx(make())


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'gnomon\[onnx\]'"):
        to_onnx(PPCA(2).fit(WINE.data))


def computed(build, values):
    """What a part of a graph makes of values."""
    graph = Graph(values.shape[1])
    found = build(graph, graph.rows)
    graph.give("found", found, ["n", "m"])
    return session_of(graph.model({}, "0")).run(None, {"X": values.astype(np.float32)})[0]


@pytest.mark.parametrize("size", [1.0, 200.0])
def test_the_mean_of_softmax_over_offsets(size):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(7, 4)).astype(np.float32)
    offsets, weights = size * rng.normal(size=(50, 4)), rng.dirichlet(np.ones(50))
    each = np.exp(logits[:, None].astype(float) + offsets - (logits[:, None] + offsets).max(axis=2, keepdims=True))
    wanted = ((each / each.sum(axis=2, keepdims=True)) * weights[:, None]).sum(axis=1)
    assert_allclose(computed(lambda g, X: mean_softmax(g, X, offsets, weights), logits), wanted, atol=1e-7)


def test_normal_probabilities_have_all_digits_in_the_tails():
    from scipy.special import ndtr

    values = np.linspace(-12.0, 12.0, 401, dtype=np.float32)[:, None]
    wanted = np.hstack([ndtr(-values.astype(float)), ndtr(values.astype(float))])
    assert_allclose(computed(probit, values), wanted, rtol=1e-6)
