"""Downloads: files and archives come from a local server to the cache, checked by content."""

import http.server
import io
import sys
import tarfile
import threading
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon import datasets
from gnomon.datasets import _download
from gnomon.datasets._local import read_bunch
from gnomon.datasets._sources import FILES

CRABS = """"rownames","sp","sex","index","FL","RW","CL","CW","BD"
"1","B","F",1,7.2,6.5,14.7,17.1,6.1
"2","B","M",1,8.1,6.7,16.1,19,7
"3","O","F",1,10.7,9.7,21.4,24,9.8
"4","O","M",1,9.1,6.9,16.7,18.6,7.4
"""
SMALL = {"X": np.array([[7.2, 6.5, 14.7, 17.1, 6.1], [8.1, 6.7, 16.1, 19, 7], [10.7, 9.7, 21.4, 24, 9.8],
                        [9.1, 6.9, 16.7, 18.6, 7.4]]), "y": np.arange(4, dtype=np.int16)}  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of a folder that counts what it is asked for."""

    asked: list = []  # noqa: RUF012

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A local source of a small crabs.csv, an empty cache, and no folder of data."""
    folder = tmp_path / "source"
    file = folder / FILES["crabs"].files[0]
    file.parent.mkdir(parents=True)
    file.write_text(CRABS)
    Quiet.asked.clear()
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=running.serve_forever, daemon=True).start()
    for base in ("BASE", "ARCHIVES"):
        monkeypatch.setattr(_download, base, f"http://127.0.0.1:{running.server_port}/")
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    monkeypatch.setitem(FILES, "crabs", FILES["crabs"]._replace(content=_download.digest_of(SMALL)))
    yield file
    running.shutdown()
    running.server_close()


def test_a_set_is_downloaded_once(server, tmp_path):
    bunch = datasets.fetch_crabs()
    assert_array_equal(bunch.data, SMALL["X"])
    assert_array_equal(bunch.target, SMALL["y"])
    assert_array_equal(datasets.fetch_crabs().data, SMALL["X"])
    assert len(Quiet.asked) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["crabs.npz"]


def test_a_folder_of_data_comes_first(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GNOMON_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"crabs\.npz is not in"):
        datasets.fetch_crabs(data_home=tmp_path)  # a folder that is named is not left
    assert datasets.fetch_crabs().data.shape == (4, 5)
    (tmp_path / "crabs.npz").write_bytes(b"of the user")
    with pytest.raises(ValueError, match="damaged or another version"):
        datasets.fetch_crabs()


def test_changed_content_is_refused_and_nothing_is_kept(server, tmp_path):
    server.write_text(CRABS.replace("7.2", "7.3"))
    with pytest.raises(ValueError, match=r"crabs: the content has digest .* Or set GNOMON_DATA to a folder that holds"):
        datasets.fetch_crabs()
    server.write_text("<html>, moved\n1, 2, 3")
    with pytest.raises(ValueError, match=r"crabs: what came from vincentarelbundock.* cannot be read"):
        datasets.fetch_crabs()
    assert not list((tmp_path / "cache").iterdir())


def test_no_network_is_one_line(server):
    server.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"crabs could not be downloaded from http://.*crabs\.csv \(HTTPError\)"
    ):
        datasets.fetch_crabs()


def test_a_damaged_cache_says_what_to_do(server, tmp_path):
    datasets.fetch_crabs()
    file = tmp_path / "cache" / "crabs.npz"
    content = file.read_bytes()
    file.write_bytes(content[:200])
    with pytest.raises(ValueError, match=r"crabs\.npz cannot be read .*Delete it, and it is downloaded again"):
        datasets.fetch_crabs()
    np.savez(file, X=SMALL["X"] + 1, y=SMALL["y"])
    with pytest.raises(ValueError, match=r"the content has digest .* Delete .*crabs\.npz"):
        datasets.fetch_crabs()


def test_without_pooch_the_way_out_is_told(server, monkeypatch):
    monkeypatch.setattr(_download.importlib, "import_module", lambda name: __import__("no_such_module"))
    with pytest.raises(FileNotFoundError, match=r"pip install 'gnomon\[data\]', or set GNOMON_DATA"):
        datasets.fetch_crabs()


@pytest.mark.parametrize("name", [name for name, source in FILES.items() if source.needs])
def test_a_missing_package_is_told_before_anything_is_downloaded(name, server, monkeypatch):
    (package,) = FILES[name].needs
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        FileNotFoundError, match=rf"{name} cannot be downloaded without {package}, .*: pip install 'gnomon\[data\]', or"
    ):
        read_bunch(name, None)
    assert not Quiet.asked


@pytest.fixture
def archive(server, tmp_path, monkeypatch):
    """An archive of the commit with small faces, beside the local source of crabs."""
    commit = FILES["yaleb5_192x168"].files[0].split("/")[2]
    path = tmp_path / "source/Uranium2/recognition/tar.gz" / commit
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as stream:
        for i, folder in enumerate(["CroppedYale/yaleB01", "CroppedYale/yaleB05", "Other/yaleB02"]):
            content = b"P5\n2 1\n255\n" + bytes([i, 7])
            about = tarfile.TarInfo(f"recognition-{commit}/{folder}/{folder[-7:]}_P00A+000E+00.pgm")
            about.size = len(content)
            stream.addfile(about, io.BytesIO(content))
    small = {"X": np.array([[0, 7], [1, 7]], dtype=np.uint8), "y": np.array([0, 4], dtype=np.int16)}
    source = FILES["yaleb5_192x168"]._replace(content=_download.digest_of(small))
    monkeypatch.setitem(FILES, "yaleb5_192x168", source)
    return path


def test_a_folder_of_files_comes_from_the_archive_of_its_commit(archive, tmp_path):
    bunch = datasets.fetch_yaleb(size=192)
    assert_array_equal(bunch.data, [[0, 7], [1, 7]])
    assert bunch.target.tolist() == [0, 4]
    assert_array_equal(datasets.fetch_yaleb(size=192).data, bunch.data)
    assert Quiet.asked == [f"/Uranium2/recognition/tar.gz/{archive.name}"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["yaleb5_192x168.npz"]


def test_a_damaged_or_missing_archive_is_one_line(archive, tmp_path):
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileNotFoundError, match=r"192x168 could not be downloaded from http.* \(\w+Error\)\. Or set"):
        datasets.fetch_yaleb(size=192)
    with tarfile.open(archive, "w:gz"):
        """Without the folder."""
    with pytest.raises(ValueError, match=r"yaleb5_192x168: the content has digest .* Or set"):
        datasets.fetch_yaleb(size=192)
    archive.unlink()
    with pytest.raises(FileNotFoundError, match=rf"from http.*/tar\.gz/{archive.name} \(HTTPError\)"):
        datasets.fetch_yaleb(size=192)
    assert not list((tmp_path / "cache").iterdir())


def test_the_digest_is_of_names_types_shapes_and_values():
    known = _download.digest_of(SMALL)
    changed = ({"Z": SMALL["X"], "y": SMALL["y"]}, {**SMALL, "y": SMALL["y"].astype(np.int32)},
               {**SMALL, "X": SMALL["X"].T}, {**SMALL, "X": SMALL["X"] + 1e-12})  # fmt: skip
    assert len({known, *map(_download.digest_of, changed)}) == 5
    assert _download.digest_of(dict(reversed(SMALL.items()))) == known
