"""What a fitted model says of every row by itself, of a Dask collection: chunk by chunk, when it is asked for."""

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .dask import bring_home, chunks_of, later, library
from .kind import is_dask, is_sparse, rows_at

OF_ROWS = ("y", "domain")  # arguments with an entry for every row


def by_chunk(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method; of a Dask array or frame it gives a lazy one, with a chunk for each of X."""

    @wraps(method)
    def of_any(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        given = inspect.signature(method).bind(self, X, *args, **kwargs).arguments
        return _lazily(self, method.__name__, X, dict(list(given.items())[2:]))

    return of_any


class Question(NamedTuple):
    """What is asked of every chunk."""

    model: Any
    method: str
    arguments: dict[str, Any]
    nothing: Any = None  # the answers of no rows, None for one that is not of rows

    def of(self, X: Any, of_rows: dict[str, Any]) -> list[Any]:
        """The answers of a chunk."""
        if X.shape[0] == 0:
            return list(self.nothing)
        X = X.tocsr() if is_sparse(X) and not sp.issparse(X) else X  # of the library `sparse`
        found = _listed(self.ask(X, of_rows))
        return [_by_row(one, like, X.shape[0]) for one, like in zip(found, self.nothing, strict=True)]

    def ask(self, X: Any, of_rows: dict[str, Any]) -> Any:
        """What the method says."""
        return getattr(self.model, self.method)(X, **self.arguments, **of_rows)


def _by_row(found: Any, like: Any, m: int) -> Any:
    """An answer that is one for all rows of a chunk, for each of them where other chunks may have one for each."""
    same = like is not None and found is not None and found.ndim < like.ndim
    return np.broadcast_to(found, (m, *found.shape)) if same else found


def _lazily(model: Any, method: str, X: Any, arguments: dict[str, Any]) -> Any:
    of_rows = {key: bring_home(arguments.pop(key)) for key in OF_ROWS if arguments.get(key) is not None}
    chunks, sizes = chunks_of(X, known=bool(of_rows))
    question = Question(model, method, arguments)
    one, two, several = _tried(question, X, of_rows)
    nothing = [None if a is None or a.shape[:1] == b.shape[:1] else b[:0] for a, b in zip(one, two, strict=True)]
    question = question._replace(nothing=nothing)
    shared = library().delayed(question, traverse=False, pure=False)
    cut = [_cut(of_rows, a, b) for a, b in pairwise(np.cumsum([0, *sizes]))]
    answers = [later(_answer)(shared, chunk, some) for chunk, some in zip(chunks, cut, strict=True)]
    found = [
        b if like is None else _collected(question, answers, j, X, chunks, sizes)
        for j, (like, b) in enumerate(zip(nothing, two, strict=True))
    ]
    return several(found) if several else found[0]


def _tried(question: Question, X: Any, of_rows: dict[str, Any]) -> tuple[list[Any], list[Any], Any]:
    """The answers of one and of two rows, with a missing entry if the model takes it, and what holds several."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that nobody gave
        some = _cut(of_rows, 0, 2)
        try:
            found = question.ask(_rows_like(X, 2, np.nan), some)
            entry = np.nan
        except (TypeError, ValueError):
            found, entry = question.ask(_rows_like(X, 2, 0.0), some), 0.0
        return (
            _listed(question.ask(_rows_like(X, 1, entry), _cut(of_rows, 0, 1))),
            _listed(found),
            type(found) if isinstance(found, (tuple, list)) else None,
        )


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _cut(of_rows: dict[str, Any], start: float, stop: float) -> dict[str, Any]:
    return {key: rows_at(values, slice(int(start), int(stop))) for key, values in of_rows.items()}


def _collected(question: Question, answers: list[Any], j: int, X: Any, chunks: list[Any], sizes: Any) -> Any:
    """Answers of chunks as one array, or as a frame or column where X is a frame."""
    parts, like = [later(_picked)(answer, j) for answer in answers], question.nothing[j]
    if hasattr(X, "columns") and like.ndim <= 2:
        names = _names(question, like)
        parts = [later(_framed)(part, chunk, names) for part, chunk in zip(parts, chunks, strict=True)]
        return library("dataframe").from_delayed(parts, meta=_framed(like, None, names))
    da, tail = library("array"), like.shape[1:]
    sized = zip(parts, sizes, strict=True)
    arrays = [da.from_delayed(part, (size, *tail), like.dtype, meta=like) for part, size in sized]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _rows_like(X: Any, m: int, entry: float) -> Any:
    """Some rows of zeros in the form of X, with one entry in the first place of each."""
    if hasattr(X, "columns"):
        found = X._meta_nonempty.iloc[:m].astype(float) * 0.0
        found.iloc[:, 0] = entry
        return found.astype(X._meta.dtypes) if entry == 0.0 else found
    found = np.zeros((m, int(X.shape[1])), dtype=X.dtype if entry == 0.0 or X.dtype.kind == "f" else float)
    found[:, 0] = entry
    return sp.csr_array(found) if is_sparse(X._meta) else found


def _names(question: Question, found: Any) -> list[str] | None:
    """Names of the columns of an answer."""
    if found.ndim == 1:
        return None
    model, known = question.model, vars(question.model)
    named = {"predict_proba": known.get("classes_"), "impute": known.get("feature_names_in_")}
    if question.method in ("transform", "posterior"):
        named[question.method] = model.get_feature_names_out()
    names = named.get(question.method)
    return [str(name) for name in (range(found.shape[1]) if names is None else names)]


def _answer(question: Question, X: Any, of_rows: dict[str, Any]) -> Any:
    return question.of(X, of_rows)


def _picked(answers: list[Any], j: int) -> Any:
    return answers[j]


def _framed(found: Any, X: Any, names: Any) -> Any:
    """An answer as a column or a frame of pandas, with the index of X."""
    import pandas as pd

    index = None if X is None else X.index
    return pd.Series(found, index=index) if names is None else pd.DataFrame(found, index=index, columns=names)
