"""gnomon fit and gnomon demo, once the arguments are parsed: fit, compare, write."""

import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import click
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from gnomon._cli.categorical import answer_columns
from gnomon._cli.choosing import counts_samples, fit_model, gap_steps, parameters, traits_of
from gnomon._cli.columns import joined, prediction_columns, projection_columns, row_column
from gnomon._cli.commands import AUTO, CALL, DOING, OPEN, InputError, one_line
from gnomon._cli.marks import ask_of_marks, spans_of
from gnomon._cli.outputs import said_in_one_line
from gnomon._cli.reporting import write_page
from gnomon._cli.sizes import settled
from gnomon._cli.stored import StoredModel, check_cells
from gnomon._cli.targets import check_guides, classes_alike, in_words, read_targets, with_names
from gnomon._files import RECORD, is_stream, new_file, new_folder, sealed
from gnomon.describe import Description
from gnomon.export.report import versions
from gnomon.export.steps import named_columns
from gnomon.rows.kind import is_sparse
from gnomon.selection import Comparison, compare
from gnomon.tables import (
    LargeTable,
    Table,
    answers_of,
    as_option,
    drop_hint,
    has_pyarrow,
    is_no_class,
    listing,
    read_table,
    sha256_of,
    with_labels,
    write_parts,
    write_table,
)
from gnomon.targets import Targets, groups_among, read_groups

MOST_COMPARED = 2000  # labeled rows; the baselines need cubic time in them
FEWEST_NUMBERED = 10  # rows from which numbers that count up by one are no chance
DOMINANT = 0.9  # share of the variance from which scaling is suggested


@dataclass(frozen=True)
class Request:
    """The words of a command."""

    command: str
    table: str = ""
    target: tuple[str, ...] = ()
    id: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()  # columns of answers
    components: int | str | None = None  # or "auto"
    model: str = "sppca"
    parameters: tuple[str, ...] = ()
    target_kind: str | None = None
    unlabeled: str | None = None
    scale: str = "none"
    seed: int = 0
    jobs: int = 1
    missing: tuple[str, ...] = ()
    layer: str | None = None  # of AnnData, in place of X; or sheet of Excel
    form: tuple[str, ...] = ()  # how text is written
    labels: str | None = None  # file that has the target, which the table lacks
    dask: bool = False  # read rows from disk whenever they are wanted
    scheduler: str | None = None  # of Dask, by its address
    shape: tuple[int, int] | None = None  # height and width of images, for the report


@dataclass
class Run:
    """A fit and everything said about it."""

    request: Request
    table: Table
    targets: Targets | None
    stored: StoredModel
    X: Any  # as scaled, before what the model chose to stand before it
    y: np.ndarray | None
    choice: Any = None
    comparison: Any = None
    notes: list[str] = field(default_factory=list)
    sample: "Run | None" = None  # the same of some rows in memory, where the table is not

    @cached_property
    def table_sha256(self) -> str | None:
        """The sha256 of the table, as sha256sum says it; None of what came with the library."""
        return self.table.sha256 or sha256_of(self.request.table)


def read(request: Request) -> Table:
    """Read the table."""
    if request.labels and len(request.target) > 1:
        raise click.UsageError("--labels: the file has one target, which --target may name; name no other.")
    if request.labels == request.table and is_stream(request.labels):
        raise click.UsageError("--labels and TABLE cannot both be standard input; name a file for one of them.")
    if not request.target and not request.labels and traits_of(request.model).guided:
        raise click.UsageError("--target is missing; without labels, use --model ppca.")
    targets = () if request.labels else request.target
    roles = {"targets": targets, "id": request.id, "drop": request.drop, "missing": request.missing}
    roles["unlabeled"] = request.unlabeled
    how = {"layer": request.layer, "form": request.form}
    others = (*request.target, request.id, *request.drop)
    answers = answer_columns(request.table, request.categorical, others, **how)
    table = read_table(request.table, **roles, **how, categorical=answers)
    if request.labels:
        return with_labels(table, request.labels, next(iter(request.target), None), request.unlabeled)
    return table


def scale_steps(table: Table, scale: str) -> list[tuple[str, BaseEstimator]]:
    """The step that makes columns, or rows, of a table comparable; none where they are taken as they are."""
    if scale == "unit":
        check_cells(table)
        return [("unit", Normalizer().fit(table.X))]
    return [("standard", StandardScaler(with_mean=False).fit(table.X))] if scale == "standard" else []


def fit(request: Request, table: Table) -> Run:
    """Read the targets, scale the table and fit the model; warnings become notes."""
    guided = bool(table.targets) and traits_of(request.model).guided
    check_features(table, request.keep)
    ignored = [*table.targets, *request.drop, *([] if request.id is None else [request.id])]
    first = columns_step(table, ignored)
    before = Pipeline([("columns", first), *scale_steps(table, request.scale)])
    X = before.transform(table.X)
    more = parameters(request.model, request.parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            targets = targets_of(request, table, guided)
            guides = targets if guided else None
            y, reading = None, {}
            if guides is not None:
                y = guides.given()
                reading = {"target": guides.asked, "unlabeled": "auto" if request.unlabeled is None else None}
            settings = (request.seed, more, reading, request.jobs)
            components, of_size = settled(request.components, request.model, guides, X, y, *settings)
            fitted = fit_model(request.model, X, y, components, *settings, groups=table.ids)
            gaps = gap_steps(fitted, X, request.seed)
        except ImportError as error:
            raise InputError(one_line(error)) from error
        except (ValueError, TypeError) as error:
            raise InputError(f"{table.path}: {in_words(table, error)}") from error
    pipeline = Pipeline([*before.steps, *gaps, *fitted.steps])
    stored = stored_of(request, table, pipeline, guided, spans_of(table.X[:, : n_numbers(table)]))
    notes = [f"{table.path} was read {table.assumed}."] if table.assumed else []
    notes += dict.fromkeys(in_words(table, warning.message) for warning in caught)
    notes += [note for note in (of_size, fitted.note) if note] + classes_alike(table, targets)
    notes += size_notes(request, stored.said) + sample_notes(request, table, guides)
    if request.scale == "none" and not fitted.steps[-1][1].traits.own_scale:
        notes += scale_notes(table, guides, StandardScaler(with_mean=False).fit(table.X).var_)
    return Run(request, table, targets, stored, X, y, fitted.choice, notes=notes)


def columns_step(table: Table, ignored: list[str]) -> BaseEstimator:
    """The step that takes the columns of a table by name, of answers too."""
    answers = {name: answers_of(cells) for name, cells in table.answers.items()}
    return named_columns(table.feature_names[: n_numbers(table)], ignored, answers)


def n_numbers(table: Table) -> int:
    """How many features are numbers; those of answers stand behind them."""
    return len(table.feature_names) - sum(len(answers_of(cells)) for cells in table.answers.values())


def stored_of(
    request: Request, table: Table | LargeTable, pipeline: Pipeline, guided: bool, spans: list[list[float]] | None
) -> StoredModel:
    """A fitted pipeline with what is to be known of its table."""
    targets = list(table.targets) if guided else []
    unused = [*request.drop, *(name for name in table.targets if not guided)]
    facts = (request.id, unused, table.X.shape[0], request.layer, list(request.missing), request.unlabeled)
    return StoredModel(pipeline, targets, *facts, spans)


def targets_of(request: Request, table: Table, guided: bool) -> Targets | None:
    """The targets of a table, or None where it has none."""
    if not table.targets:
        return None
    several = traits_of(request.model).several if guided else "columns"
    targets = read_targets(table, kind=request.target_kind, unlabeled=request.unlabeled, several=several)
    if guided:
        check_guides(table, targets)
    return targets


def size_notes(request: Request, said: Description) -> list[str]:
    """What to say where the model has another size than the one asked for."""
    if request.components in (None, AUTO, said.n_components) or request.model not in OPEN:
        return []
    return [
        f"{said.model} has {said.n_components} components, not the {request.components} of --components: the rows "
        "that it was fitted to carry no more."
    ]


def sample_notes(request: Request, table: Table, targets: Targets | None) -> list[str]:
    """What to say where several labeled rows are of one sample, as cells of `--id` that are alike say."""
    if targets is None or table.ids is None or not counts_samples(request.model):
        return []
    place = groups_among(read_groups(table.ids, len(table.ids)), np.flatnonzero(targets.labeled))
    if place is None:
        return []
    return [
        f"by {as_option('--id', str(table.id_name))} the {len(place)} labeled rows are of {place.max() + 1} samples: "
        "rows of one sample count as one label, and are held out together."
    ]


def check_features(table: Table, keep: tuple[str, ...]) -> None:
    """Refuse columns that are no features."""
    _check_columns(table)
    _check_row_numbers(table, keep)
    ask_of_marks(table, keep)
    check_answers(table, keep)


def _check_columns(table: Table) -> None:
    """A column without any value says nothing, and no model can fill it."""
    if not table.n_missing:
        return
    empty = np.flatnonzero(np.isnan(table.X).all(axis=0))
    if len(empty):
        name = table.feature_names[empty[0]]
        raise InputError(f"{table.path}, column {name!r}: no row has a value; {drop_hint(name)}.")


def _check_row_numbers(table: Table, keep: tuple[str, ...]) -> None:
    """A number that counts the rows is no feature: where rows are sorted by class it gives the classes away."""
    check_kept(table, keep)
    if is_sparse(table.X) or len(table.X) < FEWEST_NUMBERED:
        return
    counting = np.flatnonzero(np.all(table.X[1:3] - table.X[:2] == 1.0, axis=0))  # the few worth reading as a whole
    for j in counting[(np.diff(table.X[:, counting], axis=0) == 1.0).all(axis=0)]:
        refuse_counting(table, table.feature_names[j], keep, *table.X[:2, j])


def check_answers(table: Table, keep: tuple[str, ...]) -> None:
    """Ask of answers such as "unknown", which may be none."""
    found = {name: [a for a in answers_of(cells) if is_no_class(a)] for name, cells in table.answers.items()}
    found = {name: marks for name, marks in found.items() if marks and name not in keep}
    if found:
        marks = list(dict.fromkeys(mark for some in found.values() for mark in some))
        each = "it is no answer, or keep it" if len(marks) == 1 else "they are no answers, or keep them"
        raise InputError(
            f"{table.path}: {listing(marks)} among the answers in {listing(found)}; add "
            f"{as_option('--missing', *marks)} if {each} with {as_option('--keep', *found)}."
        )


def check_kept(table: Table, keep: tuple[str, ...]) -> None:
    """Refuse to keep what is not there."""
    unknown = sorted(set(keep) - {*table.feature_names, *table.answers})
    if unknown:
        raise InputError(f"{table.path}: --keep names {unknown[0]!r}, which is not a feature of the table.")


def refuse_counting(table: Table, name: str, keep: tuple[str, ...], first: float, second: float) -> None:
    """Refuse a column that counts the rows, from its first two cells on, unless it is kept."""
    if name not in keep:
        raise InputError(
            f"{table.path}, column {name!r} counts the rows ({first:g}, {second:g}, ...): "
            f"name it with {as_option('--id', name)}, {drop_hint(name)}, or make it a feature with "
            f"{as_option('--keep', name)}."
        )


def scale_notes(table: Table, targets: Targets | None, variances: np.ndarray) -> list[str]:
    """Advice where one column outweighs all others, most often by its unit alone."""
    columns = [(table.feature_names, variances)]
    if targets is not None and targets.kind in ("real", "counts"):
        columns.append((list(table.targets), np.nanvar(targets.table, axis=0)))
    return [
        f"{names[variances.argmax()]} holds {100 * variances.max() / variances.sum():.1f} % of the variance of "
        f"{len(names)} columns, so it decides the projection; --scale standard gives every column the same weight."
        for names, variances in columns
        if len(names) > 1 and variances.max() > DOMINANT * variances.sum()
    ]


def compare_with_baselines(run: Run, y_true: np.ndarray | None = None, n_draws: int = 1) -> None:
    """Score the model beside PCA, LDA and PLS on the same rows; say why not where that cannot be done."""
    try:
        run.comparison = compared([run.sample or run], y_true, n_draws)
    except ValueError as error:
        run.notes.append(f"no comparison: {one_line(error)}")


def compared(runs: list[Run], y_true: np.ndarray | None = None, n_draws: int = 1) -> Comparison:
    """Score the models of runs on one table beside PCA, LDA and PLS."""
    estimators: dict[str, Pipeline] = {}
    for run in runs:
        name = run.stored.said.model
        name = f"{name} ({run.request.model})" if name in estimators else name
        steps = run.stored.pipeline.steps
        estimators[name] = clone(Pipeline([step for step in steps if step[0] in ("preprocessing", "model")]))
    first = runs[0]
    with warnings.catch_warnings(action="ignore"):  # each split may warn of what the fit has said already
        found = compare(
            first.X,
            first.y if first.targets is None else _fewer_labels(first),  # a sample has few already
            n_components=max(run.stored.said.n_components for run in runs),
            estimators=estimators,
            y_true=y_true,
            n_draws=n_draws,
            groups=first.table.ids,  # rows of one name are replicates
            n_jobs=first.request.jobs,
            random_state=first.request.seed,
        )
    targets = first.stored.targets
    names = {"y": targets[0]} | {f"column {j} of y": name for j, name in enumerate(targets)}
    rows, held_out = (
        [row | {"target": names.get(row["target"], row["target"])} for row in some or []]
        for some in (found.rows, found.held_out)
    )
    return replace(found, rows=rows, held_out=held_out or None, verdict=with_names(first.table, found.verdict))


def _fewer_labels(run: Run) -> np.ndarray:
    """The targets with all but some labels hidden where there are so many that a comparison would take long."""
    labeled = np.flatnonzero(run.targets.labeled)
    if len(labeled) <= MOST_COMPARED:
        return run.y
    y = run.y.copy()
    hidden = np.random.default_rng(run.request.seed).permutation(labeled)[MOST_COMPARED:]
    y[hidden] = np.nan if y.dtype.kind == "f" else None
    run.notes.append(f"the comparison used {MOST_COMPARED} of the {len(labeled)} labels, to be quick.")
    return y


def write_results(
    run: Run,
    out: str,
    more: dict[str, Any] | None = None,
    y_true: Any = None,
    *,
    force: bool = False,
    safe: bool = False,
) -> list[str]:
    """Write the result folder; `more` are further tables by file name. Returns the names of the files."""
    figures, shown = metrics(run), run.sample or run
    with said_in_one_line(out), new_folder(out, replace=force) as folder:
        run.stored.save(folder / "model.gnomon")
        write_parts(folder / "projection.csv", _projection(run), safe=safe)
        if has_pyarrow():
            write_parts(folder / "projection.parquet", _projection(run))
        for name, columns in (more or {}).items():
            write_table(folder / name, columns)
        if can_write_report():
            n_fitted = None if shown is run else run.stored.n_rows
            more_of_it = {"y": shown.y, "y_true": y_true, "n_fitted": n_fitted, "shape": run.request.shape}
            write_page(folder / "report.html", run.stored, shown.table, figures, **more_of_it)
        record = sealed(figures, folder)  # of the files there are, before that of the record is begun
        with new_file(folder / RECORD) as file:
            file.write(record.encode())
        names = sorted(entry.name for entry in folder.iterdir())
    return names


def can_write_report() -> bool:
    """Whether the library that draws the pictures is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def _projection(run: Run) -> Iterator[dict[str, Any]]:
    """Positions, targets and predictions of all rows, a part of the table at a time."""
    labeled = None if run.targets is None else run.targets.labeled
    for part in run.table.parts():
        rows = slice(part.first, part.first + part.X.shape[0])
        columns = [row_column(part), projection_columns(run.stored, part)]
        if labeled is not None:
            columns += [{name: cells[rows] for name, cells in run.table.targets.items()}, {"labeled": labeled[rows]}]
        if run.stored.said.predict is not None:
            columns.append(prediction_columns(run.stored, part, probabilities=False))
        yield joined(*columns)


def metrics(run: Run) -> dict[str, Any]:
    """Settings, versions and figures of a fit, ready for JSON."""
    said, request = run.stored.said, run.request
    fit = said.fit
    choice = None if run.choice is None else run.choice.to_dict()
    if choice is not None:  # as it is whatever the machine
        choice["rows"] = [row | {"seconds": None} for row in choice["rows"]]
    return {
        "command": request.command,
        **provenance(),
        "table": run.table.path,
        "table_sha256": run.table_sha256,
        "versions": versions(),
        "settings": settings(run),
        "n_rows": int(run.table.X.shape[0]),
        "n_features": int(run.table.X.shape[1]),
        "n_missing": run.table.n_missing,
        "n_labeled": 0 if run.targets is None else run.targets.n_labeled,
        "classes": _of_targets([None if one.classes is None else one.classes.tolist() for one in said.targets], []),
        "log_likelihood_nats": fit.log_likelihood,
        "noise_variance": fit.noise_variance,
        "y_noise_variance": _of_targets([one.noise_variance for one in said.targets], None),
        "noise_floors": list(fit.floors),
        "certificate": None if fit.certificate is None else {k: float(v) for k, v in fit.certificate.items()},
        "solver": fit.solver,
        "converged": fit.converged is not False,
        "n_iterations": int(fit.n_iter or 0),
        "n_passes": fit.n_reads,
        "notes": run.notes,
        "choice": choice,
        "comparison": None if run.comparison is None else run.comparison.to_dict(),
    }


def provenance() -> dict[str, Any]:
    """The words of the running command, and the times of its steps."""
    meta = {} if (context := click.get_current_context(silent=True)) is None else context.meta
    return {"call": meta.get(CALL), "times": meta[DOING].times() if DOING in meta else None}


def _of_targets(found: list[Any], none: Any) -> Any:
    """What is known of the only target, or of each of several; `none` where nothing is."""
    if not any(value is not None for value in found):
        return none
    return found[0] if len(found) == 1 else found


def settings(run: Run) -> dict[str, Any]:
    """What decided the result, in the words of the command line."""
    request, said = run.request, run.stored.said
    return {
        "model": said.model.lower(),
        "model_asked_for": request.model,
        "preprocessing": None if run.choice is None else run.choice.chosen_row["preprocessing"],
        "components": said.n_components,
        "scale": request.scale,
        "seed": request.seed,
        "target": list(run.table.targets),
        "target_kind": None if run.targets is None else run.targets.kind,
        "target_kind_asked_for": request.target_kind,
        "unlabeled": request.unlabeled,
        "labels": request.labels,
        "id": request.id,
        "drop": list(request.drop),
        "keep": list(request.keep),
        "categorical": list(run.table.answers),
        "missing": list(request.missing),
        "form": list(request.form),
        "layer": request.layer,
        "set": list(request.parameters),
        "shape": None if request.shape is None else "x".join(map(str, request.shape)),
    }
