"""From the files of the public sources to the arrays that are kept of each data set, as they are stored."""

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from gnomon.datasets._texts import Arrays, messages, reviews, stories, subsets

TUMORS = {"OV": 0, "BR": 2, "CO": 3, "GA": 4, "KI": 5, "LI": 6, "PR": 7, "LU_A": 9, "LU_S": 10}


def faces(files: Sequence[Path]) -> Arrays:
    """A MATLAB file with one image a row (`fea`) and the number of its person from 1 (`gnd`)."""
    held = loadmat(files[0])
    return {"X": held["fea"].astype(np.uint8), "y": (held["gnd"].ravel() - 1).astype(np.int16)}


def lights(files: Sequence[Path]) -> Arrays:
    """A folder of each person (yaleB01, ...), of which the first five count, with an image of each light."""
    found = [sorted((files[0] / f"yaleB0{i}").glob(f"yaleB0{i}_P00A*.pgm")) for i in range(1, 6)]
    return _images(found, "C")


def poses(files: Sequence[Path]) -> Arrays:
    """A folder of each of 68 people by number, with images by number; pixels go column by column."""
    found = [sorted((files[0] / str(i)).glob("*.jpg"), key=lambda path: int(path.stem)) for i in range(1, 69)]
    return _images(found, "F")


def digits(files: Sequence[Path]) -> Arrays:
    """An HDF5 file with groups `train` and `test` of `data` and `target`."""
    with importlib.import_module("h5py").File(files[0], "r") as held:
        X, y = (np.concatenate([held[part][name][()] for part in ("train", "test")]) for name in ("data", "target"))
    return {"X": X.astype(np.float32), "y": y.astype(np.int16)}


def genes(files: Sequence[Path]) -> Arrays:
    """Tables of one gene a line below a line of classes, which are numbered by the alphabet."""
    names, X = _genes(files)
    return {"X": X, "y": np.unique(names, return_inverse=True)[1].astype(np.int16)}


def tumors(files: Sequence[Path]) -> Arrays:
    """Such tables of nine kinds of tumor, and a table of one sample a line, its class last, for classes 1 and 8."""
    names, X = _genes(files[:-1])
    more = np.loadtxt(files[-1], delimiter=",")
    more = more[np.isin(more[:, -1], (1, 8))]
    y = np.concatenate([[TUMORS[name] for name in names], more[:, -1]])
    return {"X": np.vstack([X, more[:, :-1]]).astype(np.int32), "y": y.astype(np.int16)}


def nine_tumors(files: Sequence[Path]) -> Arrays:
    """A MATLAB file of 60 samples, rows or columns, whose class stands before or after their 5,726 genes."""
    parts = [np.atleast_2d(part) for name, part in loadmat(files[0]).items() if not name.startswith("__")]
    table = np.hstack([part if len(part) == 60 else part.T for part in parts])
    first, last = (len(np.unique(column)) == 9 for column in (table[:, 0], table[:, -1]))
    if table.shape != (60, 5727) or first == last:
        raise ValueError(f"a table of shape {table.shape}, wanted 60 x 5726 and a column of 9 classes")
    X, y = (table[:, 1:], table[:, 0]) if first else (table[:, :-1], table[:, -1])
    return {"X": X.astype(np.int16), "y": (y.astype(np.int16) - int(y.min())).astype(np.int16)}


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


def _images(people: Iterable[Sequence[Path]], order: str) -> Arrays:
    """Gray images of each person, flattened by rows ("C") or by columns ("F")."""
    image, found = importlib.import_module("PIL.Image"), []
    for i, paths in enumerate(people):
        for path in paths:
            with image.open(path) as picture:
                found.append((np.asarray(picture, dtype=np.uint8).ravel(order), i))
    return {"X": np.array([pixels for pixels, _ in found]), "y": np.array([i for _, i in found], dtype=np.int16)}


def _genes(files: Sequence[Path]) -> tuple[list[str], Any]:
    """Classes and values of the samples of tables with one gene a line."""
    names: list[str] = []
    for file in files:
        with file.open(encoding="utf-8") as lines:
            names += [{"dCNS": "CNS"}.get(name, name) for name in lines.readline().strip().split(",")]
    tables = [np.loadtxt(file, delimiter=",", skiprows=1).T for file in files]
    return names, np.ascontiguousarray(np.vstack(tables))


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
    convert.__name__: convert
    for convert in (faces, lights, poses, digits, genes, tumors, nine_tumors)
    + (crabs, corn, yeast, water, stories, reviews, messages, subsets)
}
