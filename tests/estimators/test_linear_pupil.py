"""The linear pupil of GuidedProjection: what it was taught, how sure it is, and that it is a model like any other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import Pipeline

from gnomon import DPPCA, GuidedProjection
from gnomon.datasets import load_digits, load_iris, load_wine, make_partial
from gnomon.describe import describe
from gnomon.estimators._linear_pupil import LinearPupil
from gnomon.export import load_model, save_model

WINE, DIGITS, IRIS = load_wine(), load_digits(), load_iris()


def guide_of(data, X=None, n=4, k=2):
    y = make_partial(data.target, n_per_class=n, random_state=0)
    return GuidedProjection(k).fit(data.data if X is None else X, y), y


@pytest.mark.parametrize("data", [WINE, DIGITS, IRIS])
def test_it_names_what_the_guide_names_as_often_as_is_said_and_is_as_sure(data):
    guide, y = guide_of(data)
    pupil, X = guide.pupil(), data.data
    assert (pupil.predict(X) == guide.predict(X)).mean() == guide.pupil_agreement_ > 0.9
    unlabeled = y == -1
    confidence = LinearPupil(*guide._pupil).sure[2]
    assert pupil.predict_proba(X)[unlabeled].max(axis=1).mean() == pytest.approx(confidence, abs=1e-6)
    # rows that are unlike the others are less sure by the guide afterwards
    assert guide.predict_proba(X)[unlabeled].max(axis=1).mean() == pytest.approx(confidence, abs=0.01)


def test_columns_of_unlike_scales_are_standardized():
    guide, _ = guide_of(WINE)
    pupil = guide.pupil()
    assert isinstance(pupil, Pipeline)
    assert [type(step).__name__ for _, step in pupil.steps] == ["StandardScaler", "DPPCA"]
    assert_allclose(pupil[0].transform(WINE.data).std(axis=0), 1.0)


def test_on_the_rows_it_is_a_dppca_whose_projection_is_of_its_own_classes():
    guide, _ = guide_of(IRIS)
    pupil = guide.pupil()
    assert isinstance(pupil, DPPCA)
    assert_allclose(pupil.mean_, pupil.class_prior_ @ pupil.class_means_)
    W = (pupil.class_means_ - pupil.mean_) * np.sqrt(pupil.class_prior_)[:, None]
    cov = pupil.factors_.T @ pupil.factors_ + pupil.noise_variance_ * np.eye(4)
    wanted = np.linalg.svd(np.linalg.solve(cov, W.T), full_matrices=False)[0][:, :2]
    assert np.linalg.matrix_rank(np.vstack([wanted.T, pupil.components_]), tol=1e-6) == 2


def test_a_constant_column_takes_no_part_in_standardized_columns():
    X = np.insert(WINE.data, 4, 7.0, axis=1)
    pupil = guide_of(WINE, X)[0].pupil()
    assert (pupil[0].mean_[4], pupil[0].scale_[4]) == (0.0, 1.0)
    assert not pupil[1].class_means_[:, 4].any()
    assert not pupil[1].factors_[:, 4].any()
    assert_allclose(pupil.transform(X), pupil.transform(np.insert(WINE.data, 4, 9.0, axis=1)))


def test_sparse_rows_are_not_centered():
    X = sparse.csr_array(DIGITS.data * (DIGITS.data > 8) * np.linspace(0.1, 10.0, 64))
    guide, _ = guide_of(DIGITS, X)
    pupil = guide.pupil()
    assert (pupil.predict(X) == guide.predict(X)).mean() == guide.pupil_agreement_
    if isinstance(pupil, Pipeline):
        assert not pupil[0].with_mean


def test_it_is_described_saved_and_loaded_as_a_model(tmp_path):
    guide, _ = guide_of(WINE)
    pupil = guide.pupil()
    assert describe(pupil[-1]).model == "DPPCA"
    assert "prior temperature" not in " ".join(describe(pupil[-1]).fit.remarks)
    save_model(pupil, tmp_path / "pupil.gnomon")
    assert_array_equal(load_model(tmp_path / "pupil.gnomon").predict_proba(WINE.data), pupil.predict_proba(WINE.data))
    save_model(guide, tmp_path / "guide.gnomon")
    again = load_model(tmp_path / "guide.gnomon").pupil()
    assert_array_equal(again.predict_proba(WINE.data), pupil.predict_proba(WINE.data))


@pytest.mark.parametrize(
    "y", [WINE.data[:, 0], np.column_stack([WINE.target, WINE.target == 1])], ids=["numbers", "two"]
)
def test_numbers_and_several_targets_have_none(y):
    guide = guide_of(WINE)[0].fit(WINE.data, y)
    assert hasattr(guide, "pupil_agreement_") == (y.ndim == 1)
    with pytest.raises(ValueError, match=r"one target of classes; .* SPPCA to the same y"):
        guide.pupil()
