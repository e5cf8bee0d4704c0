"""Fixtures and rules that all tests share."""

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

NO_DATA = "GNOMON_DATA is unset: it names the folder with the real data files that this test reads"


OTHERS = [pytest.param(number, marks=pytest.mark.slow) for number in (1, 2)]


@pytest.fixture(params=[0, *OTHERS], ids="seed{}".format)
def seed(request):
    """The first of three seeds, and the others with `make slow`."""
    return request.param


@pytest.fixture
def rng(seed):
    """A generator for each of the seeds."""
    return np.random.default_rng(seed)


@pytest.fixture
def data_dir():
    """The folder that GNOMON_DATA names; only for tests marked `realdata`."""
    return Path(os.environ["GNOMON_DATA"])


@pytest.fixture
def few_splits(monkeypatch):
    """Two splits for each comparison of the command line: for tests that ask nothing of its scores."""
    from gnomon.selection import compare

    monkeypatch.setattr("gnomon._cli.fitting.compare", partial(compare, n_splits=2))


def pytest_configure(config):
    folder = os.environ.get("GNOMON_DATA")
    if folder and not Path(folder).is_dir():
        raise pytest.UsageError(f"GNOMON_DATA={folder} is not a folder: correct or unset it")
    if folder:  # tests may change the working directory
        os.environ["GNOMON_DATA"] = str(Path(folder).resolve())
    if not hasattr(config, "workerinput"):  # under xdist the reports of all workers reach the controller
        config.pluginmanager.register(RealdataCount())


def pytest_collection_modifyitems(config, items):
    if config.option.markexpr != "torture":  # for those who ask for it by its marker, whatever path they name
        torture = [item for item in items if item.get_closest_marker("torture")]
        config.hook.pytest_deselected(items=torture)
        items[:] = [item for item in items if item not in torture]
    if find_spec("onnx") is None:
        for item in items:
            if item.name == "gnomon.export.onnx_model.to_onnx":
                item.add_marker(pytest.mark.skip(reason="the example needs onnx"))
    if not os.environ.get("GNOMON_DATA"):
        for item in items:
            if item.get_closest_marker("realdata"):
                item.add_marker(pytest.mark.skip(reason=NO_DATA))


class RealdataCount:
    """Count the realdata tests that ran; with GNOMON_REQUIRE_REALDATA=1 a run without any fails."""

    def __init__(self):
        self.n_ran = 0

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and "realdata" in report.keywords and not report.skipped:
            self.n_ran += 1

    def pytest_sessionfinish(self, session):
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.write_line(f"realdata tests that ran: {self.n_ran}")
        if self.missing:
            terminalreporter.write_line("ERROR: GNOMON_REQUIRE_REALDATA=1, and no realdata test ran", red=True)

    @property
    def missing(self):
        return os.environ.get("GNOMON_REQUIRE_REALDATA") == "1" and not self.n_ran
