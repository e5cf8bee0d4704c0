"""Frames in, of any library, give what arrays give; frames out keep index and names; columns are told by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gnomon
from gnomon.datasets import load_iris, make_partial
from gnomon.export import Columns, load_model, save_model

pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

IRIS = load_iris()
COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]
Y = make_partial(np.array(IRIS.target_names, dtype=object)[IRIS.target], n_per_class=8, random_state=0)
TABLE = pandas.DataFrame(IRIS.data, columns=COLUMNS, index=[f"flower {i}" for i in range(150)])
FRAMES = {
    "pandas": TABLE,
    "nullable": TABLE.convert_dtypes(),
    "pandas of arrow": TABLE.convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars.DataFrame(IRIS.data, schema=COLUMNS),
    "pyarrow": pyarrow.table(dict(zip(COLUMNS, IRIS.data.T, strict=True))),
}
MODELS = [
    gnomon.CPPCA(2),
    gnomon.DPPCA(2),
    gnomon.GuidedProjection(2),
    gnomon.IFA(n_init=1),
    gnomon.KDA(2),
    gnomon.KernelSPPCA(2),
    gnomon.MixturePPCA(2, 1, n_init=1),
    gnomon.NeighborFeatures(5, n_components=2),
    gnomon.PPCA(2),
    gnomon.SDRGLM(2),
    gnomon.SEPCA(2),
    gnomon.SPPCA(2),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def answers(model, X):
    """What a model says of rows, as arrays."""
    names = ("transform", "predict", "predict_proba", "score_samples", "typicality")
    return {name: np.asarray(getattr(model, name)(X)) for name in names if hasattr(model, name)}


def assert_alike(found, wanted):
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        if values.dtype.kind == "f":
            assert_allclose(found[name], values, rtol=1e-6, atol=1e-7 * np.abs(values).max(), err_msg=name)
        else:
            assert found[name].tolist() == values.tolist()


@every
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_any_library_is_the_array_with_names(model, kind):
    fitted = clone(model).fit(FRAMES[kind], Y)
    assert fitted.feature_names_in_.tolist() == COLUMNS
    assert_alike(answers(fitted, FRAMES[kind]), answers(clone(model).fit(IRIS.data, Y), IRIS.data))


@every
def test_a_frame_that_comes_out_has_the_index_and_the_names(model):
    fitted = clone(model).set_output(transform="pandas").fit(TABLE, Y)
    found = fitted.transform(TABLE)
    assert found.index.tolist() == TABLE.index.tolist()
    assert found.columns.tolist() == fitted.get_feature_names_out().tolist()
    again = clone(model).set_output(transform="polars").fit(TABLE, Y).transform(TABLE)
    assert again.columns == found.columns.tolist()
    assert_allclose(again.to_numpy(), found.to_numpy())


@every
def test_other_columns_are_refused(model):
    fitted = clone(model).fit(TABLE, Y)
    for other in (TABLE[COLUMNS[::-1]], TABLE[COLUMNS[1:]], TABLE.assign(more=1.0)):
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.transform(other)


@every
@pytest.mark.parametrize("kind", FRAMES)
def test_a_stored_model_of_a_table_takes_its_columns_by_name(model, kind, tmp_path):
    fitted = make_pipeline(Columns(ignored=("species",)), StandardScaler(), clone(model)).fit(TABLE, Y)
    save_model(fitted, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    frame = FRAMES[kind]
    turned = frame.select(COLUMNS[::-1]) if kind in ("polars", "pyarrow") else frame[COLUMNS[::-1]].assign(species="?")
    assert_alike(answers(loaded, turned), answers(fitted, TABLE))
    fewer = turned.drop(columns=COLUMNS[1]) if hasattr(turned, "iloc") else turned.select(COLUMNS[2:])
    with pytest.raises(ValueError, match=r"^X: the model needs 'sepal [^\n]*which X lacks\.$"):
        loaded.transform(fewer)
