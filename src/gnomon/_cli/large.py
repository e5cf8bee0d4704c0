"""gnomon fit of a table that stays on disk: Parquet, read through Dask as often as the fit needs."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from gnomon._cli.categorical import answer_columns
from gnomon._cli.choosing import fit_model, known_models, parameters, traits_of
from gnomon._cli.commands import AUTO, OPEN, InputError, one_line
from gnomon._cli.fitting import (
    Request,
    Run,
    check_answers,
    check_kept,
    columns_step,
    n_numbers,
    refuse_counting,
    scale_notes,
    size_notes,
    stored_of,
    targets_of,
)
from gnomon._cli.marks import refuse_marks
from gnomon._cli.sizes import default_components
from gnomon._cli.stored import check_cells
from gnomon._cli.targets import in_words
from gnomon.rows.dask import library
from gnomon.tables import LargeTable, TableError, counted, drop_hint, in_memory, is_large, is_parquet, read_large
from gnomon.tables._marks import SeenNumbers
from gnomon.tables._read import check_reading
from gnomon.tables._table import Wanted
from gnomon.targets import Targets

LABELED, OTHERS = 2000, 8000  # rows of the sample that the comparison and the report use
ANSWERS = 10  # seconds within which a scheduler must answer


class Look(NamedTuple):
    """What one read of all rows tells before the fit."""

    holes: int
    scaler: StandardScaler  # of the columns
    sample: np.ndarray  # features of the rows of the sample
    spans: list[list[float]]  # least and largest number of each column


def on_disk(request: Request) -> bool:
    """Whether a table is to be read from disk as often as it is wanted: where it is large, or on request."""
    asked, path = request.dask or request.scheduler is not None, Path(request.table)
    if not path.exists() or not is_parquet(path):
        if asked:
            raise InputError(f"{request.table}: --dask and --scheduler read Parquet; save the table as .parquet.")
        return False
    return asked or is_large(request.table)


def read(request: Request) -> LargeTable:
    """Targets, ids and names; features stay where they are."""
    model = _model(request)
    if request.labels:
        raise InputError(f"{request.table}: --labels is for tables in memory; of Parquet on disk name a --target.")
    asked = Wanted(layer=request.layer, missing=request.missing, form=request.form, categorical=request.categorical)
    check_reading(request.table, ".parquet", asked)
    if request.components == AUTO:
        raise InputError(
            f"{request.table} is read from disk, and --components {AUTO} fits many times; give a number of components."
        )
    if not request.target and traits_of(model).guided:
        raise click.UsageError("--target is missing; without labels, use --model ppca.")
    try:
        library("array")
    except ImportError:
        raise InputError(
            f"{request.table} is read from disk through Dask, which is not installed: pip install 'gnomon[dask]'."
        ) from None
    others = (*request.target, request.id, *request.drop)
    answers = answer_columns(request.table, request.categorical, others, None, ())
    roles = {"drop": request.drop, "missing": request.missing, "categorical": tuple(answers)}
    return read_large(request.table, Wanted(request.target, request.id, **roles))


def _model(request: Request) -> str:
    """The model to fit: SPPCA, or CPPCA for what SPPCA does not take, where it is left open."""
    if request.model == "auto":
        return "cppca" if len(request.target) > 1 and request.target_kind != "real" else "sppca"
    names = [name for name in known_models() if traits_of(name).in_place]
    if request.model not in names:
        raise InputError(
            f"{request.table} is read from disk, and --model {request.model} wants all rows in memory; use "
            f"{', '.join(names)}, or leave --model out."
        )
    return request.model


def resolved(request: Request) -> Request:
    """The same with the model that would be fitted."""
    return replace(request, model=_model(request))


def fit(request: Request, table: LargeTable, tell: Callable[[str], None]) -> Run:
    """Look at all rows once, and fit; warnings become notes, and `tell` gets the progress."""
    model, more = resolved(request), parameters(request.model, request.parameters)
    name = model.model
    guided = bool(table.targets) and traits_of(name).guided
    check_kept(table, request.keep)
    check_answers(table, request.keep)
    with warnings.catch_warnings(record=True) as caught, _workers(request.scheduler):
        warnings.simplefilter("always")
        try:
            targets = targets_of(model, table, guided)
            rows = _some_rows(targets, table.X.shape[0], request.seed)
            tell("looking at all rows")
            found = _look(request, table, rows)
            table = counted(table, found.holes)
            before = _before(request, table, found)
            sample = before.transform(found.sample)
            guides = targets if guided else None
            y, reading = None, {}
            if guides is not None:
                y = guides.given()
                reading = {"target": guides.asked, "unlabeled": "auto" if request.unlabeled is None else None}
            components = int(request.components or 0) or default_components(guides, sample, name)
            X = _scaled(table.X, before)
            with _told(table, tell):
                fitted = fit_model(name, X, y, components, request.seed, more, reading, request.jobs)
        except TableError:
            raise  # which names the table
        except (ValueError, TypeError, MemoryError) as error:
            raise InputError(f"{table.path}: {in_words(table, error)}") from error
    stored = stored_of(request, table, Pipeline([*before.steps, *fitted.steps]), guided, found.spans)
    some = Run(request, in_memory(table, rows, found.sample), None, stored, sample, None if y is None else y[rows])
    run = Run(request, table, targets, stored, X, y, sample=some)
    run.notes += dict.fromkeys(in_words(table, warning.message) for warning in caught)
    run.notes += size_notes(model, stored.said)
    if request.scale == "none":
        run.notes += scale_notes(table, guides, found.scaler.var_)
    run.notes += _said(request, run, len(rows))
    return run


def _scaled(X: Any, before: Pipeline) -> Any:
    """The features once all steps but that of the names are taken, where they are."""
    return X if len(before.steps) == 1 else X.map_blocks(before[1:].transform, dtype=X.dtype)


def _said(request: Request, run: Run, n: int) -> list[str]:
    """What is different from a table in memory."""
    what = f"{run.table.path} was read from disk"
    if request.model in OPEN:
        what += f", so {run.stored.said.model} was fitted alone"
    whole = n == run.table.X.shape[0]
    return [what + ("." if whole else f"; what is compared and shown in the report is of {n} of its rows.")]


def _some_rows(targets: Targets | None, n: int, seed: int) -> np.ndarray:
    """Rows of the sample, in order: labeled ones, and others."""
    labeled = np.zeros(n, dtype=bool) if targets is None else targets.labeled
    rng, parts = np.random.default_rng(seed), []
    for rows, most in ((np.flatnonzero(labeled), LABELED), (np.flatnonzero(~labeled), OTHERS)):
        parts.append(rows if len(rows) <= most else rng.choice(rows, most, replace=False))
    return np.sort(np.concatenate(parts))


def _look(request: Request, table: LargeTable, rows: np.ndarray) -> Look:
    """One read of all rows: every cell is a number or empty, every column has one, and none counts the rows."""
    scaler, holes, kept = StandardScaler(with_mean=False), 0, []
    counting, last, start = np.arange(len(table.feature_names)), None, None
    seen = SeenNumbers(len(counting))
    for part in table.parts():
        X, stop = part.X, part.first + len(part.X)
        if request.scale == "unit":
            check_cells(part)
        holes += int(np.isnan(X).sum())
        scaler.partial_fit(X)
        seen.add(X)
        kept.append(X[rows[np.searchsorted(rows, part.first) : np.searchsorted(rows, stop)] - part.first])
        joined = X[:, counting] if last is None else np.vstack([last[counting], X[:, counting]])
        counting = counting[(np.diff(joined, axis=0) == 1.0).all(axis=0)]
        start, last = X[0] if start is None else start, X[-1]
    for j in counting:
        refuse_counting(table, table.feature_names[j], request.keep, start[j], start[j] + 1.0)
    refuse_marks(table, seen.for_nothing(), request.keep)
    given = np.broadcast_to(scaler.n_samples_seen_, len(table.feature_names))
    if not given.all():
        name = table.feature_names[int(np.argmin(given))]
        raise InputError(f"{table.path}, column {name!r}: no row has a value; {drop_hint(name)}.")
    return Look(holes, scaler, np.concatenate(kept), seen.spans()[: n_numbers(table)])


def _before(request: Request, table: LargeTable, found: Look) -> Pipeline:
    """The steps before the model."""
    ignored = [*table.targets, *request.drop, *([] if request.id is None else [request.id])]
    steps = [("columns", columns_step(table, ignored))]
    if request.scale == "standard":
        steps.append(("standard", found.scaler))
    elif request.scale == "unit":
        steps.append(("unit", Normalizer().fit(found.sample)))
    return Pipeline(steps)


@contextmanager
def _workers(address: str | None) -> Iterator[None]:
    """Those of a scheduler at an address, or threads of this process."""
    if address is None:
        yield
        return
    try:
        client = library("distributed").Client(address, timeout=ANSWERS)
    except ImportError:
        raise InputError("--scheduler needs distributed, which is not installed: pip install 'gnomon[dask]'.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no scheduler answers there ({one_line(error)}).") from None
    with client:
        yield


@contextmanager
def _told(table: LargeTable, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell how often the rows have been read, in this process."""
    done, n_chunks = [0], table.X.numblocks[0]

    def count(key: Any, *_: Any) -> None:
        if str(key).startswith("_group"):
            done[0] += 1
            if done[0] % n_chunks == 0:
                tell(f"fitting: {done[0] // n_chunks} reads of all rows")

    with library("callbacks").Callback(posttask=count):
        tell("fitting")
        yield
