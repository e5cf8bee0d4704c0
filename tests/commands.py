"""What tests of the command line share: run a command, or see it refuse, and read what it wrote."""

import csv
import json
from pathlib import Path

from click.testing import CliRunner

from gnomon.cli import main


def run(*arguments):
    """What a command that succeeds prints."""
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exit_code == 0, result.output or repr(result.exception)
    return result.stdout


def refusal(*arguments):
    """The one line of a command that refuses."""
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def column(path, name):
    """The cells of a column of a csv file, as text."""
    with open(path, encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def metrics():
    """The figures of the fit in the folder out."""
    return json.loads(Path("out/metrics.json").read_text())
