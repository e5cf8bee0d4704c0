"""From messages and vectors of texts, as their sources keep them, to the arrays that are kept of each data set."""

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from gnomon.datasets._rdata import read_workspace

Arrays = dict[str, Any]
DOMAINS = ("books", "dvd", "electronics", "kitchen")
_TOPICS = """C11 C12 C13 C14 C15 C151 C1511 C152 C16 C17 C171 C172 C173 C174 C18 C181 C182 C183 C21 C22 C23 C24 C31 C311
    C312 C313 C32 C33 C331 C34 C41 C411 C42 CCAT E11 E12 E121 E13 E131 E132 E14 E141 E142 E143 E21 E211 E212 E31 E311
    E312 E313 E41 E411 E51 E511 E512 E513 E61 E71 ECAT G15 G151 G152 G153 G154 G155 G156 G157 G158 G159 GCAT GCRIM GDEF
    GDIP GDIS GENT GENV GFAS GHEA GJOB GMIL GOBIT GODD GPOL GPRO GREL GSCI GSPO GTOUR GVIO GVOTE GWEA GWELF M11 M12 M13
    M131 M132 M14 M141 M142"""
TOPICS = _TOPICS.split()
SHIFTS = ((1, 1), (1, 12), (1, 14), (1, 24), (0, 11))  # of each subset: the half that is wrong, by how many columns


def stories(files: Sequence[Path]) -> Arrays:
    """A MATLAB file of counts (`fea`), the last two columns of which are the category from 1 and the date."""
    table = sparse.csr_matrix(loadmat(files[0])["fea"])
    about = table[:, -2:].toarray()
    y, date = (about[:, 0] - 1).astype(np.uint8), about[:, 1].astype(np.uint16)
    return {**_rows(table[:, :-2].tocsr(), np.uint8), "y": y, "date": date}


def reviews(files: Sequence[Path]) -> Arrays:
    """Two svmlight files of each domain, labeled reviews and others, classes -1 and 1."""
    parts = [load_svmlight_file(str(file), n_features=5000, zero_based=True) for file in files]
    sizes = [len(y) for _, y in parts]
    domain = np.repeat(np.arange(len(DOMAINS)).repeat(2), sizes).astype(np.uint8)
    return {
        **_rows(sparse.vstack([X for X, _ in parts], format="csr"), np.uint8),
        "y": (np.concatenate([y for _, y in parts]) > 0).astype(np.uint8),
        "domain": domain,
        "labelled": np.repeat(np.arange(len(parts)) % 2 == 0, sizes),
        "domain_names": np.array(DOMAINS),
    }


def messages(files: Sequence[Path]) -> Arrays:
    """A folder of each group with a file of each message, named by its number.

    Counted are the Porter stems, of three letters or more, of words that are no English stop words; kept are stems
    that occur five times, and messages with one of them.
    """
    stem = cache(importlib.import_module("nltk.stem.porter").PorterStemmer().stem)
    groups = sorted(path for path in files[0].iterdir() if path.is_dir())
    found = [
        (c, int(file.name), Counter(_stems(file.read_bytes().decode("latin-1"), stem)))
        for c, group in enumerate(groups)
        for file in sorted(group.iterdir(), key=lambda path: int(path.name))
    ]
    totals: Counter[str] = Counter()
    for _, _, counts in found:
        totals.update(counts)
    words = sorted(word for word, total in totals.items() if total >= 5)
    place = {word: j for j, word in enumerate(words)}
    kept = [(c, number, {place[w]: n for w, n in counts.items() if w in place}) for c, number, counts in found]
    kept = [(c, number, counts) for c, number, counts in kept if counts]
    indptr = np.cumsum([0, *(len(counts) for _, _, counts in kept)])
    indices, data = (
        np.array([one for *_, counts in kept for one in part(counts)]) for part in (dict.keys, dict.values)
    )
    return {
        **_rows(sparse.csr_matrix((data, indices, indptr), shape=(len(kept), len(words))), np.uint16),
        "y": np.array([c for c, _, _ in kept], dtype=np.uint8),
        "article_id": np.array([number for _, number, _ in kept], dtype=np.uint32),
        "target_names": np.array([group.name for group in groups]),
        "vocabulary": np.array("\n".join(words).encode()),
    }


def _stems(message: str, stem: Any) -> Iterator[str]:
    """Stems of the words below the header of a message."""
    body = message.partition("\n\n")[2].lower()
    found = (stem(word) for word in re.findall("[a-z]{2,}", body) if word not in ENGLISH_STOP_WORDS)
    return (word for word in found if len(word) > 2)


def subsets(files: Sequence[Path]) -> Arrays:
    """An R workspace of each subset: a frame of features, then of 101 topics, in `dataset` of an object of class mldr.

    In one half of each subset the topics stand too far left, over the last features; they are moved back. Stories with
    the same features and topics become one, whose `member` names the halves. Each frame is held as a sparse table.
    """
    places: dict[bytes, int] = {}
    parts, member = [], []
    for k, file in enumerate(files):
        features, topics = _moved_back(_frame(file), *SHIFTS[k])
        new = []
        for i, row in enumerate(topics):
            inside = slice(*features.indptr[i : i + 2])
            story = features.indices[inside].tobytes() + b"/" + features.data[inside].tobytes() + row.tobytes()
            if story not in places:
                places[story] = len(member)
                member.append(0)
                new.append(i)
            member[places[story]] |= 1 << (2 * k + (2 * i >= len(topics)))
        parts.append((features[new], topics[new]))
    return {
        **_rows(sparse.vstack([features for features, _ in parts], format="csr"), np.float32),
        "Y": np.packbits(np.vstack([topics for _, topics in parts]), axis=1),
        "n_labels": np.array(len(TOPICS), dtype=np.int32),
        "member": np.array(member, dtype=np.uint16),
        "label_names": np.array(TOPICS),
    }


def _frame(file: Path) -> sparse.csr_matrix:
    """The frame `dataset` of a workspace with one object, but for columns that the package adds (`.labelcount`)."""

    def entries(vector):
        rows = np.flatnonzero(vector)
        return len(vector), rows.astype(np.uint16), vector[rows].astype(np.float32)

    (subset,) = read_workspace(file, entries).values()
    columns = [column for name, column in subset["dataset"].items() if not name.startswith(".")]
    indptr = np.cumsum([0, *(len(rows) for _, rows, _ in columns)])
    rows, values = (np.concatenate([column[part] for column in columns]) for part in (1, 2))
    return sparse.csc_matrix((values, rows, indptr), shape=(columns[0][0], len(columns))).tocsr()


def _moved_back(table: sparse.csr_matrix, half: int, shift: int) -> tuple[sparse.csr_matrix, Any]:
    """Features and topics of a subset, where in one half the topics stand `shift` columns too far left."""
    n, p = len(table.indptr) - 1, table.shape[1] - len(TOPICS)
    wrong = np.arange(n) // (n // 2) == half
    topics = np.where(wrong[:, None], table[:, p - shift : -shift].toarray(), table[:, p:].toarray())
    row = np.repeat(np.arange(n), np.diff(table.indptr))
    table.data[wrong[row] & (table.indices >= p - shift)] = 0
    features = table[:, :p].tocsr()
    features.eliminate_zeros()
    return features, topics.astype(np.uint8)


def _rows(table: Any, dtype: Any) -> Arrays:
    """A sparse table of few columns in the smallest types."""
    table.sum_duplicates()
    table.eliminate_zeros()
    return {
        "data": table.data.astype(dtype),
        "indices": table.indices.astype(np.uint16),
        "indptr": table.indptr.astype(np.uint32),
        "shape": np.array(table.shape, dtype=np.int32),
    }
