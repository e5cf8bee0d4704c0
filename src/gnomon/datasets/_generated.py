"""Data sets made by a formula: planted latent structure, power-law text, and hidden labels."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils import Bunch

N_WORDS = 120  # of a document in the mean, repeated words included


def make_partial(
    y: Any,
    n_labeled: int | None = None,
    *,
    n_per_class: int | dict[Any, int] | None = None,
    share: float | None = None,
    random_state: Any = None,
) -> Any:
    """Hide labels: keep a random few and mark every other row as unlabeled.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Full targets: classes (integers, booleans or text), several labels a row (columns of 0 and 1) or real numbers
        (floats).
    n_labeled : int or None, default=None
        Number of rows to keep, drawn from all rows. Give one of this, `n_per_class` and `share`.
    n_per_class : int, dict or None, default=None
        Number of rows to keep of every class, or {class: number}, where a class that is not named keeps none; of
        several labels a row, that many rows of each label that have it, or all where they are fewer. Not for floats.
    share : float or None, default=None
        Share of the rows of every class to keep, between 0 and 1, at least one row unless it is 0; of real numbers and
        of several labels a row, the share of all rows.
    random_state : int, Generator or None, default=None
        Which rows are kept.

    Returns
    -------
    ndarray
        A copy of `y`. Hidden rows hold -1 for integer classes, None for text and booleans, NaN for floats.

    Examples
    --------
    >>> from gnomon.datasets import load_iris, make_partial
    >>> y = make_partial(load_iris().target, n_per_class=5, random_state=0)
    >>> int((y >= 0).sum())
    15
    >>> y = make_partial(load_iris().target, n_per_class={0: 20, 1: 3}, random_state=0)
    >>> [int((y == c).sum()) for c in range(3)]
    [20, 3, 0]
    >>> int((make_partial(load_iris().target, share=0.1, random_state=0) >= 0).sum())
    15
    """
    full = np.asarray(y)
    given = {"n_labeled": n_labeled, "n_per_class": n_per_class, "share": share}
    if sum(value is not None for value in given.values()) != 1:
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ValueError(f"{said}: give exactly one of the three.")
    rng = np.random.default_rng(random_state)
    if share is not None:
        keep = _rows_of_share(full, share, rng)
    elif n_labeled is not None:
        if not 0 <= n_labeled <= len(full):
            raise ValueError(f"n_labeled={n_labeled} must lie between 0 and {len(full)}, the number of rows.")
        keep = rng.permutation(len(full))[:n_labeled]
    else:
        keep = _rows_per_class(full, n_per_class, rng)
    partial = _all_hidden(full)
    partial[keep] = full[keep]
    return partial


def _rows_per_class(y: np.ndarray, n_per_class: Any, rng: np.random.Generator) -> np.ndarray:
    if y.ndim == 2 and y.dtype.kind in "iub" and not isinstance(n_per_class, dict) and np.isin(y, (0, 1)).all():
        if n_per_class < 0:
            raise ValueError(f"n_per_class={n_per_class} must be at least 0.")
        positive = [np.flatnonzero(column == 1) for column in y.T]
        return np.concatenate([rng.choice(rows, min(n_per_class, len(rows)), replace=False) for rows in positive])
    if y.dtype.kind == "f" or y.ndim > 1:
        raise ValueError(
            f"n_per_class={n_per_class} needs 1-D class targets or columns of 0 and 1, and y has dtype {y.dtype} and "
            f"shape {y.shape}. Use n_labeled for real targets, and one number for several labels a row."
        )
    names, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    classes = names.tolist()
    wanted = n_per_class if isinstance(n_per_class, dict) else dict.fromkeys(classes, n_per_class)
    if unknown := [name for name in wanted if name not in classes]:
        raise ValueError(f"n_per_class={n_per_class} names the class {unknown[0]!r}, and y has only {classes}.")
    for name, count in sorted(zip(classes, counts.tolist(), strict=True), key=lambda one: one[1]):
        if not 0 <= wanted.get(name, 0) <= count:
            raise ValueError(f"n_per_class={n_per_class} must lie between 0 and {count}, the rows of class {name!r}.")
    rows = [np.flatnonzero(codes == c) for c in range(len(classes))]
    drawn = [rng.choice(own, wanted.get(name, 0), replace=False) for name, own in zip(classes, rows, strict=True)]
    return np.concatenate(drawn)


def _rows_of_share(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share={share} must lie between 0 and 1, a share of the rows.")
    if y.dtype.kind == "f" or y.ndim > 1:
        return rng.permutation(len(y))[: round(share * len(y))]
    _, codes = np.unique(y, return_inverse=True)
    drawn = [rng.permutation(np.flatnonzero(codes == c)) for c in range(codes.max() + 1)]
    return np.concatenate([rows[: max(1, round(share * len(rows))) if share > 0.0 else 0] for rows in drawn])


def _all_hidden(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.full_like(y, np.nan)
    if y.dtype.kind in "iu":
        if (y == -1).any():
            raise ValueError("y holds -1, which marks a hidden integer label: rename that class first.")
        return np.full(y.shape, -1, dtype=np.promote_types(y.dtype, np.int8))
    return np.full(y.shape, None, dtype=object)


def make_low_rank(
    n_samples: int = 200,
    n_features: int = 20,
    n_components: int = 2,
    *,
    n_targets: int = 1,
    n_classes: int | None = None,
    noise_variance: float = 0.1,
    y_noise_variance: float = 0.1,
    dtype: Any = "float64",
    random_state: Any = 0,
) -> Any:
    """Draw from the supervised PPCA model with known loadings.

    Each row has a latent vector z ~ N(0, I), features ``components.T @ z + mean + noise`` and targets
    ``y_loadings @ z + noise``. With `n_classes` the target is the class whose score is highest.

    Parameters
    ----------
    n_samples : int, default=200
        Rows.
    n_features : int, default=20
        Feature columns.
    n_components : int, default=2
        Latent dimensions.
    n_targets : int, default=1
        Number of real targets; one gives a 1-D target. Ignored when `n_classes` is given.
    n_classes : int or None, default=None
        Draw classes 0..n_classes-1 instead of real targets.
    noise_variance : float, default=0.1
        Variance of the noise on features.
    y_noise_variance : float, default=0.1
        Variance of the noise on targets, or on class scores.
    dtype : {"float64", "float32"}, default="float64"
        Type of `data` and of real targets.
    random_state : int, Generator or None, default=0
        The same integer gives the same data.

    Returns
    -------
    Bunch
        `data`, `target`, the planted `latent` (n, k), `components` (k, p), `mean` (p,), `y_loadings` (q,
        k), and `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256`.

    Examples
    --------
    >>> from gnomon.datasets import make_low_rank
    >>> make_low_rank(50, 6, 2, n_targets=3).target.shape
    (50, 3)
    """
    if min(n_samples, n_features, n_components, n_targets) < 1 or (n_classes is not None and n_classes < 2):
        raise ValueError(
            f"n_samples={n_samples}, n_features={n_features}, n_components={n_components}, "
            f"n_targets={n_targets} must be at least 1 and n_classes={n_classes} at least 2 or None."
        )
    rng = np.random.default_rng(random_state)
    n_outputs = n_targets if n_classes is None else n_classes
    components = rng.standard_normal((n_components, n_features))
    y_loadings = rng.standard_normal((n_outputs, n_components))
    mean = rng.standard_normal(n_features)
    latent = rng.standard_normal((n_samples, n_components))
    noise = rng.standard_normal((n_samples, n_features))
    data = latent @ components + mean + np.sqrt(noise_variance) * noise
    scores = latent @ y_loadings.T + np.sqrt(y_noise_variance) * rng.standard_normal((n_samples, n_outputs))
    target = scores.argmax(axis=1) if n_classes else scores.astype(dtype)
    if n_classes is None and n_targets == 1:
        target = target[:, 0]
    names = range(n_classes) if n_classes else [f"y{j}" for j in range(n_targets)]
    return Bunch(
        **described(data.astype(dtype), target, [f"x{j}" for j in range(n_features)], names),
        latent=latent,
        components=components,
        mean=mean,
        y_loadings=y_loadings,
        DESCR=f"A draw of {n_samples} rows from supervised PPCA with {n_components} latent dimensions.",
        provenance="generated by gnomon.datasets.make_low_rank",
    )


def make_text(
    n_samples: int = 20_000,
    n_features: int = 25_000,
    n_topics: int = 20,
    *,
    random_state: Any = 0,
) -> Any:
    """Generate a sparse TF-IDF matrix of documents with power-law words and topics.

    Word frequencies follow Zipf's law. A topic reweights the vocabulary by heavy-tailed factors. Each
    document has a main topic, which is its class, and a minor one; the rest of its words come from the
    common vocabulary. Counts are turned into TF-IDF with rows of unit length.

    Parameters
    ----------
    n_samples : int, default=20000
        Documents. The default sizes give about 1.7 million non-zeros.
    n_features : int, default=25000
        Words in the vocabulary.
    n_topics : int, default=20
        Topics, which are the classes.
    random_state : int, Generator or None, default=0
        The same integer gives the same matrix.

    Returns
    -------
    Bunch
        `data` (csr_matrix), `target` (main topic of each document, from 0), `feature_names`,
        `target_names`, `DESCR`, `provenance`, `sha256`.

    Examples
    --------
    >>> from gnomon.datasets import make_text
    >>> make_text(100, 500, 3).data.shape
    (100, 500)
    """
    if min(n_samples, n_features, n_topics) < 1:
        raise ValueError(f"n_samples={n_samples}, n_features={n_features} and n_topics={n_topics} must be at least 1.")
    rng = np.random.default_rng(random_state)
    common = 1.0 / np.arange(1, n_features + 1)
    weights = np.vstack([common * (rng.gamma(0.05, size=(n_topics, n_features)) + 1e-6), common])
    cumulative = np.cumsum(weights, axis=1)  # a row per topic, and a last one for the common vocabulary
    vocabularies = cumulative / cumulative[:, -1:]
    topic = rng.integers(n_topics, size=n_samples)
    data = TfidfTransformer().fit_transform(_draw_counts(vocabularies, topic, rng))
    return Bunch(
        **described(data, topic, [f"word{j}" for j in range(n_features)], [f"topic{j}" for j in range(n_topics)]),
        DESCR=f"TF-IDF of {n_samples} generated documents over {n_features} words and {n_topics} topics.",
        provenance="generated by gnomon.datasets.make_text",
    )


def _draw_counts(vocabularies: np.ndarray, topic: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """Word counts per document; all words are drawn at once by inverting the stacked distributions."""
    n, p, n_topics = len(topic), vocabularies.shape[1], len(vocabularies) - 1
    lengths = rng.lognormal(np.log(N_WORDS) - 0.5**2 / 2, 0.5, size=n).astype(np.int64) + 1
    document = np.repeat(np.arange(n), lengths)
    minor = rng.integers(n_topics, size=n)
    share = rng.beta(4, 4, size=n)  # of topical words; it differs by document, so topics span n_topics dimensions
    u = rng.random(document.size)
    source = np.where(u < share[document], topic[document], n_topics)
    source = np.where(u < 0.2 * share[document], minor[document], source)
    stacked = (vocabularies + np.arange(n_topics + 1)[:, None]).ravel()
    word = np.searchsorted(stacked, rng.random(document.size) + source, side="right") - source * p
    word = np.minimum(word, p - 1)  # adding `source` rounds a draw just below 1 upwards
    counts = sparse.coo_matrix((np.ones(document.size), (document, word)), shape=(n, p)).tocsr()
    counts.sum_duplicates()
    return counts


def described(
    data: Any, target: np.ndarray, feature_names: Iterable[Any], target_names: Iterable[Any]
) -> dict[str, Any]:
    """What every Bunch has of its data: the columns of `data` and of `target` by name, and a digest."""
    return {
        "data": data,
        "target": target,
        "feature_names": list(map(str, feature_names)),
        "target_names": list(map(str, target_names)),
        "sha256": array_digest(data, target),
    }


def array_digest(data: Any, target: np.ndarray) -> str:
    """sha256 of the values of `data` (dense or csr) and `target`, in row order."""
    digest = hashlib.sha256()
    parts = [data]
    if sparse.issparse(data):
        parts = [data.data, data.indices.astype(np.int64), data.indptr.astype(np.int64)]
    for part in [*parts, target]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
