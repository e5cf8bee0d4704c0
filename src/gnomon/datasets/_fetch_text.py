"""fetch_* of sparse data: words in news stories, messages and reviews, as csr_matrix of float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn.datasets

from gnomon.datasets._local import bunch_of, bunch_of_fetched, fetcher, read_csr, read_file, second_place
from gnomon.datasets._sources import FILES


@fetcher(9394, 36771)
def fetch_tdt2(*, data_home: Any = None) -> Any:
    """TDT2 news: counts of 36,771 words in 9,394 stories of 30 categories.

    The extra field `date` is month * 100 + day.
    """
    source = FILES["tdt2"]
    arrays = read_file(source, data_home)
    return bunch_of(source, read_csr(arrays), arrays["y"].astype(np.int64), date=arrays["date"])


@fetcher(19950, 25607)
def fetch_news20(*, data_home: Any = None, download_if_missing: bool = True) -> Any:
    """20 Newsgroups: counts of 25,607 stems in 19,950 messages of 20 groups.

    Without the local file, scikit-learn's `fetch_20newsgroups_vectorized` stands in, with a warning: 18,846
    messages, 130,107 unstemmed words, rows of unit length, so figures differ. The extra field `article_id` is
    the name of the message's file in the collection.
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


@fetcher(27677, 5000)
def fetch_amazon(*, data_home: Any = None) -> Any:
    """Amazon reviews of four domains: counts of 5,000 terms in 27,677 reviews.

    Classes are 0, negative, and 1, positive. The extra field `domain` indexes `domain_names`; `labeled`
    marks the 2,000 balanced reviews of each domain.
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
        labeled=arrays["labelled"],  # as the file spells it
    )


@fetcher(27695, 47236)
def fetch_rcv1(*, data_home: Any = None) -> Any:
    """Reuters RCV1 subsets: log TF-IDF of 27,695 stories over 47,236 words.

    `target` is (27695, 101), 0 or 1 for each topic. The bits of the extra field `member` name the subsets.
    """
    source = FILES["rcv1"]
    arrays = read_file(source, data_home)
    n_labels = int(arrays["n_labels"])
    target = np.unpackbits(arrays["Y"], axis=1)[:, :n_labels].astype(np.float64)
    names = [str(name) for name in arrays["label_names"]]
    return bunch_of(source, read_csr(arrays), target, target_names=names, member=arrays["member"])
