"""Domain adaptation of Amazon reviews: classifiers trained on one kind of product, used on another; 12 pairs.

Protocol, after Cheng and Li ("Classification probabilistic PCA with application in domain adaptation", PAKDD 2011,
section 3.1) and Blitzer, Dredze and Pereira (ACL 2007): 1,600 labeled reviews of the source domain; the unlabeled
reviews of both domains are stacked with them, and so are the target reviews to be predicted, without their labels. A
feature is 1 where the word or pair of words occurs. Differences: 5,000 features instead of 5,834; all 2,000 labeled
reviews of the target are predicted, the paper has about 400 of them and no other row of the target.

- LR: logistic regression on the features, the baseline. "LR tf-idf": the same on tf-idf rows of unit length.
- SCL, SCL-MI: structural correspondence learning with 1,000 frequent pivots, or 100 of high mutual information with the
  source labels, 50 directions, put beside the features.
- PPCA, SPPCA, CPPCA, DPPCA: the projection of the stacked rows, tf-idf of unit length, put beside the features
  ("augmented" in the paper). "CPPCA alone" is without the features. DPPCA's directions are scaled to unit deviation.

The mean of each domain is subtracted from its projections. The strength of the penalty, the scale of the projections
and K are chosen by the log loss of a quarter of the labeled source rows, whose labels nothing has seen by then; no
label of the target is used for anything but the accuracies.

The paper prints average gains over its baseline (`PRINTED`); the accuracies of the pairs are in figures only.
"""

from itertools import permutations, product
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gnomon
from gnomon import datasets

N_LABELED = 1600
DIMS = (10, 20)
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # of the baseline
BASELINES = ("LR", "LR tf-idf")
METHODS = ("LR", "LR tf-idf", "SCL", "SCL-MI", "PPCA", "SPPCA", "CPPCA alone", "CPPCA", "DPPCA")
PRINTED = {"LR": 0.0, "SCL": 0.023, "SCL-MI": 0.035, "CPPCA alone": 0.022, "CPPCA": 0.029}
OPTIONS = {
    "PPCA": {"tol": 1e-4},
    "SPPCA": {"tol": 1e-4},
    "CPPCA": {"tol": 1e-3},
    "DPPCA": {"n_factors": 20, "shrinkage": 0.9, "unlabeled_weight": 1.0, "tol": 1e-3},
}


def draw_pair(data, source, target, rng, n_labeled=N_LABELED):
    """Return the rows of a pair: those labeled, those to predict, and the other unlabeled ones of both domains."""
    labeled = rng.choice(np.flatnonzero((data.domain == source) & data.labeled), n_labeled, replace=False)
    predicted = np.flatnonzero((data.domain == target) & data.labeled)
    others = np.flatnonzero(np.isin(data.domain, (source, target)) & ~data.labeled)
    return labeled, predicted, others


def accuracy(method, X, y, domain, n_labeled, n_predicted, *, dims=DIMS):
    """Accuracy of one method on one pair, and what was chosen.

    The rows X (n, p) are those labeled, whose classes y alone are shown to the method, those to predict, and others.
    """
    predicted = slice(n_labeled, n_labeled + n_predicted)
    splitter = StratifiedShuffleSplit(1, test_size=0.25, random_state=0)
    if method in BASELINES:
        rows = TfidfTransformer().fit_transform(X) if method == "LR tf-idf" else X
        model = GridSearchCV(
            LogisticRegression(max_iter=1000), {"C": STRENGTHS}, scoring="neg_log_loss", cv=splitter
        ).fit(rows[:n_labeled], y[:n_labeled])
        found, chosen = model.predict(rows[predicted]), model.best_params_
    else:
        seen = np.where(np.arange(len(y)) < n_labeled, y, -1)
        model = classifier(method, dims, splitter).fit(X, seen, domain=domain)
        found, chosen = model.predict(X[predicted]), {**model.best_params_, "scale": model.scale_, "C": model.C_}
    return float(np.mean(found == y[predicted])), chosen


def classifier(method, dims=DIMS, cv=5):
    """The unfitted classifier of a method other than "LR"."""
    if method.startswith("SCL"):
        pivots = "mutual_information" if method == "SCL-MI" else "frequency"
        return gnomon.DomainStack(gnomon.SCL(pivots=pivots), center="domains", cv=cv)
    name = method.split()[0]
    # DPPCA shortens directions that separate no classes, and what follows is penalized
    scaling = [StandardScaler()] if name == "DPPCA" else []
    projection = make_pipeline(TfidfTransformer(), getattr(gnomon, name)(**OPTIONS[name]), *scaling)
    grid = {f"{name.lower()}__n_components": list(dims)}
    return gnomon.DomainStack(projection, grid=grid, augment=name == method, center="domains", cv=cv)


def reproduce(methods=METHODS, *, pairs=None, dims=DIMS, n_labeled=N_LABELED, random_state=0):
    """Run the table; yield one record a method and pair, with what was chosen.

    `pairs` are numbers of domains, source and target, all twelve by default; `dims` numbers of components to choose
    among.
    """
    data = datasets.fetch_amazon()
    X, names = (data.data > 0).astype(float).tocsr(), data.domain_names
    for method, (source, target) in product(methods, pairs or permutations(range(len(names)), 2)):
        rng = np.random.default_rng([random_state, source])
        labeled, predicted, others = draw_pair(data, source, target, rng, n_labeled)
        rows = np.concatenate([labeled, predicted, others])
        start = perf_counter()
        score, chosen = accuracy(
            method, X[rows], data.target[rows], data.domain[rows], n_labeled, len(predicted), dims=dims
        )
        record = {"method": method, "source": names[source], "target": names[target], "accuracy": score}
        yield {**record, "chosen": chosen, "seconds": perf_counter() - start}


def format_table(records):
    """Return the accuracies as text: a line a pair, then means and gains over LR beside the printed ones."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    pairs = list(dict.fromkeys((r["source"], r["target"]) for r in records))
    table = {(r["method"], r["source"], r["target"]): r["accuracy"] for r in records}
    mean = {m: np.mean([table[(m, *pair)] for pair in pairs]) for m in methods}
    lines = [f"{'':25}" + "".join(f"{m:>13}" for m in methods)]
    for pair in pairs:
        lines.append(f"{' -> '.join(pair):25}" + "".join(f"{table[(m, *pair)]:13.3f}" for m in methods))
    lines.append(f"{'mean':25}" + "".join(f"{mean[m]:13.3f}" for m in methods))
    if "LR" in mean:
        lines.append(f"{'gain over LR':25}" + "".join(f"{mean[m] - mean['LR']:+13.3f}" for m in methods))
        printed = (f"{PRINTED[m]:+13.3f}" if m in PRINTED else f"{'':13}" for m in methods)
        lines.append(f"{'gain printed in the paper':25}" + "".join(printed))
    return "\n".join(lines)
