"""Generators: the same seed gives the same data, and the planted structure is there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gnomon.datasets import load_iris, make_low_rank, make_partial, make_text


@pytest.mark.parametrize(
    "y, hidden",
    [
        (np.repeat([0, 1, 2], 10), -1),
        (np.repeat([3, 200], 15).astype(np.uint8), -1),
        (np.repeat(["a", "b", "c"], 10), None),
        (np.repeat([True, False], 15), None),
    ],
)
def test_n_per_class_keeps_that_many_of_each(y, hidden):
    partial = make_partial(y, n_per_class=4, random_state=1)
    kept = np.array([value != hidden for value in partial])
    assert_array_equal(partial[kept], y[kept])
    assert_array_equal(np.unique(y[kept], return_counts=True)[1], 4)
    assert all(value is hidden or value == hidden for value in partial[~kept])


def test_hidden_reals_are_nan_by_row():
    y = np.arange(12.0).reshape(6, 2)
    partial = make_partial(y, 2, random_state=0)
    assert_array_equal(np.isnan(partial).sum(axis=0), [4, 4])
    kept = ~np.isnan(partial[:, 0])
    assert_array_equal(partial[kept], y[kept])
    assert not np.isnan(y).any()


def test_which_rows_are_kept_follows_the_seed():
    y = load_iris().target
    first, again, other = (make_partial(y, 30, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert (first != other).any()
    first, again, other = (make_partial(y, n_per_class=5, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert (first != other).any()


def test_a_share_is_one_of_every_class():
    y = np.repeat([0, 1, 2], [40, 20, 3])
    for share, counts in ((0.1, [4, 2, 1]), (0.5, [20, 10, 2]), (1.0, [40, 20, 3]), (0.0, [0, 0, 0])):
        partial = make_partial(y, share=share, random_state=0)
        assert_array_equal(np.bincount(y[partial >= 0], minlength=3), counts)
    assert np.isfinite(make_partial(np.arange(10.0), share=0.3, random_state=0)).sum() == 3


def test_classes_have_numbers_of_their_own():
    y = np.repeat(["a", "b", "c"], 10)
    partial = make_partial(y, n_per_class={"c": 2, "a": 7}, random_state=0)
    assert [int((partial == name).sum()) for name in "abc"] == [7, 0, 2]
    assert_array_equal(partial, make_partial(y, n_per_class={"a": 7, "b": 0, "c": 2}, random_state=0))


def test_rows_of_every_label_are_kept_where_they_have_several():
    Y = (np.random.default_rng(0).random((60, 3)) < (0.5, 0.3, 0.05)).astype(int)
    partial = make_partial(Y, n_per_class=5, random_state=0)
    kept = (partial >= 0).all(axis=1)
    assert (partial[~kept] == -1).all()
    assert_array_equal(partial[kept], Y[kept])
    assert (Y[kept].sum(axis=0) >= np.minimum(5, Y.sum(axis=0))).all()
    assert kept.sum() <= 15


@pytest.mark.parametrize(
    "y, arguments, message",
    [
        ([0, 1], {}, "n_labeled=None, n_per_class=None, share=None: give exactly one of the three"),
        ([0, 1], {"n_labeled": 1, "n_per_class": 1}, "give exactly one of the three"),
        ([0, 1], {"n_labeled": 3}, "n_labeled=3 must lie between 0 and 2"),
        ([0, 0, 1], {"n_per_class": 2}, "n_per_class=2 must lie between 0 and 1, the rows of class 1"),
        (np.array(["a", "b"], dtype=object), {"n_per_class": 2}, "n_per_class=2 .* the rows of class 'a'"),
        ([0.5, 1.0], {"n_per_class": 1}, "n_per_class=1 needs 1-D class targets"),
        ([[0, 2], [1, 0]], {"n_per_class": 1}, "n_per_class=1 needs 1-D class targets or columns of 0 and 1"),
        ([[0, 1], [1, 0]], {"n_per_class": -1}, "n_per_class=-1 must be at least 0"),
        ([0, 1], {"n_per_class": {2: 1}}, "names the class 2, and y has only"),
        ([0, 1], {"n_per_class": {1: 2}}, "must lie between 0 and 1, the rows of class 1"),
        ([0, 1], {"share": 1.5}, "share=1.5 must lie between 0 and 1"),
        ([-1, 1], {"n_labeled": 1}, "y holds -1"),
    ],
)
def test_make_partial_refuses(y, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_partial(np.array(y), **arguments)


def test_low_rank_covariance_is_the_planted_one():
    bunch = make_low_rank(200_000, 5, 2, n_targets=2, noise_variance=0.3, y_noise_variance=0.2)
    joint = np.hstack([bunch.data, bunch.target])
    loadings = np.hstack([bunch.components, bunch.y_loadings.T])
    planted = loadings.T @ loadings + np.diag([0.3] * 5 + [0.2] * 2)
    scale = np.sqrt(np.outer(np.diag(planted), np.diag(planted)))
    # a covariance entry has a standard error of at most sqrt(2 / n) of its scale
    assert_allclose(np.cov(joint.T) / scale, planted / scale, atol=5 * np.sqrt(2 / 200_000))
    assert_allclose(bunch.data.mean(axis=0), bunch.mean, atol=5 * np.sqrt(np.diag(planted)[:5].max() / 200_000))


def test_low_rank_shapes_and_types():
    assert make_low_rank(10, 4, 1).target.shape == (10,)
    bunch = make_low_rank(10, 4, 1, n_classes=3, dtype="float32")
    assert bunch.data.dtype == np.float32
    assert bunch.target.dtype.kind == "i"
    assert bunch.target_names == ["0", "1", "2"]
    with pytest.raises(ValueError, match="n_components=0"):
        make_low_rank(10, 4, 0)


def test_text_has_the_promised_size():
    bunch = make_text()
    assert bunch.data.shape == (20_000, 25_000)
    assert 1.6e6 < bunch.data.nnz < 1.8e6
    assert isinstance(bunch.data, sparse.csr_matrix)
    assert_allclose(sparse.linalg.norm(bunch.data, axis=1), 1.0)


def test_text_follows_the_seed():
    first, again, other = (make_text(200, 300, 4, random_state=seed).sha256 for seed in (0, 0, 1))
    assert first == again != other


def test_text_words_follow_a_power_law_and_topics_differ():
    bunch = make_text(4000, 2000, 5, random_state=2)
    frequency = np.diff(bunch.data.tocsc().indptr)
    assert frequency[0] > 5 * frequency[100:200].mean() > 20 * frequency[-1000:].mean()
    centers = np.vstack([bunch.data[bunch.target == topic].mean(axis=0) for topic in range(5)]).A1.reshape(5, -1)
    own = (bunch.data @ centers.T).argmax(axis=1)
    assert (own == bunch.target).mean() > 0.9


def test_text_refuses_empty_sizes():
    with pytest.raises(ValueError, match="n_topics=0"):
        make_text(10, 10, 0)
