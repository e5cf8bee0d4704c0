"""fetch_*: faces, digits, gene expression, spectra and small tables, and words in texts as csr_matrix.

Integers of the source come as float64, float32 stays; classes are integers from 0.
"""

from typing import Any

import numpy as np

from gnomon.datasets._local import fetcher, read_bunch


@fetcher(165, 1024)
def fetch_yale(*, size: int = 32, data_home: Any = None) -> Any:
    """Yale faces: 165 images of 15 people.

    Parameters
    ----------
    size : {32, 64}, default=32
        Pixels along each side; the two sizes are different crops.
    """
    return read_bunch(_by_size("yale", size, {32: "yale_32x32", 64: "yale_64x64"}), data_home)


@fetcher(400, 1024)
def fetch_orl(*, size: int = 32, data_home: Any = None) -> Any:
    """ORL faces: 400 images of 40 people.

    Parameters
    ----------
    size : {32, 64}, default=32
        Pixels along each side.
    """
    return read_bunch(_by_size("orl", size, {32: "orl_32x32", 64: "orl_64x64"}), data_home)


@fetcher(2414, 1024)
def fetch_yaleb(*, size: int = 32, data_home: Any = None) -> Any:
    """Extended Yale B faces under many lights.

    Parameters
    ----------
    size : {32, 192}, default=32
        32 for 2,414 images of 38 people at 32 x 32 pixels, 192 for 320 images of 5 people at 192 x 168.
    """
    return read_bunch(_by_size("yaleb", size, {32: "yaleb_32x32", 192: "yaleb5_192x168"}), data_home)


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
    return read_bunch("pie_32x32_jpeg" if people == 68 else "pie_32x32_first10", data_home)


@fetcher(9298, 256)
def fetch_usps(*, data_home: Any = None) -> Any:
    """USPS digits: 9,298 images of 16 x 16 pixels (float32).

    Rows 0 to 7290 are the official training part.
    """
    return read_bunch("usps", data_home)


@fetcher(200, 5)
def fetch_crabs(*, data_home: Any = None) -> Any:
    """Crabs: 5 measurements of 200 animals, blue or orange, female or male."""
    names = ["blue female", "blue male", "orange female", "orange male"]
    return read_bunch("crabs", data_home, feature_names=["FL", "RW", "CL", "CW", "BD"], target_names=names)


@fetcher(166, 12533)
def fetch_11_tumors(*, data_home: Any = None) -> Any:
    """11_Tumors gene expression: 166 rows, 12,533 genes, 11 kinds of tumor."""
    names = (
        "ovary, bladder/ureter, breast, colorectal, gastroesophagus, kidney, liver, prostate, pancreas, lung adeno, "
        "lung squamous"
    )
    return read_bunch("11_tumors_166", data_home, target_names=names.split(", "))


@fetcher(60, 5726)
def fetch_9_tumors(*, data_home: Any = None) -> Any:
    """9_Tumors gene expression: 60 rows, 5,726 genes, 9 kinds of tumor."""
    return read_bunch("9_tumors", data_home)


@fetcher(190, 243)
def fetch_gcm(*, data_home: Any = None) -> Any:
    """Global cancer map: 190 tumors of 14 types, 243 selected genes."""
    names = "Bladder Breast CNS Colorectal Leukemia Lung Lymphoma Melanoma Mesothelioma Ovary Pancreas Prostate"
    return read_bunch("gcm_243genes", data_home, target_names=[*names.split(), "Renal", "Uterus"])


@fetcher(102, 12600)
def fetch_lung_cancer(*, data_home: Any = None) -> Any:
    """Lung_Cancer gene expression: 102 rows, 12,600 genes, 5 kinds of tissue."""
    names = ["adenocarcinoma", "carcinoid", "normal", "small-cell", "squamous"]
    return read_bunch("lung_cancer_102", data_home, target_names=names)


@fetcher(2417, 103)
def fetch_yeast(*, data_home: Any = None) -> Any:
    """Yeast: 2,417 genes, 103 features, 14 functional classes.

    `target` is (2417, 14), 0 or 1. The extra field `is_test` marks the usual 917 test rows.
    """

    def fields(arrays):
        data = np.round(arrays["X"].astype(np.float64), 6)  # gives back the six decimals of the source
        return {"data": data, "is_test": arrays["is_test"]}

    return read_bunch("yeast", data_home, fields)


@fetcher(1060, 16)
def fetch_wq(*, data_home: Any = None) -> Any:
    """Water quality: 1,060 samples, 16 readings, abundance grades of 14 species.

    `target` is (1060, 14), grades 0, 1, 3 and 5 as floats.
    """
    return read_bunch("wq", data_home)


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

    def fields(arrays):
        return {"data": arrays[f"X_{instrument}"], "feature_names": [f"{nm} nm" for nm in arrays["wavelength"]]}

    return read_bunch("corn_nir", data_home, fields)


@fetcher(9394, 36771)
def fetch_tdt2(*, data_home: Any = None) -> Any:
    """TDT2 news: counts of 36,771 words in 9,394 stories of 30 categories.

    The extra field `date` is month * 100 + day.
    """
    return read_bunch("tdt2", data_home, lambda arrays: {"date": arrays["date"]})


@fetcher(19950, 25607)
def fetch_news20(*, data_home: Any = None) -> Any:
    """20 Newsgroups: counts of 25,607 stems in 19,950 messages of 20 groups.

    The extra field `article_id` is the name of the message's file in the collection.
    """

    def fields(arrays):
        words = arrays["vocabulary"].item().decode().split("\n")
        return {"feature_names": words, "article_id": arrays["article_id"]}

    return read_bunch("news20", data_home, fields)


@fetcher(27677, 5000)
def fetch_amazon(*, data_home: Any = None) -> Any:
    """Amazon reviews of four domains: counts of 5,000 terms in 27,677 reviews.

    Classes are 0, negative, and 1, positive. The extra field `domain` indexes `domain_names`; `labeled`
    marks the 2,000 balanced reviews of each domain.
    """

    def fields(arrays):
        return {
            "domain": arrays["domain"].astype(np.int64),
            "domain_names": [str(name) for name in arrays["domain_names"]],
            "labeled": arrays["labelled"],  # as the file spells it
        }

    return read_bunch("amazon4", data_home, fields, target_names=["negative", "positive"])


@fetcher(27695, 47236)
def fetch_rcv1(*, data_home: Any = None) -> Any:
    """Reuters RCV1 subsets: log TF-IDF of 27,695 stories over 47,236 words.

    `target` is (27695, 101), 0 or 1 for each topic. The bits of the extra field `member` name the subsets. The source
    keeps each subset as a table of 2.3 GB, which is read a column at a time when the set is downloaded: that takes
    about 100 MB of memory.
    """

    def fields(arrays):
        target = np.unpackbits(arrays["Y"], axis=1)[:, : int(arrays["n_labels"])].astype(np.float64)
        names = [str(name) for name in arrays["label_names"]]
        return {"target": target, "target_names": names, "member": arrays["member"]}

    return read_bunch("rcv1_subsets", data_home, fields)


def _by_size(name: str, size: int, files: dict[int, str]) -> str:
    if size not in files:
        raise ValueError(f"size={size} must be one of {tuple(files)} for fetch_{name}.")
    return files[size]
