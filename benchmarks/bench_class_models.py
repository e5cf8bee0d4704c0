"""Models of class labels: CPPCA beside SPPCA on the same rows, labels and components, DPPCA beside PCA on text.

One function a row, or more. Rows of the papers' data need GNOMON_DATA; without it they are left out, which is printed.
"""

import os
import sys
import warnings

import numpy as np
from common import paired, peak_bytes, ratio, record
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from gnomon import CPPCA, DPPCA, SPPCA, datasets
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments.guided_table import SMALL, load

CPPCA_LIMIT, DPPCA_LIMIT = 3.0, 5.0
PAPERS_DATA = ("yale_32x32", "orl_32x32", "11_tumors_166", "lung_cancer_102", "usps_3456", "yaleb_32x32", "tdt2")
PER_CLASS = 5


def with_labels(X, y, n_per_class=PER_CLASS):
    """X, and y with -1 for all but a few rows of each class."""
    return X, np.where(draw_labeled(y, n_per_class, 100), y, -1)


def has_data(name):
    """Whether real data can be read; prints what is left out where it cannot."""
    found = bool(os.environ.get("GNOMON_DATA"))
    if not found:
        sys.stdout.write(f"{name} left out: GNOMON_DATA is not set\n")
    return found


def cppca_row(what, X, y, n_components, limit=CPPCA_LIMIT):
    """Time of CPPCA over that of SPPCA, one row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = paired(
            {"CPPCA": lambda: CPPCA(n_components).fit(X, y), "SPPCA": lambda: SPPCA(n_components).fit(X, y)}
        )
    return {"what": f"CPPCA / SPPCA, {what}", "value": ratio(seconds, "CPPCA", "SPPCA"), "limit": limit}


def digits_binary():
    """Digits 0 and 1."""
    X, y = load_digits(return_X_y=True)
    two = y < 2
    return [cppca_row("digits 0 and 1 (360 x 64), 10 labels, K = 5", *with_labels(X[two], y[two]), 5)]


def digits_ten():
    """Ten digits, few labels."""
    X, y = load_digits(return_X_y=True)
    return [cppca_row("ten digits (1,797 x 64), 50 labels, K = 9", *with_labels(X, y), 9)]


def digits_ten_all():
    """Ten digits, every row labeled."""
    X, y = load_digits(return_X_y=True)
    return [cppca_row("ten digits (1,797 x 64), all labeled, K = 9", X, y, 9)]


def papers_data():
    """Faces, gene expression, written digits and news by the protocol of the papers: few labels of each class."""
    if not has_data("the papers' data"):
        return []
    rows = []
    for name in PAPERS_DATA:
        X, y = load(name)
        X, y = with_labels(X, y, 2 if X.shape[0] < SMALL else PER_CLASS)
        rows.append(cppca_row(f"{name} ({X.shape[0]:,} x {X.shape[1]:,}), {(y >= 0).sum()} labels, K = 10", X, y, 10))
    return rows


def planted():
    """Three classes in five directions, a tenth of 20,000 rows labeled."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20_000, 5))
    X = Z @ rng.normal(size=(5, 300)) + 2.0 * rng.normal(size=(20_000, 300))
    y = (2.0 * Z @ rng.normal(size=(5, 3)) + rng.gumbel(size=(20_000, 3))).argmax(axis=1)
    seen = np.where(rng.random(20_000) < 0.1, y, -1)
    return [cppca_row("planted (20,000 x 300), 3 classes, 10 % labeled, K = 5", X, seen, 5)]


def all_labeled():
    """Two and ten classes in five directions, every one of 20,000 rows labeled: SPPCA needs moments alone there."""
    rows = []
    for n_classes, limit in ((2, 2.0), (10, 3.0)):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(20_000, 5))
        X = Z @ rng.normal(size=(5, 300)) + 2.0 * rng.normal(size=(20_000, 300))
        y = (2.0 * Z @ rng.normal(size=(5, n_classes)) + rng.gumbel(size=(20_000, n_classes))).argmax(axis=1)
        rows.append(cppca_row(f"planted (20,000 x 300), {n_classes} classes, all labeled, K = 5", X, y, 5, limit))
    return rows


def news():
    """Twenty topics, five labels each, sparse TF-IDF rows; DPPCA makes its own choices."""
    if not has_data("tdt2"):
        return []
    X, y = with_labels(*load("tdt2"))
    seconds = paired({"DPPCA": lambda: DPPCA(10).fit(X, y), "PCA": lambda: PCA(100, svd_solver="arpack").fit(X)})
    what = f"DPPCA(10) / PCA(100, svd_solver='arpack'), tdt2 ({X.shape[0]:,} x {X.shape[1]:,} sparse)"
    return [{"what": what, "value": ratio(seconds, "DPPCA", "PCA"), "limit": DPPCA_LIMIT}]


def text_memory():
    """Memory of a fit beside that of the rows' coordinates and basis: a dense copy of X would be 20 times as much."""
    data = datasets.make_text()
    X, y = with_labels(data.data, data.target)
    n, p = X.shape
    fixed = {"n_factors": 20, "shrinkage": 1e-2, "unlabeled_weight": 1.0}
    used = peak_bytes(lambda: DPPCA(10, **fixed).fit(X, y)) / (8 * 140 * (n + p))
    return [{"what": f"DPPCA, sparse {n:,} x {p:,}: peak memory / 140 (n + p) doubles", "value": used, "limit": 4.0}]


ROWS = (digits_binary, digits_ten, digits_ten_all, papers_data, planted, all_labeled, news, text_memory)


def main():
    """Run and record."""
    record("class_models", [row for make in ROWS for row in make()])


if __name__ == "__main__":
    main()
