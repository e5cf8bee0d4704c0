"""The folders of models do all that the estimators do, on rows and without scikit-learn."""

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gnomon

ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Forbidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "sklearn" or name == "gnomon.estimators":
            raise ImportError(name + " is forbidden here")

sys.meta_path.insert(0, Forbidden())
import numpy as np
from gnomon.rows.read import read

given = np.load(sys.argv[1])
old, new, Y = read(given["old"]), read(given["new"]), given["Y"]
rng = np.random.default_rng(np.random.RandomState(0).randint(2**31))
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
FAMILIES = {
    "PPCA": (gnomon.PPCA(2), PPCA),
    "SPPCA": (gnomon.SPPCA(2), SPPCA),
    "CPPCA": (gnomon.CPPCA(2), CPPCA),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_is_its_estimator(name, tmp_path):
    rng = np.random.default_rng(0)
    estimator, code = FAMILIES[name]
    loadings = rng.normal(size=(2, 8))
    Z, Z_new = rng.normal(size=(60, 2)), rng.normal(size=(7, 2))
    old, new = (z @ loadings + 0.3 * rng.normal(size=(len(z), 8)) for z in (Z, Z_new))
    Y = Z + 0.1 * rng.normal(size=(60, 2))
    Y[::3] = np.nan
    np.savez(tmp_path / "given.npz", old=old, new=new, Y=Y)
    report = "print(__import__('json').dumps({**{k: v.tolist() for k, v in found.items()}, 'drawn': drawn.tolist()}))"
    command = [sys.executable, "-c", ALONE + code + report, str(tmp_path / "given.npz")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert np.isfinite(found.pop("drawn")).all()
    estimator.fit(old, Y)
    assert {"transform"} <= set(found)
    for method, values in found.items():
        assert_allclose(values, getattr(estimator, method)(new), rtol=1e-12, atol=1e-12, err_msg=method)
