"""The command `gnomon`: parse arguments, run, print. The work is done in the modules of `_cli`."""

from functools import partial

import click

import gnomon
from gnomon._cli.answering import Answer, answering, wants_json, working
from gnomon._cli.commands import OPEN, InputError, ManyValues, OneLineErrors
from gnomon._cli.configuring import configured
from gnomon._cli.options import NEW_ROLES, NEW_TABLE, READING, ROLES, takes


@click.group(cls=OneLineErrors, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gnomon.__version__, prog_name="gnomon")
@click.pass_context
def main(ctx):
    """Project a table to a few dimensions, guided by whatever labels it has.

    \b
    Start with:
      gnomon demo
      gnomon look flowers.csv
      gnomon fit flowers.csv --target species --out flowers
      gnomon predict flowers more.csv --out answers.csv
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command(cls=ManyValues)
@takes(*ROLES, "components", "model", "set", *READING, "shape")
@click.option("--compare/--no-compare", default=True, help="Compare with PCA, LDA and PLS on held-out labels.")
@click.option("--dask", is_flag=True, help="Read a Parquet table from disk as often as the fit needs, not into memory.")
@click.option("--scheduler", metavar="ADDRESS", help="The same by the workers of a Dask scheduler: tcp://host:port.")
@takes("folder", "safe csv", "replace folder")
@click.option("--dry-run", is_flag=True, help="Read the table, say what would be fitted and written, and stop.")
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=configured,
    help='TOML with options by name: scale = "standard". What is said beside it wins.',
)
@answering
def fit(compare, out, safe_csv, force, dry_run, **asked):
    """Fit a projection to TABLE and write it to a folder.

    TABLE is text (.csv, .tsv, .txt, also .gz, a pipe, or - for standard input), .parquet or a folder of such files,
    .feather, .xlsx, .npz, .npy, .mtx, .h5ad, .jdx or a folder of spectra, one a file. Separators, decimal commas, the
    encoding of text, and what stands above and below the table are told from the text, and said. DIR gets model.gnomon,
    projection.csv (and .parquet), metrics.json and report.html. Every column is a feature and must be numeric, but for
    those of --target, --id, --drop and --categorical; empty cells are missing values. Many models, on several
    preparations of the rows, predict the target, and the projection shows what they say in the mean; --model names
    another.

    Parquet that would take more than a quarter of the memory is read from disk, through Dask, as often as the fit
    needs; sppca, cppca or ppca is fitted to it.

    \b
    gnomon fit flowers.csv --target species --id flower --out flowers
    gnomon fit corn.csv --target moisture oil --id sample --scale standard --out corn
    gnomon fit genes.parquet --model ppca --components 5 --out genes
    gnomon fit survey.csv --target income --categorical region smokes --out survey
    gnomon fit rings.csv --target ring --model kda --set kernel=rbf gamma=0.5 --out rings
    gnomon fit crabs.csv --target sex species --model ifa --out crabs
    gnomon fit patients.csv --target sex age --model cppca --out patients
    gnomon fit matrix.mtx.gz --labels cell_types.csv --out cells
    gnomon fit spectra --labels moisture.csv --out moisture
    gnomon fit expression.csv --form transposed --id gene --labels tumors.csv --out tumors

    In Python, gnomon.export.load_model("DIR/model.gnomon") is a pipeline that takes the table as a frame, its columns
    in any order, and predicts what `gnomon predict` does.
    """
    from gnomon._cli import fitting, large, outputs, planning, reporting, show

    outputs.check_folder(out, force, asked["table"])
    request = fitting.Request("fit", **asked)
    with working(4) as step:
        step("reading the table")
        on_disk = large.on_disk(request)
        data = large.read(request) if on_disk else fitting.read(request)
        reporting.check_shape(data, request.shape)
        if dry_run:
            return planning.plan(large.resolved(request) if on_disk else request, data, out, on_disk=on_disk)
        step("choosing and fitting" if request.model in OPEN else "fitting")
        run = large.fit(request, data, partial(step, advance=0)) if on_disk else fitting.fit(request, data)
        if compare and run.stored.targets:
            step("comparing with PCA, LDA and PLS")
            fitting.compare_with_baselines(run)
        step("writing")
        names = fitting.write_results(run, out, force=force, safe=safe_csv)
    text = show.summary([run], run.comparison) + "\n" + show.written(run, out, names)
    return Answer(text, fitting.metrics(run) | {"out": out, "files": names})


@main.command()
@takes("table", "layer", "form")
@answering
def look(table, layer, form):
    """Say what a table holds, and how to begin.

    Every column of the first rows, 20,000 at most and fewer of wide tables: what it is, how much of it is missing, and
    what it may be for: the target, the name of the rows, a feature. Nothing is fitted and nothing written.

    \b
    gnomon look flowers.csv
    gnomon look cells.h5ad --layer counts
    gnomon look results.xlsx --layer May
    """
    from gnomon._cli.looking import look as look_at

    with working(1):
        found = look_at(table, layer, form)
    return Answer(str(found), found.as_json())


@main.command(cls=ManyValues)
@takes(*ROLES, "components", "models", "set", *READING, "maybe a file", "safe csv", "replace file")
@answering
def compare(models, out, safe_csv, force, **asked):
    """Score models beside baselines on held-out labels.

    The baselines are PCA, LDA, PLS and all features. Labeled rows of TABLE are held out in turn: no method sees their
    labels, and unlabeled rows stay in. Classes are scored by the share of wrong rows, numbers by R2. The scores are
    those that `gnomon fit` prints for the model that it fits.

    \b
    gnomon compare flowers.csv --target species --id flower
    gnomon compare flowers.csv --target species --id flower --model sppca dppca kda --out scores.csv
    """
    from gnomon._cli import comparing, outputs, show

    models = list(dict.fromkeys(models))
    with working(2 + len(models)) as step:
        if out is not None:
            outputs.check_file(out, force, asked["table"])
        runs, comparison = comparing.compare_models(models, asked, step)
        if out is not None:
            scores = {name: [row[name] for row in comparison.rows] for name in comparison.rows[0]}
            outputs.write(out, scores, force, safe_csv)
    streamed = out is not None and outputs.is_stream(out)
    text = show.summary(runs, comparison) + ("" if out is None else f"\n\nWrote the scores to {out}.")
    return Answer(text, comparing.as_json(runs, comparison, out), streamed)


@main.command(cls=ManyValues)
@takes("model file", "table", "annotated file", *NEW_TABLE)
@answering
def transform(**asked):
    """Project the rows of TABLE with a stored model.

    Columns are matched by name, in any order. FILE gets the row's id or number, z1, z2, ... and the
    standard deviation of each, how typical the row is of those of the fit, where the model can tell, and Hotelling's
    T2 and the squared prediction error (SPE) in parts of their 95 % limits: above 1 a row is beyond. A FILE that ends
    in .h5ad is TABLE as AnnData, with the projection in obsm["X_gnomon"] and the rest in obs.

    \b
    gnomon transform flowers more.csv --out more-projected.csv
    """
    return _apply("projected", **asked)


@main.command(cls=ManyValues)
@takes("model file", "table", "annotated file", *NEW_TABLE)
@answering
def predict(**asked):
    """Predict the targets of TABLE with a stored model.

    FILE gets the row's id or number and the prediction: a class with the probability of each class, or
    numbers with their standard deviations; and how typical the row is of those of the fit (models that
    `gnomon fit` writes without --model): below 0.01 it is unlike them. Of models by name it has Hotelling's T2 and the
    squared prediction error (SPE) in parts of their 95 % limits: above 1 a row is beyond. A FILE that ends in .h5ad is
    TABLE as AnnData, with the predictions in obs and the projection in obsm["X_gnomon"].

    \b
    gnomon predict flowers more.csv --out answers.csv
    gnomon predict cells more.h5ad --out annotated.h5ad
    """
    return _apply("predicted", **asked)


@main.command(cls=ManyValues)
@takes("model file", "table", "file", *NEW_TABLE)
@answering
def impute(**asked):
    """Fill the empty cells of TABLE with a stored model.

    FILE is TABLE, its columns in their order, but for those of --drop: an empty cell of a feature gets its expectation
    given the other features of the row, in the units of TABLE, an answer that is most expected. All else is as it was.

    \b
    gnomon impute flowers more.csv --out more-filled.csv
    """
    return _apply("filled", **asked)


def _apply(what, *, stored, table, out, safe_csv, force, **roles):
    from gnomon._cli import outputs, show
    from gnomon._cli.applying import Applied
    from gnomon._cli.stored import StoredModel
    from gnomon.describe import unusual
    from gnomon.tables import is_h5ad

    with working(2) as step:
        outputs.check_file(out, force, table, annotated=what != "filled")
        step("reading")
        model = StoredModel.load(stored)
        if is_h5ad(out):
            from gnomon._cli.annotating import Annotated

            done = Annotated(model, what, model.read(table, **roles))
            step("writing")
            outputs.write_annotated(out, done.data, force)
        else:
            done = Applied(model, what)
            step("computing")
            parts = model.parts(table, **roles, whole=what == "filled")
            outputs.write_in_parts(out, map(done.of, parts), force, safe_csv)
    stream = outputs.is_stream(out)
    rows = show.number_of(done.n_rows, "row")
    said = [f"{done.said} {rows} of {table}; wrote {out}", *show.how_read(table, done.assumed)]
    said += show.unseen(done.unseen)
    text = "\n".join([*said, *filter(None, [show.unlike(*done.typical)])])
    values, names = done.typical
    found = {"table": table, "model": model.said.model, "rows": done.n_rows, "assumed": done.assumed, "out": out}
    return Answer(text, found | {"unlike": [names[i] for i in unusual(values)], "unseen": done.unseen}, stream)


@main.command(cls=ManyValues)
@takes("model file", "table")
@click.option("--count", type=click.IntRange(1, 500), default=10, show_default=True, metavar="N", help="How many rows.")
@click.option(
    "--out", type=click.Path(), metavar="FILE", help="Result: .csv, .tsv or .parquet. Default: CSV is printed."
)
@takes("labels", *NEW_ROLES, "unlabeled", "safe csv", "replace file")
@answering
def suggest(stored, table, count, out, unlabeled, safe_csv, force, **roles):
    """Name the rows of TABLE that are best labeled next.

    Of classes rows in doubt with many rows around them that no labeled row is near; of numbers rows far from every
    labeled one. Target columns are read where TABLE has them: their rows have a label. FILE gets the row's id or
    number, the most wanted first, and the prediction. For models that `gnomon fit` writes without --model.

    \b
    gnomon suggest flowers flowers.csv --count 5
    """
    from gnomon._cli import outputs, show
    from gnomon._cli.columns import suggested_columns
    from gnomon._cli.stored import StoredModel
    from gnomon._cli.targets import read_like

    with working(3) as step:
        out = "-" if out is None and not wants_json() else out
        if out is not None:
            outputs.check_file(out, force, table)
        step("reading")
        model = StoredModel.load(stored)
        mark = model.unlabeled if unlabeled is None else unlabeled
        data = model.read(table, **roles, with_targets=True, unlabeled=mark)
        y = read_like(data, model.known_targets, mark)
        step("computing")
        result = suggested_columns(model, data, model.said.labeled(y, data.X.shape[0]), count)
        step("writing")
        if out is not None:
            outputs.write(out, result, force, safe_csv)
    n_found, n_rows = len(next(iter(result.values()))), data.X.shape[0]
    rows = [dict(zip(result, cells, strict=True)) for cells in zip(*result.values(), strict=True)]
    found = {
        "table": table,
        "model": model.said.model,
        "rows": n_rows,
        "assumed": data.assumed,
        "out": out,
        "unseen": data.unseen,
    }
    counted = show.number_of(n_rows, "row")
    said = [f"suggested {n_found} of {counted} of {table}; wrote {out}", *show.how_read(table, data.assumed)]
    said += show.unseen(data.unseen)
    return Answer("\n".join(said), found | {"suggested": rows}, out is not None and outputs.is_stream(out))


@main.command(cls=ManyValues)
@takes("model file", "table", "page", "labels", *NEW_ROLES, "unlabeled", "shape", "replace file")
@click.option(
    "--refits", type=click.IntRange(0), default=0, metavar="N",
    help="Fits to labels drawn anew, for bounds on which columns go with the predictions; 20 are enough.",
)  # fmt: skip
@answering
def report(stored, table, out, unlabeled, shape, force, refits, **roles):
    """Write an HTML report of a stored model and TABLE.

    Nothing is fitted again without --refits. Columns are matched by name, in any order. Target columns are read where
    TABLE has them: their rows are drawn as labeled ones, and all others are predicted. Of a folder that `gnomon fit`
    wrote, the report repeats how the model was chosen and how it compares, and knows the --shape of the fit.

    \b
    gnomon report flowers more.csv --out more.html
    gnomon report flowers flowers.csv --refits 20 --out columns.html
    """
    from gnomon._cli import outputs, reporting, show
    from gnomon._cli.stored import StoredModel
    from gnomon._cli.targets import read_like

    with working(2) as step:
        outputs.check_file(out, force, table, only=".html")
        step("reading")
        model = StoredModel.load(stored)
        mark = model.unlabeled if unlabeled is None else unlabeled
        data = model.read(table, **roles, with_targets=True, unlabeled=mark)
        y = read_like(data, model.known_targets, mark)
        figures = reporting.figures_beside(stored)
        shape = shape or reporting.shape_in(figures)
        reporting.check_shape(data, shape)
        step("writing")
        with outputs.said_in_one_line(out):
            shown = {"y": y, "n_fitted": model.n_rows, "n_refits": refits, "shape": shape}
            reporting.write_page(out, model, data, figures, **shown, replace=force)
    found = {
        "table": table,
        "model": model.said.model,
        "rows": data.X.shape[0],
        "assumed": data.assumed,
        "out": out,
        "unseen": data.unseen,
    }
    rows = show.number_of(data.X.shape[0], "row")
    said = [f"reported on {rows} of {table}; wrote {out}", *show.how_read(table, data.assumed)]
    said += show.unseen(data.unseen)
    return Answer("\n".join(said), found, outputs.is_stream(out))


@main.command()
@takes("model file")
@click.option("--onnx", "out", type=click.Path(), required=True, metavar="FILE", help="The graph: .onnx.")
@takes("replace file")
@answering
def export(stored, out, force):
    """Write a stored model as an ONNX graph.

    It runs without Python and gnomon. Of ppca, sppca, cppca, dppca, sepca, sdr-glm and ifa, scaled or not; of classes
    fitted by default it is one linear model that learned from all. The input X is rows of all features in float32, none
    of them empty, in the order of feature_names in the metadata of FILE; outputs are transform, variance (of each
    component), predict for numbers, and probabilities and labels of classes.

    \b
    gnomon fit flowers.csv --target species --id flower --out flowers
    gnomon export flowers --onnx flowers.onnx
    """
    from gnomon._cli import exporting, outputs
    from gnomon._cli.stored import StoredModel

    with working(2) as step:
        outputs.check_file(out, force, stored, only=".onnx", option="--onnx")
        step("reading")
        model = StoredModel.load(stored)
        step("writing")
        done = exporting.write_onnx(out, model, replace=force)
    text = f"exported {done.what}: {', '.join(done.outputs)}; wrote {out}"
    return Answer(text, done._asdict() | {"model": model.said.model, "out": out}, outputs.is_stream(out))


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
@takes("seed")
@click.option(
    "--out",
    type=click.Path(),
    default="gnomon-demo",
    show_default=True,
    metavar="DIR",
    help="New folder for the results.",
)
@takes("replace folder")
@answering
def demo(data, labels, seed, out, force):
    """Try everything on real data; needs no network.

    Most labels are hidden. DIR gets what `gnomon fit` writes, and table.csv, the table that was fitted, to try the
    other commands on.

    \b
    gnomon demo
    gnomon demo --data digits --labels 3 --out digits
    """
    from gnomon._cli import fitting, outputs, show
    from gnomon._cli.demo import DRAWS, demo_table

    outputs.check_folder(out, force)
    with working(4) as step:
        step("making the table")
        example = demo_table(data, labels, seed)
        step("fitting")
        run = fitting.fit(example.request, example.table)
        step("comparing with PCA, LDA and PLS")
        fitting.compare_with_baselines(run, example.truth, DRAWS)
        step("writing")
        names = fitting.write_results(run, out, {"table.csv": example.columns}, example.truth, force=force)
    said = [f"{example.story}.", show.summary([run], run.comparison), show.demo_predictions(run, example)]
    text = "\n".join([*said, show.written(run, out, names)])
    return Answer(text, fitting.metrics(run) | {"out": out, "files": names})


@main.command()
@answering
def doctor():
    """Say what is installed and what is amiss.

    For reports of problems; the exit code is 1 where something is too old or missing.

    \b
    gnomon doctor
    gnomon doctor --json > doctor.json
    """
    from gnomon._cli.doctor import examined

    lines, amiss = examined()
    width = max(len(what) for what, _ in lines)
    text = [
        *(f"{what:{width}}  {how}" for what, how in lines),
        *([""] if amiss else []),
        *(f"amiss: {one}" for one in amiss),
    ]
    return Answer("\n".join(text), {"found": dict(lines), "amiss": amiss}, code=1 if amiss else 0)


@main.command()
@click.argument("name", required=False)
@click.option("--keep", type=click.Path(), metavar="FILE", help="Go on from FILE, which gets each finding as it comes.")
@click.option("--draws", type=click.IntRange(1), metavar="N", help="Draws of each cell, instead of the paper's.")
@click.option("--only", multiple=True, metavar="NAME", help="A task, data set, method or K=5 of the table, repeatable.")
@click.option("--quick", is_flag=True, help="A few draws of what is soon done.")
@click.option("--jobs", type=int, metavar="N", help="Processes; -1 for one a core.")
@click.option(
    "--page",
    type=click.Path(),
    metavar="FILE",
    help="Write the table as Markdown, JSON and SVG, with what differs and why.",
)
def reproduce(name, keep, **options):
    """Run an experiment by its name, or list them all.

    An experiment is a table of a paper, with the printed numbers beside ours. Data are those of the folder that the
    environment variable GNOMON_DATA names; sets of the papers are downloaded where they are not there.

    \b
    gnomon reproduce sppca-table2 --quick --jobs -1
    gnomon reproduce sppca-table2 --only yale --only S2PPCA --keep cells.jsonl --page table2.md
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
            _registry.run(name, keep, **options)
        except (FileNotFoundError, _registry.NoFindings) as error:
            raise InputError(str(error)) from error
