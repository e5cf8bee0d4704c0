"""Model files: nothing is lost, nothing is executed, and nothing damaged is read."""

import io
import json
import os
import subprocess
import sys
import zipfile
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import gnomon
from gnomon import PPCA, SPPCA, NeighborFeatures
from gnomon.datasets import load_diabetes, load_iris, make_partial
from gnomon.export import load_metadata, load_model, save_model
from gnomon.export._codec import decode, encode
from gnomon.export.model_file import _sealed

IRIS = load_iris()
SPECIES = np.array(IRIS.target_names)[IRIS.target]


def sppca_with(y, dtype=np.float64, **parameters):
    return SPPCA(2, **parameters).fit(IRIS.data.astype(dtype), y)


def real_targets():
    y = IRIS.data[:, :2] @ np.array([[1.0, 0.5], [0.2, 1.0]]) + np.random.default_rng(0).normal(size=(150, 2))
    y[::3, 0] = np.nan
    return y


MODELS = {
    "text classes": lambda: sppca_with(make_partial(SPECIES, n_per_class=9, random_state=0)),
    "integer classes": lambda: sppca_with(make_partial(IRIS.target, n_per_class=9, random_state=0)),
    "booleans": lambda: sppca_with(IRIS.target == 2),
    "one real": lambda: sppca_with(real_targets()[:, 0]),
    "two real": lambda: sppca_with(real_targets()),
    "dependent real": lambda: sppca_with(np.eye(3)[IRIS.target]),
    "no targets": lambda: sppca_with(None),
    "float32": lambda: sppca_with(make_partial(SPECIES, n_per_class=9, random_state=0), np.float32),
    "ppca": lambda: PPCA(2).fit(IRIS.data),
    "random state": lambda: sppca_with(IRIS.target, random_state=np.random.RandomState(3)),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gnomon"


@pytest.fixture
def saved(path):
    save_model(MODELS["text classes"](), path)
    return path


def assert_same(first, second):
    assert type(first) is type(second)
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif isinstance(first, np.random.RandomState):
        assert_array_equal(first.get_state()[1], second.get_state()[1])
    else:
        assert first == second


def test_every_attribute_comes_back_as_it_was(model, path):
    save_model(model, path)
    assert_same(vars(model), vars(load_model(path)))


def test_answers_are_the_same_bit_for_bit(model, path):
    save_model(model, path)
    loaded = load_model(path)
    X = IRIS.data.astype(model.components_.dtype) * 1.1
    assert_same(loaded.transform(X), model.transform(X))
    assert_same(loaded.score_samples(X), model.score_samples(X))
    if getattr(model, "n_labeled_", 0):
        assert_same(loaded.predict(X), model.predict(X))
        assert_same(loaded.posterior(X)[1], model.posterior(X)[1])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("preparation", [NeighborFeatures(8, metric="cosine", n_components=5), Normalizer()])
def test_a_preparation_and_a_model_are_kept_together(path, kind, preparation):
    X = IRIS.data if kind == "dense" else sparse.csr_matrix(IRIS.data)
    y = make_partial(SPECIES, n_per_class=9, random_state=0)
    pipeline = make_pipeline(clone(preparation), SPPCA(2)).fit(X, y)
    save_model(pipeline, path)
    loaded = load_model(path)
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipeline.steps]
    assert_same(loaded.predict(X * 1.1), pipeline.predict(X * 1.1))
    assert_same(loaded.transform(X), pipeline.transform(X))


def test_a_model_may_stand_in_the_metadata(path):
    other = PPCA(2).fit(IRIS.data)
    save_model(MODELS["text classes"](), path, metadata={"other": other})
    assert_same(vars(load_metadata(path)["other"]), vars(other))


def test_named_tuples_come_back_as_plain_ones():
    row = NamedTuple("Row", [("a", int), ("b", float)])(1, 2.5)
    assert decode(encode([row], [], "rows"), []) == [(1, 2.5)]


def test_a_step_of_another_library_is_refused(path):
    pipeline = make_pipeline(PCA(3), SPPCA(2)).fit(IRIS.data, IRIS.target)
    with pytest.raises(TypeError, match=r"steps is a sklearn.*PCA; save_model takes"):
        save_model(pipeline, path)
    with pytest.raises(ValueError, match="steps is a PPCA that is not fitted"):
        save_model(make_pipeline(Normalizer(), PPCA()), path)


def test_a_loaded_model_can_be_cloned_and_fitted_again(saved):
    loaded = load_model(saved)
    again = clone(loaded).fit(IRIS.data, make_partial(SPECIES, n_per_class=9, random_state=0))
    assert_same(again.components_, loaded.components_)


def test_column_names_and_output_settings_are_kept(path):
    frame = pytest.importorskip("pandas").DataFrame(IRIS.data, columns=list("abcd"))
    model = PPCA(2).set_output(transform="pandas").fit(frame)
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.feature_names_in_.tolist() == list("abcd")
    assert loaded.transform(frame).equals(model.transform(frame))


def test_the_same_model_gives_the_same_bytes(saved, tmp_path):
    save_model(MODELS["text classes"](), tmp_path / "other")
    assert saved.read_bytes() == (tmp_path / "other").read_bytes()


def test_metadata_is_kept_beside_the_model(path):
    metadata = {"names": ["a", "b"], "scale": np.arange(3.0), "nothing": None, "deep": {"list": [1, {"x": 2.5}]}}
    save_model(MODELS["ppca"](), path, metadata=metadata)
    assert_same(load_metadata(path), metadata)
    save_model(MODELS["ppca"](), path)
    assert load_metadata(path) is None


def test_the_folder_of_a_model_stands_for_its_file(saved):
    assert_same(vars(load_model(saved.parent)), vars(load_model(saved)))
    assert load_metadata(str(saved.parent)) is None


def test_another_process_reads_the_file(saved):
    code = (
        "import sys; from gnomon.export import load_model; from gnomon.datasets import load_iris; "
        "print(load_model(sys.argv[1]).predict(load_iris().data)[[0, 60, 120]].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code, saved], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(load_model(saved).predict(IRIS.data)[[0, 60, 120]].tolist())


def test_no_cut_is_read(saved):
    content = saved.read_bytes()
    for length in {*range(0, len(content), 97), len(content) - 1}:
        saved.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"model\.gnomon .*was cut short or"):
            load_model(saved)


def test_no_changed_byte_is_read(saved):
    content = saved.read_bytes()
    for place in {*range(0, len(content), 53), len(content) - 1}:
        changed = bytearray(content)
        changed[place] ^= 0x21
        saved.write_bytes(changed)
        with pytest.raises(ValueError, match=r"model\.gnomon (is not a gnomon model file|was cut short or altered)"):
            load_model(saved)


@pytest.mark.parametrize("content", [b"", b"row,a\n1,2\n", b"PK\x03\x04" + bytes(60), b"\x80\x04K\x01."])
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.gnomon is not a gnomon model file"):
        load_model(path)


def test_other_archives_are_refused(path):
    np.savez(path.with_suffix(".npz"), X=np.eye(2))
    with pytest.raises(ValueError, match=r"model\.npz is not a gnomon model file"):
        load_model(path.with_suffix(".npz"))


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_repacked_archive_is_refused(saved):
    members = members_of(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="altered after it was written"):
        load_model(saved)


def forge(path, **changes):
    """Rewrite a model file with changes to its manifest and right digests."""
    members = members_of(path)
    manifest = json.loads(members.pop("manifest.json")) | changes
    arrays = [np.load(io.BytesIO(members[name])) for name in sorted(members)]
    path.write_bytes(_sealed(manifest, arrays))


@pytest.mark.parametrize("name", ["os.system", "LinearRegression", "__version__", "datasets"])
def test_only_models_of_this_library_are_made(saved, name):
    forge(saved, **{"class": name})
    with pytest.raises(ValueError, match=f"holds a model of class '{name}', which gnomon"):
        load_model(saved)


def test_a_newer_format_says_which_version_wrote_it(saved):
    forge(saved, format_version=2, gnomon_version="9.0")
    with pytest.raises(ValueError, match=r"has format version 2 and gnomon .* written by gnomon 9\.0"):
        load_model(saved)


def test_unknown_parameters_say_which_version_wrote_them(saved):
    forge(saved, params={"n_axes": 2}, gnomon_version="9.0")
    with pytest.raises(ValueError, match=r"written by gnomon 9\.0 and does not fit gnomon .*n_axes"):
        load_model(saved)


def test_methods_cannot_be_replaced(saved):
    forge(saved, fitted={"predict": 1})
    with pytest.raises(ValueError, match="has an attribute 'predict'"):
        load_model(saved)


def test_other_estimators_are_refused(path):
    with pytest.raises(TypeError, match=r"estimator is a sklearn.*LinearRegression; save_model takes.*PPCA, SPPCA"):
        save_model(LinearRegression(), path)
    with pytest.raises(ValueError, match="estimator is a PPCA that is not fitted; call fit first"):
        save_model(PPCA(), path)
    assert not path.exists()


def test_what_cannot_be_kept_is_named_and_the_old_file_stays(saved):
    before = saved.read_bytes()
    model = PPCA(2).fit(IRIS.data)
    model.extra_ = {1, 2}
    with pytest.raises(TypeError, match=r"extra_ holds a builtins\.set"):
        save_model(model, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["model.gnomon"]


def test_a_failed_write_leaves_the_old_file_alone(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model(MODELS["ppca"](), saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["model.gnomon"]


def test_the_file_says_what_wrote_it(saved):
    manifest = json.loads(members_of(saved)["manifest.json"])
    assert manifest["class"] == "SPPCA"
    assert manifest["gnomon_version"] == gnomon.__version__
    assert manifest["params"]["n_components"] == 2
    assert b"pickle" not in saved.read_bytes()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        10**30,
        0.1,
        float("inf"),
        -0.0,
        "text",
        [1, [2.5, None]],
        (1, ("a",)),
        {"a": (1, 2), "$array": 3},
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array([np.nan, np.inf]),
        np.array(["a", "bcd"]),
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.array(3.5),
        np.float32(0.1),
        np.int64(-1),
        np.bool_(True),
        np.array([True, False]),
    ],
    ids=repr,
)
def test_values_come_back_as_they_were(value):
    arrays = []
    text = json.dumps(encode(value, arrays, "value"), allow_nan=False)
    assert_same(decode(json.loads(text), arrays), value)


def test_nan_comes_back():
    assert np.isnan(decode(encode(float("nan"), [], "value"), []))


def test_predictions_of_real_targets_keep_their_units(path):
    X, y = load_diabetes(return_X_y=True)
    model = SPPCA(2).fit(X, np.where(np.arange(442) % 2, y, np.nan))
    save_model(model, path)
    mean, std = load_model(path).predict(X, return_std=True)
    assert_array_equal(mean, model.predict(X))
    assert (std > 0).all()
