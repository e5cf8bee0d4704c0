"""Made messages and made subsets of stories, in the form of their sources, become the arrays that belong to them."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gnomon.datasets import _texts
from gnomon.datasets._download import digest_of
from workspaces import frame, save, subset_files

HEADER = "Subject: studies studies studies studies studies\nLines: 3\n\n"
MESSAGES = {
    "sci.space/10": f"{HEADER}Studying, we've STUDIED rockets of the rocket.",
    "sci.space/9": f"{HEADER}rocket's study was\n\nstudies; x1studies",
    "sci.space/2": f"{HEADER}whatever the seldom would",
    "alt.ox/7": f"{HEADER}Rockets rocketed rocketed d\xe9j\xe0 oxen\xe9oxen rare rare rare rare ox ox ox ox ox",
}


def test_messages_become_counts_of_frequent_stems(tmp_path):
    for name, text in MESSAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    found = _texts.messages([tmp_path])
    assert found["vocabulary"].item() == b"rocket\nstudi"
    assert found["article_id"].tolist() == [7, 9, 10]
    assert (found["y"].tolist(), found["target_names"].tolist()) == ([0, 1, 1], ["alt.ox", "sci.space"])
    table = sparse.csr_matrix((found["data"], found["indices"], found["indptr"].astype(int)), found["shape"])
    assert_array_equal(table.toarray(), [[3, 0], [1, 3], [2, 2]])


def stories():
    """Ten stories, each first in one of the ten halves, some in others too; two are equal but for their topics."""
    rng = np.random.default_rng(0)
    X = np.round(rng.random((10, 60)) * (rng.random((10, 60)) < 0.4), 6)
    X[:, 36:] *= (np.arange(10) == 4)[:, None]  # elsewhere topics may stand there
    X[9] = X[7]
    member = 1 << np.arange(10)
    member[[0, 4, 1]] |= [1 << 3, 1 << 6, 1 << 8]
    Y = rng.random((10, 101)) < 0.1
    table = sparse.csr_matrix(X)
    return {
        **_texts._rows(table, np.float32),
        "Y": np.packbits(Y, axis=1),
        "n_labels": np.array(101, dtype=np.int32),
        "member": member.astype(np.uint16),
        "label_names": np.array(_texts.TOPICS),
    }


def test_topics_are_moved_back_and_equal_stories_merged(tmp_path):
    held, files = stories(), []

    def file():
        files.append(tmp_path / str(len(files)))
        return files[-1]

    subset_files(held, file, 4)
    found = _texts.subsets(files)
    for name, array in held.items():
        assert_array_equal(found[name], array)
    assert digest_of(found) == digest_of(held)


def test_a_workspace_without_its_frame_is_refused(tmp_path):
    table = sparse.csc_matrix(np.eye(4, 102))
    save(tmp_path / "0", "rcv1sub1", frame(table, 1)["dataset"])
    with pytest.raises(KeyError, match="dataset"):
        _texts.subsets([tmp_path / "0"])


@pytest.mark.slow
def test_a_subset_takes_the_memory_that_is_told(tmp_path):
    rows, ends = np.arange(473370) * 7919 % 6000, np.arange(0, 473371, 10)
    save(tmp_path / "0", "rcv1sub1", frame(sparse.csc_matrix((rows + 1.0, rows, ends), (6000, 47337)), 47236))
    tracemalloc.start()
    found = _texts._frame(tmp_path / "0")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.shape, found.nnz) == ((6000, 47337), 473370)
    assert peak < 60e6  # beside the other subsets, of which sparse rows are kept
