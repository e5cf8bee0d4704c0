"""The user's files survive every command, and whatever stops one is said in one line with the documented exit code."""

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import column, refusal, run
from gnomon.tables import read_table, write_table

pytestmark = pytest.mark.usefixtures("few_splits")

FIT = ("fit", "data/table.csv", "--target", "kind", "--model", "sppca", "--no-compare")
GNOMON = [sys.executable, "-m", "gnomon"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    rng = np.random.default_rng(0)
    Path("data").mkdir()
    columns = {name: rng.normal(size=30) for name in "abc"}
    write_table("data/table.csv", columns | {"kind": ["x", "y", None] * 10})
    return tmp_path


def contents():
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def shell(*arguments, **options):
    """Run a command in a process of its own; returns its exit code and the lines of stderr."""
    done = subprocess.run([*GNOMON, *arguments], capture_output="stdout" not in options, timeout=300, **options)
    return done.returncode, (done.stderr or b"").decode(errors="replace").splitlines()


# ------------------------------------------------------------------------------------------- nothing is lost


def test_a_table_in_the_folder_of_results_is_not_deleted():
    before = contents()
    assert "data holds the input, data/table.csv; choose another --out." in refusal(*FIT, "--out", "data", "--force")
    said = refusal("demo", "--out", "data", "--force")
    assert "data holds table.csv, which gnomon did not write, or not so; --force does not replace it." in said
    assert contents() == before


@pytest.mark.usefixtures("few_splits")
def test_a_table_of_the_demo_that_was_labeled_is_not_deleted():
    run("demo", "--out", "demo")
    run("demo", "--out", "demo", "--force")
    assert "demo holds the input" in refusal(
        "fit", "demo/table.csv", "--target", "cultivar", "--out", "demo", "--force"
    )
    with open("demo/table.csv", "a") as file:
        file.write(" ")
    before = contents()
    for command in (("demo",), FIT):
        assert "demo holds table.csv, which gnomon did not write" in refusal(*command, "--out", "demo", "--force")
    assert contents() == before


@pytest.mark.parametrize("made", ["file", "folder"])
def test_what_appears_while_a_fit_runs_is_kept(monkeypatch, made):
    from gnomon._cli import fitting

    metrics = fitting.metrics

    def late(run):
        Path("out").write_text("mine") if made == "file" else Path("out/mine").mkdir(parents=True)
        return metrics(run)

    monkeypatch.setattr(fitting, "metrics", late)
    assert re.search(
        r"out was made or changed meanwhile, and kept; the result is in .*out-2\n", refusal(*FIT, "--out", "out")
    )
    assert Path("out").read_text() == "mine" if made == "file" else os.listdir("out") == ["mine"]
    assert "Wrote to" not in run("transform", "out-2", "data/table.csv", "--out", "z.csv")


def test_a_file_that_appears_while_a_table_is_predicted_is_kept(monkeypatch):
    run(*FIT, "--out", "out")
    from gnomon._cli import columns

    monkeypatch.setattr(columns, "row_column", lambda data: Path("p.csv").write_text("mine") and {"row": range(30)})
    assert "the result is in" in refusal("predict", "out", "data/table.csv", "--out", "p.csv")
    assert Path("p.csv").read_text() == "mine"
    assert column("p-2.csv", "row")[:2] == ["0", "1"]


def test_leftovers_of_a_kill_are_deleted_and_said():
    from click.testing import CliRunner

    from gnomon.cli import main

    Path(".gnomon.4194305.0123abcd").write_text("half")
    os.utime(".gnomon.4194305.0123abcd", (0, 0))
    said = CliRunner().invoke(main, [*FIT, "--out", "out"]).stderr
    assert said == "gnomon: deleted .gnomon.4194305.0123abcd, which a run that was killed had left.\n"
    assert sorted(os.listdir()) == ["data", "out"]


# ---------------------------------------------------------------------------------------- where results go


def test_links_pipes_and_standard_output():
    run(*FIT, "--out", "out")
    run("predict", "out", "data/table.csv", "--out", "p.csv")
    Path("real.csv").write_text("old")
    os.symlink("real.csv", "link.csv")
    run("predict", "out", "data/table.csv", "--out", "link.csv", "--force")
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_bytes() == Path("p.csv").read_bytes()
    assert run("predict", "out", "data/table.csv", "--out", "-") == Path("p.csv").read_text()
    os.mkfifo("pipe.csv")
    with subprocess.Popen(["cat", "pipe.csv"], stdout=subprocess.PIPE) as reader:
        run("predict", "out", "data/table.csv", "--out", "pipe.csv")
        assert reader.stdout.read() == Path("p.csv").read_bytes()
    assert Path("pipe.csv").is_fifo()


def test_standard_output_gets_the_result_and_nothing_else():
    run(*FIT, "--out", "out")
    assert run("report", "out", "data/table.csv", "--out", "-").endswith("</html>\n")
    compare = ("compare", "data/table.csv", "--target", "kind", "--model", "sppca", "--out")
    run(*compare, "scores.csv")
    assert len(run(*compare, "-").splitlines()) == len(Path("scores.csv").read_text().splitlines())
    assert "a folder, which standard output cannot be" in refusal(*FIT, "--out", "-")
    assert not Path("-").exists()
    code, said = shell("predict", "out", "data/table.csv", "--out", "-", preexec_fn=lambda: os.close(1))
    assert (code, said) == (2, ["gnomon: standard output is closed."])


def test_names_that_are_odd():
    run(*FIT, "--out", "out")
    assert refusal(*FIT, "--out", "") == "gnomon: --out is empty; name the result.\n"
    for command in ("predict", "report"):
        assert refusal(command, "out", "data/table.csv", "--out", "") == "gnomon: --out is empty; name the result.\n"
    assert refusal("predict", "out", "", "--out", "new.csv").startswith("gnomon: . is a folder; name a table file")
    name = os.fsdecode(b"\xff")
    os.rename("data/table.csv", f"data/{name}.csv")
    code, said = shell("predict", "out", f"data/{name}.csv", "--out", f"p{name}.parquet")
    assert (code, said) == (0, [])
    assert Path(f"p{name}.parquet").exists()
    code, said = shell("predict", "out", f"{300 * 'x'}.csv", "--out", "p.csv")
    assert (code, len(said)) == (2, 1)
    assert said[0].endswith("File name too long.")


# ------------------------------------------------------------------------------------------ what stops a run


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_a_full_disk_is_one_line_and_leaves_the_old_result(form):
    run(*FIT, "--out", "out")
    Path(f"p.{form}").write_text("old")
    before, limit = contents(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for words in (("predict", "out", "data/table.csv", "--out", f"p.{form}"), (*FIT, "--out", "out")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
        try:
            said = refusal(*words, "--force")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert said == f"gnomon: {words[words.index('--out') + 1]} cannot be written ([Errno 27] File too large).\n"
    assert contents() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_standard_output_that_is_full_is_one_line():
    run(*FIT, "--out", "out")
    for out, what in (("-", "standard output cannot be written ([Errno 28] No space left on device)."),
                      ("p.csv", "standard output: No space left on device.")):  # fmt: skip
        with open("/dev/full", "wb") as full:
            code, said = shell("predict", "out", "data/table.csv", "--out", out, stdout=full, stderr=subprocess.PIPE)
        assert (code, said) == (2, [f"gnomon: {what}"])


STOPPED_WRITING = """
import gnomon.__main__, gnomon._files, os, sys
def stop(handle):
    os.kill(os.getpid(), int(os.environ["STOP"]))
os.fsync = stop
gnomon.__main__.main()
"""


def heed():
    """Ctrl-C is heeded even where these tests run in the background, where a shell has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_writing_leaves_nothing(number, code):
    before = contents()
    command = [sys.executable, "-c", STOPPED_WRITING, *FIT, "--out", "out"]
    done = subprocess.run(command, capture_output=True, preexec_fn=heed, env=os.environ | {"STOP": str(int(number))})
    assert (done.returncode, done.stderr) == (code, b"gnomon: stopped.\n")
    assert contents() == before
    assert os.listdir() == ["data"]


def test_ctrl_c_while_importing_is_one_line():
    script = """
import builtins, os, signal, sys
import gnomon.__main__
calls, load = 0, builtins.__import__
def counted(*arguments, **options):
    global calls
    calls += 1
    if calls == int(os.environ["AT"]):
        os.kill(os.getpid(), signal.SIGINT)
    return load(*arguments, **options)
builtins.__import__ = counted
gnomon.__main__.main()
"""
    for at in (1, 3000):
        command = [sys.executable, "-c", script, *FIT, "--out", "out"]
        done = subprocess.run(command, capture_output=True, preexec_fn=heed, env=os.environ | {"AT": str(at)})
        assert (done.returncode, done.stderr) == (130, b"gnomon: stopped.\n"), at


def limited(megabytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))


def test_too_little_memory_for_the_libraries_is_one_line():
    code, said = shell(*FIT, "--out", "out", preexec_fn=limited(400))
    assert (code, len(said)) == (1, 1)
    assert said[0] == "gnomon: 400 MB of memory are allowed, and the libraries alone need 900; see ulimit -v."


def test_a_table_that_does_not_fit_is_one_line_with_the_size_needed():
    np.savez_compressed("big.npz", X=np.zeros((10_000, 8_000), dtype=np.int8))
    code, said = shell("fit", "big.npz", "--model", "ppca", "--out", "out", preexec_fn=limited(1000))
    assert (code, len(said)) == (1, 1), said
    found = re.fullmatch(r"gnomon: out of memory: more than (\d+) MB are needed, and 1000 are allowed; .*", said[0])
    assert int(found[1]) > 1000
    assert not Path("out").exists()


def test_a_library_that_cannot_be_imported_is_not_the_fault_of_the_table(monkeypatch):
    write_table("t.parquet", {"a": [1.0, 2.0]})
    for error in (ImportError("no map"), MemoryError()):

        def fail(name, error=error):
            raise error

        with monkeypatch.context() as broken:
            broken.setattr("gnomon.tables._parquet.importlib.import_module", fail)
            with pytest.raises(type(error)):
                read_table("t.parquet")


# --------------------------------------------------------------------------------------------- spreadsheets


def test_safe_csv_marks_what_a_spreadsheet_would_run():
    values = ["=1+1", "@SUM(A1)", "+x", "-x", "\tx", "-1.5", "plain", None, "'=x", -2.5]
    write_table("t.csv", {"=name": values, "n": np.arange(10.0) - 5}, safe=True)
    assert column("t.csv", "'=name") == [
        "'=1+1", "'@SUM(A1)", "'+x", "'-x", "'\tx", "-1.5", "plain", "", "'=x", "-2.5"
    ]  # fmt: skip
    assert column("t.csv", "n")[0] == "-5.0"
    write_table("t.csv", {"=name": values})
    assert column("t.csv", "=name")[0] == "=1+1"


def test_safe_csv_is_an_option_of_every_command_that_writes_csv():
    table = Path("data/table.csv")
    table.write_text(table.read_text().replace("x\n", "=x\n"))
    run(*FIT, "--out", "plain")
    run(*FIT, "--out", "out", "--safe-csv")
    assert "=x" in column("plain/projection.csv", "kind")
    assert "'=x" in column("out/projection.csv", "kind")
    run("predict", "out", table, "--out", "p.csv", "--safe-csv")
    assert set(column("p.csv", "predicted")) == {"'=x", "y"}
