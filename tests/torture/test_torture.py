"""Kills, full disks, races and long runs, by `make torture`. TORTURE is the share of the full numbers that is run."""

import gc
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gnomon
from gnomon import _files
from gnomon._files import changed
from gnomon.cli import main
from gnomon.describe import models
from gnomon.export import load_model
from gnomon.tables import read_table, write_table

pytestmark = pytest.mark.torture
SHARE = float(os.environ.get("TORTURE", "1"))
KILLS, PAIRS, FITS = (max(1, round(SHARE * full)) for full in (200, 10, 500))
GNOMON = [sys.executable, "-m", "gnomon"]
FIT = ["fit", "t.csv", "--target", "kind", "--model", "sppca", "--no-compare"]
COMMANDS = {
    "fit": [*FIT, "--out", "new"],
    "fit --force": [*FIT, "--out", "out", "--force"],
    "transform": ["transform", "out", "t.csv", "--out", "z.parquet"],
    "predict --force": ["predict", "out", "t.csv", "--out", "p.csv", "--force"],
    "demo": ["demo", "--out", "demo"],
    "demo --force": ["demo", "--out", "old", "--force"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, a whole result and a whole prediction."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    write_table("t.csv", {name: rng.normal(size=40) for name in "abcd"} | {"kind": ["x", "y", None, "x"] * 10})
    for words in ([*FIT, "--out", "out"], ["predict", "out", "t.csv", "--out", "p.csv"]):
        assert CliRunner().invoke(main, words).exit_code == 0
    return tmp_path


def hidden():
    return [name for name in os.listdir() if name.startswith(".")]


def assert_whole(table):
    """Everything under a final name is whole, and what was there before is there."""
    assert Path("t.csv").read_bytes() == table
    for name in set(os.listdir()) - {"t.csv"} - set(hidden()):
        if Path(name).is_dir():
            assert changed(Path(name)) is None, name
            load_model(Path(name, "model.gnomon"))
        else:
            rows = len(read_table(name, drop=["predicted"] if name == "p.csv" else []).X)
            assert rows == 40, name
    assert {"out", "p.csv"} <= set(os.listdir())


def test_kills_at_random_moments(folder):
    table = Path("t.csv").read_bytes()
    took = {}
    for name, words in COMMANDS.items():
        start = time.monotonic()
        subprocess.run([*GNOMON, *words], check=True, capture_output=True)
        took[name] = time.monotonic() - start
    draw = random.Random(0)
    codes = []
    for _ in range(KILLS):
        for name in ("new", "demo"):
            subprocess.run(["rm", "-rf", name, "z.parquet"], check=True)
        name, number = draw.choice(list(COMMANDS)), draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        before = set(hidden())
        running = subprocess.Popen([*GNOMON, *COMMANDS[name]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(draw.uniform(0.15, 1.1) * took[name])
        running.send_signal(number)
        said = running.communicate()[1].decode()
        assert_whole(table)
        codes.append(running.returncode)
        if number != signal.SIGKILL:
            # -number: before the first and after the last line of gnomon the system's own handler ends Python
            assert running.returncode in (0, 128 + number, -number), (name, number, said)
            assert set(hidden()) == before, (name, number)
            assert len(said.splitlines()) <= 1, said
    leftovers = hidden()
    for leftover in leftovers:
        os.utime(leftover, (0, 0))
    done = subprocess.run([*GNOMON, *COMMANDS["predict --force"]], capture_output=True, text=True)
    assert sorted(re.findall(r"deleted (\S+),", done.stderr)) == sorted(leftovers)
    assert hidden() == []
    sys.stdout.write(f"\n{KILLS} kills: {codes.count(0)} too late, {codes.count(-9)} by SIGKILL, all whole\n")


STEPS = [(os, "fsync"), (os, "replace"), (_files, "_rename"), (Path, "mkdir")]


@pytest.mark.parametrize("name", ["fit", "fit --force", "transform", "predict --force"])
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
        assert hidden() == []
        if calls < at:
            break
        n_failed += done.exit_code != 0
        assert done.exit_code in (0, 2, 130), (at, done.output)
        subprocess.run(["rm", "-rf", "new", "z.parquet"], check=True)
    assert n_failed > 2
    sys.stdout.write(f"\n{name}: {n_failed} failures injected, all whole\n")


@pytest.mark.parametrize("name", ["fit", "fit --force", "transform", "predict --force"])
def test_every_file_may_be_the_one_that_fills_the_disk(folder, name):
    table, limit = Path("t.csv").read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = sorted({path.stat().st_size for path in Path().rglob("*") if path.is_file()})
    n_full = 0
    for size in (0, *(size - 1 for size in sizes)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limit[1]))
        try:
            done = CliRunner().invoke(main, COMMANDS[name])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert done.exit_code in (0, 2), done.output
        n_full += done.exit_code == 2
        assert len(done.stderr.splitlines()) == (done.exit_code == 2)
        assert_whole(table)
        assert hidden() == []
        subprocess.run(["rm", "-rf", "new", "z.parquet"], check=True)
    assert n_full > 1
    sys.stdout.write(f"\n{name}: {n_full} full disks of {len(sizes) + 1} sizes, all whole\n")


@pytest.mark.parametrize("words", [[*FIT, "--out"], ["predict", "out", "t.csv", "--out"]], ids=["fit", "predict"])
def test_of_two_runs_to_one_name_one_wins(folder, words):
    both = 0
    for i in range(PAIRS):
        name = f"r{i}" if words[0] == "fit" else f"r{i}.csv"
        runs = [subprocess.Popen([*GNOMON, *words, name], stdout=-1, stderr=-1, text=True) for _ in range(2)]
        said = [run.communicate() for run in runs]
        assert sorted(run.returncode for run in runs) == [0, 2]
        both += Path(f"r{i}-2" if words[0] == "fit" else f"r{i}-2.csv").exists()
        assert any("meanwhile" in err or "exists and was kept" in err for _, err in said)
    assert hidden() == []
    sys.stdout.write(f"\n{PAIRS} pairs: one won each time, {both} times both results are there\n")


def resident():
    """MB that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


@pytest.mark.parametrize("name", sorted(models(gnomon)))
def test_many_fits_leave_nothing(name):
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(30, 4))), np.arange(30) % 3
    model = models(gnomon)[name]()
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
