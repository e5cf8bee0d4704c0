"""Supervised models among scikit-learn's tools: tags, scores, folds, grids, votes, calibration, pipelines, frames."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import CPPCA, DPPCA, IFA, KDA, SDRGLM, SEPCA, SPPCA, DomainStack, KernelSPPCA

X, Y = load_iris(return_X_y=True)
X_REAL, Y_REAL = load_diabetes(return_X_y=True)
WORDS = np.array(["ant", "bee", "cow"])[Y]
CLASS_MODELS = [SPPCA, KernelSPPCA, CPPCA, DPPCA, KDA, SEPCA, SDRGLM, IFA, DomainStack]
BOTH = [SPPCA, KernelSPPCA, CPPCA, SDRGLM]


@pytest.mark.parametrize("model", CLASS_MODELS, ids=lambda cls: cls.__name__)
def test_folds_of_iris_at_the_defaults(model):
    scorers = {"own": lambda fitted, X, y: fitted.score(X, y), "accuracy": "accuracy"}
    found = cross_validate(model(), X, Y, cv=3, scoring=scorers, error_score="raise")
    assert found["test_own"].min() > 0.85
    assert found["test_accuracy"].min() > 0.85


def test_folds_of_diabetes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # whole floats, and rare classes to scikit-learn
        found = cross_val_score(SPPCA(5), X_REAL, Y_REAL, error_score="raise")
    assert found.mean() > 0.45  # the folds are stratified by what might be classes
    real = SPPCA(5, target="real")
    found = cross_val_score(real, X_REAL, Y_REAL, error_score="raise")
    assert found.mean() > 0.45
    assert_allclose(cross_val_score(real, X_REAL, Y_REAL, scoring="r2"), found)


@pytest.mark.parametrize("model", BOTH, ids=lambda cls: cls.__name__)
def test_tags_say_what_was_asked_then_what_was_fitted(model):
    assert is_classifier(model())
    assert is_regressor(model(target="real"))
    assert is_regressor(model(target="counts"))
    assert is_classifier(model().fit(X, Y))
    fitted = model().fit(X[:, 1:], X[:, 0])
    assert is_regressor(fitted)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(fitted, "classes_")
    assert is_classifier(clone(fitted))
    assert fitted.fit(X, Y).predict_proba(X).shape == (150, 3)
    unguided = model().fit(X)
    assert not is_classifier(unguided)
    assert not is_regressor(unguided)


@pytest.mark.parametrize("model", CLASS_MODELS, ids=lambda cls: cls.__name__)
def test_score_is_accuracy(model):
    fitted = model().fit(X, WORDS)
    assert fitted.target_kind_ == "classes"
    assert fitted.n_labeled_ == 150
    assert fitted.classes_.tolist() == ["ant", "bee", "cow"]
    assert_allclose(fitted.score(X, WORDS), accuracy_score(WORDS, fitted.predict(X)))
    weights = np.linspace(0, 1, 150)
    assert_allclose(fitted.score(X, WORDS, weights), accuracy_score(WORDS, fitted.predict(X), sample_weight=weights))


@pytest.mark.parametrize("model", BOTH, ids=lambda cls: cls.__name__)
def test_score_of_numbers_is_r2_and_of_several_the_mean(model):
    outputs = X[:, :2] + 0.001 * np.arange(300).reshape(150, 2)
    fitted = model(1, target="real").fit(X[:, 2:], outputs)
    expected = r2_score(outputs, fitted.predict(X[:, 2:]))
    assert_allclose(fitted.score(X[:, 2:], outputs), expected)


def test_rows_without_a_label_do_not_count():
    few = np.where(np.arange(150) % 2, Y, -1)
    fitted = KDA().fit(X, Y)
    assert_allclose(fitted.score(X, few), fitted.score(X[1::2], Y[1::2]))
    assert_allclose(fitted.score(X, np.where(few < 0, np.nan, few)), fitted.score(X, few))
    with pytest.raises(ValueError, match="y labels no row"):
        fitted.score(X, np.full(150, -1))


def test_labels_of_several_types_are_named():
    fitted = DomainStack(C=1.0, scale=1.0).fit(X, Y)
    with pytest.raises(TypeError, match="y mixes labels of several types"):
        fitted.score(X, np.array(["a", 1, 2] * 50, dtype=object))


def test_a_class_that_fit_did_not_see_is_never_right():
    fitted = KDA().fit(X[:100], Y[:100])
    assert_allclose(fitted.score(X, Y), accuracy_score(Y, fitted.predict(X)))


def test_without_y_score_is_the_mean_log_density():
    fitted = SPPCA().fit(X, Y)
    assert_allclose(fitted.score(X), fitted.score_samples(X).mean())
    with pytest.raises(ValueError, match="score of KDA needs y"):
        KDA().fit(X, Y).score(X)
    with pytest.raises(ValueError, match="needs a model fitted with labeled rows"):
        SPPCA().fit(X).score(X, Y)


@pytest.mark.parametrize("model", [KDA, CPPCA], ids=lambda cls: cls.__name__)
def test_a_grid_over_a_pipeline(model):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model()), {f"{model.__name__.lower()}__n_components": [1, 2]}, cv=3
    ).fit(X, Y)
    assert search.best_score_ > 0.85
    assert is_classifier(search)


def test_votes_and_calibration_take_text():
    members = [("kda", KDA()), ("cppca", CPPCA()), ("logistic", LogisticRegression(max_iter=1000))]
    for voting in ("hard", "soft"):
        vote = VotingClassifier(members, voting=voting).fit(X, WORDS)
        assert vote.score(X, WORDS) > 0.95
        assert set(vote.predict(X)) == {"ant", "bee", "cow"}
    calibrated = CalibratedClassifierCV(KDA(), cv=3).fit(X, WORDS)
    assert calibrated.score(X, WORDS) > 0.95
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_meta_estimators_are_fitted_to_labeled_rows():
    """They number the classes themselves, so that a mark would be one more class to them."""
    few = np.where(np.arange(150) % 3, None, WORDS)
    labeled = np.array([label is not None for label in few])
    vote = VotingClassifier([("kda", KDA()), ("dppca", DPPCA())], voting="soft").fit(
        X[labeled], few[labeled].astype(str)
    )
    assert vote.score(X, WORDS) > 0.9


def test_pipelines_and_columns_give_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for model in (KDA(), SPPCA(), DPPCA()):
        found = make_pipeline(StandardScaler(), model).set_output(transform="pandas").fit(frame, WORDS).transform(frame)
        assert isinstance(found, pd.DataFrame)
        assert found.shape[0] == 150
        assert found.columns[0] == f"{type(model).__name__.lower()}0"
    columns = ColumnTransformer([("two", SPPCA(1), ["a", "b"]), ("rest", "passthrough", ["c", "d"])])
    found = columns.set_output(transform="pandas").fit(frame, WORDS).transform(frame)
    assert list(found.columns) == ["two__sppca0", "rest__c", "rest__d"]
    assert_array_equal(found["rest__c"], frame["c"])


@pytest.mark.parametrize("model", [KDA, SEPCA, DomainStack], ids=lambda cls: cls.__name__)
def test_classes_alone_refuse_numbers_in_the_words_of_scikit_learn(model):
    with pytest.raises(ValueError, match="Unknown label type: "):
        model().fit(X[:, 1:], X[:, 0])
