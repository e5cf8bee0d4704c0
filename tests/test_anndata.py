"""An AnnData that is guided: what is written is what the model says, in places that a .h5ad file keeps."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import DPPCA, PPCA, SPPCA, GuidedProjection, __version__
from gnomon.anndata import annotate, guide

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")

KINDS = np.repeat(["B", "NK", "T"], 20).astype(object)
GIVEN = np.arange(60) % 4 == 0
KNOWN = np.where(GIVEN, KINDS, None)


def cells(labels=KNOWN, form=np.asarray, **more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) + 3.0 * np.eye(6)[np.repeat([0, 1, 2], 20)]
    obs = pandas.DataFrame({"cell_type": labels, **more}, index=[f"cell{i}" for i in range(60)])
    return anndata.AnnData(form(X), obs=obs, layers={"doubled": form(2.0 * X)})


def test_what_is_written_is_what_the_model_says():
    adata = cells()
    assert guide(adata, "cell_type") is None
    model = GuidedProjection(2).fit(adata.X, KNOWN)
    Z, cov = model.transform(adata.X), model.transform(adata.X, return_cov=True)[1]
    np.testing.assert_allclose(adata.obsm["X_gnomon"], Z)
    std = np.sqrt([np.diagonal(one) for one in np.broadcast_to(cov, (60, 2, 2))])
    np.testing.assert_allclose(adata.obsm["X_gnomon_std"], std)
    assert adata.obs["gnomon_cell_type"].tolist() == model.predict(adata.X).tolist()
    assert adata.obs["gnomon_cell_type"].cat.categories.tolist() == ["B", "NK", "T"]
    np.testing.assert_allclose(adata.obs["gnomon_probability"], model.predict_proba(adata.X).max(axis=1))
    np.testing.assert_allclose(adata.obs["gnomon_typicality"], model.typicality(adata.X))
    record = adata.uns["gnomon"]
    assert (record["target"], record["model"], record["version"]) == ("cell_type", "GuidedProjection", __version__)
    assert record["classes"].tolist() == ["B", "NK", "T"]
    assert record["params"]["n_components"] == 2
    assert adata.obs["cell_type"].tolist() == KNOWN.tolist()


def test_a_copy_leaves_the_original_alone_and_a_file_keeps_all(tmp_path):
    adata = cells()
    result = guide(adata, "cell_type", model=DPPCA(2), layer="doubled", copy=True)
    assert (list(adata.obs), list(adata.obsm), list(adata.uns)) == (["cell_type"], [], [])
    np.testing.assert_allclose(result.obsm["X_gnomon"], DPPCA(2).fit(2 * adata.X, KNOWN).transform(2 * adata.X))
    result.write_h5ad(tmp_path / "t.h5ad")
    again = anndata.read_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(again.obsm["X_gnomon"], result.obsm["X_gnomon"])
    assert again.uns["gnomon"]["layer"] == "doubled"
    assert again.uns["gnomon"]["classes"].tolist() == ["B", "NK", "T"]
    pandas.testing.assert_frame_equal(again.obs, result.obs, check_categorical=False)


@pytest.mark.parametrize(
    "labels, unlabeled",
    [
        (pandas.Categorical(KNOWN), "auto"),
        (np.where(GIVEN, KINDS, np.nan), "auto"),
        (pandas.Series(KNOWN, dtype="string").to_numpy(), "auto"),
        (pandas.Categorical(np.where(GIVEN, KINDS, "Unknown")), "Unknown"),
        (np.where(np.arange(60) % 2 == 0, np.where(GIVEN, KINDS, "?"), "n.d."), ["?", "n.d."]),
    ],
)
def test_every_way_to_have_no_label_is_the_same(labels, unlabeled):
    adata, other = cells(), cells(labels)
    guide(adata, "cell_type", model=SPPCA(2))
    guide(other, "cell_type", model=SPPCA(2), unlabeled=unlabeled)
    np.testing.assert_array_equal(adata.obsm["X_gnomon"], other.obsm["X_gnomon"])


def test_a_word_for_no_label_is_asked_about_and_can_be_a_class():
    adata = cells(np.where(GIVEN, KINDS, "Unknown"))
    with pytest.raises(ValueError, match=r"'Unknown' in 45 cells; pass unlabeled='Unknown' if"):
        guide(adata, "cell_type")
    guide(adata, "cell_type", model=SPPCA(2), unlabeled=None)
    assert adata.uns["gnomon"]["classes"].tolist() == ["B", "NK", "T", "Unknown"]
    codes = cells(np.where(np.arange(60) % 4 == 0, np.repeat([1, 2, 3], 20), -1))
    guide(codes, "cell_type")
    assert codes.uns["gnomon"]["classes"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, lambda X: np.round(X).astype(int)])
def test_sparse_and_whole_numbers(form):
    adata = cells(form=form)
    guide(adata, "cell_type")
    assert np.mean(adata.obs["gnomon_cell_type"] == KINDS) > 0.8
    assert sparse.issparse(adata.X) == sparse.issparse(form(np.eye(2)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 60, 2)])
@pytest.mark.parametrize("layer", [None, "doubled"])
def test_what_is_backed_by_a_file_is_read(tmp_path, form, rows, layer):
    there = cells(form=form)
    there.write_h5ad(tmp_path / "t.h5ad")
    backed = anndata.read_h5ad(tmp_path / "t.h5ad", backed="r")
    try:
        result = guide(backed[rows], "cell_type", model=SPPCA(2), layer=layer, copy=True)
        guide(backed, "cell_type", model=SPPCA(2), layer=layer)
        whole = backed.obsm["X_gnomon"]
    finally:
        backed.file.close()
    for found, part in ((result.obsm["X_gnomon"], there[rows].copy()), (whole, there)):
        guide(part, "cell_type", model=SPPCA(2), layer=layer)
        np.testing.assert_allclose(found, part.obsm["X_gnomon"])
    assert "X_gnomon" not in anndata.read_h5ad(tmp_path / "t.h5ad").obsm


def test_numbers_and_pipelines():
    ages = np.where(np.arange(60) % 3 == 0, np.linspace(0.5, 9.5, 60), np.nan)
    adata, model = cells(age=ages), make_pipeline(StandardScaler(), SPPCA(2))
    guide(adata, "age", model=model)
    fitted = model.fit(adata.X, ages)
    np.testing.assert_allclose(adata.obs["gnomon_age"], fitted.predict(adata.X))
    np.testing.assert_allclose(adata.obs["gnomon_age_std"], fitted.predict(adata.X, return_std=True)[1])
    assert not {"gnomon_probability", "classes"} & {*adata.obs, *adata.uns["gnomon"]}


def test_what_an_earlier_model_said_goes():
    adata = cells()
    guide(adata, "cell_type")
    guide(adata, "cell_type", model=make_pipeline(StandardScaler(), PPCA(3)))
    assert adata.obsm["X_gnomon"].shape == (60, 3)
    assert [name for name in adata.obs if name.startswith("gnomon_prob")] == []
    assert not {"target", "classes"} & {*adata.uns["gnomon"]}


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"target": "cell_tpe"}, r"no column 'cell_tpe'. Did you mean 'cell_type'?"),
        ({"layer": "logs"}, r"no layer 'logs'. The layers are 'doubled'"),
        ({"target": "empty"}, "no cell has a label in adata.obs\\['empty'\\]"),
        ({"target": "typicality"}, "obs\\['gnomon_typicality'\\], which is taken; rename it"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(arguments, said):
    adata = cells(empty=[None] * 60, typicality=KNOWN)
    with pytest.raises(ValueError, match=said):
        guide(adata, **({"target": "cell_type"} | arguments))
    assert not [*adata.obsm, *adata.uns]


def test_bad_data_are_named(monkeypatch):
    with pytest.raises(TypeError, match="adata is a ndarray; an anndata"):
        guide(np.eye(3), "cell_type")
    text = anndata.AnnData(np.array([["a"] * 2] * 60), obs=cells().obs)
    with pytest.raises(ValueError, match="X of adata has dtype"):
        guide(text, "cell_type")
    holes = cells()
    holes.X[3, 2] = np.inf
    with pytest.raises(ValueError, match="inf"):
        guide(holes, "cell_type")
    bare = anndata.AnnData(obs=cells().obs)
    with pytest.raises(ValueError, match=r"adata has no X; name a layer. It has no layers"):
        guide(bare, "cell_type")
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"pip install 'gnomon\[anndata\]'"):
        guide(holes, "cell_type")


def test_several_targets_are_told_apart():
    from gnomon.describe import describe

    adata = cells(sex=np.where(np.arange(60) % 2, "f", "m"))
    y = np.column_stack([KNOWN, adata.obs["sex"].astype(object)])
    model = GuidedProjection(2).fit(adata.X, y)
    annotate(adata, describe(model), adata.X, ["cell_type", "sex"])
    for j, name in enumerate(["cell_type", "sex"]):
        assert adata.obs[f"gnomon_{name}"].tolist() == model.predict(adata.X)[:, j].tolist()
        top = model.predict_proba(adata.X)[j].max(axis=1)
        np.testing.assert_allclose(adata.obs[f"gnomon_probability_{name}"], top)
    assert adata.uns["gnomon"]["classes"]["sex"].tolist() == ["f", "m"]


@pytest.mark.parametrize("piped", [False, True])
def test_cells_of_one_donor_and_type_count_as_one_label(piped):
    donors = [f"d{i % 4}" for i in range(60)]
    adata = cells(np.where(np.arange(60) % 20 < 12, KINDS, None), donor=pandas.Categorical(donors))
    model = GuidedProjection(2)
    guide(
        adata,
        "cell_type",
        groups="donor",
        model=make_pipeline(StandardScaler(with_mean=False, with_std=False), model) if piped else None,
    )
    wanted = model.fit(adata.X, adata.obs["cell_type"], groups=donors).predict_proba(adata.X).max(axis=1)
    np.testing.assert_allclose(adata.obs["gnomon_probability"], wanted, atol=1e-6)
    assert np.abs(wanted - model.fit(adata.X, adata.obs["cell_type"]).predict_proba(adata.X).max(axis=1)).max() > 0.02


def test_donors_that_nobody_counts_are_an_error():
    with pytest.raises(ValueError, match=r"adata\.obs has no column 'donors'"):
        guide(cells(donor=["a"] * 60), "cell_type", groups="donors")
    with pytest.raises(ValueError, match="groups='donor': DPPCA takes each cell for a sample of its own; leave groups"):
        guide(cells(donor=["a"] * 60), "cell_type", groups="donor", model=DPPCA(2))
