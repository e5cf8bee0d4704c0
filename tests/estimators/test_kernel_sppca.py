"""KernelSPPCA: the linear kernel is SPPCA, routes agree, new rows, landmarks, targets, errors."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels, rbf_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from contract.test_estimators import INAPPLICABLE
from estimators.support import entries_missing, load
from gnomon import SPPCA, KernelSPPCA
from gnomon.datasets import fetch_orl
from gnomon.estimators import _kernel
from gnomon.export import load_model, save_model
from oracles import closed_forms, dual, gaussian

RBF = {"kernel": "rbf", "gamma": 0.05}


def wine(hidden=0.7):
    X, y = load("wine", hidden)
    return scale(X), y


def wide(rng, n=40, p=90):
    """More features than rows, classes far apart in a few of them."""
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p)) + 2.0
    X[:, :3] += 4 * np.eye(3)[y]
    return X, y


def assert_linear_is_primal(X, y, X_new, tol=1e-6):
    primal, kernel = SPPCA(2).fit(X, y), KernelSPPCA(2).fit(X, y)
    assert kernel.solver_ == primal.solver_
    assert_allclose(kernel.transform(X_new), primal.transform(X_new), atol=tol)
    for uncertainty in ("plug-in", "full"):
        for rows, known in ((X, y), (X, None), (X_new, None)):
            of_both = (model.posterior(rows, known, uncertainty=uncertainty) for model in (kernel, primal))
            for mine, other in zip(*of_both, strict=True):
                assert_allclose(mine, other, atol=tol)
    assert_allclose(kernel.log_likelihood_, primal.log_likelihood_, rtol=1e-10)
    assert_allclose(kernel.noise_variance_, primal.noise_variance_, rtol=tol)
    for name in ("y_loadings_", "y_intercept_", "y_noise_variance_"):
        mine, other = getattr(kernel, name), getattr(primal, name)
        if other is not None:
            assert_allclose(mine, other, atol=tol * np.abs(other).max(initial=1e-300), err_msg=name)
    return primal, kernel


@pytest.mark.parametrize("name", ["iris", "wine", "diabetes"])
@pytest.mark.parametrize("hidden", [0.0, 0.7])
def test_linear_kernel_is_the_primal_model(name, hidden):
    X, y = load(name, hidden)
    X = scale(X)
    primal, kernel = assert_linear_is_primal(X, y, X[:9] + 0.1)
    if name == "diabetes":
        for mine, other in zip(kernel.predict(X, True), primal.predict(X, True), strict=True):
            assert_allclose(mine, other, rtol=1e-6)
    else:
        assert_allclose(kernel.predict_proba(X), primal.predict_proba(X), atol=1e-6)
        assert_array_equal(kernel.predict(X), primal.predict(X))


def test_linear_kernel_is_the_primal_model_with_more_features_than_rows(rng):
    X, y = wide(rng)
    y[::2] = -1
    assert_linear_is_primal(X, y, rng.normal(size=(5, 90)))
    _, kernel = assert_linear_is_primal(X, None, rng.normal(size=(5, 90)))
    assert kernel.effective_dimension_ == 90
    assert kernel.rank_ == 39
    assert KernelSPPCA(2, effective_dimension="rank").fit(X, y).effective_dimension_ == 39


def test_linear_kernel_with_single_outputs_missing():
    X, Y = entries_missing()
    assert_linear_is_primal(X, Y, X[:4])


def test_precomputed_dual_rows_are_the_primal_model_at_fixed_means(rng):
    X, y = wide(rng)
    y = np.where(rng.random(len(y)) < 0.4, rng.permutation(y), y)  # algorithm 3 creeps toward a floor
    K, cross = dual.centered(X, X[:7] + 0.3)
    found = KernelSPPCA(2, kernel="precomputed", effective_dimension=90, solver="dual", tol=1e-7, max_iter=20000)
    found.fit(X @ X.T, y)
    best = SPPCA(2).fit(X, y)
    assert best.noise_floors_ == ()
    assert_allclose(found.log_likelihood_, best.log_likelihood_, rtol=1e-9)
    Z = found.transform((X[:7] + 0.3) @ X.T)
    signs = np.sign((Z * best.transform(X[:7] + 0.3)).sum(axis=0))
    assert_allclose(Z * signs, best.transform(X[:7] + 0.3), atol=1e-4)
    assert_allclose(Z, dual.project(K, found.dual_coef_, found.noise_variance_, cross), atol=1e-9)


def test_polynomial_kernel_is_the_primal_model_of_its_features():
    X, y = load("iris", 0.5)
    X = scale(X)
    i, j = np.tril_indices(4)
    phi = np.sqrt(0.5) * X[:, i] * X[:, j] * np.where(i == j, 1.0, np.sqrt(2))
    primal = SPPCA(2).fit(phi, y)
    kernel = KernelSPPCA(2, kernel="poly", degree=2, coef0=0, gamma=np.sqrt(0.5)).fit(X, y)
    assert kernel.effective_dimension_ == kernel.rank_ == 10
    assert_allclose(kernel.log_likelihood_, primal.log_likelihood_, rtol=1e-9)
    assert_allclose(kernel.predict_proba(X), primal.predict_proba(phi), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian"])
@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_named_function_and_precomputed_kernels_agree(kernel, n_landmarks, same_draws):
    X, y = wine()
    params = {"gamma": 0.05, "degree": 2, "coef0": 0.5}
    common = {"n_landmarks": n_landmarks, "effective_dimension": "rank"}
    named = KernelSPPCA(2, kernel=kernel, **params, **common).fit(X, y)

    def matrix(A, B):
        return pairwise_kernels(A, B, metric=kernel, filter_params=True, **params)

    table = KernelSPPCA(2, kernel=matrix, **common).fit(X, y)
    given = KernelSPPCA(2, kernel="precomputed", **common).fit(matrix(X, X), y)
    new = X[:11] + 0.2
    flip = np.sign((named.transform(new) * given.transform(matrix(new, X))).sum(axis=0))  # of the linear kernel only
    assert_allclose(given.transform(matrix(new, X)) * flip, named.transform(new), atol=1e-6)
    assert_allclose(table.predict_proba(new), named.predict_proba(new), atol=1e-6)
    assert_allclose(given.predict_proba(matrix(new, X)), named.predict_proba(new), atol=1e-6)


def test_function_of_two_rows_is_called_for_each_pair():
    X, y = wine()
    pairs = KernelSPPCA(
        2, kernel=lambda a, b, width: np.exp(-((a - b) ** 2).sum() / width), kernel_params={"width": 20.0}
    )
    assert_allclose(pairs.fit(X, y).transform(X), KernelSPPCA(2, **RBF).fit(X, y).transform(X), atol=1e-6)


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_product_that_also_takes_tables_is_one_of_rows(name):
    X, y = load(name, 0.5)
    X = scale(X)
    assert_allclose(
        KernelSPPCA(2, kernel=lambda a, b: a @ b).fit(X, y).predict_proba(X),
        SPPCA(2).fit(X, y).predict_proba(X),
        atol=1e-6,
    )


def test_sparse_rows_are_dense_rows(rng):
    X = np.where(rng.random((50, 30)) < 0.2, rng.random((50, 30)), 0.0)
    y = np.arange(50) % 2
    for kernel in ("linear", "rbf", "cosine", lambda A, B: rbf_kernel(A, B), lambda A, B: A @ B.T):
        dense = KernelSPPCA(2, kernel=kernel).fit(X, y).transform(X)
        assert_allclose(
            KernelSPPCA(2, kernel=kernel).fit(sp.csr_array(X), y).transform(sp.csr_array(X)), dense, atol=1e-7
        )


def test_without_targets_it_is_kernel_pca():
    X, _ = wine()
    Z = KernelSPPCA(3, **RBF).fit_transform(X)
    reference = KernelPCA(3, **RBF).fit_transform(X)
    cosines = (Z * reference).sum(axis=0) / np.linalg.norm(Z, axis=0) / np.linalg.norm(reference, axis=0)
    assert_allclose(np.abs(cosines), 1.0, atol=1e-9)


def test_posterior_uses_what_is_known_of_y():
    X, y = wine(0.0)
    model = KernelSPPCA(2, **RBF).fit(X, y)
    alone, shared = model.posterior(X, uncertainty="plug-in")
    known, covs = model.posterior(X, np.where(np.arange(len(y)) % 2, y, -1), uncertainty="plug-in")
    assert shared.shape == (2, 2)
    assert covs.shape == (178, 2, 2)
    assert_allclose(known[::2], alone[::2], atol=1e-10)
    assert np.abs(known[1::2] - alone[1::2]).max() > 1e-3
    assert (np.linalg.eigvalsh(shared - covs[1]) > -1e-12).all()
    Z, cov = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert_allclose(Z, alone)
    assert_allclose(cov, shared)


def test_posterior_is_conditioning_of_the_joint_gaussian(rng):
    X, y = wide(rng, p=8)
    y[::2] = -1
    model = KernelSPPCA(2).fit(X, y)
    W_x = (X - X.mean(axis=0)).T @ model.dual_coef_
    m_x = SPPCA(2).fit(X, y).mean_
    explicit = gaussian.Model(
        W_x, m_x, model.noise_variance_, model.y_loadings_, model.y_intercept_, np.full(2, model.y_noise_variance_)
    )
    mean, cov = gaussian.posterior(explicit, X, closed_forms.code(y, [0, 1, 2]))
    found_mean, found_cov = model.posterior(X, y, uncertainty="plug-in")
    assert_allclose(found_mean, mean, atol=1e-6)
    assert_allclose(found_cov, cov, atol=1e-6)


def test_rings_are_told_apart_by_a_few_labels():
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    partly = np.full(300, -1)
    partly[:10] = y[:10]
    assert (KernelSPPCA(3, kernel="rbf", gamma=1.0).fit(X, partly).predict(X) == y).mean() > 0.97
    assert (KernelSPPCA(3, kernel="rbf", gamma=1.0, n_landmarks=40).fit(X, partly).predict(X) == y).mean() > 0.97


def test_all_rows_as_landmarks_change_nothing():
    X, y = wine()
    full, landmarks = KernelSPPCA(2, **RBF).fit(X, y), KernelSPPCA(2, **RBF, n_landmarks=178).fit(X, y)
    assert_allclose(landmarks.transform(X), full.transform(X), atol=1e-6)
    assert_allclose(landmarks.log_likelihood_, full.log_likelihood_, rtol=1e-9)


def test_landmarks_follow_the_seed():
    X, y = wine()
    first, same, other = (KernelSPPCA(2, **RBF, n_landmarks=30, random_state=s).fit(X, y) for s in (1, 1, 2))
    assert_array_equal(first.landmarks_, same.landmarks_)
    assert_allclose(first.transform(X), same.transform(X), rtol=0)
    assert (first.landmarks_ != other.landmarks_).any()
    assert first.X_fit_.shape == (30, 13)
    assert_array_equal(first.X_fit_, X[first.landmarks_])


def test_more_dimensions_leave_less_noise_in_each():
    X, y = wine()
    noises = [KernelSPPCA(2, **RBF, effective_dimension=d).fit(X, y).noise_variance_ for d in (100.5, "rank", 1000)]
    assert noises[0] > noises[1] > noises[2]


def test_single_precision_stays_and_agrees():
    X, y = wine()
    model = KernelSPPCA(2, **RBF).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.transform(X.astype(np.float32)), KernelSPPCA(2, **RBF).fit(X, y).transform(X), atol=1e-4)


def test_frames_names_and_output():
    X, y = load("iris", 0.5)
    table = pd.DataFrame(X, columns=list("abcd"))
    model = KernelSPPCA(2, kernel="rbf").set_output(transform="pandas").fit(table, y)
    assert list(model.transform(table).columns) == ["kernelsppca0", "kernelsppca1"]
    assert list(model.feature_names_in_) == list("abcd")


def test_the_callers_rows_are_copied():
    X, y = wine()
    model = KernelSPPCA(2, **RBF).fit(X, y)
    new = X[:5].copy()
    before = model.transform(new)
    X[:] = 0.0
    assert_allclose(model.transform(new), before)


def test_paper_setting_is_far_from_the_maximum_and_says_so():
    X, y = wine(0.0)
    paper = KernelSPPCA(2, solver="dual", init="random", noise_init=1e-5, max_iter=30)
    with pytest.warns(ConvergenceWarning, match="KernelSPPCA stopped at max_iter"):
        paper.fit(X, y)
    assert paper.n_iter_ == 30
    assert not paper.converged_
    assert paper.log_likelihood_ < KernelSPPCA(2).fit(X, y).log_likelihood_ - 0.01


def test_what_has_no_meaning_in_feature_space_is_left_out():
    model = KernelSPPCA()
    assert not any(hasattr(model, name) for name in ("score_samples", "bic", "sample", "inverse_transform"))


def test_no_labels_and_one_class():
    X, y = wine()
    with pytest.warns(UserWarning, match="every row as unlabeled"):
        none = KernelSPPCA(2, **RBF).fit(X, np.full(178, -1))
    assert_allclose(none.transform(X), KernelSPPCA(2, **RBF).fit(X).transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="predict needs a model fitted with labeled rows"):
        none.predict(X)
    with pytest.warns(UserWarning, match="single class"):
        one = KernelSPPCA(2, **RBF).fit(X, np.where(y == 0, 0, -1))
    assert set(one.predict(X)) == {0}


@pytest.mark.parametrize("magnitude", [1e-60, 1e60])
def test_any_magnitude(magnitude):
    X, y = wine()
    assert_allclose(
        KernelSPPCA(2).fit(X * magnitude, y).transform(X * magnitude), KernelSPPCA(2).fit(X, y).transform(X), atol=1e-6
    )


# -- bad input ---------------------------------------------------------------------------------------------------


def kernel_matrix():
    X, _ = wine()
    return rbf_kernel(X, gamma=0.05)


def test_precomputed_matrix_that_is_not_square():
    with pytest.raises(ValueError, match=r"X has shape \(178, 100\); .* square"):
        KernelSPPCA(2, kernel="precomputed").fit(kernel_matrix()[:, :100])


def test_precomputed_matrix_that_is_not_symmetric():
    K = kernel_matrix()
    K[3, 5] += 0.1
    with pytest.raises(ValueError, match=r"X is not symmetric: entry \(3, 5\)"):
        KernelSPPCA(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize("n_landmarks", [None, 178])
def test_matrix_with_a_negative_eigenvalue_is_refused_by_name(n_landmarks):
    K = kernel_matrix()
    v = np.zeros(178)
    v[[0, 1]] = [np.sqrt(0.5), -np.sqrt(0.5)]
    with pytest.raises(ValueError, match=r"eigenvalue -4\d\.\d+ .*not positive semi-definite"):
        KernelSPPCA(2, kernel="precomputed", n_landmarks=n_landmarks).fit(K - 50 * np.outer(v, v))


def test_kernel_by_name_without_inner_product():
    with pytest.raises(ValueError, match=r"eigenvalue -.*Choose another kernel"):
        KernelSPPCA(2, kernel="sigmoid", gamma=0.02).fit(wine()[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_values_that_are_not_finite(kernel, bad):
    K = kernel_matrix()
    K[2, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        KernelSPPCA(2, kernel=kernel).fit(K)


def test_kernel_that_overflows():
    with pytest.raises(ValueError, match=r"kernel gives (inf|nan) for rows"):
        KernelSPPCA(2, kernel="poly", degree=50).fit(wine()[0] * 1e30)


@pytest.mark.parametrize("k", [4, 5])
def test_as_many_components_as_the_rank(k):
    X, y = load("iris")
    with pytest.raises(
        ValueError, match=f"n_components={k} must be less than the rank of the centered kernel matrix, 4"
    ):
        KernelSPPCA(k).fit(X, y)


def test_rows_that_are_all_alike():
    with pytest.raises(ValueError, match=r"rank 0 \(n_samples=10, n_features=3\)"):
        KernelSPPCA(kernel="rbf").fit(np.ones((10, 3)))


@pytest.mark.parametrize(
    "params, error, message",
    [
        ({"kernel": "gauss"}, ValueError, "kernel='gauss' must be one of 'linear', 'rbf'"),
        ({"kernel": 3}, ValueError, "kernel=3 must be one of"),
        ({"n_landmarks": 179}, ValueError, "n_landmarks=179 must be at most n_samples=178"),
        ({"n_landmarks": 1}, ValueError, "n_landmarks=1 must be at least 2"),
        ({"n_landmarks": 20, "solver": "dual"}, ValueError, "use n_landmarks=None"),
        ({"gamma": -1.0}, ValueError, r"gamma=-1\.0 must be finite and above 0"),
        ({"kernel_params": {"width": 1}}, ValueError, "kernel_params=.* is for a function"),
        ({"effective_dimension": "full"}, ValueError, "effective_dimension='full' must be one of 'auto', 'rank'"),
        ({"effective_dimension": 1.5}, ValueError, r"effective_dimension=1\.5 must exceed"),
        ({"effective_dimension": True}, TypeError, "effective_dimension=True must be a number"),
        ({"n_components": 0}, ValueError, "n_components=0 must be at least 1"),
        ({"n_private": -1}, ValueError, "n_private=-1 must be at least 0"),
        ({"n_private": 11}, ValueError, "n_components=2 plus n_private=11 must be less than the rank"),
        ({"label_weight": 0.0}, ValueError, r"label_weight=0\.0 must be finite and above 0"),
        ({"solver": "ratio", "n_private": 1}, ValueError, "no private dimensions"),
        ({"solver": "dual", "n_private": 1}, ValueError, "algorithm 3 of the paper"),
        ({"solver": "dual", "label_weight": 2.0}, ValueError, "algorithm 3 of the paper"),
        ({"n_components": 2.0}, TypeError, r"n_components=2\.0 must be an integer"),
        ({"solver": "em"}, ValueError, "solver='em' must be one of 'auto', 'ratio'"),
        ({"init": "zeros"}, ValueError, "init='zeros' must be one of"),
        ({"tol": 0}, ValueError, "tol=0 must be finite and above 0"),
        ({"noise_init": -1}, ValueError, "noise_init=-1 must be finite and above 0"),
        ({"kernel": lambda A, B: np.ones(3)}, ValueError, r"kernel returned shape \(3,\) for tables of 2 and 16 rows"),
        ({"kernel": lambda A, B: (A @ B.T)[:-1]}, ValueError, r"kernel returned shape \(1, 16\)"),
    ],
)  # fmt: skip
def test_wrong_parameters(params, error, message):
    X, y = wine()
    with pytest.raises(error, match=message):
        KernelSPPCA(**{"n_components": 2, **params}).fit(X, y)


def test_function_that_takes_no_sparse_rows():
    def dense_only(A, B):
        raise TypeError("dense rows are wanted")

    X, y = wine()
    with pytest.raises(ValueError, match="kernel returned an error for tables of 2 and 16 rows") as caught:
        KernelSPPCA(2, kernel=dense_only).fit(sp.csr_array(X), y)
    assert str(caught.value.__cause__) == "dense rows are wanted"


def test_function_that_breaks_its_word_on_new_rows():
    X, y = wine()
    model = KernelSPPCA(2, kernel=lambda A, B: rbf_kernel(A, B) if len(A) != 7 else np.ones((7, 7))).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel returned shape \(7, 7\); \(7, 178\) is wanted"):
        model.transform(X[:7])


def test_new_rows_of_another_width():
    X, y = wine()
    given = KernelSPPCA(2, kernel="precomputed", n_landmarks=20).fit(kernel_matrix(), y)
    with pytest.raises(ValueError, match="X has 20 features, but KernelSPPCA is expecting 178"):
        given.transform(kernel_matrix()[:, given.landmarks_])
    with pytest.raises(ValueError, match="X has 4 features"):
        KernelSPPCA(2, **RBF).fit(X, y).transform(X[:, :4])


@pytest.mark.parametrize(
    "params",
    [pytest.param(RBF, marks=pytest.mark.slow), {"kernel": "rbf", "n_landmarks": 5}, {"kernel": "precomputed"}],
    ids=str,
)
def test_scikit_learn_checks_of_other_kernels(params):
    integers = "a kernel matrix cut down to integers is no kernel matrix"
    drawn = "the landmarks drawn from repeated rows are others than those drawn from weighted ones"
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": drawn for kind in ("dense", "sparse")}
    square = "the check takes a table of rows, which is no kernel matrix"
    given = {"check_estimators_dtypes": integers, "check_classifiers_one_label_sample_weights": square}
    failed = {"precomputed": given, "rbf": weights if "n_landmarks" in params else {}}
    check_estimator(
        KernelSPPCA(**params), expected_failed_checks=INAPPLICABLE["KernelSPPCA"] | failed[params["kernel"]]
    )


def test_pairwise_rows_are_split_with_their_columns():
    assert clone(KernelSPPCA(kernel="precomputed")).__sklearn_tags__().input_tags.pairwise
    assert not KernelSPPCA().__sklearn_tags__().input_tags.pairwise


def test_landmarks_need_no_square_memory(rng):
    X = rng.normal(size=(6000, 4))  # the whole kernel matrix would take 288 MB
    model = KernelSPPCA(2, kernel="rbf", n_landmarks=40)
    tracemalloc.start()
    model.fit(X, (X[:, 0] > 0).astype(int))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 6000 * 40 * 8


def test_a_saved_model_projects_alike(tmp_path):
    X, y = wine()
    model = KernelSPPCA(2, **RBF, n_landmarks=50).fit(X, y)
    save_model(model, tmp_path / "rbf.gnomon")
    loaded = load_model(tmp_path / "rbf.gnomon")
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.slow
@pytest.mark.realdata
def test_rbf_faces_beat_linear_ones_in_twenty_dimensions():
    data = fetch_orl()
    X = data.data / np.linalg.norm(data.data, axis=1, keepdims=True)
    gamma = 1.0 / np.median(pairwise_distances(X) ** 2)
    errors = {"linear": [], "rbf": []}
    for seed in range(3):
        draw = np.random.default_rng(seed)
        seen = np.concatenate([draw.choice(np.flatnonzero(data.target == c), 2, False) for c in np.unique(data.target)])
        hidden = np.setdiff1d(np.arange(len(X)), seen)
        y = np.where(np.isin(np.arange(len(X)), seen), data.target, -1)
        for kernel, found in errors.items():
            Z = KernelSPPCA(20, kernel=kernel, gamma=gamma).fit(X, y).transform(X)
            nearest = seen[pairwise_distances(Z[hidden], Z[seen]).argmin(axis=1)]
            found.append((data.target[nearest] != data.target[hidden]).mean())
    assert np.mean(errors["rbf"]) < np.mean(errors["linear"]) < 0.33


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_coordinates_by_elimination_lead_to_the_same_model(rng, monkeypatch, share, weighted):
    Z = rng.standard_normal((150, 3))
    X = Z @ rng.standard_normal((3, 12)) + 0.7 * rng.standard_normal((150, 12))
    y = np.where(rng.random(150) < share, np.sin(Z[:, 0]) + Z[:, 1], np.nan)
    weights = rng.uniform(0.5, 2.0, 150) if weighted else None

    def fitted(many):
        monkeypatch.setattr(_kernel, "MANY", many)
        return KernelSPPCA(2, kernel="rbf", gamma=0.05, tol=1e-9).fit(X, y, sample_weight=weights)

    exact, quick = fitted(151), fitted(150)
    assert quick.converged_
    assert quick.rank_ == exact.rank_ == 149
    assert_allclose(quick.log_likelihood_, exact.log_likelihood_, atol=1e-6)
    assert_allclose(quick.transform(X), exact.transform(X), atol=1e-5)
    assert_allclose(quick.predict(X), exact.predict(X), atol=1e-5)
    for found, wanted in zip(quick.posterior(X), exact.posterior(X), strict=True):
        assert_allclose(found, wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max())
