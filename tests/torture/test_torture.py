"""Kills, full disks, races and long runs, by `make torture`. TORTURE is the share of the full numbers that is run."""

import gc
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gnomon
from gnomon import _files
from gnomon._files import changed
from gnomon.cli import main
from gnomon.export import load_model
from gnomon.tables import read_table, write_table

pytestmark = pytest.mark.torture
SHARE = float(os.environ.get("TORTURE", "1"))
KILLS, PAIRS, FITS = (max(1, round(SHARE * full)) for full in (200, 10, 500))
ROWS = 400  # several pages of a disk in each file
GNOMON = [sys.executable, "-m", "gnomon"]
FIT = ["fit", "t.csv", "--target", "kind", "--model", "sppca", "--no-compare"]
COMMANDS = {
    "fit": [*FIT, "--out", "new"],
    "fit --force": [*FIT, "--out", "out", "--force"],
    "transform": ["transform", "out", "t.csv", "--out", "z.parquet"],
    "transform --force": ["transform", "out", "t.csv", "--out", "old.parquet", "--force"],
    "predict": ["predict", "out", "t.csv", "--out", "p.csv"],
    "predict --force": ["predict", "out", "t.csv", "--out", "old.csv", "--force"],
    "demo": ["demo", "--out", "demo"],
    "demo --force": ["demo", "--out", "old", "--force"],
}
HERE = [name for name in COMMANDS if "demo" not in name]  # a demo takes seconds, and writes as a fit does
KEPT = {"t.csv", "out", "old.csv", "old.parquet"}
NEW = ["new", "z.parquet", "p.csv", "demo"]


def make(folder):
    """A table, a whole result, a whole prediction and a whole projection."""
    os.chdir(folder)
    rng = np.random.default_rng(0)
    write_table(
        "t.csv", {name: rng.normal(size=ROWS) for name in "abcd"} | {"kind": ["x", "y", None, "x"] * (ROWS // 4)}
    )
    for words in (COMMANDS["fit --force"], COMMANDS["predict --force"], COMMANDS["transform --force"]):
        assert CliRunner().invoke(main, words).exit_code == 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    return tmp_path


def hidden():
    return {name for name in os.listdir() if name.startswith(".")}


def assert_whole(table):
    """Everything under a final name is whole, and what was there before is there."""
    assert Path("t.csv").read_bytes() == table
    names = set(os.listdir()) - hidden()
    assert names >= KEPT
    for name in names - {"t.csv"}:
        if Path(name).is_dir():
            assert changed(Path(name)) is None, name
            load_model(Path(name, "model.gnomon"))
        else:
            read = read_table(name, drop=["predicted"] if name.endswith("csv") else [])
            assert len(read.X) == ROWS, name


def forget():
    """Delete what a command without --force wrote."""
    for name in NEW:
        shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink(missing_ok=True)


def assert_leftovers_are_swept():
    leftovers = hidden()
    for leftover in leftovers:
        os.utime(leftover, (0, 0))
    done = subprocess.run([*GNOMON, *COMMANDS["predict --force"]], capture_output=True, text=True)
    assert set(re.findall(r"deleted (\S+),", done.stderr)) == leftovers
    assert hidden() == set()
    return len(leftovers)


# ------------------------------------------------------------------------------------------------------- kills


def heed():
    """Ctrl-C is heeded even where the run is in the background, where a shell has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_kills_at_random_moments(folder):
    table, took = Path("t.csv").read_bytes(), {}
    for name in ("demo --force", *COMMANDS):  # the first makes what it is to replace
        start = time.monotonic()
        subprocess.run([*GNOMON, *COMMANDS[name]], check=True, capture_output=True)
        took[name] = time.monotonic() - start
    draw = random.Random(0)
    codes = []
    for _ in range(KILLS):
        forget()
        name, number = draw.choice(list(COMMANDS)), draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        before = hidden()
        command = [*GNOMON, *COMMANDS[name]]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed)
        time.sleep(draw.uniform(0.15, 1.1) * took[name])
        running.send_signal(number)
        said = running.communicate()[1].decode()
        assert_whole(table)
        codes.append(running.returncode)
        if number != signal.SIGKILL:
            # -number: before the first and after the last line of gnomon the system's own handler ends Python
            assert running.returncode in (0, 128 + number, -number), (name, number, said)
            assert hidden() == before, (name, number)
            assert len(said.splitlines()) <= 1, said
    n_left = assert_leftovers_are_swept()
    n_late, n_killed = codes.count(0), codes.count(-signal.SIGKILL)
    sys.stdout.write(f"\n{KILLS} kills: {n_late} too late, {n_killed} by SIGKILL, {n_left} leftovers, all whole\n")


# ------------------------------------------------------------------------------------------ a fault at each step


STEPS = [(os, "fsync"), (os, "replace"), (_files, "_rename"), (Path, "mkdir")]


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "stop"])
def test_every_step_of_writing_may_fail(folder, monkeypatch, name, error):
    table, n_failed = Path("t.csv").read_bytes(), 0
    for at in range(1, 200):
        calls = 0

        def failing(call, at=at):
            def injected(*arguments, **options):
                nonlocal calls
                calls += 1
                if calls == at:
                    raise error
                return call(*arguments, **options)

            return injected

        with monkeypatch.context() as patch:
            for owner, step in STEPS:
                patch.setattr(owner, step, failing(getattr(owner, step)))
            done = CliRunner().invoke(main, COMMANDS[name])
        assert_whole(table)
        assert hidden() == set()
        forget()
        if calls < at:
            break
        n_failed += done.exit_code != 0
        assert done.exit_code in (0, 2, 130), (at, done.output)
    assert n_failed > 2
    sys.stdout.write(f"\n{name}: {n_failed} failures injected, all whole\n")


CALLS = ["write", "fsync", "mkdir", "rename", "renameat2", "link", "chmod", "unlink", "rmdir"]
FAULTS = {  # what strace does, the exit code, and whether there is renameat2
    "full": ("error=ENOSPC", 2, True),
    "term": ("signal=TERM", 143, True),
    "kill": ("signal=KILL", -9, True),
    "kill in the fallback": ("signal=KILL", -9, False),
}


def pattern(calls):
    """What strace calls them, on processors too that have only those with `at`."""
    return f"/^({'|'.join(calls)})(at)?$"


@contextmanager
def faulted(words, fault, has_renameat2, log):
    """A function that runs a command with a fault at a call of a number; returns the exit code and what it says."""
    calls = [call for call in CALLS if has_renameat2 or call != "renameat2"]
    injected = [f"inject={pattern(calls)}:{fault}:when=200"]
    injected += [] if has_renameat2 else ["inject=renameat2:error=ENOSYS"]
    ours, theirs = socket.socketpair()
    script = [sys.executable, str(Path(__file__).with_name("one_fault.py")), str(theirs.fileno()), str(log), *words]
    strace = ["strace", "-fqq", "-o", os.devnull, "-e", f"trace={pattern(CALLS)}"]
    strace += [word for one in injected for word in ("-e", one)]

    def run(call, number):
        ours.sendall(bytes([CALLS.index(call), number]))
        return int(ours.recv(10)), log.read_text().splitlines()

    with subprocess.Popen([*strace, *script], pass_fds=[theirs.fileno()], stderr=subprocess.PIPE) as running, ours:
        theirs.close()
        assert ours.recv(10) == b"ready", running.stderr.read()
        forget()
        yield run


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed; the patched calls are tested")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["fit --force", "transform --force", "predict"])
def test_every_call_to_the_system_may_fail(folder, tmp_path_factory, name, fault):
    table, n_failed = Path("t.csv").read_bytes(), 0
    how, code, has_renameat2 = FAULTS[fault]
    with faulted(COMMANDS[name], how, has_renameat2, tmp_path_factory.mktemp("log") / "stderr") as run:
        for call in CALLS[: CALLS.index("unlink")] if fault == "full" else CALLS:
            for number in range(1, 100):
                found, said = run(call, number)
                assert found in (0, code), (call, number, said)
                assert len(said) == (found > 0), (call, number, said)
                if not has_renameat2 and not Path("out").exists():
                    os.rename("out-2", "out")  # it was between the two renames
                assert_whole(table)
                assert code == -9 or hidden() == set(), (call, number)
                shutil.rmtree("out-2", ignore_errors=True)
                forget()
                n_failed += found != 0
                if found == 0:
                    break
    assert_leftovers_are_swept()
    assert n_failed > 3
    sys.stdout.write(f"\n{name}, {fault}: {n_failed} calls failed, all whole\n")


# -------------------------------------------------------------------------------------------------- full disks


@pytest.mark.parametrize("name", HERE)
def test_every_file_may_be_the_one_that_fills_the_disk(folder, name):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = sorted({path.stat().st_size for path in Path().rglob("*") if path.is_file()})

    @contextmanager
    def at_most(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limit[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    fill_the_disk(name, at_most, (0, *(size - 1 for size in sizes), 10**7))


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A folder as above on a disk in memory; returns the function that sets its size in pages."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk in memory can be mounted: {mounted.stderr.strip()}")
    monkeypatch.chdir(disk)
    try:
        make(disk)
        yield lambda pages: subprocess.run(["mount", "-o", f"remount,size={4 * pages}k", disk], check=True)
    finally:
        os.chdir(tmp_path)
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("name", HERE)
def test_the_disk_may_be_full_at_every_page(small_disk, name):
    disk = os.statvfs(".")
    used = disk.f_blocks - disk.f_bfree

    @contextmanager
    def at_most(pages):
        small_disk(used + pages)
        yield
        small_disk(1000)

    fill_the_disk(name, at_most, range(200))


def fill_the_disk(name, at_most, sizes):
    """Run a command under larger and larger limits; it is refused, until all is there."""
    table, n_full = Path("t.csv").read_bytes(), 0
    for size in sizes:
        with at_most(size):
            done = CliRunner().invoke(main, COMMANDS[name])
        assert done.exit_code in (0, 2), done.output
        assert len(done.stderr.splitlines()) == (done.exit_code == 2)
        assert_whole(table)
        assert hidden() == set()
        forget()
        if done.exit_code == 0:
            break
        n_full += 1
    assert n_full > 1
    assert done.exit_code == 0
    sys.stdout.write(f"\n{name}: {n_full} full disks, all whole\n")


# --------------------------------------------------------------------------------------------- races and soak


def race(words):
    """Start two of a command at once; returns their exit codes and what they say on stderr."""
    runs = [subprocess.Popen([*GNOMON, *words], stdout=-1, stderr=-1, text=True) for _ in range(2)]
    said = [run.communicate()[1] for run in runs]
    return sorted(run.returncode for run in runs), said


@pytest.mark.parametrize("words", [[*FIT, "--out"], ["predict", "out", "t.csv", "--out"]], ids=["fit", "predict"])
def test_of_two_runs_to_one_name_one_wins(folder, words):
    both, ending = 0, "" if words[0] == "fit" else ".csv"
    for i in range(PAIRS):
        codes, said = race([*words, f"r{i}{ending}"])
        assert codes == [0, 2]
        both += Path(f"r{i}-2{ending}").exists()
        assert any("meanwhile" in err or "exists and was kept" in err for err in said)
    assert hidden() == set()
    sys.stdout.write(f"\n{words[0]}: {PAIRS} pairs: one won each time, {both} times both results are there\n")


@pytest.mark.parametrize("name", ["fit --force", "predict --force", "transform --force", "demo --force"])
def test_two_runs_that_replace_one_result_leave_a_whole_one(folder, name):
    table, won = Path("t.csv").read_bytes(), []
    for _ in range(PAIRS):
        codes, said = race(COMMANDS[name])
        assert set(codes) <= {0, 2}
        assert 0 in codes
        assert all("meanwhile" in err for err in said if err)
        won.append(sum(codes) == 0)
        assert_whole(table)
        assert hidden() == set()
    sys.stdout.write(f"\n{name}: {PAIRS} pairs, a whole result each time; {sum(won)} times both ran through\n")


def resident():
    """MB that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


ESTIMATORS = [name for name in gnomon.__all__ if isinstance(getattr(gnomon, name), type)]
SETTINGS = {"DomainStack": {"scale": 1.0, "C": 1.0}}  # they are searched otherwise, by a hundred fits each


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_many_fits_leave_nothing(name):
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(30, 4))), np.where(np.arange(30) < 15, np.arange(30) % 3, -1)
    model = getattr(gnomon, name)(**SETTINGS.get(name, {}))
    held = 0.0
    for i in range(FITS):
        if i == min(50, FITS // 2):
            held, files, threads = resident(), len(os.listdir("/proc/self/fd")), threading.active_count()
        model.fit(X, y)
    grown = resident() - held
    assert grown < 5
    assert len(os.listdir("/proc/self/fd")) == files
    assert threading.active_count() == threads
    sys.stdout.write(f"\n{name}: {FITS} fits, {grown:+.1f} MB\n")
