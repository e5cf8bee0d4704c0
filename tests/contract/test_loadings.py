"""Loadings of every model are what a unit of each coordinate adds to the columns, not weights of the projection."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.preprocessing import scale

import gnomon
from gnomon.datasets import make_text
from gnomon.describe import describe

WINE, WINE_Y = load_wine(return_X_y=True)
WINE = scale(WINE) @ np.linalg.qr(np.random.default_rng(0).normal(size=(13, 13)))[0]  # columns of no special place
DIGITS, DIGITS_Y = (table[:400] for table in load_digits(return_X_y=True))
DIABETES, DISEASE = load_diabetes(return_X_y=True)
WORDS = make_text(n_samples=150, n_features=60, random_state=0)
FEW = {
    "wine": (WINE, np.where(np.arange(178) % 4, -1, WINE_Y)),
    "digits": (DIGITS, np.where(np.arange(400) % 4, -1, DIGITS_Y)),
    "numbers": (DIABETES * 30.0, np.where(np.arange(442) % 4, np.nan, DISEASE)),
    "words": (sp.csr_array(WORDS.data), np.where(np.arange(150) % 4, -1, WORDS.target)),
}
# They have none: their projections are curved, or of several parts; a report regresses the columns that it shows.
NONE = ("ColoredMVU", "DomainStack", "KDA", "KernelSPPCA", "MixturePPCA", "NeighborFeatures", "SEPCA")
EXACT = {  # by definition
    "GuidedProjection": (gnomon.GuidedProjection(2), ("wine", "digits", "numbers", "words")),
    "IFA": (gnomon.IFA(3), ("wine",)),
    "IFA of components": (gnomon.IFA(10, pca_components=5, n_init=1, max_iter=20, tol=1.0), ("digits",)),
    "SCL": (gnomon.SCL(3, n_pivots=5), ("wine", "words")),
    "SDRGLM": (gnomon.SDRGLM(2), ("wine", "numbers", "words")),
}
OF_LIKELIHOOD = {  # with the largest relative distance from the regression that counts the uncertainty of coordinates
    "PPCA": (gnomon.PPCA(2), {"wine": 1e-9, "digits": 1e-9, "words": 1e-9}),
    "SPPCA": (gnomon.SPPCA(2), {"wine": 0.05, "digits": 0.02, "numbers": 0.02, "words": 0.02}),
    "CPPCA": (gnomon.CPPCA(2), {"wine": 0.02, "digits": 0.02, "numbers": 0.02}),
}


def regression(X, Z, spread=0.0):
    """Least squares of the columns on the coordinates, whose uncertainty `spread` (k, k) adds to their moments."""
    X = X.toarray() if sp.issparse(X) else X
    C = Z - Z.mean(axis=0)
    return np.linalg.solve(C.T @ C / len(C) + spread, C.T @ (X - X.mean(axis=0)) / len(C))


def off(found, wanted):
    """The largest distance of a row from what is wanted, relative to its length."""
    return (np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)).max()


def test_every_model_is_looked_at():
    known = {name.split()[0] for name in (*NONE, *EXACT, *OF_LIKELIHOOD, "DPPCA")}
    assert known == {name for name in gnomon.__all__ if isinstance(getattr(gnomon, name), type)}


@pytest.mark.parametrize("name", NONE)
def test_models_that_have_none(name):
    X, y = FEW["wine"]
    kinds = {"DomainStack": (gnomon.PPCA(2),), "KDA": (), "ColoredMVU": (2,), "MixturePPCA": (2,)}
    model = getattr(gnomon, name)(*kinds.get(name, ()))
    assert describe(model.fit(X, WINE_Y if name in ("KDA", "ColoredMVU") else y)).loadings is None


@pytest.mark.parametrize("name, data", [(name, data) for name, (_, known) in EXACT.items() for data in known])
@pytest.mark.filterwarnings("ignore")
def test_they_are_the_regression_of_the_columns_on_the_coordinates(name, data):
    X, y = FEW[data]
    model = clone(EXACT[name][0])
    told = {"domain": np.arange(len(y)) % 2} if name == "SCL" else {}
    said = describe(model.fit(X, y, **told))
    assert said.loadings.shape == (said.n_components, X.shape[1])
    assert_allclose(off(said.loadings, regression(X, said.project(X).mean)), 0.0, atol=1e-6)


@pytest.mark.parametrize(
    "name, data, most", [(name, *pair) for name, (_, known) in OF_LIKELIHOOD.items() for pair in known.items()]
)
@pytest.mark.filterwarnings("ignore")
def test_those_of_a_likelihood_are_the_regression_that_counts_the_doubt(name, data, most):
    """W = E[x z'] E[z z']^-1, z given x and not the labels; without these it is exact."""
    X, y = FEW[data]
    model = clone(OF_LIKELIHOOD[name][0]).fit(X, y)
    said = describe(model)
    cov = model.posterior(X[:1], uncertainty="plug-in")[1]
    assert off(said.loadings, regression(X, said.project(X).mean, np.reshape(cov, (2, 2)))) < most


@pytest.mark.parametrize("data, most", [("wine", 0.1), ("digits", 0.02)])
def test_those_of_classes_with_factors_are_near_the_regression(data, most):
    """What their covariance says of x given z; on many columns few factors leave the noise of the columns out."""
    X, y = FEW[data]
    said = describe(gnomon.DPPCA(2).fit(X, y))
    assert off(said.loadings, regression(X, said.project(X).mean)) < most


def test_weights_of_a_projection_would_not_do():
    """Among columns that go together a weight may have another sign than what the coordinate adds."""
    rng = np.random.default_rng(0)
    size, shape = rng.normal(0, 5, 300), rng.choice([-1.0, 1.0], 300)
    X = np.column_stack([size + shape, size - shape, size]) + rng.normal(0, 0.3, (300, 3))
    y = np.where(np.arange(300) % 3, -1, (shape + 0.4 * size > 0).astype(int))
    for model in (gnomon.DPPCA(1), gnomon.GuidedProjection(1)):
        model.fit(X, y)
        found = describe(model).loadings
        assert (np.sign(found) == np.sign(regression(X, model.transform(X)))).all()
        assert (np.sign(found) != np.sign(model.components_)).any()
