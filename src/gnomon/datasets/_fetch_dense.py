"""fetch_* of dense data: faces, digits, gene expression, spectra and small tables.

Integers of the source come as float64, float32 stays; classes are integers from 0.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn.datasets

from gnomon.datasets._local import bunch_of, bunch_of_fetched, fetcher, read_file, second_place
from gnomon.datasets._sources import FILES, SourceFile


@fetcher(165, 1024)
def fetch_yale(*, size: int = 32, data_home: Any = None) -> Any:
    """Yale faces: 165 images of 15 people.

    Parameters
    ----------
    size : {32, 64}, default=32
        Pixels along each side; the two sizes are different crops.
    """
    return _dense(_by_size("yale", size, (32, 64)), data_home)


@fetcher(400, 1024)
def fetch_orl(*, size: int = 32, data_home: Any = None, download_if_missing: bool = True) -> Any:
    """ORL faces: 400 images of 40 people.

    Without the local file, scikit-learn's `fetch_olivetti_faces` stands in, with a warning: it holds the same
    people at 64 x 64 in another crop, flattened row by row, with values in [0, 1], so figures differ.

    Parameters
    ----------
    size : {32, 64}, default=32
        Pixels along each side.
    """
    source = _by_size("orl", size, (32, 64))
    try:
        return _dense(source, data_home)
    except FileNotFoundError as missing:
        fetched = second_place(sklearn.datasets.fetch_olivetti_faces, missing, download_if_missing)
        warnings.warn(
            f"{source.name} is not at hand: returning scikit-learn's Olivetti faces, the same people at "
            "64 x 64 in another crop, flattened row by row, with values in [0, 1].",
            stacklevel=2,
        )
        return bunch_of_fetched(fetched, "sklearn.datasets.fetch_olivetti_faces", None)


@fetcher(2414, 1024)
def fetch_yaleb(*, size: int = 32, data_home: Any = None) -> Any:
    """Extended Yale B faces under many lights.

    Parameters
    ----------
    size : {32, 192}, default=32
        32 for 2,414 images of 38 people at 32 x 32 pixels, 192 for 320 images of 5 people at 192 x 168.
    """
    return _dense(_by_size("yaleb", size, (32, 192)), data_home)


@fetcher(11554, 1024)
def fetch_pie(*, people: int = 68, data_home: Any = None) -> Any:
    """CMU PIE faces in five near-frontal poses, 32 x 32 pixels.

    Parameters
    ----------
    people : {10, 68}, default=68
        68 for all people with pixels that went through JPEG, 10 for the first ten people exactly.
    """
    if people not in (10, 68):
        raise ValueError(f"people={people} must be 68 (JPEG pixels) or 10 (exact pixels).")
    return _dense(FILES["pie_jpeg" if people == 68 else "pie_first10"], data_home)


@fetcher(9298, 256)
def fetch_usps(*, data_home: Any = None) -> Any:
    """USPS digits: 9,298 images of 16 x 16 pixels (float32).

    Rows 0 to 7290 are the official training part.
    """
    return _dense(FILES["usps"], data_home)


@fetcher(200, 5)
def fetch_crabs(*, data_home: Any = None) -> Any:
    """Crabs: 5 measurements of 200 animals, blue or orange, female or male."""
    bunch = _dense(FILES["crabs"], data_home, names=["blue female", "blue male", "orange female", "orange male"])
    bunch.feature_names = ["FL", "RW", "CL", "CW", "BD"]
    return bunch


@fetcher(166, 12533)
def fetch_11_tumors(*, data_home: Any = None) -> Any:
    """11_Tumors gene expression: 166 rows, 12,533 genes, 11 kinds of tumor."""
    names = (
        "ovary, bladder/ureter, breast, colorectal, gastroesophagus, kidney, liver, prostate, pancreas, lung adeno, "
        "lung squamous"
    )
    return _dense(FILES["11_tumors"], data_home, names=names.split(", "))


@fetcher(60, 5726)
def fetch_9_tumors(*, data_home: Any = None) -> Any:
    """9_Tumors gene expression: 60 rows, 5,726 genes, 9 kinds of tumor."""
    return _dense(FILES["9_tumors"], data_home)


@fetcher(190, 243)
def fetch_gcm(*, data_home: Any = None) -> Any:
    """Global cancer map: 190 tumors of 14 types, 243 selected genes."""
    names = "Bladder Breast CNS Colorectal Leukemia Lung Lymphoma Melanoma Mesothelioma Ovary Pancreas Prostate"
    return _dense(FILES["gcm"], data_home, names=[*names.split(), "Renal", "Uterus"])


@fetcher(102, 12600)
def fetch_lung_cancer(*, data_home: Any = None) -> Any:
    """Lung_Cancer gene expression: 102 rows, 12,600 genes, 5 kinds of tissue."""
    names = ["adenocarcinoma", "carcinoid", "normal", "small-cell", "squamous"]
    return _dense(FILES["lung_cancer"], data_home, names=names)


@fetcher(2417, 103)
def fetch_yeast(*, data_home: Any = None) -> Any:
    """Yeast: 2,417 genes, 103 features, 14 functional classes.

    `target` is (2417, 14), 0 or 1. The extra field `is_test` marks the usual 917 test rows.
    """
    source = FILES["yeast"]
    arrays = read_file(source, data_home)
    data = np.round(arrays["X"].astype(np.float64), 6)  # gives back the six decimals of the source
    return bunch_of(source, data, arrays["Y"].astype(np.float64), is_test=arrays["is_test"])


@fetcher(1060, 16)
def fetch_wq(*, data_home: Any = None) -> Any:
    """Water quality: 1,060 samples, 16 readings, abundance grades of 14 species.

    `target` is (1060, 14), grades 0, 1, 3 and 5 as floats.
    """
    source = FILES["wq"]
    arrays = read_file(source, data_home)
    return bunch_of(
        source,
        arrays["X"],
        arrays["Y"].astype(np.float64),
        feature_names=[str(name) for name in arrays["feature_names"]],
        target_names=[str(name) for name in arrays["target_names"]],
    )


@fetcher(80, 700)
def fetch_corn(*, instrument: str = "m5", data_home: Any = None) -> Any:
    """Corn: near-infrared spectra of 80 samples at 700 wavelengths, 4 real targets.

    Parameters
    ----------
    instrument : {"m5", "mp5", "mp6"}, default="m5"
        Which of the three instruments measured the spectra.
    """
    if instrument not in ("m5", "mp5", "mp6"):
        raise ValueError(f"instrument={instrument!r} must be 'm5', 'mp5' or 'mp6'.")
    source = FILES["corn"]
    arrays = read_file(source, data_home)
    return bunch_of(
        source,
        arrays[f"X_{instrument}"],
        arrays["Y"],
        feature_names=[f"{nm} nm" for nm in arrays["wavelength"]],
        target_names=[str(name) for name in arrays["target_names"]],
    )


def _by_size(name: str, size: int, allowed: tuple[int, ...]) -> SourceFile:
    if size not in allowed:
        raise ValueError(f"size={size} must be one of {allowed} for fetch_{name}.")
    return FILES[f"{name}_{size}"]


def _dense(source: SourceFile, data_home: Any, names: list[str] | None = None) -> Any:
    arrays = read_file(source, data_home)
    data = arrays["X"]
    if data.dtype.kind in "iu":
        data = data.astype(np.float64)
    return bunch_of(source, data, arrays["y"].astype(np.int64), target_names=names)
