"""fetch_* of sparse data: words in news stories, messages and reviews, as csr_matrix of float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn.datasets

from gnomon.datasets._local import bunch_of, bunch_of_fetched, read_csr, read_file, second_place
from gnomon.datasets._sources import FILES


def fetch_tdt2(*, data_home: Any = None) -> Any:
    """TDT2 news: counts of 36,771 words in 9,394 stories of 30 categories.

    The extra field `date` is month * 100 + day.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder of the file; None means the one that the environment variable GNOMON_DATA names.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` (of the file).

    Examples
    --------
    >>> from gnomon.datasets import fetch_tdt2
    >>> fetch_tdt2().data.shape  # doctest: +SKIP
    (9394, 36771)
    """
    source = FILES["tdt2"]
    arrays = read_file(source, data_home)
    return bunch_of(source, read_csr(arrays), arrays["y"].astype(np.int64), date=arrays["date"])


def fetch_news20(*, data_home: Any = None, download_if_missing: bool = True) -> Any:
    """20 Newsgroups: counts of 25,607 stems in 19,950 messages of 20 groups.

    Without the local file, scikit-learn's `fetch_20newsgroups_vectorized` stands in, with a warning: 18,846
    messages, 130,107 unstemmed words, rows of unit length, so figures differ. The extra field `article_id` is
    the name of the message's file in the collection.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder of the file; None means the one that the environment variable GNOMON_DATA names.
    download_if_missing : bool, default=True
        Let scikit-learn download its version when the local file and its own copy are missing.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` (of the file).

    Examples
    --------
    >>> from gnomon.datasets import fetch_news20
    >>> fetch_news20().data.shape  # doctest: +SKIP
    (19950, 25607)
    """
    source = FILES["news20"]
    try:
        arrays = read_file(source, data_home)
    except FileNotFoundError as missing:
        fetched = second_place(
            sklearn.datasets.fetch_20newsgroups_vectorized,
            missing,
            download_if_missing,
            subset="all",
            remove=("headers",),
        )
        warnings.warn(
            f"{source.name} is not at hand: returning scikit-learn's 20 Newsgroups, with fewer messages, "
            "130,107 unstemmed words and unit rows.",
            stacklevel=2,
        )
        return bunch_of_fetched(fetched, "sklearn.datasets.fetch_20newsgroups_vectorized", fetched.target_names)
    return bunch_of(
        source,
        read_csr(arrays),
        arrays["y"].astype(np.int64),
        feature_names=arrays["vocabulary"].item().decode().split("\n"),
        target_names=[str(name) for name in arrays["target_names"]],
        article_id=arrays["article_id"],
    )


def fetch_amazon(*, data_home: Any = None) -> Any:
    """Amazon reviews of four domains: counts of 5,000 terms in 27,677 reviews.

    Classes are 0, negative, and 1, positive. The extra field `domain` indexes `domain_names`; `labeled`
    marks the 2,000 balanced reviews of each domain.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder of the file; None means the one that the environment variable GNOMON_DATA names.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` (of the file).

    Examples
    --------
    >>> from gnomon.datasets import fetch_amazon
    >>> fetch_amazon().data.shape  # doctest: +SKIP
    (27677, 5000)
    """
    source = FILES["amazon"]
    arrays = read_file(source, data_home)
    return bunch_of(
        source,
        read_csr(arrays),
        arrays["y"].astype(np.int64),
        target_names=["negative", "positive"],
        domain=arrays["domain"].astype(np.int64),
        domain_names=[str(name) for name in arrays["domain_names"]],
        labeled=arrays["labeled"],
    )


def fetch_rcv1(*, data_home: Any = None) -> Any:
    """Reuters RCV1 subsets: log TF-IDF of 27,695 stories over 47,236 words.

    `target` is (27695, 101), 0 or 1 for each topic. The bits of the extra field `member` name the subsets.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder of the file; None means the one that the environment variable GNOMON_DATA names.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` (of the file).

    Examples
    --------
    >>> from gnomon.datasets import fetch_rcv1
    >>> fetch_rcv1().data.shape  # doctest: +SKIP
    (27695, 47236)
    """
    source = FILES["rcv1"]
    arrays = read_file(source, data_home)
    n_labels = int(arrays["n_labels"])
    target = np.unpackbits(arrays["Y"], axis=1)[:, :n_labels].astype(np.float64)
    names = [str(name) for name in arrays["label_names"]]
    return bunch_of(source, read_csr(arrays), target, target_names=names, member=arrays["member"])
