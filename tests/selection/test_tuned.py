"""Baselines choose by the labels that they see, and by these alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler, normalize

from gnomon import SPPCA, GuidedProjection
from gnomon.selection import compare
from gnomon.selection.baselines import NotApplicable, lda_map
from gnomon.selection.scoring import Problem
from gnomon.selection.tuned import AS_GIVEN, Tuned, Variant, preparations


def table(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p))
    X[:, :3] += 2.0 * np.eye(3)[y]
    return X, y, np.where(np.arange(n) < 24, y, -1)


def problem_of(seen, truth=None):
    return Problem(seen, len(seen), truth, target="auto", unlabeled="auto", several="columns")


def test_preparations_are_scikit_learns():
    X = table()[0] * np.linspace(1.0, 50.0, 12)
    X[:, 4] = 3.0
    made = preparations(X, True)
    assert_allclose(made["standardized"], StandardScaler().fit_transform(X), atol=1e-12)
    assert_allclose(made["unit length"], normalize(X))
    assert made[AS_GIVEN] is X
    assert list(preparations(X, False)) == [AS_GIVEN]
    sparse = preparations(sp.csr_matrix(np.maximum(X, 0.0)), True)
    wanted = StandardScaler(with_mean=False).fit_transform(np.maximum(X, 0.0))
    assert_allclose(sparse["standardized"].toarray(), wanted, atol=1e-10)


def variants(X, ridges, classes):
    def learn(ridge):
        def lda(X, visible):
            rows = np.flatnonzero(np.isfinite(visible[:, 0]))
            found = lda_map(X[rows], classes[visible[rows, 0].astype(int)], 2, ridge)
            return found.project, lambda X: found.predict(found.project(X))

        return lda

    return [Variant(f"ridge {ridge}", X, learn(ridge)) for ridge in ridges]


def test_the_best_in_folds_of_what_is_seen_is_taken_whatever_is_hidden():
    X, y, seen = table()
    noise = np.random.default_rng(1).normal(size=(60, 200))  # in which labeled rows are told apart perfectly
    for truth in (y, np.where(seen >= 0, y, (y + 1) % 3)):
        some = [*variants(noise, (1e-6,), np.arange(3)), *variants(X, (0.1,), np.arange(3))]
        problem = problem_of(seen, truth)
        method = Tuned(some, problem.tasks)
        project, predict = method(np.arange(60)[:, None], problem.visible)
        assert method.said == "ridge 0.1"
        assert project(np.arange(60)[:, None]).shape == (60, 2)
        assert (predict(np.arange(24)[:, None]) == y[:24]).mean() > 0.8


def test_a_variant_that_cannot_be_fitted_is_not_taken():
    X, y, seen = table()
    problem = problem_of(seen, y)

    def never(X, visible):
        raise NotApplicable("it never does")

    (good,) = variants(X, (0.1,), np.arange(3))
    method = Tuned([Variant("bad", X, never), good], problem.tasks)
    method(np.arange(60)[:, None], problem.visible)
    assert method.said == "ridge 0.1"


def test_one_label_in_each_class_leaves_the_first():
    X, y, _ = table()
    seen = np.where(np.arange(60) < 3, y, -1)
    problem = problem_of(seen, y)
    method = Tuned(variants(X, (0.1, 0.5), np.arange(3)), problem.tasks)
    method(np.arange(60)[:, None], problem.visible)
    assert method.said == "ridge 0.1"


@pytest.mark.parametrize("model, prepared", [(SPPCA(2), False), (GuidedProjection(2), True)])
def test_rivals_of_a_model_that_prepares_rows_may_do_so(model, prepared):
    X, y, seen = table()
    X[:, 5] *= 1000.0  # which hides the classes until columns are standardized
    found = compare(X, seen, y_true=y, estimators={"model": model}, random_state=0)
    rows = {row["method"]: row for row in found.rows}
    assert (rows["PCA"]["got"] == "standardized") == prepared
    assert (rows["all features"]["score"] < 0.5) == prepared
    assert rows["LDA"]["got"].startswith("standardized, ridge" if prepared else "ridge")
    assert rows["model"]["got"] == ""
    assert ("PCA: standardized" in repr(found)) == prepared


def test_a_choice_that_differs_from_split_to_split_says_how_often():
    X, y, seen = table(p=40)
    rows = compare(X, seen, estimators={"model": GuidedProjection(2)}, n_splits=10, random_state=0).rows
    said = " ".join(row["got"] for row in rows)
    assert "of 10 times" in said
