"""Rows whose tasks, blocks and answers are copies, as if they lived in another process."""

import os
import pickle

from gnomon.rows.contract import Rows
from gnomon.rows.local import LocalRows, SparseRows


class _Copies:
    def _run(self, task, block):
        task, block = pickle.loads(pickle.dumps((task, block)))
        return pickle.loads(pickle.dumps(task(block)))


class CopiedRows(_Copies, LocalRows):
    """A write into a closure is lost, and what does not pickle fails at once; no short cut looks at the array."""

    BLOCK = 16  # rows, so that small tables have several blocks
    summarize, project, there, like = Rows.summarize, Rows.project, Rows.there, Rows.like

    def _block_rows(self):
        return self.BLOCK

    def coordinate_rows(self, T):
        return CopiedRows(T, self.weights)


class CopiedSparseRows(_Copies, SparseRows):
    """The same of a sparse matrix, which is one block."""


class ForkedRows(LocalRows):
    """Every block in a child process."""

    def _block_rows(self):
        return 16

    def _run(self, task, block):
        read, write = os.pipe()
        task = pickle.dumps(task)
        child = os.fork()
        if child == 0:
            with os.fdopen(write, "wb") as out:
                out.write(pickle.dumps(pickle.loads(task)(block)))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            data = answer.read()
        os.waitpid(child, 0)
        return pickle.loads(data)


def copied_rows(X, weights=None, *, masked=False):
    """Copied rows of a dense or sparse X."""
    return CopiedSparseRows(X, weights) if hasattr(X, "tocsr") else CopiedRows(X, weights, masked=masked)
