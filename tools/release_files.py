"""Write models as this release writes them to tests/export/written, where every later release must read them.

Each file holds, beside its model, rows and what the model says of them. Run once for a release, after its version is
set: `python tools/release_files.py`. Files of earlier releases stay as they are.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gnomon
from gnomon import CPPCA, DPPCA, IFA, KDA, PPCA, SDRGLM, SEPCA, SPPCA, GuidedProjection, KernelSPPCA, MixturePPCA
from gnomon.datasets import make_low_rank
from gnomon.export import Columns, save_model

FOLDER = Path(__file__).parents[1] / "tests" / "export" / "written"
ANSWERS = ("transform", "predict", "predict_proba", "score_samples")


def models() -> dict[str, Any]:
    """One model of each kind, fitted to planted rows, and these rows."""
    bunch = make_low_rank(40, 5, 2, n_classes=3, random_state=0)
    X, y = bunch.data, np.array(["ant", "bee", "cow"], dtype=object)[bunch.target]
    few = np.where(np.arange(40) % 3 == 0, y, None)
    numbers = np.where(np.arange(40) % 2 == 0, X[:, 0] + X[:, 1], np.nan)
    scaled = make_pipeline(Columns(["a", "b", "c", "d", "e"]), StandardScaler(), DPPCA(2))
    made = {
        "ppca": PPCA(2).fit(X),
        "mixture": MixturePPCA(2, 1).fit(X),
        "sppca": SPPCA(2).fit(X, few),
        "sppca-numbers": SPPCA(2).fit(X, numbers),
        "cppca-mixed": CPPCA(2).fit(X, np.column_stack([few, numbers.astype(object)])),
        "dppca-pipeline": scaled.fit(X, few),
        "guided": GuidedProjection().fit(X, few),
        "guided-numbers": GuidedProjection().fit(X, numbers),
        "kernel-sppca": KernelSPPCA(2).fit(X, few),
        "kda": KDA().fit(X, few),
        "sepca": SEPCA(2).fit(X, few),
        "sdr-glm": SDRGLM(2).fit(X, few),
        "ifa": IFA(3).fit(X[:, :2], few),
    }
    return {name: (model, X[:, :2] if name == "ifa" else X) for name, model in made.items()}


def answers(model: Any, X: Any) -> dict[str, list[Any]]:
    """What a model says of rows, a list of tables for each method that it has."""
    found = {}
    for name in ANSWERS:
        if hasattr(model, name):
            answer = getattr(model, name)(X)
            found[name] = [np.asarray(table) for table in (answer if isinstance(answer, list) else [answer])]
    return found


def main() -> int:
    """Write the files of this release."""
    folder = FOLDER / gnomon.__version__
    folder.mkdir(parents=True)
    for name, (model, X) in models().items():
        save_model(model, folder / f"{name}.gnomon", metadata={"X": X, "answers": answers(model, X)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
