"""What surrounds a fit changes no bit of it: threads, forks, other processes, and how Python was started."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed

import gnomon
from fits import answers
from gnomon.tables import write_table

pytestmark = [pytest.mark.torture, pytest.mark.filterwarnings("ignore")]
ESTIMATORS = [name for name in gnomon.__all__ if isinstance(getattr(gnomon, name), type)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_are_equal_to_the_bit_wherever_they_run(name):
    settings = {"scale": 1.0, "C": 1.0} if name == "DomainStack" else {}
    model = getattr(gnomon, name)(**settings)
    alone = answers(model)
    assert alone
    assert answers(pickle.loads(pickle.dumps(model))) == alone
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answers, [model] * 8)) == [alone] * 8
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(answers, [model] * 4) == [alone] * 4
    assert Parallel(n_jobs=2, backend="loky")(delayed(answers)(model) for _ in range(4)) == [alone] * 4


PLAIN = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
SURROUNDINGS = {
    **{f"hash seed {seed}": ({"PYTHONHASHSEED": str(seed)}, []) for seed in (0, 1, 2, 3)},
    **{f"locale {name}": ({"LC_ALL": name, "LANG": name}, []) for name in ("C", "POSIX", "C.UTF-8", "de_DE.UTF-8")},
    **{f"time zone {name}": ({"TZ": name}, []) for name in ("UTC", "Asia/Tokyo", "America/St_Johns")},
    "-O": ({}, ["-O"]),
    "-OO": ({}, ["-OO"]),
    "no HOME": ({"HOME": "/nowhere"}, []),
    "no text in UTF-8": ({"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, []),
}


def run(folder, options, environment, *words):
    command = [sys.executable, *options, "-m", "gnomon", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def written(folder, environment, options=()):
    """Fit and predict; the bytes of the files."""
    run(folder, options, environment, "fit", "é.csv", "--target", "kind", "--model", "sppca", "--out", "out", "--force")
    run(folder, options, environment, "predict", "out", "é.csv", "--out", "p.csv", "--force")
    names = ("out/model.gnomon", "out/projection.csv", "out/projection.parquet", "p.csv")
    return {name: Path(folder, name).read_bytes() for name in names}


def test_how_python_is_started_changes_no_byte(tmp_path):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=40) for name in ("a", "b", "é")}
    write_table(tmp_path / "é.csv", columns | {"kind": ["x", "ÿ", None, "x"] * 10})
    plain = written(tmp_path, PLAIN)
    assert written(tmp_path, dict(os.environ)) == plain
    for name, (more, options) in SURROUNDINGS.items():
        assert written(tmp_path, os.environ | more, options) == plain, name
    sys.stdout.write(f"\n{len(SURROUNDINGS) + 2} surroundings, all files equal\n")
