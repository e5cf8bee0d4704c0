"""Units near the ends of the floats: no RuntimeWarning reaches the user, and numbers without units stay."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon import CPPCA, DPPCA, IFA, PPCA, SPPCA, GuidedProjection, MixturePPCA

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
MODELS = {
    "PPCA": (PPCA(1), None),
    "SPPCA": (SPPCA(1, max_iter=8), "numbers"),
    "CPPCA": (CPPCA(1, max_iter=8), "classes"),
    "IFA": (IFA([3, 2], n_init=1, max_iter=8), None),
}


def table(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(24, 4))
    if form == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
    if form == "sparse":
        X[rng.random(X.shape) < 0.4] = 0.0
    return X, {None: None, "numbers": np.nan_to_num(X[:, 0]) + rng.normal(size=24), "classes": np.arange(24) % 2}


def outputs(model, X, y):
    """Whatever the model says of rows of X; all of it is to be finite."""
    found = [model.transform(X), model.score_samples(X)]
    if y is not None:
        found += [model.predict(X), model.score(X, y)]
    return [np.asarray(value) for value in found]


@pytest.mark.parametrize("powers", [[-150] * 4, [-100] * 4, [100] * 4, [148] * 4, [-3, -1, 1, 3], [141, 143, 145, 147]])
@pytest.mark.parametrize("form", ["complete", "missing", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_no_warning_in_any_units(name, form, powers):
    if name == "IFA" and form == "missing":
        pytest.skip("IFA takes complete rows only")
    model, kind = MODELS[name]
    X, targets = table(form)
    X = X * 10.0 ** np.array(powers)
    X = sp.csr_array(X) if form == "sparse" else X
    for value in outputs(model.fit(X, targets[kind]), X, targets[kind]):
        assert np.isfinite(value).all()


@pytest.mark.parametrize("size", [1e-170, 1e-150, 1e145, 1e150])
def test_r2_does_not_know_the_units_of_y(size):
    X, targets = table("complete")
    y = targets["numbers"]
    plain = SPPCA(1).fit(X, y)
    want = plain.score(X[::2], y[::2])
    plain.predict = lambda X, predict=plain.predict: size * predict(X)
    assert_allclose(plain.score(X[::2], size * y[::2]), want, rtol=1e-9)


@pytest.mark.parametrize("spread", [20, 70])
def test_density_of_ifa_follows_the_units_of_each_column(spread):
    X, _ = table("complete")
    powers = np.linspace(-spread, spread, 4)
    model = IFA([3, 2, 2, 2], n_init=1, tol=1e-8)
    want = model.fit(X).score_samples(X) - powers.sum() * np.log(10.0)
    assert_allclose(model.fit(X * 10.0**powers).score_samples(X * 10.0**powers), want, atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e50, 1e140])
def test_outputs_larger_than_the_floats_of_x_are_told_in_double_precision(rng, size):
    Z = rng.normal(size=(60, 2))
    X = (Z @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(60, 6))).astype(np.float32)
    y = Z[:, 0] + 0.1 * rng.normal(size=60)
    plain = SPPCA(2, target="real").fit(X, y)
    large = SPPCA(2, target="real").fit(X, size * y)
    assert plain.predict(X).dtype == np.float32
    assert_allclose(large.predict(X) / size, plain.predict(X), rtol=1e-4, atol=1e-5)
    assert_allclose(large.y_loadings_ / size, plain.y_loadings_, rtol=1e-4)


@pytest.mark.parametrize("size", [1e37, 1e38, 3e38])
@pytest.mark.parametrize(
    "model", [PPCA(2), SPPCA(2), CPPCA(2), DPPCA(), IFA(n_init=1), MixturePPCA(2, 1, n_init=1)], ids=repr
)
def test_single_precision_near_its_largest_number(model, size):
    """Sums and squares of such rows are beyond single precision; densities and draws are not."""
    X = (np.random.default_rng(0).uniform(-1, 1, (60, 6)) * size).astype(np.float32)
    model.fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.sample(200, random_state=0)).all()


@pytest.mark.parametrize("form", ["complete", "sparse"])
def test_the_preparations_of_guided_projection_know_no_units(form):
    X, targets = table(form)
    X = sp.csr_array(X) if form == "sparse" else X
    plain = GuidedProjection().fit(X, targets["classes"])
    for size in (1e-300, 1e-150, 1e150):
        scaled = GuidedProjection().fit(X * size, targets["classes"])
        assert [teacher[:2] for teacher in scaled.teachers_] == [teacher[:2] for teacher in plain.teachers_]
        assert_allclose(scaled.predict_proba(X * size), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("model", [DPPCA(), IFA(n_init=1), MixturePPCA(2, 1), GuidedProjection()], ids=repr)
def test_numbers_without_digits_are_refused(model):
    X, targets = table("complete")
    with pytest.raises(ValueError, match=r"X holds nothing larger than .* have lost their digits: rescale it"):
        model.fit(X * 1e-320, targets["classes"])


def test_targets_without_digits_are_refused():
    X, targets = table("complete")
    with pytest.raises(ValueError, match=r"y holds nothing larger than .* have lost their digits: rescale it"):
        GuidedProjection().fit(X, targets["numbers"] * 1e-320)


@pytest.mark.parametrize("model", [PPCA(1), SPPCA(1)], ids=repr)
def test_sums_beyond_the_floats_are_refused_in_words(model):
    X, targets = table("complete")
    with pytest.raises(ValueError, match=r"X holds .* in absolute value; at most 1e\+153 can be computed with"):
        model.fit(1.7e308 * np.sign(np.abs(X) + 1.0), targets["numbers"])
