"""Local files: checked by digest, described, and missed with a message that says what to do."""

import hashlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gnomon import datasets
from gnomon.datasets._convert import CONVERTERS
from gnomon.datasets._sources import FILES

SHAPES = {
    "fetch_yale": (165, 1024, 15),
    "fetch_orl": (400, 1024, 40),
    "fetch_yaleb": (2414, 1024, 38),
    "fetch_usps": (9298, 256, 10),
    "fetch_crabs": (200, 5, 4),
    "fetch_11_tumors": (166, 12533, 11),
    "fetch_9_tumors": (60, 5726, 9),
    "fetch_gcm": (190, 243, 14),
    "fetch_lung_cancer": (102, 12600, 5),
    "fetch_tdt2": (9394, 36771, 30),
    "fetch_news20": (19950, 25607, 20),
    "fetch_amazon": (27677, 5000, 2),
    "fetch_rcv1": (27695, 47236, 101),
    "fetch_yeast": (2417, 103, 14),
    "fetch_wq": (1060, 16, 14),
    "fetch_corn": (80, 700, 4),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_names(name, data_dir):
    bunch = getattr(datasets, name)(data_home=data_dir)
    n, p, n_targets = SHAPES[name]
    assert bunch.data.shape == (n, p)
    assert len(bunch.target) == n
    assert len(bunch.feature_names) == p
    assert len(bunch.target_names) == n_targets
    if bunch.target.ndim == 1:
        assert_array_equal(np.unique(bunch.target), np.arange(n_targets))
    assert sparse.issparse(bunch.data) == (name in ("fetch_tdt2", "fetch_news20", "fetch_amazon", "fetch_rcv1"))
    assert bunch.data.dtype == (np.float32 if name == "fetch_usps" else np.float64)


@pytest.mark.realdata
def test_variants(data_dir):
    assert datasets.fetch_yale(size=64, data_home=data_dir).data.shape == (165, 4096)
    assert datasets.fetch_orl(size=64, data_home=data_dir).data.shape == (400, 4096)
    assert datasets.fetch_yaleb(size=192, data_home=data_dir).data.shape == (320, 32256)
    assert datasets.fetch_pie(people=10, data_home=data_dir).data.shape == (1700, 1024)
    assert datasets.fetch_pie(data_home=data_dir).data.shape == (11554, 1024)
    assert datasets.fetch_corn(instrument="mp6", data_home=data_dir).feature_names[0] == "1100 nm"


@pytest.mark.realdata
def test_counts_and_extra_fields_are_those_of_the_source(data_dir):
    tdt2 = datasets.fetch_tdt2(data_home=data_dir)
    assert np.bincount(tdt2.target)[[0, -1]].tolist() == [1844, 52]
    amazon = datasets.fetch_amazon(data_home=data_dir)
    assert np.bincount(amazon.domain[amazon.labeled]).tolist() == [2000] * 4
    yeast = datasets.fetch_yeast(data_home=data_dir)
    assert yeast.is_test.sum() == 917
    assert_array_equal(yeast.data, np.round(yeast.data, 6))
    assert datasets.fetch_rcv1(data_home=data_dir).target.sum(axis=1).mean() == pytest.approx(2.91, abs=0.005)
    assert datasets.fetch_news20(data_home=data_dir).feature_names[0] == "aaa"


@pytest.fixture
def tiny_crabs(tmp_path, monkeypatch):
    """A folder with a small stand-in for the crabs file, known by its digest."""
    np.savez(tmp_path / "crabs.npz", X=np.arange(40).reshape(8, 5), y=np.repeat(np.arange(4), 2))
    digest = hashlib.sha256((tmp_path / "crabs.npz").read_bytes()).hexdigest()
    monkeypatch.setitem(FILES, "crabs", FILES["crabs"]._replace(sha256=digest))
    return tmp_path


def test_folder_comes_from_the_environment(tiny_crabs, monkeypatch):
    monkeypatch.setenv("GNOMON_DATA", str(tiny_crabs))
    bunch = datasets.fetch_crabs()
    assert bunch.data.dtype == np.float64
    assert bunch.target.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert bunch.feature_names == ["FL", "RW", "CL", "CW", "BD"]
    assert bunch.sha256 == FILES["crabs"].sha256


def test_altered_file_is_refused(tiny_crabs):
    content = bytearray((tiny_crabs / "crabs.npz").read_bytes())
    content[100] ^= 1
    (tiny_crabs / "crabs.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"crabs\.npz has sha256 \w+, wanted \w+.*damaged or another version"):
        datasets.fetch_crabs(data_home=tiny_crabs)


def test_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"usps\.npz is not in .*its source is github.*without data_home it is d"
    ):
        datasets.fetch_usps(data_home=tmp_path)


def test_descriptions_name_license_and_source(tiny_crabs):
    bunch = datasets.fetch_crabs(data_home=tiny_crabs)
    assert bunch.DESCR.endswith(
        "Source: github.com/vincentarelbundock/Rdatasets, MASS/crabs.csv, commit 1dcc2bf5f955 (GPL-3)."
    )
    assert all("licens" in source.provenance.lower() or "GPL" in source.provenance for source in FILES.values())
    assert all(source.converter in CONVERTERS and source.files for source in FILES.values())


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: datasets.fetch_yale(size=16), r"size=16 must be one of \(32, 64\) for fetch_yale"),
        (lambda: datasets.fetch_pie(people=9), "people=9 must be 68"),
        (lambda: datasets.fetch_corn(instrument="m6"), "instrument='m6' must be 'm5', 'mp5' or 'mp6'"),
    ],
)
def test_wrong_choices_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_every_source_has_its_own_digest():
    assert {len(source.sha256) for source in FILES.values()} == {64}
    assert {len(source.content) for source in FILES.values()} == {64}
    assert len({part for source in FILES.values() for part in (source.sha256, source.content)}) == 2 * len(FILES)


def test_every_set_says_whom_to_cite_and_where_it_is_from():
    for name, source in FILES.items():
        assert "Cite " in source.description, name
        assert any(word in source.provenance for word in ("license", "GPL")), name
        assert source.files, name
