"""The command `gnomon`: parse arguments, run, print. The work is done in the modules of `_cli`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

import gnomon
from gnomon._cli.commands import ManyValues, OneLineErrors, Refusal
from gnomon.tables import TableError

TARGET_KINDS = ("classes", "real", "counts")


class ModelName(click.Choice):
    """The name of a model, or auto; the names are asked of the models when they are wanted."""

    def __init__(self):
        super().__init__(["auto"])

    @property
    def choices(self):
        """The names."""
        from gnomon._cli.choosing import known_models

        return ("auto", *known_models())

    @choices.setter
    def choices(self, value):
        pass


@contextmanager
def working(steps: int) -> Iterator:
    """A progress bar on stderr when a person is watching; yields the function that names the next step."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=steps)

        def step(description):
            progress.update(task, description=description, advance=1)

        try:
            yield step
        except TableError as error:
            raise Refusal(str(error)) from error


@click.group(cls=OneLineErrors, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gnomon.__version__, prog_name="gnomon")
@click.pass_context
def main(ctx):
    """Project a table to a few dimensions, guided by whatever labels it has.

    \b
    Start with:
      gnomon demo
      gnomon fit flowers.csv --target species --out flowers
      gnomon predict flowers more.csv --out answers.csv
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def new_table_options(command):
    """Arguments of the commands that take a stored model and a new table."""
    for option in (
        click.option("--force", is_flag=True, help="Replace FILE if it exists."),
        click.option("--drop", multiple=True, metavar="COL...", help="Columns of TABLE to leave out."),
        click.option("--id", "id_", metavar="COL", help="Column that names the rows (default: the one of the fit)."),
        click.option("--out", required=True, metavar="FILE", help="Result: .csv, .tsv or .parquet."),
        click.argument("table"),
        click.argument("stored", metavar="MODEL"),
    ):
        command = option(command)
    return command


@main.command(cls=ManyValues)
@click.argument("table")
@click.option("--target", multiple=True, metavar="COL...", help="Target columns; empty cells mean unlabeled.")
@click.option("--id", "id_", metavar="COL", help="Column that names the rows.")
@click.option("--drop", multiple=True, metavar="COL...", help="Columns to leave out.")
@click.option("--keep", multiple=True, metavar="COL...", help="Keep these columns although they look like row numbers.")
@click.option(
    "--components",
    type=click.IntRange(min=1),
    metavar="K",
    help="Dimensions of the projection. Default: classes - 1, or the number of targets; at least 2, at most 10; with "
    "ifa every direction of the table.",
)
@click.option(
    "--model",
    type=ModelName(),
    default="auto",
    show_default=True,
    help="auto chooses by the labels at hand. Several targets: cppca takes classes and numbers, dppca and ifa classes, "
    "the others numbers. sepca and kda take one target of classes; ppca ignores it.",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE...",
    help="Parameters of the model named by --model, as in Python: --set kernel=rbf gamma=0.5.",
)
@click.option(
    "--target-kind",
    type=click.Choice(TARGET_KINDS),
    help="How to read the target. Default: text, and up to 20 different whole numbers, are classes.",
)
@click.option("--unlabeled", metavar="CELL", help="A target cell that means unlabeled, beside the empty one.")
@click.option(
    "--scale",
    type=click.Choice(["none", "standard", "unit"]),
    default="none",
    show_default=True,
    help="standard: scale columns to unit variance; unit: scale rows to unit length.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option("--compare/--no-compare", default=True, help="Compare with PCA, LDA and PLS on held-out labels.")
@click.option("--out", required=True, metavar="DIR", help="New folder for the results.")
@click.option("--force", is_flag=True, help="Replace DIR if gnomon wrote it.")
def fit(
    table, target, id_, drop, keep, components, model, parameters, target_kind, unlabeled, scale, seed, compare, out,
    force,
):  # fmt: skip
    """Fit a projection to TABLE (.csv, .tsv, .parquet, .npz) and write it to a new folder.

    DIR gets model.gnomon, projection.csv (and .parquet), metrics.json and report.html. Every column that is
    neither --target, --id nor --drop is a feature and must be numeric; empty cells are missing values. The model is
    chosen by how well models of half the labels agree on the unlabeled rows, unless --model names one.

    \b
    gnomon fit flowers.csv --target species --out flowers
    gnomon fit corn.csv --target moisture oil --id sample --scale standard --out corn
    gnomon fit genes.parquet --model ppca --components 5 --out genes
    gnomon fit rings.csv --target ring --model kda --set kernel=rbf gamma=0.5 --out rings
    gnomon fit crabs.csv --target sex species --model ifa --out crabs
    gnomon fit patients.csv --target sex age --model cppca --out patients

    In Python, gnomon.export.load_model("DIR/model.gnomon") is a pipeline that takes the table as a frame, its columns
    in any order, and predicts what `gnomon predict` does.
    """
    from gnomon._cli import fitting, outputs, show
    from gnomon.tables import read_table

    outputs.check_folder(out, force)
    if not target and fitting.is_guided(model):
        raise click.UsageError("--target is missing; without labels, use --model ppca.")
    request = fitting.Request(
        "fit", model, components, scale, seed, id_, drop, parameters, keep, target_kind, unlabeled
    )
    with working(4) as step:
        step("reading the table")
        data = read_table(table, targets=target, id=id_, drop=drop)
        step("choosing and fitting" if model == "auto" else "fitting")
        run = fitting.fit(request, data)
        if compare and run.stored.targets:
            step("comparing with PCA, LDA and PLS")
            fitting.compare_with_baselines(run)
        step("writing")
        names = fitting.write_results(run, out)
    click.echo(show.fit_summary(run))
    click.echo(show.written(out, names))
    click.echo(show.next_steps(run, out))


@main.command(cls=ManyValues)
@new_table_options
def transform(stored, table, out, id_, drop, force):
    """Project the rows of TABLE with a stored model.

    Columns are matched by name, in any order. FILE gets the row's id or number, z1, z2, ... and the
    standard deviation of each.

    \b
    gnomon transform flowers more.csv --out more-projected.csv
    """
    from gnomon._cli.columns import joined, projection_columns, row_column

    def columns(model, data):
        return joined(row_column(data), projection_columns(model, data.X))

    _apply(stored, table, out, id_, drop, force, columns, "projected")


@main.command(cls=ManyValues)
@new_table_options
def predict(stored, table, out, id_, drop, force):
    """Predict the targets of the rows of TABLE with a stored model.

    FILE gets the row's id or number and the prediction: a class with the probability of each class, or
    numbers with their standard deviations.

    \b
    gnomon predict flowers more.csv --out answers.csv
    """
    from gnomon._cli.columns import joined, prediction_columns, row_column

    def columns(model, data):
        said = model.said
        if not said.targets:
            raise Refusal(f"{stored}: a model without targets predicts nothing; use gnomon transform.")
        if said.predict is None:
            raise Refusal(
                f"{stored}: {said.model} does not predict; use gnomon transform, and a classifier on its result."
            )
        return joined(row_column(data), prediction_columns(model, data.X))

    _apply(stored, table, out, id_, drop, force, columns, "predicted")


@main.command(cls=ManyValues)
@new_table_options
def impute(stored, table, out, id_, drop, force):
    """Fill the empty feature cells of TABLE with a stored model.

    FILE gets the row's id or number and the features, in the units of TABLE: cells with a value as they are, empty
    ones with their expectation given the other features of the row.

    \b
    gnomon impute flowers more.csv --out more-filled.csv
    """
    from gnomon._cli.columns import imputed_columns, joined, row_column

    def columns(model, data):
        return joined(row_column(data), imputed_columns(model, data))

    _apply(stored, table, out, id_, drop, force, columns, "filled")


def _apply(stored, table, out, id_, drop, force, columns, what):
    from gnomon._cli.outputs import check_file, new_file
    from gnomon._cli.stored import StoredModel
    from gnomon.tables import write_table

    with working(3) as step:
        check_file(out, force, table)
        step("reading")
        model = StoredModel.load(stored)
        data = model.read(table, id_, drop)
        step("computing")
        result = columns(model, data)
        step("writing")
        with new_file(out) as temporary:
            write_table(temporary, result)
    click.echo(f"{what} {data.X.shape[0]} rows of {table}; wrote {out}")


@main.command()
@click.option(
    "--data",
    type=click.Choice(["wine", "digits", "breast_cancer"]),
    default="wine",
    show_default=True,
    help="Real data that come with scikit-learn.",
)
@click.option(
    "--labels",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Labeled rows of each class; all other labels are hidden.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which labels are kept.")
@click.option("--out", default="gnomon-demo", show_default=True, metavar="DIR", help="New folder for the results.")
@click.option("--force", is_flag=True, help="Replace DIR if gnomon wrote it.")
def demo(data, labels, seed, out, force):
    """Try everything on real data with most labels hidden; needs no network.

    DIR gets what `gnomon fit` writes, and table.csv, the table that was fitted, to try the other commands on.
    """
    from gnomon._cli import fitting, outputs, show
    from gnomon._cli.demo import demo_table

    outputs.check_folder(out, force)
    with working(4) as step:
        step("making the table")
        example = demo_table(data, labels, seed)
        step("fitting")
        run = fitting.fit(example.request, example.table)
        step("comparing with PCA, LDA and PLS")
        fitting.compare_with_baselines(run, example.truth)
        step("writing")
        names = fitting.write_results(run, out, {"table.csv": example.columns}, example.truth)
    click.echo(show.demo_story(example))
    click.echo(show.fit_summary(run))
    click.echo(show.demo_predictions(run, example))
    click.echo(show.written(out, names))
    click.echo(show.next_steps(run, out))


@main.command()
@click.argument("name", required=False)
def reproduce(name):
    """Run the experiment NAME: a table of a paper, with the printed numbers beside ours. Without NAME, list them.

    Experiments on real data read the folder that the environment variable GNOMON_DATA names.
    """
    from gnomon.experiments import _registry

    known = _registry.experiments()
    if name is None:
        width = max(map(len, known))
        click.echo("\n".join(f"{name:{width}}  {about}" for name, about in known.items()))
    elif name not in known:
        raise click.UsageError(f"there is no experiment {name!r}; known: {', '.join(known)}.")
    else:
        try:
            _registry.run(name)
        except FileNotFoundError as error:
            raise Refusal(str(error)) from error
