"""The arguments and options of the commands, each under a name by which a command takes it."""

from functools import partial

import click

from gnomon._cli.commands import OPEN, Components, Shape
from gnomon._cli.configuring import columns_of

TARGET_KINDS = ("classes", "real", "counts")
FORMS = ("no-header", "transposed", "decimal-comma", "decimal-point", "no-summary", "all-rows")


class ModelName(click.Choice):
    """The name of a model, or what leaves it open; the names are asked of the models when they are wanted."""

    def __init__(self):
        super().__init__(OPEN)

    @property
    def choices(self):
        """The names."""
        from gnomon._cli.choosing import known_models

        return (*OPEN, *known_models())

    @choices.setter
    def choices(self, value):
        pass


column = partial(click.option, shell_complete=columns_of)
OPTIONS = {
    "model file": click.argument("stored", metavar="MODEL", type=click.Path()),
    "table": click.argument("table", type=click.Path()),
    "target": column("--target", multiple=True, metavar="COL...", help="Target columns; empty: unlabeled."),
    "labels": click.option(
        "--labels",
        type=click.Path(),
        metavar="FILE",
        help="Text with the target of a TABLE that has none: a label a line, or id and label.",
    ),
    "id": column(
        "--id",
        metavar="COL",
        help="Column that names the rows, those of one sample alike; of a stored model, that of the fit.",
    ),
    "drop": column("--drop", multiple=True, metavar="COL...", help="Columns to leave out."),
    "keep": column(
        "--keep",
        multiple=True,
        metavar="COL...",
        help="Keep these columns although they look like row numbers, or hold such as -999 far from all else.",
    ),
    "categorical": column(
        "--categorical",
        multiple=True,
        metavar="COL...",
        help="Columns of answers, such as text: each answer becomes a column of 0 and 1; all: every column of text. A "
        "model knows those of the fit, and takes an answer that it does not know for an empty cell.",
    ),
    "components": click.option(
        "--components",
        type=Components(),
        metavar="K|auto",
        help="Dimensions of the projection. Default: classes - 1, or the number of targets; at least 2, at most 10; "
        "with ifa every direction of the table. auto: of a model named by --model the number, up to 20, at which fits "
        "to halves of the labels agree best, or for ppca of the least bic.",
    ),
    "model": click.option(
        "--model",
        type=ModelName(),
        default="auto",
        show_default=True,
        help="auto is guided, where many models teach one. search chooses one model by the labels at hand. Several "
        "targets: guided and cppca take classes and numbers, dppca and ifa classes, the others numbers. sepca and kda "
        "take one target of classes; ppca ignores it.",
    ),
    "models": click.option(
        "--model",
        "models",
        type=ModelName(),
        multiple=True,
        default=["auto"],
        show_default=True,
        metavar="NAME...",
        help="Models to compare, named as for gnomon fit; auto and search stand for what that would fit.",
    ),
    "set": click.option(
        "--set",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE...",
        help="Parameters of the model named by --model, as in Python: --set kernel=rbf gamma=0.5.",
    ),
    "target kind": click.option(
        "--target-kind",
        type=click.Choice(TARGET_KINDS),
        help="How to read the target. Default: text, and up to 20 different whole numbers, are classes.",
    ),
    "unlabeled": click.option(
        "--unlabeled", metavar="CELL", help="A target cell that means unlabeled, besides the empty one."
    ),
    "layer": click.option(
        "--layer",
        metavar="NAME",
        help="Layer of a .h5ad TABLE to read in place of X; sheet of a .xlsx TABLE in place of the first.",
    ),
    "form": click.option(
        "--form",
        multiple=True,
        type=click.Choice(FORMS),
        metavar="HOW...",
        help="How text is written where it does not tell: no-header (columns are column1, column2, ..., or 1, "
        "2, ...), transposed (a column is a sample), decimal-comma, decimal-point; no-summary leaves out rows such as "
        "Total or Mean that hold sums or means of others, all-rows takes them for samples.",
    ),
    "missing": click.option(
        "--missing",
        multiple=True,
        metavar="CELL...",
        help="Cells that mean an empty one: --missing n.d. '?'; with a dash first: --missing=-999. A model knows "
        "those of the fit.",
    ),
    "scale": click.option(
        "--scale",
        type=click.Choice(["none", "standard", "unit"]),
        default="none",
        show_default=True,
        help="standard: scale columns to unit variance; unit: scale rows to unit length.",
    ),
    "seed": click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."),
    "jobs": click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes."),
    "shape": click.option(
        "--shape",
        type=Shape(),
        metavar="HEIGHTxWIDTH",
        help="Rows are images of this size, line by line (32x24: 32 lines): the report draws loadings as images.",
    ),
    "folder": click.option(
        "--out", type=click.Path(), required=True, metavar="DIR", help="New folder for the results."
    ),
    "replace folder": click.option("--force", is_flag=True, help="Replace DIR if gnomon wrote it."),
    "file": click.option(
        "--out", type=click.Path(), required=True, metavar="FILE", help="Result: .csv, .tsv or .parquet; - prints CSV."
    ),
    "annotated file": click.option(
        "--out",
        type=click.Path(),
        required=True,
        metavar="FILE",
        help="Result: .csv, .tsv, .parquet or .h5ad (AnnData); - prints CSV.",
    ),
    "maybe a file": click.option(
        "--out", type=click.Path(), metavar="FILE", help="Write the scores there, too: .csv, .tsv or .parquet."
    ),
    "page": click.option("--out", type=click.Path(), required=True, metavar="FILE", help="The report: .html."),
    "safe csv": click.option(
        "--safe-csv", is_flag=True, help="Set an apostrophe before text that a spreadsheet would run (= + - @)."
    ),
    "replace file": click.option("--force", is_flag=True, help="Replace FILE if it exists."),
}
ROLES = ("table", "target", "labels", "id", "drop", "keep", "categorical")
READING = ("target kind", "unlabeled", "missing", "layer", "form", "scale", "seed", "jobs")
NEW_ROLES = ("id", "drop", "keep", "missing", "layer", "form")
NEW_TABLE = (*NEW_ROLES, "safe csv", "replace file")


def takes(*names):
    """Give a command the arguments and options of these names, in this order."""

    def add(command):
        for name in reversed(names):
            command = OPTIONS[name](command)
        return command

    return add
