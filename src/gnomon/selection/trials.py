"""What a search tries: candidates behind preprocessing, on halves of the labels."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from gnomon.describe import settled
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable
from gnomon.selection.candidates import FEWEST_IN_CLASS, LEADING, MOST_NEIGHBORS, PREPROCESSING, Candidate
from gnomon.selection.partial import HalfFit, fit_partial, last_step, prepared, run_jobs, takes_unlabeled

N_LEADERS = 2  # pairs of preprocessing and model whose further settings are tried
MOST_COMPONENTS = 10
NEAR = 0.1  # a pair whose score is lower by more will hardly win by other settings
SAME_ON_UNIT_ROWS = {"unit rows": "rows", "neighbors, cosine": "neighbors"}
FAILURES = (ValueError, TypeError, ArithmeticError, RuntimeError, NotApplicable)  # of a fit; the table says which


class _Made(NamedTuple):
    """Computed preprocessing."""

    transformer: Any  # None for the rows as they are
    rows: Any


@dataclass
class _Trial:
    """One candidate behind one preprocessing with its settings, and how it did."""

    candidate: Candidate
    preprocessing: str
    settings: dict[str, Any]
    score: Any = None
    note: str | None = None
    seconds: float | None = None
    resolved: dict[str, Any] | None = None  # the settings, with what the model made of those such as "usual"

    def repeats(self, other):
        """Whether the other trial was of the same candidate, whatever its settings were called."""
        same = (self.candidate.name, self.preprocessing) == (other.candidate.name, other.preprocessing)
        return same and self.settings in (other.settings, other.resolved)

    def row(self):
        agreement, error, score = (None, None, None) if self.score is None else self.score[:3]
        return {
            "preprocessing": self.preprocessing,
            "model": self.candidate.name,
            "settings": dict(self.settings),
            "agreement": agreement,
            "error": error,
            "score": score,
            "seconds": self.seconds,
            "baseline": self.candidate.baseline,
            "note": self.note,
        }


class Trials:
    """Preprocessing, halves and trials of one search."""

    def __init__(self, X, rows, halves, n_components, n_jobs):
        self.X, self.rows, self.halves, self.n_jobs = X, rows, halves, n_jobs
        self.k = n_components or min(max(halves.n_columns, 1), MOST_COMPONENTS)
        self.made, self.narrow, self.tried = {}, {}, []

    def first_round(self, candidates, preprocessing, named=True):
        """Every model behind every preprocessing with its first settings; `named` steps ask no size of the classes."""
        for name in preprocessing:
            self.made[name] = self.preprocessed(name, named)
        self.run(
            _Trial(candidate, name, candidate.settings)
            for candidate in candidates
            for name in preprocessing
            if name in candidate.preprocessing
        )

    def second_round(self, allowed):
        """Further settings of the leading pairs, unless nothing can be gained or told by them."""
        leaders = self.leaders(allowed, N_LEADERS) if self.halves.is_rich else []
        best = self.halves.best
        top = leaders[0].score.score if leaders else best
        near = [trial for trial in leaders if best > top <= trial.score.score + NEAR]
        self.run(
            _Trial(lead.candidate, lead.preprocessing, {**lead.candidate.settings, **settings})
            for lead in near
            for settings in lead.candidate.finer
        )

    def preprocessed(self, name, named):
        """Compute a step once: what it gives, the reason why there is nothing, or None where it is as another."""
        make = PREPROCESSING[name]
        if make is None:
            return _Made(None, self.rows)
        if SAME_ON_UNIT_ROWS.get(name) in self.made and self._has_unit_rows():
            return None
        reason = self._reason_against(name, named)
        if reason:
            return reason
        try:
            transformer = make()
            return _Made(transformer, transformer.fit_transform(self.X))
        except ValueError as error:
            return str(error)

    def _reason_against(self, name, named):
        n = self.rows.shape[0]
        if not is_sparse(self.rows) and np.isnan(self.rows).any():
            return "it takes no missing entries"
        if not name.startswith("neighbors"):
            return None
        if self.halves.kind == "real":
            return "neighborhoods are for classes"
        if n > MOST_NEIGHBORS:
            return f"more than {MOST_NEIGHBORS} rows take too long"
        per_class = n / self.halves.n_classes
        if per_class < FEWEST_IN_CLASS and not named:
            return f"classes of about {per_class:.0f} rows are smaller than neighborhoods"
        return None

    def _has_unit_rows(self):
        X = self.rows
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        return bool(np.allclose(squares, 1.0, rtol=1e-6))

    def run(self, trials):
        """Score new trials, in several processes where asked for; keep the score or the reason why there is none."""
        waiting = []
        for trial in trials:
            if self.made[trial.preprocessing] is None or any(trial.repeats(other) for other in self.tried):
                continue
            self.tried.append(trial)
            trial.note = self._note(trial)
            if trial.note is None:
                waiting.append(trial)
        jobs = [(self.halves, self.half_fit(trial), trial.settings) for trial in waiting]
        for trial, outcome in zip(waiting, run_jobs(_try, jobs, self.n_jobs), strict=True):
            trial.score, trial.note, trial.seconds, trial.resolved = outcome

    def _note(self, trial):
        made = self.made[trial.preprocessing]
        if isinstance(made, str):
            return made
        entries = made.rows.nnz if is_sparse(made.rows) else made.rows.size
        most = trial.candidate.most_entries
        if most is not None and entries > most:
            return f"more than {most:.0e} entries take too long"
        model = trial.candidate.estimator
        if takes_unlabeled(model):
            return None
        wrong = is_regressor(model) if self.halves.kind == "classes" else is_classifier(model)
        return f"it does not predict {self.halves.kind} targets" if wrong else None

    def half_fit(self, trial):
        """The function from targets of a half to predictions of every row."""
        narrow = trial.candidate.narrow
        wide = narrow is None or not narrow(trial.settings)
        rows = self.made[trial.preprocessing].rows if wide else self.narrow_rows(trial.preprocessing)
        more = trial.candidate.quick | ({} if self.halves.is_rich else trial.candidate.poor)
        return HalfFit(self.model(trial, more), rows, self.halves.kind, self.halves.groups)

    def narrow_rows(self, preprocessing):
        """Leading principal coordinates of preprocessed rows, computed once; the rows themselves where few."""
        rows = self.made[preprocessing].rows
        sparse = is_sparse(rows)
        if min(rows.shape) <= 2 * LEADING or self.k >= LEADING // 2 or not (sparse or np.isfinite(rows).all()):
            return rows
        if preprocessing not in self.narrow:
            pca = PCA(LEADING, svd_solver="arpack" if sparse else "auto", random_state=0)
            self.narrow[preprocessing] = pca.fit_transform(rows)
        return self.narrow[preprocessing]

    def model(self, trial, more):
        """The unfitted model of a trial."""
        settings = trial.settings | more
        if trial.candidate.sized:
            width = self.made[trial.preprocessing].rows.shape[1]
            settings |= {"n_components": max(1, min(self.k, width - 1, self.rows.shape[0] - 2))}
        made = prepared(trial.candidate.estimator)
        last_step(made).set_params(**settings)
        return made

    def leaders(self, allowed, n):
        """The best `n` trials among the models allowed, one per pair; equal scores keep the order."""
        scored = [trial for trial in self.tried if trial.score is not None and trial.candidate.name in allowed]
        best = {}
        for trial in sorted(scored, key=lambda trial: -round(trial.score.score, 9)):  # sums in another order are equal
            best.setdefault((trial.preprocessing, trial.candidate.name), trial)
        return list(best.values())[:n]

    def best(self, allowed, keep_default):
        """The best trial among the models allowed; with `keep_default` the first one where it is not clearly better."""
        found = self.leaders(allowed, 1)
        if found and keep_default:
            default = next(trial for trial in self.tried if trial.score and trial.candidate.name in allowed)
            gain, error = found[0].score.gain(default.score)
            return default if error is not None and gain <= error else found[0]
        if not found:
            reasons = sorted({trial.note for trial in self.tried if trial.note})
            raise ValueError(f"no candidate could be fitted: {'; '.join(reasons)}")
        return found[0]

    def final(self, trial, X, y, targets, unlabeled):
        """Fit the chosen candidate to every label; a model that takes unlabeled rows reads y itself."""
        made = self.made[trial.preprocessing]
        model = prepared(self.model(trial, {}), unlabeled=unlabeled, target=targets.kind)
        rows = X if made.transformer is None else made.rows
        if not takes_unlabeled(model):
            y = targets.given()
        model = fit_partial(model, rows, y, self.halves.complete, self.halves.groups)
        if made.transformer is None:
            return model
        return Pipeline([("preprocessing", made.transformer), ("model", model)])


def _try(halves, fit, settings):
    """Score, note, seconds of one fit, and what the model made of its settings."""
    started = perf_counter()
    score, note, found = None, None, dict(settings)

    def see(model):
        found.update(settled(last_step(model), settings))

    try:
        score = halves.score(lambda half: fit(half, see))
    except FAILURES as reason:
        note = str(reason)
    return score, note, (perf_counter() - started) / (2 * len(halves.splits)), found
