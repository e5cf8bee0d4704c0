"""One table: what each form of y is to every supervised model, to the search, to comparisons and to the reader."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

import gnomon
from gnomon._cli import fitting
from gnomon._cli.choosing import traits_of
from gnomon._cli.targets import read_targets
from gnomon.cli import main
from gnomon.describe import target_of
from gnomon.selection import GuidedSearch, compare, scoring, search
from gnomon.tables import read_table
from gnomon.targets import read

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
N = len(Y)
KNOWN = np.arange(N) % 5 > 0
WORDS = np.array(["ant", "bee", "cow"], dtype=object)[Y]
REAL = X[:, 0] + 0.01 * np.arange(N)
AGES = 3 * np.arange(N) % 89 + 4


def known(values, missing):
    return np.where(KNOWN, values, missing)


# form: (y, kind and classes of the only column, or kinds of several columns; None where it is refused everywhere)
THREE, LETTERS = ("classes", [0, 1, 2]), ("classes", ["ant", "bee", "cow"])
VECTORS = {
    "text": (WORDS, LETTERS),
    "text and None": (known(WORDS, None), LETTERS),
    "text and NaN": (known(WORDS, np.nan), LETTERS),
    "categorical": (pd.Series(known(WORDS, None)).astype("category"), LETTERS),
    "bool": (Y == 1, ("classes", [False, True])),
    "ints": (Y, THREE),
    "ints and -1": (known(Y, -1), THREE),
    "ints and None": (known(Y.astype(object), None), THREE),
    "Int64": (pd.Series(known(Y.astype(object), None), dtype="Int64"), THREE),
    "whole floats and NaN": (known(Y, np.nan), THREE),
    "whole floats and -1.0": (known(Y, -1.0), THREE),
    "fractions": (REAL, ("real", None)),
    "fractions and NaN": (known(REAL, np.nan), ("real", None)),
    "many ints": (AGES, ("classes", sorted(set(AGES.tolist())))),
    "-1 and 1": (np.where(Y == 1, 1, -1), "ambiguous"),
}
TABLES = {
    "table of 0 and 1": np.column_stack([Y == 0, Y > 1]).astype(int),
    "table of fractions": np.column_stack([REAL, known(X[:, 1] + 0.001 * np.arange(N), np.nan)]),
    "frame of both": pd.DataFrame({"kind": known(WORDS, None), "size": REAL}),
}
FLAGS, NUMBERS, BOTH = ("classes", "classes"), ("real", "real"), ("classes", "real")
ONE = "one column|must be one column"
OF_NUMBERS = {
    "table of 0 and 1": NUMBERS,
    "table of fractions": NUMBERS,
    "frame of both": "which is not a number",  # one loading matrix and one noise for numbers; CPPCA takes both kinds
}
OF_COLUMNS = {"table of 0 and 1": FLAGS, "table of fractions": NUMBERS, "frame of both": BOTH}
OF_LABELS = OF_COLUMNS | dict.fromkeys(("table of fractions", "frame of both"), "Unknown label type")
OF_ONE = dict.fromkeys(TABLES, ONE)

# model: what it makes of tables, and whether it takes numbers
MODELS = {
    "SPPCA": (OF_NUMBERS, True),
    "KernelSPPCA": (OF_NUMBERS, True),
    "CPPCA": (OF_COLUMNS, True),
    "ColoredMVU": (OF_NUMBERS, True),
    "SDRGLM": (OF_COLUMNS | {"frame of both": "one family for all"}, True),
    "IFA": (OF_LABELS, False),
    "DPPCA": (OF_LABELS, False),
    "GuidedProjection": (OF_COLUMNS, True),
    "KDA": (OF_ONE, False),
    "SEPCA": (OF_ONE, False),
    "DomainStack": (OF_ONE, False),
}
QUICK = {
    "SPPCA": {"max_iter": 2},
    "KernelSPPCA": {"max_iter": 2},
    "CPPCA": {"n_components": 1, "max_iter": 2},
    "SDRGLM": {"n_components": 1, "max_iter": 2, "projection_ridge": 1.0},
    "IFA": {"max_iter": 1, "init": "labels"},
    "SEPCA": {"max_iter": 2},
    "DPPCA": {"n_factors": 1, "shrinkage": 0.1, "unlabeled_weight": 1.0, "max_iter": 2},
    "ColoredMVU": {"n_basis": 3, "n_components": 1},
    "DomainStack": {"C": 1.0, "scale": 1.0},
}


class _Stop(Exception):
    """What was read, before anything is fitted to it."""


def found_by_search(y, monkeypatch):
    def stop(targets, *_):
        raise _Stop(targets)

    monkeypatch.setattr(search, "halves_of", stop)
    return stopped_at(lambda: GuidedSearch().fit(X, y))


def found_by_compare(y, monkeypatch, model="SPPCA"):
    def stop(problem, *_):
        raise _Stop(problem.targets)

    monkeypatch.setattr(scoring.Problem, "splits", stop)
    return stopped_at(lambda: compare(X, y, estimators={model: getattr(gnomon, model)()}))


def stopped_at(run):
    try:
        run()
    except _Stop as stopped:
        return [(c.kind, None if c.classes is None else c.classes.tolist()) for c in stopped.args[0].columns]
    raise AssertionError("nothing was read")


OTHERS = {"GuidedSearch": found_by_search, "compare": found_by_compare}


def found_by(model, y):
    if model == "ColoredMVU":
        pytest.importorskip("clarabel")
    if model == "IFA" and isinstance(y, np.ndarray) and len(np.unique(y.astype(str))) > 20:
        return found_by_reader(y, ("classes",))  # a fit of that many components takes long
    fitted = getattr(gnomon, model)(**QUICK.get(model, {})).fit(X, y)
    return [(kind, None if classes is None else classes.tolist()) for kind, classes, _ in fitted._form]


def found_by_reader(y, kinds):
    return [
        (column.kind, None if column.classes is None else column.classes.tolist())
        for column in read(y, N, kinds=kinds).columns
    ]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("form", VECTORS)
@pytest.mark.parametrize("model", [*MODELS, *OTHERS])
def test_one_column_is_the_same_to_all(model, form, monkeypatch):
    y, expected = VECTORS[form]
    numbers = model in OTHERS or MODELS[model][1]
    if expected[0] == "real" and not numbers:
        expected = "Unknown label type: "  # what takes classes alone says so
    if model == "DomainStack" and form == "many ints":
        expected = None  # a class of one row cannot be held out
    read_it = (lambda: OTHERS[model](y, monkeypatch)) if model in OTHERS else (lambda: found_by(model, y))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read_it()
    elif expected is not None:
        assert read_it() == [expected]


@pytest.mark.parametrize("form", VECTORS)
@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_the_command_line_reads_a_file_alike(form, ending, tmp_path):
    """But for bool in csv, whose cells are text: classes of the same names."""
    y, expected = VECTORS[form]
    path = tmp_path / f"t.{ending}"
    if ending == "npz":
        y = np.asarray(y)
        if y.dtype == object:
            y = np.array(["" if pd.isna(cell) else str(cell) for cell in y])
            expected = ("classes", [str(label) for label in expected[1]])  # an archive holds no None beside numbers
        np.savez(path, X=X, y=y)
    else:
        getattr(pd.DataFrame({"x": X[:, 0], "y": y}), f"to_{ending}")(path, index=False)
    if ending == "csv" and form == "bool":
        expected = ("classes", ["False", "True"])
    table = read_table(path, targets=["y"])
    if expected == "ambiguous":
        with pytest.raises(ValueError, match="ambiguous"):
            read_targets(table)
        return
    (column,) = read_targets(table).columns
    assert (column.kind, None if column.classes is None else column.classes.tolist()) == expected
    assert (column.labeled == (read(VECTORS[form][0], N).labeled)).all()


@pytest.mark.parametrize("form", TABLES)
def test_the_command_line_reads_a_table_alike(form, tmp_path):
    frame = pd.DataFrame(TABLES[form]).rename(columns=str)
    frame.assign(x=X[:, 0]).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", targets=list(frame.columns))
    assert tuple(column.kind for column in read_targets(table, several="columns").columns) == OF_COLUMNS[form]
    if form != "frame of both":
        assert read_targets(table).asked == "real"


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("model", MODELS)
def test_several_columns_are_numbers_or_columns(model, form):
    expected = MODELS[model][0][form]
    if isinstance(expected, str):
        with pytest.raises((ValueError, TypeError), match=expected):
            found_by(model, TABLES[form])
    else:
        assert tuple(kind for kind, _ in found_by(model, TABLES[form])) == expected


@pytest.mark.parametrize("form", TABLES)
def test_a_search_takes_several_columns_as_numbers(form, monkeypatch):
    """It chooses one model for all of y: for one target of classes, or for numbers, as SPPCA takes them."""
    expected = OF_NUMBERS[form]
    if isinstance(expected, str):
        with pytest.raises(TypeError, match=expected):
            found_by_search(TABLES[form], monkeypatch)
    else:
        assert tuple(kind for kind, _ in found_by_search(TABLES[form], monkeypatch)) == expected


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("model", MODELS)
def test_a_comparison_takes_several_columns_as_its_first_model(model, form, monkeypatch):
    """But for numbers, which `compare` scores beside classes: the model itself refuses them when it is fitted."""
    expected = OF_COLUMNS[form] if MODELS[model][0] in (OF_LABELS, MODELS["SDRGLM"][0]) else MODELS[model][0][form]
    if isinstance(expected, str):
        with pytest.raises((ValueError, TypeError), match=expected):
            found_by_compare(TABLES[form], monkeypatch, model)
    else:
        assert tuple(kind for kind, _ in found_by_compare(TABLES[form], monkeypatch, model)) == expected


@pytest.mark.parametrize("form", VECTORS)
def test_what_no_model_was_fitted_to_is_drawn_alike(form):
    y, expected = VECTORS[form]
    if expected == "ambiguous":
        with pytest.raises(ValueError, match=expected):
            target_of(y)
        return
    target = target_of(y)
    assert (target.kind, None if target.classes is None else target.classes.tolist()) == expected
    known_rows = np.isfinite(target.values(y))
    assert known_rows.sum() in (N, KNOWN.sum())


@pytest.mark.parametrize("model", MODELS)
def test_whole_floats_warn_once_and_name_the_parameter(model):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found_by(model, known(Y, np.nan))
    about = [str(one.message) for one in said if "target=" in str(one.message)]
    assert len(about) == 1
    assert "target='classes'" in about[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*whole numbers as floats")
        options = QUICK.get(model, {}) | {"target": "classes"}
        fitted = getattr(gnomon, model)(**options).fit(X, known(Y, np.nan))
    assert fitted.target_kind_ == "classes"
    assert fitted.n_labeled_ == KNOWN.sum()


@pytest.mark.parametrize("model", [model for model in MODELS if model != "ColoredMVU"])  # it predicts nothing
def test_names_of_classes_and_order_of_rows_do_not_matter(model):
    """Labels renamed in their order, and rows in another order: the same predictions."""
    y = known(Y, -1)
    order = np.random.default_rng(0).permutation(N)
    settings = {"IFA": {"init": "labels"}, "DomainStack": QUICK["DomainStack"]}.get(model, {})
    fitted = getattr(gnomon, model)(**settings).fit(X, y)
    renamed = getattr(gnomon, model)(**settings).fit(X, np.where(KNOWN, WORDS, None))
    permuted = getattr(gnomon, model)(**settings).fit(X[order], y[order])
    assert (np.array(["ant", "bee", "cow"])[fitted.predict(X)] == renamed.predict(X)).all()
    np.testing.assert_allclose(renamed.predict_proba(X), fitted.predict_proba(X), atol=1e-9)
    if model != "SDRGLM":  # folds are dealt by row
        np.testing.assert_allclose(permuted.predict_proba(X), fitted.predict_proba(X), atol=1e-4)


def through_the_command(model, frame, tmp_path, monkeypatch):
    """What the model that `gnomon fit` is asked for is to be fitted to, or the line that it refuses with."""
    handed = []

    def hand_over(name, X, y, components, seed, more, reading, jobs, groups):
        handed.append(read(y, N, **reading, several=traits_of(name).several))
        raise ValueError("read")

    frame.assign(a=X[:, 0], b=X[:, 1]).to_parquet(tmp_path / "t.parquet", index=False)
    if monkeypatch is not None:
        monkeypatch.setattr(fitting, "fit_model", hand_over)
    words = ["--target", *frame.columns, "--model", model.traits.command, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, ["fit", str(tmp_path / "t.parquet"), *words, "--no-compare"])
    assert done.exit_code == 2, done.output or done.exception
    assert done.stderr.count("\n") == 1
    return handed[0] if handed else done.stderr


@pytest.mark.parametrize("form", [*VECTORS, *TABLES])
@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("KernelSPPCA", "DomainStack")])
def test_gnomon_fit_hands_over_what_the_library_reads(model, form, tmp_path, monkeypatch):
    """Through the command itself, in a file that keeps the types; KernelSPPCA and DomainStack have no name there."""
    cls = getattr(gnomon, model)
    if form in VECTORS:
        y, expected = VECTORS[form]
        expected = expected if isinstance(expected, str) else [expected]
        if form.startswith("fractions") and not MODELS[model][1]:
            expected = "Unknown label type: "
        frame = pd.DataFrame({"y": y})
    else:
        frame = pd.DataFrame(TABLES[form]).rename(columns=str)
        expected = MODELS[model][0][form]
    if isinstance(expected, str):
        said = {"ambiguous": "pass --unlabeled= if -1 is a class", ONE: "one column"}.get(expected, expected)
        assert said in through_the_command(cls, frame, tmp_path, None)
        return
    found = through_the_command(cls, frame, tmp_path, monkeypatch).columns
    if form in TABLES:
        assert tuple(column.kind for column in found) == expected
    else:
        assert [
            (column.kind, None if column.classes is None else column.classes.tolist()) for column in found
        ] == expected
