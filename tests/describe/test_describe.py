"""Every estimator says what it is in one method, and pipelines, searches and choices say what they hold."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import gnomon
from gnomon import CPPCA, IFA, KDA, PPCA, SPPCA, NeighborFeatures
from gnomon.describe import Description, Target, describe, models, traits_of
from gnomon.export import write_report
from gnomon.plotting import ConvergenceDisplay, LoadingsDisplay, ProjectionDisplay
from gnomon.selection import GuidedSearch

X, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)
Y = np.where(np.arange(150) % 3 == 0, NAMES[SPECIES], None)
CLASS_MODELS = ("SPPCA", "KernelSPPCA", "DPPCA", "CPPCA", "SEPCA", "SDRGLM", "KDA")


@pytest.mark.parametrize("name", CLASS_MODELS)
def test_one_target_of_classes(name):
    model = getattr(gnomon, name)().fit(X, Y)
    said = describe(model)
    (target,) = said.targets
    assert (said.model, said.n_labeled, said.n_features) == (name, 50, 4)
    assert (target.kind, target.classes.tolist()) == ("classes", NAMES.tolist())
    (found,) = said.predict(X)
    assert_array_equal(found.values, model.predict(X))
    assert_array_equal(found.proba, model.predict_proba(X))
    assert said.project(X).mean.shape == (150, said.n_components)
    assert_array_equal(said.project(X).mean, model.transform(X))
    assert said.labeled(Y, 150).sum() == 50
    assert said.uses_unlabeled == (name != "KDA")


@pytest.mark.parametrize("name", ["SPPCA", "KernelSPPCA", "CPPCA", "SDRGLM"])
def test_targets_of_numbers(name):
    values = X[:, 2:] * [1.0, 10.0]
    values[::2] = np.nan
    model = getattr(gnomon, name)(1).fit(X[:, :2], values)
    said = describe(model)
    assert [target.kind for target in said.targets] == ["real", "real"]
    assert said.numeric
    assert said.n_labeled == 75
    found = said.predict(X[:, :2])
    assert_allclose(np.column_stack([one.values for one in found]), model.predict(X[:, :2]))
    assert (found[0].std is None) == (name == "SDRGLM")
    if name != "SDRGLM":
        std = model.predict(X[:, :2], return_std=True)[1]
        assert_allclose(np.column_stack([one.std for one in found]), std)
    assert_array_equal(said.targets[1].values(values), values[:, 1])


@pytest.mark.parametrize("name", ["SPPCA", "CPPCA", "SDRGLM", "IFA"])
def test_without_a_label_there_is_no_target(name):
    said = describe(getattr(gnomon, name)().fit(X))
    assert (said.targets, said.predict, said.n_labeled) == ((), None, 0)
    assert not said.labeled(Y, 150).any()


def test_outputs_of_several_kinds():
    table = np.array(list(zip(Y, np.where(np.arange(150) < 60, X[:, 3], None))), dtype=object)
    model = CPPCA(2).fit(X[:, :3], table)
    said = describe(model)
    species, width = said.targets
    assert (species.kind, species.noise_variance, width.kind) == ("classes", None, "real")
    assert width.noise_variance == pytest.approx(model.y_noise_variance_[1])
    predicted = model.predict(X[:, :3])
    found = said.predict(X[:, :3])
    assert found[0].values.tolist() == predicted[:, 0].tolist()
    assert_allclose(found[1].values, predicted[:, 1].astype(float))
    assert_array_equal(said.labeled(table, 150), (np.arange(150) % 3 == 0) | (np.arange(150) < 60))
    assert not said.numeric


def test_class_variables_of_latents():
    codes = np.column_stack([SPECIES, SPECIES > 0])
    codes[::3] = -1
    model = IFA().fit(X, codes)
    said = describe(model)
    assert [target.classes.tolist() for target in said.targets] == [[0, 1, 2], [0, 1]]
    assert_array_equal(said.labeled(codes, 150), np.arange(150) % 3 > 0)
    header, lines = said.fit.tables[0]
    assert len(lines) == 5
    assert lines[3][:3] == [2, 0, pytest.approx(model.mix_weights_[1][0])]
    assert header[0] == "latent"


def test_a_target_reads_its_column():
    target = Target("classes", np.array(["cat", "dog"]), column=1)
    table = np.array([[1, "dog"], [2, None], [3, "emu"]], dtype=object)
    assert target.codes(table).tolist() == [1, -1, -1]
    assert target.labeled(table).tolist() == [True, False, False]
    assert Target("real").values([1.5, None, "x"]).tolist()[0] == 1.5
    assert Target("real", column=1).values([[1.0, 2.0], [3.0, 4.0]]).tolist() == [2.0, 4.0]


def test_a_pipeline_says_what_its_last_step_says_of_rows_that_went_through_the_others():
    pipeline = make_pipeline(StandardScaler(), SPPCA(2)).fit(X, Y)
    said = describe(pipeline)
    inner = describe(pipeline[-1])
    assert_array_equal(said.project(X).mean, pipeline.transform(X))
    assert_array_equal(said.predict(X)[0].values, pipeline.predict(X))
    assert_array_equal(said.log_density(X), inner.log_density(pipeline[0].transform(X)))
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    filled = said.impute(holes)
    assert_allclose(filled[~np.isnan(holes)], X[~np.isnan(holes)])
    assert_allclose(filled, pipeline[0].inverse_transform(pipeline[1].impute(pipeline[0].transform(holes))))


def test_rows_of_length_one_cannot_be_filled_in_their_units():
    assert describe(make_pipeline(Normalizer(), PPCA(2)).fit(X)).impute is None


def test_the_names_are_those_of_the_columns_that_the_model_saw():
    frame = load_iris(as_frame=True).data
    plain = make_pipeline(StandardScaler(), PPCA(2)).fit(frame)
    assert describe(plain).column_names() == list(frame.columns)
    chosen = make_pipeline(SelectKBest(k=2), SPPCA(1)).fit(frame, SPECIES)
    assert describe(chosen).column_names() == ["petal length (cm)", "petal width (cm)"]
    assert describe(chosen).loadings.shape == (1, 2)
    words = make_pipeline(TfidfVectorizer(), PPCA(1)).fit(["a cat", "one dog", "one cat", "two mice"])
    assert describe(words).column_names() == ["cat", "dog", "mice", "one", "two"]
    assert describe(PPCA(2).fit(X)).column_names() == ["x0", "x1", "x2", "x3"]


def test_columns_that_a_step_makes_up_are_none_of_the_table():
    """pca1 tells nobody anything: the columns are those of the table, and what adds to a component is not known."""
    frame = load_iris(as_frame=True).data
    made = [
        make_pipeline(PCA(3), PPCA(2)),
        make_pipeline(StandardScaler(), PCA(4), StandardScaler(), PPCA(2)),
        make_pipeline(ColumnTransformer([("first", PCA(2), [0, 1, 2])], remainder="passthrough"), PPCA(2)),
        make_pipeline(NeighborFeatures(n_components=4), PPCA(2)),
        make_pipeline(FunctionTransformer(lambda X: np.asarray(X)[:, :3]), PPCA(2)),
    ]
    for model in made:
        said = describe(model.fit(frame))
        assert (said.loadings, said.n_features) == (None, 4)
        assert said.column_names() == list(frame.columns)
        assert describe(model.fit(X)).column_names() == ["x0", "x1", "x2", "x3"]


def test_a_search_says_what_its_best_model_says():
    search = GridSearchCV(KDA(), {"n_components": [1, 2]}, scoring="accuracy").fit(X, NAMES[SPECIES])
    assert describe(search).model == "KDA"


def test_what_does_not_say_what_it_is_is_refused():
    with pytest.raises(TypeError, match="PCA does not say what it is"):
        describe(PCA(2).fit(X))


ON_FRAMES = [name for name in gnomon.__all__ if name[0].isupper() and name not in ("DomainStack", "ColoredMVU")]


@pytest.mark.parametrize("name", ON_FRAMES)
def test_rows_of_a_frame_keep_their_names_on_the_way(name):
    """Nothing warns of names that the caller gave: in the description, nor in what is drawn of it."""
    frame, labels = pd.DataFrame(X[::3], columns=list("abcd")), NAMES[SPECIES[::3]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = describe(getattr(gnomon, name)().fit(frame, labels))
        for method in (said.project, said.predict, said.log_density, said.impute):
            assert method is None or len(method(frame))
        ProjectionDisplay.from_estimator(said, frame, labels, ax=Figure().subplots())
    assert said.column_names() == list("abcd")


def test_pipelines_and_searches_are_drawn_and_reported(tmp_path):
    frame, seen = pd.DataFrame(X[::3], columns=list("abcd")), Y[::3]
    search = GuidedSearch(["SPPCA"], preprocessing=["rows"], n_splits=1, n_permutations=0, baselines=False)
    named = make_pipeline(StandardScaler().set_output(transform="pandas"), SPPCA(2))  # names on the way, too
    for model in (search, named):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(frame, seen)
            drawn = ProjectionDisplay.from_estimator(model, frame, seen, ax=Figure().subplots())
            assert_allclose(drawn.projection, model.transform(frame))
            assert LoadingsDisplay.from_estimator(model, ax=Figure().subplots(1, 2)).feature_names == list("abcd")
            ConvergenceDisplay.from_estimator(model, ax=Figure().subplots())
            page = write_report(tmp_path / "r.html", estimator=model, X=frame, y=seen).read_text(encoding="utf-8")
        assert "50 rows of 4 columns in 2 components, by SPPCA" in page


@pytest.mark.parametrize("name", ["ridge LDA", "PCA + 1-NN", "PLS", "PCA + ridge"])
def test_a_choice_that_is_a_baseline_is_drawn_and_reported(tmp_path, name):
    frame, truth = pd.DataFrame(X, columns=list("abcd")), NAMES[SPECIES]
    if name in ("PLS", "PCA + ridge"):
        truth = 2.5 * X[:, 3] + X[:, 0]
    seen = np.where(np.arange(len(X)) % 5 == 0, truth, None)
    search = GuidedSearch([name], preprocessing=["rows"], n_splits=1, n_permutations=0, baselines=False)
    search.fit(frame, seen)
    drawn = ProjectionDisplay.from_estimator(search, frame, seen, ax=Figure().subplots())
    assert_allclose(drawn.projection, search.transform(frame)[:, :2])
    said = describe(search)
    assert (said.n_labeled, said.column_names()) == (30, list("abcd"))
    assert_array_equal(said.predict(frame)[0].values, search.predict(frame))
    page = write_report(tmp_path / "r.html", estimator=search, X=frame, y=seen, y_true=truth, choice=search)
    assert "120 rows had no label." in page.read_text(encoding="utf-8")


def test_the_command_line_finds_the_classes_by_their_traits():
    found = models(gnomon)
    assert found["sdr-glm"] is gnomon.SDRGLM
    assert not found["ppca"].traits.guided
    assert isinstance(describe(PPCA(2).fit(X)), Description)


def test_noise_of_class_codes_is_one_number():
    model = SPPCA(2, output_noise="per_output").fit(X, SPECIES)
    (target,) = model.describe().targets
    assert model.y_noise_variance_.shape == (2,)
    assert target.noise_variance == pytest.approx(model.y_noise_variance_.mean())


def test_a_stack_of_domains_says_its_projections_and_classes():
    model = gnomon.DomainStack(PPCA(2), scale=1.0, C=1.0).fit(X, Y)
    said = describe(model)
    assert (said.n_components, said.n_labeled) == (2, 50)
    assert said.project(X).mean.shape == (150, 2)
    (found,) = said.predict(X)
    assert_array_equal(found.values, model.predict(X))
    assert_array_equal(found.proba, model.predict_proba(X))


def test_a_class_says_what_a_table_of_targets_is_to_it():
    several = {name: traits_of(getattr(gnomon, name)).several for name in CLASS_MODELS}
    assert [name for name, kind in several.items() if kind == "real"] == ["SPPCA", "KernelSPPCA"]
    assert [name for name, kind in several.items() if kind == "one"] == ["SEPCA", "KDA"]
    assert traits_of(make_pipeline(StandardScaler(), PCA())).several == "columns"
    assert "KernelSPPCA" not in [cls.__name__ for cls in models(gnomon).values()]
