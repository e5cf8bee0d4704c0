"""A table of one spectrum a file: a folder of files of two columns or of JCAMP-DX, or a JCAMP-DX file by itself."""

from collections import Counter
from pathlib import Path

import numpy as np

from gnomon.tables._jcamp import JCAMP, Spectrum, read_jcamp
from gnomon.tables._npz import chosen
from gnomon.tables._sniff import WESTERN, sniff, source_of
from gnomon.tables._table import Table, TableError, Wanted, choose_features
from gnomon.tables._text import text_rows
from gnomon.tables._written import as_written, decimal_mark
from gnomon.targets.forms import objects

FOLDER = "folder of spectra"  # its kind, as messages call it
COLUMNS = (".txt", ".csv", ".tsv", ".dat", ".asc", ".xy", ".prn", ".dpt")  # files of two columns
FILE = "file"  # what the names of rows are called
SAME = 1e-6  # of the span of an axis, within which places are the same


def spectra_files(path: str | Path) -> list[Path]:
    """The files of a folder in the order of their names, if each may be a spectrum; else none."""
    names = sorted(entry for entry in Path(path).iterdir() if not entry.name.startswith((".", "_")))
    return names if all(one.is_file() and one.suffix.lower() in (*COLUMNS, *JCAMP) for one in names) else []


def read_spectra(path: str, wanted: Wanted) -> Table:
    """Read a folder of spectra, or the spectra of a JCAMP-DX file; rows are named by the files."""
    if wanted.targets:
        raise TableError(
            f"{path}: spectra hold no labels, so there is no {wanted.targets[0]!r} for --target; give them in a text "
            "file, the name of a spectrum and its label a line, with --labels FILE."
        )
    files = spectra_files(path) if Path(path).is_dir() else [Path(path)]
    found = [(file, one, name) for file in files for one, name in _named(file)]
    _check_alike([(str(file), one) for file, one, _ in found])
    names, axis = [name for *_, name in found], found[0][1].axis
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise TableError(f"{path}: two spectra are called {twice!r}; rename a file.")
    X = np.array([one.values if _same(one.axis, axis) else one.values[::-1] for _, one, _ in found])
    columns = [f"{place:.10g}" for place in axis]
    wanted = wanted.settled([FILE])
    features = choose_features(path, [FILE, *columns], wanted._replace(ignore=[*wanted.ignore, FILE]))
    if wanted.id not in (None, FILE):
        raise TableError(f"{path}: {wanted.id!r} is a column of the spectra, which are named by their files.")
    what = "1 spectrum" if len(X) == 1 else f"{len(X)} spectra"
    assumed = f"as {what} of {len(axis)} values from {columns[0]} to {columns[-1]}"
    return Table(path, chosen(path, X, columns, features), features, {}, objects(names), FILE, assumed=assumed)


def _named(file: Path) -> list[tuple[Spectrum, str]]:
    """The spectra of a file, and what each is called."""
    if file.suffix.lower() not in JCAMP:
        return [(_columns(str(file)), file.stem)]
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode(WESTERN, errors="replace")
    spectra = read_jcamp(str(file), text)
    return [(one, file.stem if len(spectra) == 1 else f"{file.stem}: {one.title}") for one in spectra]


def _columns(path: str) -> Spectrum:
    """A spectrum of two columns, place and value, below what stands above them."""
    source = source_of(path)
    form = sniff(source, "\t")
    try:
        with source.text(form) as file:
            rows = [row for row in text_rows(path, form, file) if any(map(str.strip, row.cells))]
    except UnicodeDecodeError:
        raise TableError(f"{path} is not text that can be read; save the spectrum as UTF-8 text.") from None
    decimal = decimal_mark((cell for row in rows for cell in row.cells), form.separator)
    numbers = [[as_written(cell, decimal) for cell in row.cells] for row in rows]
    begin = next((i for i, cells in enumerate(numbers) if len(cells) > 1 and None not in cells[:2]), len(rows))
    for row, cells in zip(rows[begin:], numbers[begin:], strict=True):
        more = [cell for cell in row.cells[2:] if cell.strip()]
        if len(cells) < 2 or None in cells[:2] or more:
            text = form.separator.join(row.cells)[:40]
            raise TableError(
                f"{path}, line {row.line}: {text!r} is no wavelength and value; in a folder each file is a spectrum "
                "of these two columns, so name the file if it is a table."
            )
    if len(rows) - begin < 2:
        raise TableError(f"{path} is no spectrum: two columns of numbers, wavelength and value, are wanted.")
    X = np.array([[float(str(cell)) for cell in cells[:2]] for cells in numbers[begin:]])
    return Spectrum(path, X[:, 0], X[:, 1])


def _check_alike(found: list[tuple[str, Spectrum]]) -> None:
    """Refuse spectra that do not lie on one axis, or are in other units than the first."""
    first, like = found[0]
    for path, one in found:
        steps = np.diff(one.axis)
        if not (np.all(steps > 0) or np.all(steps < 0)):
            raise TableError(f"{path}: its wavelengths neither rise nor fall throughout.")
        if not (_same(one.axis, like.axis) or _same(one.axis[::-1], like.axis)):
            raise TableError(
                f"{path} has {_span(one)}, and {first} has {_span(like)}; interpolate all to one axis (numpy.interp)."
            )
        for mine, other in zip(one.units, like.units, strict=True):
            if mine.casefold() != other.casefold() and mine and other:
                raise TableError(f"{path} is in {mine}, and {first} in {other}; convert one of them.")


def _same(axis: np.ndarray, other: np.ndarray) -> bool:
    return len(axis) == len(other) and bool(np.all(np.abs(axis - other) <= SAME * np.ptp(other)))


def _span(one: Spectrum) -> str:
    return f"{len(one.axis)} values from {one.axis[0]:.6g} to {one.axis[-1]:.6g}"
