"""Nothing is lost and nothing is torn: how files and folders come under their names, and what is deleted."""

import json
import os
import threading
from pathlib import Path

import pytest

from gnomon import _files
from gnomon._files import RECORD, Taken, changed, new_file, new_folder, sealed, sweep

FALLBACK = pytest.mark.parametrize("has_renameat2", [True, False])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_renameat2(monkeypatch, has_renameat2):
    if not has_renameat2:
        monkeypatch.setattr(_files, "_rename", lambda *arguments: False)


def write(path, content=b"new", **options):
    with new_file(path, **options) as file:
        file.write(content)


def results(path="out", content=b"new", meanwhile=lambda: None, **options):
    """A folder of results, as a command writes it."""
    with new_folder(path, **options) as inside:
        write(inside / "table.csv", content)
        write(inside / RECORD, sealed({"figure": 0.1, "text": "é"}, inside).encode())
        meanwhile()


def everything():
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


@FALLBACK
def test_a_name_taken_meanwhile_is_kept_and_so_is_the_result(monkeypatch, has_renameat2):
    without_renameat2(monkeypatch, has_renameat2)
    Path("p.csv").write_text("mine")
    Path("p-2.csv").write_text("mine too")
    with pytest.raises(Taken, match=r"p\.csv was made or changed meanwhile, and kept; the result is in .*p-3\.csv"):
        write("p.csv", replace=False)
    assert everything() == {"p.csv": b"mine", "p-2.csv": b"mine too", "p-3.csv": b"new"}


@FALLBACK
@pytest.mark.parametrize("made", [lambda: Path("out").write_text("mine"), lambda: Path("out/a").mkdir(parents=True)])
def test_a_folder_that_appears_meanwhile_is_kept(monkeypatch, has_renameat2, made):
    without_renameat2(monkeypatch, has_renameat2)
    with pytest.raises(Taken, match="out-2"):
        results(meanwhile=made)
    assert Path("out").is_file() or os.listdir("out") == ["a"]
    assert (Path("out-2") / "table.csv").read_bytes() == b"new"
    assert len(os.listdir()) == 2


@FALLBACK
def test_unchanged_results_are_replaced_and_nothing_else_is_left(monkeypatch, has_renameat2):
    without_renameat2(monkeypatch, has_renameat2)
    results(content=b"old")
    assert changed(Path("out")) is None
    results(replace=True)
    assert Path("out/table.csv").read_bytes() == b"new"
    assert os.listdir() == ["out"]


@FALLBACK
@pytest.mark.parametrize("name", ["table.csv", RECORD, "notes.txt"])
def test_results_changed_meanwhile_are_kept(monkeypatch, has_renameat2, name):
    without_renameat2(monkeypatch, has_renameat2)
    results(content=b"old")
    mine = Path("out", name)
    with pytest.raises(Taken):
        results(replace=True, meanwhile=lambda: mine.write_text('{"sha256": {}}'))
    assert mine.read_text() == '{"sha256": {}}'
    assert Path("out-2/table.csv").read_bytes() == b"new"
    assert sorted(os.listdir()) == ["out", "out-2"]


def test_results_changed_at_the_last_moment_are_exchanged_back(monkeypatch):
    results(content=b"old")
    rename = _files._rename

    def label_first(path, target, how):
        if how == _files.EXCHANGE and Path("out/table.csv").read_bytes() == b"old":
            Path("out/table.csv").write_bytes(b"labelled")
        return rename(path, target, how)

    monkeypatch.setattr(_files, "_rename", label_first)
    with pytest.raises(Taken):
        results(replace=True)
    assert Path("out/table.csv").read_bytes() == b"labelled"
    assert Path("out-2/table.csv").read_bytes() == b"new"


@FALLBACK
def test_one_result_is_whole_at_every_instant(monkeypatch, has_renameat2):
    """After every rename, link and unlink one folder holds a whole result, and no half one has a final name."""
    without_renameat2(monkeypatch, has_renameat2)
    results(content=b"old")
    seen, torn = [], []

    def look(call):
        def looking(*arguments, **options):
            found = call(*arguments, **options)
            folders = [path for path in Path().iterdir() if path.is_dir()]
            whole = [path for path in folders if changed(path) is None and len(os.listdir(path)) == 2]
            seen.append(whole)
            torn.extend(path for path in folders if path not in whole and not path.name.startswith("."))
            return found

        return looking

    for name in ("rename", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, look(getattr(os, name)))
    monkeypatch.setattr(_files, "_rename", look(_files._rename))
    results(replace=True)
    assert len(seen) > 2
    assert all(seen)
    assert torn == []


@pytest.mark.parametrize("broken", ["", "[]", "{}", '{"sha256": 3}', '{"sha256": {"metrics.json": "0"}}', "\x00"])
def test_a_record_that_says_nothing_protects_everything(broken):
    results()
    assert changed(Path("out")) is None
    Path("out", RECORD).write_text(broken)
    assert changed(Path("out")) == RECORD


def test_a_record_that_lists_a_file_of_the_users_is_no_record():
    results()
    Path("out/mine").write_text("mine")
    record = json.loads(Path("out", RECORD).read_text())
    record["sha256"]["mine"] = _files._digest(Path("out/mine"))
    Path("out", RECORD).write_text(json.dumps(record))
    assert changed(Path("out")) is not None


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "full"), SystemExit(143)])
@pytest.mark.parametrize(
    "what", [lambda stop: results(meanwhile=stop), lambda stop: results("p", replace=True, meanwhile=stop)]
)
def test_a_failure_leaves_things_as_they_were(what, error):
    results("p", content=b"old")
    before = everything()

    def stop():
        raise error

    with pytest.raises(type(error) if isinstance(error, BaseException) else error):
        what(stop)
    assert everything() == before


def test_only_stale_leftovers_of_processes_that_are_gone_are_swept(folder):
    gone = (os.spawnlp(os.P_WAIT, "true", "true") and 0) or 2**22 + 1  # above the largest number of a process
    names = {
        f".gnomon.{gone}.0123abcd": (7200, False),
        f".gnomon.{gone}.1123abcd": (60, True),
        f".gnomon.{os.getpid()}.2123abcd": (7200, True),
        ".gnomon.notes": (7200, True),
    }
    for name, (age, _) in names.items():
        Path(name).mkdir()
        Path(name, "part.csv").write_text("half")
        os.utime(name, (0, os.stat(name).st_mtime - age))
    assert sweep(folder) == [name for name, (_, stays) in names.items() if not stays]
    assert set(os.listdir()) == {name for name, (_, stays) in names.items() if stays}


def test_a_leftover_that_someone_changed_is_kept(folder):
    results()
    name = ".gnomon.4194305.0123abcd"
    os.rename("out", name)
    Path(name, "table.csv").write_text("mine")
    os.utime(name, (0, 0))
    assert sweep(folder) == []
    assert Path(name, "table.csv").read_text() == "mine"


def test_abandon_leaves_what_another_process_writes(monkeypatch):
    with new_file("p.csv") as file:
        file.write(b"half")
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: 1)
            _files.abandon()
        assert len(os.listdir()) == 1
    assert Path("p.csv").read_bytes() == b"half"


def test_a_link_is_followed_and_its_mode_is_kept():
    Path("real.csv").write_text("old")
    os.chmod("real.csv", 0o600)
    os.symlink("real.csv", "link.csv")
    write("link.csv")
    assert os.path.islink("link.csv")
    assert Path("real.csv").read_bytes() == b"new"
    assert os.stat("real.csv").st_mode & 0o777 == 0o600


def test_a_pipe_is_written_to():
    os.mkfifo("pipe.csv")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe.csv").read_bytes()))
    reader.start()
    write("pipe.csv")
    reader.join()
    assert read == [b"new"]
    assert Path("pipe.csv").is_fifo()


def test_everything_is_flushed_before_it_takes_its_name(monkeypatch):
    steps = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, call=call: (steps.append(name), call(*a)))
    write("p.csv")
    assert steps == ["fsync", "replace", "fsync"]


def test_of_two_writers_one_wins_and_the_other_keeps_its_result():
    both, told = threading.Barrier(2), []

    def one(content):
        try:
            results(content=content, meanwhile=both.wait)
        except Taken as error:
            told.append(str(error))

    writers = [threading.Thread(target=one, args=(content,)) for content in (b"one", b"two")]
    [writer.start() for writer in writers]
    [writer.join() for writer in writers]
    assert len(told) == 1
    assert {Path(name, "table.csv").read_bytes() for name in ("out", "out-2")} == {b"one", b"two"}
