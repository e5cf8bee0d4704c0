"""Run a command again and again, each time in a fork whose call of a chosen number is number 200 of its kind.

    one_fault.py HANDLE LOG WORDS...

strace, under which this runs, counts the calls of every process for itself, and fails number 200 of each kind. What is
to fail comes over the socket HANDLE as two bytes, a place in CALLS and a number; the exit code goes back. LOG gets
what the command says on stderr.
"""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from click.testing import CliRunner

import gnomon.__main__
from gnomon import _files
from gnomon.cli import main

FAULTED = 200
NOWHERE = Path("no folder/of this name")
CALLS = {
    "write": lambda: os.write(1, b""),
    "fsync": lambda: os.fsync(1),
    "mkdir": lambda: os.mkdir(NOWHERE),
    "rename": lambda: os.rename(NOWHERE, NOWHERE),
    "renameat2": lambda: _files._rename(NOWHERE, NOWHERE, _files.NOREPLACE),
    "link": lambda: os.link(NOWHERE, NOWHERE),
    "chmod": lambda: os.chmod(NOWHERE, 0),
    "unlink": lambda: os.unlink(NOWHERE),
    "rmdir": lambda: os.rmdir(NOWHERE),
}


def run(call, number, log, words):
    """Count calls until only `number` are missing, then run the command."""
    for stream, name in ((1, os.devnull), (2, log)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    for _ in range(FAULTED - number):
        with suppress(OSError):
            CALLS[call]()
    sys.argv = ["gnomon", *words]
    gnomon.__main__.main()


if __name__ == "__main__":
    asked = socket.socket(fileno=int(sys.argv[1]))
    CliRunner().invoke(main, sys.argv[3:])  # all that it imports is imported here, once
    asked.sendall(b"ready")
    while wanted := asked.recv(2):
        process = os.fork()
        if process == 0:
            run(list(CALLS)[wanted[0]], wanted[1], sys.argv[2], sys.argv[3:])
        asked.sendall(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())
