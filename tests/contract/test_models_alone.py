"""The folders of models do all that the estimators do, on rows and without scikit-learn."""

import importlib.util
import inspect
import json
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gnomon
from gnomon import models

ALONE = """
import json
import sys
from importlib.abc import MetaPathFinder

class Forbidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "sklearn" or name == "gnomon.estimators":
            raise ImportError(name + " is forbidden here")

sys.meta_path.insert(0, Forbidden())
import numpy as np
from gnomon.rows import read

given = np.load(sys.argv[1])
everything = {}
for name, code in json.loads(sys.argv[2]).items():
    seed = np.random.RandomState(0).randint(2**31)
    space = {"np": np, "read": read, "given": given, "Y": given["Y"], "classes": given["classes"]}
    space |= {"old": read(given["old"]), "new": read(given["new"]), "rng": np.random.default_rng(seed)}
    exec(code, space)
    drawn = space.get("drawn")
    assert drawn is None or (np.isfinite(drawn).all() and drawn.shape == (5, 8)), name
    everything[name] = {method: values.tolist() for method, values in space["found"].items()}
print(json.dumps(everything))
"""
PPCA = """
from gnomon.models import linear
from gnomon.models.linear import sppca

params = linear.fit(old, Y[:, :0], sppca.Options(2, "auto", 1e-6, 1000), rng).value.params
found = {"transform": linear.posterior(params, new)[0], "score_samples": linear.log_density(params, new)}
drawn = linear.sample(params, 5, rng)[0]
"""
SPPCA = """
from gnomon.models import linear
from gnomon.models.linear import sppca

params = linear.fit(old, Y, sppca.Options(2, "auto", 1e-6, 1000), rng).value.params
found = {"transform": linear.posterior(params, new)[0], "score_samples": linear.log_density(params, new)}
found["predict"] = linear.predict(params, new)[0]
drawn = linear.sample(params, 5, rng)[0]
"""
CPPCA = """
from gnomon.likelihoods.layout import Layout
from gnomon.models import linear
from gnomon.models.linear import cppca

layout = Layout(("gaussian",) * Y.shape[1], (0,) * Y.shape[1])
params = linear.fit(old, Y, cppca.Options(2), rng, layout).value.params
found = {"transform": linear.posterior(params, new)[0], "score_samples": linear.log_density(params, new)}
found["predict"] = np.column_stack(linear.predict(params, new)[0])
drawn = linear.sample(params, 5, rng)[0]
"""
DPPCA = """
from gnomon.models import dppca

given_open = dppca.Open("usual", 1e-3, 1.0)
labels = [dppca.Labels(classes, 3)]
fitted = dppca.fit(old, labels, None, given_open, dppca.Options(n_init=3))
params = fitted.targets[0].model
found = {"posterior": dppca.posterior(params, new, fitted.components)[0]}
found["score_samples"] = dppca.log_density(params, new)
found["predict_proba"] = dppca.predict(params, new)
drawn = dppca.sample(params, 5, np.random.RandomState(0))[0]
"""
IFA = """
from gnomon.models import ifa
from gnomon.models.ifa.noiseless import Options

log_pl = np.where((classes < 0) | (classes == np.arange(3)[:, None]), 0.0, -np.inf)
params = ifa.fit(old, ifa.Labels(log_pl[None], (3,), False), Options(), rng).value
found = {"transform": ifa.posterior(params, new)[0], "score_samples": ifa.log_density(params, new)}
found["predict_proba"] = ifa.predict(params, new)[0]
drawn = ifa.sample(params, 5, rng)[0]
"""
MIXTURE = """
from gnomon.models import mixture

fitted = mixture.fit(old, mixture.Options((1, 1)), rng).value
params = fitted.params
found = {"transform": mixture.posterior(params, new, fitted.sizes)[0]}
found["score_samples"] = mixture.log_density(params, new)
found["predict_proba"] = mixture.predict(params, new)
drawn = mixture.sample(params, 5, rng)[0]
"""
KDA = """
from gnomon.models import kda

known = given["old"][classes >= 0]
mean = known.mean(axis=0)
params = kda.fit(read(known - mean), classes[classes >= 0], 3, 1e-3, 8.0)
new = read(given["new"] - mean)
found = {"transform": kda.posterior(params, new)[0], "predict_proba": kda.predict(params, new)}
"""
SEPCA = """
from gnomon.models import sepca

mean = given["old"].mean(axis=0)
T = given["old"] - mean
axes = np.linalg.svd(T, full_matrices=False)[2].T
size = np.sqrt((T**2).sum(axis=1).mean())
T, new = T @ axes / size, read((given["new"] - mean) @ axes / size)
labeled = np.flatnonzero(classes >= 0)
data = sepca.Data(T, T, np.eye(3)[classes[labeled]], labeled, 2, 0.1)
fitted = sepca.fit(data, sepca.Options()).value
params = sepca.learn(data, fitted.ranked.Z, sepca.Map(None))
found = {"transform": sepca.posterior(params, new)[0], "predict_proba": sepca.predict(params, new)[1]}
"""
SDR_GLM = """
from gnomon.models import sdr_glm

labeled = np.flatnonzero(classes >= 0)
table = np.zeros((len(classes), 3))
table[labeled, classes[labeled]] = 1.0
outputs = sdr_glm.Outputs("multinomial", table, (classes >= 0)[:, None].astype(float), labeled)
options = sdr_glm.Options(2, 0.01, 0.1, 1e-6, 2000)
params = sdr_glm.fit(old, "gaussian", outputs, options, None, rng).value.reader
found = {"transform": sdr_glm.posterior(params, new)[0], "predict_proba": sdr_glm.predict(params, new)[1]}
"""
COLORED_MVU = """
from gnomon.models import colored_mvu

fitted = colored_mvu.fit(old, colored_mvu.class_kernel(classes), colored_mvu.Options(5, 20, 100.0)).value
Z = fitted.Z[:, :2] * fitted.unit
mean = given["old"].mean(axis=0)
U, s, Vt = np.linalg.svd(given["old"] - mean, full_matrices=False)
T = U * s
weights = colored_mvu.ridge_map(T, Z, 1e-3 * (T**2).sum() / len(T), grid=colored_mvu.RIDGES).weights
found = {"transform": colored_mvu.posterior(colored_mvu.Map(mean, Vt.T @ weights), new)[0]}
"""
SCL = """
from gnomon.models import scl

counts, sizes = scl.occurrences(old, (classes < 0).astype(int))
pivots = scl.choose_pivots(scl.pivot_frequency(counts, sizes), 3, *scl.variation(old))
params = scl.fit(old, pivots, 2, None, "auto").projection
found = {"transform": scl.posterior(params, new)[0]}
"""
NEIGHBORS = """
from gnomon.models import neighbor_features

params = neighbor_features.fit(old, neighbor_features.Options()).map
found = {"transform": neighbor_features.posterior(params, new)[0]}
"""
WITH_OUTPUTS = {
    "PPCA": (gnomon.PPCA(2), PPCA),
    "SPPCA": (gnomon.SPPCA(2), SPPCA),
    "CPPCA": (gnomon.CPPCA(2), CPPCA),
}
WITH_CLASSES = {
    "DPPCA": (
        gnomon.DPPCA(n_factors="usual", shrinkage=1e-3, unlabeled_weight=1.0, uncertainty="plug-in"),
        DPPCA,
    ),
    "IFA": (gnomon.IFA(uncertainty="plug-in", random_state=0), IFA),
    "MixturePPCA": (gnomon.MixturePPCA(2, 1), MIXTURE),
    "KDA": (gnomon.KDA(uncertainty="plug-in"), KDA),
    "SEPCA": (gnomon.SEPCA(2, uncertainty="plug-in"), SEPCA),
    "SDRGLM": (gnomon.SDRGLM(2, uncertainty="plug-in", random_state=0), SDR_GLM),
    "ColoredMVU": (gnomon.ColoredMVU(2, kernel="linear", projection_ridge=1e-3), COLORED_MVU),
    "SCL": (gnomon.SCL(2, n_pivots=3), SCL),
    "NeighborFeatures": (gnomon.NeighborFeatures(), NEIGHBORS),
}
LOOSE = {"SEPCA": 1e-6, "ColoredMVU": 1e-9, "KDA": 1e-9}  # bases of feature space are not the same to the bit


@pytest.fixture(scope="module")
def given():
    """Rows to fit, new rows, real outputs and classes of some."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(2, 8))
    Z, Z_new = rng.normal(size=(60, 2)), rng.normal(size=(7, 2))
    old, new = (z @ loadings + 0.3 * rng.normal(size=(len(z), 8)) for z in (Z, Z_new))
    Y = Z + 0.1 * rng.normal(size=(60, 2))
    classes = np.digitize(Z[:, 0], [-0.5, 0.5])
    Y[::3], classes[::3] = np.nan, -1
    return {"old": old, "new": new, "Y": Y, "classes": classes}


@pytest.fixture(scope="module")
def alone(given, tmp_path_factory):
    """What each family of models says, in a process that can import neither scikit-learn nor the estimators."""
    path = tmp_path_factory.mktemp("alone") / "given.npz"
    np.savez(path, **given)
    codes = {name: code for name, (_, code) in (WITH_OUTPUTS | WITH_CLASSES).items()}
    if importlib.util.find_spec("clarabel") is None:
        del codes["ColoredMVU"]
    command = [sys.executable, "-c", ALONE, str(path), json.dumps(codes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*WITH_OUTPUTS, *WITH_CLASSES])
def test_a_model_is_its_estimator(name, given, alone):
    if name == "ColoredMVU":
        pytest.importorskip("clarabel")
    estimator = (WITH_OUTPUTS | WITH_CLASSES)[name][0]
    estimator.fit(given["old"], given["Y" if name in WITH_OUTPUTS else "classes"])
    close = LOOSE.get(name, 1e-12)
    for method, values in alone[name].items():
        own = getattr(estimator, method)(given["new"])
        own = own[0] if method == "posterior" else own
        assert_allclose(values, own, rtol=close, atol=close, err_msg=method)


def test_every_family_gives_what_it_has_under_the_same_names():
    """All fit and have a posterior; those with a density have `sample` too."""
    families = [name for _, name, _ in pkgutil.iter_modules(models.__path__)]
    assert len(families) == 11
    for name in families:
        found = vars(importlib.import_module(f"gnomon.models.{name}"))
        assert {"fit", "posterior"} <= set(found), name
        assert ("log_density" in found) == ("sample" in found) == (name in ("linear", "dppca", "ifa", "mixture")), name
        assert ("predict" in found) == (name not in ("scl", "neighbor_features", "colored_mvu")), name
        for function in {"posterior", "log_density", "predict"} & set(found):
            assert list(inspect.signature(found[function]).parameters)[1] == "rows", (name, function)
