"""The command `gnomon` from its first moment on: whatever stops it is said in one line, want of memory too."""

import errno
import os
import signal
import sys
from contextlib import suppress

LEAST = 900  # MB of address space that the libraries take; with less some hang and some end the process
NO_LIMIT = sys.maxsize


def main():
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")  # the name of a file may hold bytes that are no text
    allowed = _allowed()
    if allowed < LEAST:
        sys.exit(f"gnomon: {allowed} MB of memory are allowed, and the libraries alone need {LEAST}; see ulimit -v.")
    if allowed < 4 * LEAST:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread reserves memory
    try:
        from gnomon.cli import main as command

        command(prog_name="gnomon")
    except MemoryError as error:
        limit = "" if allowed == NO_LIMIT else f", and {allowed} are allowed"
        code, said = 1, f"out of memory: more than {_needed(error)} MB are needed{limit}; use less data, or allow more."
    except ImportError as error:
        code, said = 1, f"a library cannot be imported ({error})."
    except OSError as error:
        full = error.filename is None and error.errno in (errno.ENOSPC, errno.EFBIG)  # results name their files
        where = "standard output" if full else os.fsdecode(error.filename or "a file")
        code, said = 2, f"{where}: {error.strerror or error}."
    print("gnomon:", *said.split(), file=sys.stderr)
    sys.exit(code)


def _stop(number, frame):
    """Delete what is half written and end at once, with all processes begun: an exception could be swallowed."""
    said = "stopped."
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.terminate()  # it would wait for work for minutes
    if "gnomon._files" in sys.modules:
        with suppress(ImportError):  # it is being imported, and has written nothing
            from gnomon._files import abandon, left_growing

            abandon()
            said = " ".join(["stopped.", *(f"The same command goes on from {path}." for path in left_growing())])
    shown = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides the cursor
    os.write(2, os.fsencode(f"{shown}gnomon: {said}\n"))
    os._exit(128 + number)


def _allowed():
    """MB of address space that this process may use."""
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return NO_LIMIT if limit == resource.RLIM_INFINITY else limit // 10**6
    return NO_LIMIT


def _needed(error):
    """MB that the process had and wanted when there were no more."""
    held = 0
    with suppress(OSError), open("/proc/self/status") as file:
        held = 1024 * sum(int(line.split()[1]) for line in file if line.startswith("VmPeak"))
    return (held + getattr(error, "_total_size", 0)) // 10**6


if __name__ == "__main__":
    main()
