"""From the files of the public sources to the arrays that are kept of each data set, as they are stored."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file

Arrays = dict[str, Any]
DOMAINS = ("books", "dvd", "electronics", "kitchen")


def faces(files: Sequence[Path]) -> Arrays:
    """A MATLAB file with one image a row (`fea`) and the number of its person from 1 (`gnd`)."""
    held = loadmat(files[0])
    return {"X": held["fea"].astype(np.uint8), "y": (held["gnd"].ravel() - 1).astype(np.int16)}


def stories(files: Sequence[Path]) -> Arrays:
    """A MATLAB file of counts (`fea`), the last two columns of which are the category from 1 and the date."""
    table = sparse.csr_matrix(loadmat(files[0])["fea"])
    about = table[:, -2:].toarray()
    y, date = (about[:, 0] - 1).astype(np.uint8), about[:, 1].astype(np.uint16)
    return {**_counts(table[:, :-2].tocsr()), "y": y, "date": date}


def crabs(files: Sequence[Path]) -> Arrays:
    """A CSV file of one animal a row: species B or O, sex F or M, and five lengths."""
    head, *lines = [line.replace('"', "").split(",") for line in files[0].read_text(encoding="utf-8").splitlines()]
    table = [dict(zip(head, line, strict=True)) for line in lines]
    X = [[float(row[name]) for name in ("FL", "RW", "CL", "CW", "BD")] for row in table]
    y = [2 * (row["sp"] == "O") + (row["sex"] == "M") for row in table]
    return {"X": np.array(X), "y": np.array(y, dtype=np.int16)}


def corn(files: Sequence[Path]) -> Arrays:
    """CSV files of the spectra by three instruments, with wavelengths as names of columns, and of the properties."""
    found: Arrays = {}
    for name, file in zip(("m5", "mp5", "mp6"), files[:3], strict=True):
        head, table = _numbers(file)
        waves = [re.search(r"\d{4}", cell) for cell in head]
        found[f"X_{name}"] = np.ascontiguousarray(table[:, [j for j, wave in enumerate(waves) if wave]])
        found["wavelength"] = np.array([int(wave[0]) for wave in waves if wave], dtype=np.uint16)
    names, Y = _numbers(files[3])
    return {**found, "Y": np.round(Y, 3), "target_names": np.array(names)}


def yeast(files: Sequence[Path]) -> Arrays:
    """An ARFF file of 103 features and 14 labels, the usual 917 test rows first."""
    _, table = _arff(files[0])
    is_test = np.arange(len(table)) < 917
    return {"X": table[:, :-14].astype(np.float32), "Y": table[:, -14:].astype(np.uint8), "is_test": is_test}


def water(files: Sequence[Path]) -> Arrays:
    """An ARFF file of 16 readings and the grades of 14 species."""
    names, table = _arff(files[0])
    X, Y = np.ascontiguousarray(table[:, :-14]), table[:, -14:].astype(np.uint8)
    return {"X": X, "Y": Y, "feature_names": np.array(names[:-14]), "target_names": np.array(names[-14:])}


def reviews(files: Sequence[Path]) -> Arrays:
    """Two svmlight files of each domain, labeled reviews and others, classes -1 and 1."""
    parts = [load_svmlight_file(str(file), n_features=5000, zero_based=True) for file in files]
    sizes = [len(y) for _, y in parts]
    domain = np.repeat(np.arange(len(DOMAINS)).repeat(2), sizes).astype(np.uint8)
    return {
        **_counts(sparse.vstack([X for X, _ in parts], format="csr")),
        "y": (np.concatenate([y for _, y in parts]) > 0).astype(np.uint8),
        "domain": domain,
        "labelled": np.repeat(np.arange(len(parts)) % 2 == 0, sizes),
        "domain_names": np.array(DOMAINS),
    }


def _counts(table: Any) -> Arrays:
    """Small counts in their smallest types."""
    table.sum_duplicates()
    table.eliminate_zeros()
    return {
        "data": table.data.astype(np.uint8),
        "indices": table.indices.astype(np.uint16),
        "indptr": table.indptr.astype(np.uint32),
        "shape": np.array(table.shape, dtype=np.int32),
    }


def _numbers(file: Path) -> tuple[list[str], Any]:
    """Names of the columns and the numbers of a CSV file."""
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    table = np.array([[float(cell or "nan") for cell in line.split(",")] for line in lines if line])
    return head.replace('"', "").split(","), table


def _arff(file: Path) -> tuple[list[str], Any]:
    """Names of the attributes and the numbers of an ARFF file."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    begin = [line.lower() for line in lines].index("@data")
    names = [line.split()[1] for line in lines[:begin] if line.lower().startswith("@attribute")]
    return names, np.array([[float(cell) for cell in line.split(",")] for line in lines[begin + 1 :]])


CONVERTERS: dict[str, Callable[[Sequence[Path]], Arrays]] = {
    "faces": faces,
    "stories": stories,
    "crabs": crabs,
    "corn": corn,
    "yeast": yeast,
    "water": water,
    "reviews": reviews,
}
