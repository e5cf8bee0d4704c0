"""JCAMP-DX files: spectra as (X++(Y..Y)), in plain numbers or in the compressed forms of ASDF, and as (XY..XY)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gnomon.tables._table import TableError, number

JCAMP = (".jdx", ".dx", ".jcamp")
LABEL = re.compile(r"##([^=]*)=(.*)", re.DOTALL)
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
PLAIN = re.compile(rf"(?:{NUMBER}|\?|[\s,;])*")
PACKED = re.compile(r"\s*([@A-Ia-i%J-Rj-rS-Zs+\-?]?)(\d*\.?\d*)[\s,]*")
SQUEEZED = dict(zip("@ABCDEFGHIabcdefghi", [*range(10), *range(-1, -10, -1)], strict=True))
DIFFERENCE = dict(zip("%JKLMNOPQRjklmnopqr", [*range(10), *range(-1, -10, -1)], strict=True))
REPEATED = dict(zip("STUVWXYZs", range(1, 10), strict=True))
DATA = {"XYDATA": "(X++(Y..Y))", "XYPOINTS": "(XY..XY)"}
OTHER = {
    "PEAKTABLE": "a list of peaks",
    "PEAKASSIGNMENTS": "a list of peaks",
    "NTUPLES": "several tables in one (NTUPLES)",
    "RADATA": "an interferogram",
}


class Spectrum(NamedTuple):
    """Values (n,) along an axis (n,), and what they are called."""

    title: str
    axis: np.ndarray
    values: np.ndarray
    units: tuple[str, str] = ("", "")  # of the axis and of the values, where they are told


def read_jcamp(path: str, text: str) -> list[Spectrum]:
    """The spectra of a JCAMP-DX file: one of each block that has data."""
    found, block = [], dict[str, str]()
    for label, value in _records(text):
        if label in ("TITLE", "END"):
            found += [_spectrum(path, block)] if set(block) & set(DATA) else []
            block = {}
        if label in OTHER:
            raise TableError(f"{path} holds {OTHER[label]}; XYDATA=(X++(Y..Y)) and XYPOINTS=(XY..XY) are read.")
        block.setdefault(label, value)
    found += [_spectrum(path, block)] if set(block) & set(DATA) else []
    if not found:
        raise TableError(f"{path} holds no spectrum: neither ##XYDATA= nor ##XYPOINTS= is in it.")
    return found


def _records(text: str) -> Iterator[tuple[str, str]]:
    """Labels as the standard compares them, and what stands behind them up to the next one."""
    lines = (line.partition("$$")[0].rstrip() for line in text.splitlines())
    for record in re.split(r"\n(?=##)", "\n".join(lines)):
        match = LABEL.match(record.strip())
        if match:
            yield re.sub(r"[\s\-/_]", "", match[1]).upper(), match[2].strip()


def _spectrum(path: str, block: dict[str, str]) -> Spectrum:
    label = next(name for name in DATA if name in block)
    form, _, body = block[label].partition("\n")
    if form.replace(" ", "").upper() != DATA[label].upper():
        raise TableError(f"{path}: ##{label}={form} is a form of JCAMP-DX that is not read; {DATA[label]} is.")
    units = block.get("XUNITS", ""), block.get("YUNITS", "")
    x_factor, y_factor = (_number(path, block, name, 1.0) for name in ("XFACTOR", "YFACTOR"))
    if label == "XYPOINTS":
        cells = _plain(path, body)
        if len(cells) % 2:
            raise TableError(f"{path}: {len(cells)} numbers in ##XYPOINTS=, which are pairs.")
        return Spectrum(block.get("TITLE", ""), cells[::2] * x_factor, cells[1::2] * y_factor, units)
    values, n = ordinates(path, body), _number(path, block, "NPOINTS", np.nan)
    if n != len(values):
        raise TableError(f"{path}: ##NPOINTS={block.get('NPOINTS', '')}, and {len(values)} values in ##XYDATA=.")
    first, last = (_number(path, block, name, np.nan) for name in ("FIRSTX", "LASTX"))
    if np.isnan(last):
        last = first + (len(values) - 1) * _number(path, block, "DELTAX", np.nan)
    if not np.isfinite(last):
        raise TableError(f"{path}: ##FIRSTX= and ##LASTX= (or ##DELTAX=) say where values lie, and are not there.")
    return Spectrum(block.get("TITLE", ""), np.linspace(first, last, len(values)), values * y_factor, units)


def _number(path: str, block: dict[str, str], label: str, otherwise: float) -> float:
    if label not in block:
        return otherwise
    value = number(block[label])
    if value is None:
        raise TableError(f"{path}: ##{label}={block[label]} is not a number.")
    return value


def ordinates(path: str, body: str) -> np.ndarray:
    """The values of (X++(Y..Y)), of lines that each begin with a place on the axis."""
    lines = [line for line in body.splitlines() if line.strip()]
    if all(map(PLAIN.fullmatch, lines)):
        return np.concatenate([_plain(path, line)[1:] for line in lines]) if lines else np.zeros(0)
    values: list[float] = []
    checked = False  # whether the last value stands at the begin of the next line again
    for line in lines:
        start = re.match(rf"\s*{NUMBER.replace('(?:[eE]', '(?:[eE](?=[+-])')}[\s,]*", line)
        if start is None:
            raise _odd(path, line)
        found, by_difference = _unpacked(path, line[start.end() :])
        if checked:
            if not found or found[0] != values[-1]:
                raise TableError(f"{path}: the line {line.strip()[:40]!r} does not go on where the one before ended.")
            found = found[1:]
        values += found
        checked = by_difference
    return np.array(values)


def _unpacked(path: str, text: str) -> tuple[list[float], bool]:
    """The numbers of a line of ASDF, and whether it ends in a difference."""
    values: list[float] = []
    step, at = None, 0  # the last difference, None after a value
    while at < len(text):
        match = PACKED.match(text, at)
        if match is None or match.end() == at or not (match[2] or match[1] in {*SQUEEZED, *DIFFERENCE, *REPEATED, "?"}):
            raise _odd(path, text)
        mark, digits, at = match[1], match[2], match.end()
        if mark in REPEATED:
            if not values:
                raise _odd(path, text)
            for _ in range(int(f"{REPEATED[mark]}{digits}") - 1):
                values.append(values[-1] + (step or 0.0))
        elif mark in DIFFERENCE:
            if not values:
                raise _odd(path, text)
            step = float(f"{'-' if mark in 'jklmnopqr' else ''}{abs(DIFFERENCE[mark])}{digits}")
            values.append(values[-1] + step)
        else:
            step = None
            lead = f"{'-' if mark in 'abcdefghi' else ''}{abs(SQUEEZED[mark])}" if mark in SQUEEZED else mark
            values.append(np.nan if mark == "?" else float(f"{lead}{digits}"))
    return values, step is not None


def _plain(path: str, text: str) -> np.ndarray:
    """Numbers between spaces, commas, semicolons or signs alone; ? is one that is not known."""
    if not PLAIN.fullmatch(text):
        raise _odd(path, text)
    return np.array([np.nan if cell == "?" else float(cell) for cell in re.findall(rf"{NUMBER}|\?", text)])


def _odd(path: str, text: str) -> TableError:
    return TableError(f"{path}: {' '.join(text.split())[:40]!r} are no numbers in a form of JCAMP-DX.")
