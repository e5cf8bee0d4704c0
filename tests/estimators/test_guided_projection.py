"""GuidedProjection: its averages beside the definition, new rows, model files, errors, and real data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import normalize, scale

from estimators.support import load
from gnomon import DPPCA, PPCA, GuidedProjection, NeighborFeatures
from gnomon.estimators import _class_guide as module
from gnomon.estimators import _preparations as preparations_module
from gnomon.estimators import guided_projection
from gnomon.estimators._class_guide import ClassGuide
from gnomon.estimators._preparations import Preparation
from gnomon.estimators._teaching import Voice, log_odds, params_of, speak, weigh
from gnomon.export import load_model, save_model
from gnomon.models import dppca
from gnomon.rows import read
from gnomon.rows.gaps import ROUGH, n_foretelling
from oracles import average_and_teach as oracle


def few(y, per_class, seed=0):
    """`y` with so many labels in each class, -1 elsewhere."""
    rng, out = np.random.default_rng(seed), np.full(len(y), -1)
    for c in np.unique(y):
        some = rng.choice(np.flatnonzero(y == c), per_class, replace=False)
        out[some] = c
    return out


def guide_of(model):
    return ClassGuide(*model._guides[0])


@pytest.fixture(scope="module")
def wine():
    X, y = load("wine")
    labels = few(y, 3)
    return X, y, labels, GuidedProjection(2).fit(X, labels)


def test_every_teacher_is_as_sure_as_the_definition_says(wine):
    X, _, _, model = wine
    seen = model._in_preparations(read(X)).each
    for i, _, voice in guide_of(model).voices:
        odds = log_odds(Voice(*voice), seen[i])
        wanted = oracle.tempered(odds - odds.max(axis=1, keepdims=True), 0.8)
        assert_allclose(speak(Voice(*voice), seen[i]), wanted, atol=1e-6)


def test_weights_are_the_squares_of_kappa(wine):
    """Where labels are too few to be held out."""
    X, y, _, _ = wine
    labels = few(y, 1)
    model = GuidedProjection(2).fit(X, labels)
    seen = model._in_preparations(read(X)).each
    probas = np.array([speak(Voice(*voice), seen[i]) for i, _, voice in guide_of(model).voices])
    unlabeled = labels < 0
    taught, kappas = oracle.average(probas, unlabeled)
    assert_allclose([teacher[3] for teacher in model.teachers_], kappas, atol=1e-12)
    assert_allclose(np.tensordot(guide_of(model).weights, probas, axes=1), taught, atol=1e-12)
    named = probas.mean(axis=0)[unlabeled].argmax(axis=1)
    assert_allclose(kappas[0], cohen_kappa_score(probas[0][unlabeled].argmax(axis=1), named), atol=1e-12)
    assert_allclose(model.class_prior_, oracle.prior(taught, labels), atol=1e-12)


def test_teachers_that_disagree_with_all_hardly_count():
    rng = np.random.default_rng(0)
    right = np.eye(2)[rng.permutation(100) % 2]
    weights, kappas = weigh(np.array([right, right, 1.0 - right]), np.full(100, -1))
    assert_allclose(kappas, [1.0, 1.0, -1.0])
    assert weights[2] < 1e-3


def test_rows_are_told_one_by_one(wine):
    X, _, _, model = wine
    some = np.arange(0, 178, 7)
    assert_allclose(model.predict_proba(X[some]), model.predict_proba(X)[some], atol=1e-12)
    assert_allclose(model.transform(X[some]), model.transform(X)[some], atol=1e-9)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_the_projection_of_the_rows_is_linear(wine):
    X, _, _, model = wine
    seen = model._in_preparations(read(X)).each
    assert_allclose((X - model.mean_) @ model.components_.T, seen[0].T @ model._directions[1], atol=1e-8)


def test_preparations_are_the_tables_they_are_named_after(wine):
    X, _, _, model = wine
    seen = model._in_preparations(read(X)).each
    tables = {
        "rows": X,
        "standardized columns": scale(X),
        "unit rows": normalize(X),
        "logarithms": np.arcsinh(X / np.median(np.abs(X[X != 0]))),
        "neighbors": NeighborFeatures().fit_transform(seen[1].T),
        "neighbors, cosine": NeighborFeatures(metric="cosine").fit_transform(X),
    }
    preparations = [Preparation(*preparation) for preparation in model._preparations]
    assert [preparation.name for preparation in preparations] == list(tables)[:2] + ["logarithms", "unit rows"] + list(
        tables
    )[4:]
    for preparation, one in zip(preparations, seen, strict=True):
        table = tables[preparation.name]
        assert_allclose(
            preparation.mean + one.T @ preparation.basis.T * preparation.scale, table, atol=1e-6 * np.abs(table).max()
        )


def test_the_union_holds_every_preparation_alike(wine):
    X, _, _, model = wine
    seen, union, _ = model._in_preparations(read(X))
    lengths = model._union[0]
    parts = [one.T[:, :150] / length for one, length in zip(seen, lengths, strict=True)]
    assert_allclose([np.sqrt((part**2).sum() / 178) for part in parts], 1.0, rtol=1e-9)
    S = np.hstack(parts)
    C = (S - S.mean(axis=0)) / model._union[2]
    assert_allclose((union.T**2).sum(axis=1) + union.outside, (C**2).sum(axis=1), rtol=1e-6)


def test_neighbors_are_looked_at_where_there_are_enough(monkeypatch):
    X, y = load("iris")
    labels = few(y, 5)

    def graphs():
        return {name for name, *_ in GuidedProjection().fit(X, labels).teachers_ if "neighbors" in name}

    assert len(graphs()) == 2
    monkeypatch.setattr(preparations_module, "FEWEST", 51)
    assert not graphs()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_some_of_many_rows_are_the_points_of_the_graphs_whatever_their_order(monkeypatch, form):
    X, y = load("iris")
    labels, order = few(y, 5), np.random.default_rng(0).permutation(150)
    monkeypatch.setattr(preparations_module, "PAIRS", 90 * 150)
    monkeypatch.setattr(preparations_module, "ENOUGH_POINTS", 80)
    model = GuidedProjection().fit(form(X), labels)
    graphs = [parts["graph"] for _, parts, *_ in model._preparations if "graph" in parts]
    assert [graph.n_samples_ for graph in graphs] == [90, 90]
    moved = GuidedProjection().fit(form(X[order]), labels[order])
    assert_allclose(moved.predict_proba(form(X)), model.predict_proba(form(X)), atol=1e-6)


def test_graphs_of_some_rows_are_better_than_none(monkeypatch):
    X, y = load_digits(return_X_y=True)
    labels = few(y, 3)

    def error():
        return np.mean(GuidedProjection().fit(X, labels).predict(X)[labels < 0] != y[labels < 0])

    monkeypatch.setattr(preparations_module, "PAIRS", 1000**2)
    monkeypatch.setattr(preparations_module, "ENOUGH_POINTS", 900)
    some = error()
    monkeypatch.setattr(preparations_module, "FEWEST", 10_000)
    assert some < 0.75 * error()


def test_a_model_file_holds_all(wine, tmp_path):
    X, _, _, model = wine
    save_model(model, tmp_path / "wine.gnomon")
    loaded = load_model(tmp_path / "wine.gnomon")
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.transform(X), model.transform(X))


def test_sparse_rows_are_the_dense_ones():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.poisson(0.3 + 2.0 * (np.arange(30) % 3 == y[:, None])).astype(float)
    labels = few(y, 4)
    dense, sparse = (GuidedProjection(2).fit(form, labels) for form in (X, sp.csr_array(X)))
    preparations = [{teacher[0] for teacher in model.teachers_} - {"logarithms"} for model in (dense, sparse)]
    assert preparations[0] == preparations[1]
    assert (dense.predict(X) == sparse.predict(sp.csr_array(X))).mean() > 0.98
    assert (sparse.predict(sp.csr_array(X)) == y).mean() > 0.9
    for model, other, own in ((dense, sp.csr_array(X[:9]), X[:9]), (sparse, X[:9], sp.csr_array(X[:9]))):
        assert_allclose(model.predict_proba(other), model.predict_proba(own), rtol=1e-9)
        assert_allclose(model.transform(other), model.transform(own), rtol=1e-9, atol=1e-9)
        assert_allclose(model.score_samples(other), model.score_samples(own), rtol=1e-9)


@pytest.mark.parametrize("name, limit", [("wine", 0.1), ("iris", 0.1), ("breast_cancer", 0.12)])
def test_columns_of_any_scale_are_told_apart(name, limit):
    X, y = load_breast_cancer(return_X_y=True) if name == "breast_cancer" else load(name)
    errors = []
    for seed in range(3):
        labels = few(y, 4, seed)
        model = GuidedProjection().fit(X, labels)
        errors.append((model.predict(X) != y)[labels < 0].mean())
    assert np.mean(errors) < limit


def test_it_is_better_than_one_model_where_scales_differ(wine):
    X, y, labels, model = wine
    one = DPPCA(uncertainty="plug-in").fit(X, labels)
    unlabeled = labels < 0
    assert (model.predict(X) == y)[unlabeled].mean() > (one.predict(X) == y)[unlabeled].mean() + 0.2


def test_one_label_per_class_and_all_rows_labeled():
    X, y = load("iris")
    labels = few(y, 1)
    assert (GuidedProjection().fit(X, labels).predict(X) == y).mean() > 0.8
    assert (GuidedProjection().fit(X, y).predict(X) == y).mean() > 0.95


def test_text_labels_and_cross_validation():
    X, y = load("iris")
    names = np.array(["a", "b", "c"])[y]
    model = GuidedProjection().fit(X, names)
    assert set(model.predict(X)) == {"a", "b", "c"}
    assert cross_val_score(GuidedProjection(), X, y, cv=3, scoring="accuracy").mean() > 0.9


def planted_clusters(rng, n=300):
    """Rows whose clusters, far apart, are not the classes, which a small direction tells."""
    light, y = rng.integers(0, 3, n), rng.integers(0, 3, n)
    X = rng.normal(size=(n, 20))
    X[:, :3] += 40.0 * np.eye(3)[light]
    X[:, 3:6] += 3.0 * np.eye(3)[y]
    return X, y


def test_clusters_that_are_not_the_classes_do_not_mislead():
    X, y = planted_clusters(np.random.default_rng(0))
    labels = few(y, 12)
    model, unlabeled = GuidedProjection(2).fit(X, labels), labels < 0
    assert (model.predict(X) == y)[unlabeled].mean() > 0.9


def test_pupils_count_by_how_well_they_tell_the_labeled_rows():
    X, y = planted_clusters(np.random.default_rng(0))
    labels = few(y, 12)
    model = GuidedProjection(2).fit(X, labels)
    seen, union, _ = model._in_preparations(read(X))
    guide = guide_of(model)
    pupils = [speak(Voice(*voice), one) for voice, one in zip(guide.pupils, (union, seen[0]), strict=True)]
    labeled = labels >= 0
    kappas = [cohen_kappa_score(one[labeled].argmax(axis=1), labels[labeled]) for one in pupils]
    assert all(0.5 < kappa < 0.95 for kappa in kappas)
    assert_allclose(guide.trust, [1.0, *(max(kappa, 0.0) ** 4 for kappa in kappas)], atol=1e-12)
    taught = sum(w * speak(Voice(*v), seen[i]) for w, (i, _, v) in zip(guide.weights, guide.voices, strict=True))
    mean = np.average([taught, *pupils], axis=0, weights=guide.trust)
    voice, rows = Voice(*guide.pupils[1]), seen[0]
    squares = (rows.T**2).sum(axis=1) + rows.outside
    odds = dppca.log_joint(params_of(voice), rows.T[:, : voice.size], squares, rows.n_features)
    named = np.array([speak(Voice(*v), seen[i]).argmax(axis=1) for i, _, v in guide.voices])
    power = {"power": guide.calibration[2][0]}  # which labels held out have moved
    wanted = oracle.calibrated(mean, logsumexp(odds, axis=1), named, guide.weights, labels, ~labeled, **power)
    powers = np.clip(model.typicality(X) / 0.01, 0.01, 1.0)  # rows unlike the rest are told with less certainty
    wanted = wanted ** powers[:, None]
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert 0 < (powers < 1.0).sum() < 6
    assert_allclose(model.predict_proba(X), wanted, atol=1e-9)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), mean.argmax(axis=1))


@pytest.mark.parametrize("name", ["wine", "iris", "digits"])
def test_calibrated_probabilities_are_worth_more_than_the_plain_mean(name, monkeypatch):
    X, y = load_digits(return_X_y=True) if name == "digits" else load(name)
    X, y = X[:600], y[:600]
    labels = few(y, 8)
    model, rows = GuidedProjection().fit(X, labels), np.flatnonzero(labels < 0)

    def loss():
        return -np.log(model.predict_proba(X)[rows, y[rows]]).mean()

    found = loss()
    monkeypatch.setattr(module, "calibrated", lambda proba, *_: proba)
    assert found < loss() - 0.02


def test_labeled_rows_that_are_as_near_count_alike():
    Z = np.array([[0.0, 1.0], [0.3, 0.0], [0.3, 1e-12], [0.3, 0.1]])  # rows 1 and 2 but for rounding
    index, proba = np.array([0, 0, 1, -1]), np.tile([0.75, 0.25], (4, 1))
    assert guided_projection._nearest_told(Z, index, proba) == 0.5
    order = [3, 2, 1, 0]
    assert guided_projection._nearest_told(Z[order], index[order], proba) == 0.5


def test_every_projection_can_be_taken():
    X, y = load("wine")
    X, labels = scale(X), few(y, 4)
    model = GuidedProjection(3).fit(X, labels)
    assert model.projection_ == max(model.projection_scores_, key=model.projection_scores_.get)
    for name in model.projection_scores_:
        model.projection_ = name
        Z = model.transform(X)
        assert Z.shape == (178, 3)
        assert np.linalg.matrix_rank(Z) == 3


def test_errors_name_the_way_out():
    X, y = load("iris")
    with pytest.raises(
        ValueError, match=r"n_components=9 must be at most 4: the rank of X \(n_features = 4\), and 150 in any case"
    ):
        GuidedProjection(9).fit(X, y)
    with pytest.raises(ValueError, match="X is constant"):
        GuidedProjection().fit(np.ones((150, 4)), y)
    with pytest.raises(ValueError, match="y has 2 labeled rows; a target of numbers needs at least 3"):
        GuidedProjection().fit(X, np.where(np.arange(150) < 2, X[:, 0], np.nan))


def test_missing_entries_are_filled_as_ppca_fills_them():
    X, y = load("wine")
    X, labels = scale(X), few(y, 4)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = GuidedProjection().fit(holes, labels)
    units = np.nanstd(holes, axis=0)
    k = n_foretelling(holes / units, 10, lambda X, k: PPCA(k, tol=ROUGH).fit(X).impute(X))
    filled = units * PPCA(k).fit(holes / units).impute(holes / units)
    assert_allclose(model.impute(holes), filled, atol=1e-6)
    assert_allclose(model.transform(holes), GuidedProjection().fit(filled, labels).transform(filled), atol=1e-6)
    assert (model.predict(holes) == y).mean() > 0.9
    whole = GuidedProjection().fit(X, labels)
    assert (whole.predict(holes) == y).mean() > 0.9  # gaps of new rows, none in the fit


def test_gaps_where_nothing_is_left_for_noise_get_the_mean():
    line = np.arange(40.0)[:, None] * [1.0, 2.0]
    y = np.where(np.arange(40) % 5, -1, np.arange(40) >= 20)
    holes = line.copy()
    holes[3, 0] = np.nan
    found = GuidedProjection(1).fit(line, y).predict_proba(holes)
    line[3, 0] = line[:, 0].mean()
    assert_allclose(found, GuidedProjection(1).fit(np.arange(40.0)[:, None] * [1.0, 2.0], y).predict_proba(line))


# -- uncertainty of positions, and density -----------------------------------------------------------------------------


def conditioned(D, means, sigma, noise, x, resp):
    """D'(m_c + V z) given x, the class averaged over: mean and covariance from the joint Gaussian of each class."""
    signal = sigma - noise * np.eye(len(sigma))
    gain = D.T @ signal @ np.linalg.inv(sigma)
    each = [D.T @ m + gain @ (x - m) for m in means]
    within = D.T @ signal @ D - gain @ signal @ D
    mean = np.average(each, axis=0, weights=resp)
    return mean, within + sum(r * np.outer(e - mean, e - mean) for r, e in zip(resp, each, strict=True))


def test_posterior_of_classes_is_that_of_the_model_behind_the_projection(monkeypatch):
    kept = {}
    noise_free = guided_projection.dppca.noise_free
    monkeypatch.setattr(
        guided_projection.dppca,
        "noise_free",
        lambda params, D: kept.update(params=params, D=D) or noise_free(params, D),
    )
    X, y = load_wine(return_X_y=True)
    seen = np.where(np.arange(178) % 20 == 0, y, -1)
    model = GuidedProjection(2).fit(X, seen)
    (_, means, (Q, variances, noise)), D = kept["params"], kept["D"]
    sigma = noise * np.eye(len(Q)) + (Q * (variances - noise)) @ Q.T
    assert model.projection_ == guided_projection.ALL
    T, proba = model._in_preparations(read(X)).union.T, model.predict_proba(X)
    mean, cov = model.posterior(X, uncertainty="plug-in")
    Z, same = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert_array_equal(same, cov)
    assert_allclose(Z, T @ D, rtol=1e-8)
    for i in (0, 61, 100, 177):
        by_hand = conditioned(D, means, sigma, noise, T[i], proba[i])
        assert_allclose(mean[i], by_hand[0], rtol=1e-7)
        assert_allclose(cov[i], by_hand[1], rtol=1e-6, atol=1e-10)
    told, less = model.posterior(X, y, "plug-in")
    assert_allclose(told[5], conditioned(D, means, sigma, noise, T[5], np.eye(3)[y[5]])[0], rtol=1e-7)
    assert np.trace(less, axis1=1, axis2=2).mean() < np.trace(cov, axis1=1, axis2=2).mean()


@pytest.mark.parametrize("gaps", [False, True])
def test_posterior_of_numbers_is_that_of_ppca(gaps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 14)) + 0.3 * rng.standard_normal((60, 14))
    y = np.where(np.arange(60) < 20, X[:, 0] - X[:, 3], np.nan)
    if gaps:
        X[::4, 2] = np.nan
    model, ppca = GuidedProjection(2).fit(X, y), PPCA(10).fit(X)
    C, W = model.components_, ppca.components_.T
    sigma = W @ W.T + ppca.noise_variance_ * np.eye(14)
    mean, cov = model.posterior(X, uncertainty="plug-in")
    for i in (0, 7):
        seen = ~np.isnan(X[i])
        gain = (W @ W.T)[:, seen] @ np.linalg.inv(sigma[np.ix_(seen, seen)])
        there = ppca.mean_ + gain @ (X[i] - ppca.mean_)[seen]
        assert_allclose(mean[i], C @ (there - model.mean_), rtol=1e-6, atol=1e-8)
        expected = C @ (W @ W.T - gain @ (W @ W.T)[seen]) @ C.T
        assert_allclose(cov[i] if gaps else cov, expected, rtol=1e-6, atol=1e-10)
    assert_allclose(model.score_samples(X), ppca.score_samples(X))


def test_rows_unlike_the_others_have_a_low_density():
    X, y = load_wine(return_X_y=True)
    model = GuidedProjection(2).fit(X, np.where(np.arange(178) % 20 == 0, y, -1))
    assert model.score_samples(X[:1] * 3.0)[0] < model.score_samples(X).min() - 100.0
    assert model.describe().log_density is not None


def test_one_dimension_gives_no_density():
    x = np.linspace(0.0, 1.0, 20)[:, None]
    model = GuidedProjection(1).fit(x, np.where(np.arange(20) % 4 == 0, np.arange(20) > 9, None))
    with pytest.raises(ValueError, match="one dimension only"):
        model.score_samples(x)
    assert model.describe().project(x).cov is None


def test_rows_of_one_direction_have_no_neighbors_by_cosine():
    X = np.random.default_rng(0).uniform(1.0, 2.0, (60, 1))
    y = np.where(np.arange(60) % 3 == 0, X[:, 0] > 1.5, -1)
    for table in (X, X @ [[1.0, 2.0]]):
        model = GuidedProjection(1).fit(table, y)
        assert "neighbors" in {teacher[0] for teacher in model.teachers_}
        assert "neighbors, cosine" not in {teacher[0] for teacher in model.teachers_}
        assert model.score(table, (X[:, 0] > 1.5).astype(int)) > 0.9


@pytest.mark.parametrize("nearly", [1e-7, 1e-9])
def test_columns_lost_beside_others_leave_a_density(nearly):
    """A column of small units, and one that is nearly another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [1.0, 1.0, 1.0, nearly]
    for table in (X, np.column_stack([X[:, :3], X[:, 0] + X[:, 3]])):
        for form in (table, sp.csr_array(table)):
            model = GuidedProjection().fit(form, np.where(np.arange(40) % 2, X[:, 0] > 0, -1))
            assert np.isfinite(model.score_samples(form)).all()


def test_a_row_alone_has_the_probabilities_it_has_among_others_where_each_is_a_class():
    rows = np.random.default_rng(0).normal(size=(25, 6))
    model = GuidedProjection().fit(rows, np.arange(25))
    alone = np.vstack([model.predict_proba(rows[i : i + 1]) for i in range(25)])
    assert_allclose(alone, model.predict_proba(rows), atol=1e-5)
