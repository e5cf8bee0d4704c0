"""The public record of how sure probabilities of classes are, and what the models make of it."""

from ..likelihoods.class_densities import ClassDensities
from ..likelihoods.second_opinion import Mean, Opinion, opinion_of, told
from ._estimator import one_of
from ._predictions import Predictor

UNCERTAINTY = one_of("full", "plug-in")
FIELDS = ("axes", "centers", "covariance", "counts")
PRIOR = "one label in each class: how sure probabilities are rests on a prior"


def as_record(opinion):
    """An `Opinion` as a plain dict; None stays None."""
    if opinion is None:
        return None
    return {"origin": opinion.origin} | dict(zip(FIELDS, opinion.densities, strict=True)) | opinion.mean._asdict()


def from_record(record):
    """The `Opinion` that a dict is the record of."""
    if record is None:
        return None
    densities = ClassDensities(*(record[name] for name in FIELDS))
    return Opinion(record["origin"], densities, Mean(*(record[name] for name in Mean._fields)))


def as_given(found, vector):
    """Records of all targets: the only one where y was a vector, None without targets."""
    return found[0] if found and vector else found or None


def as_listed(calibration, form):
    """The same as a list again, of the targets of that form."""
    return calibration if isinstance(calibration, list) else [calibration] * len(form)


def remarks(records):
    """What a report says where no class of a target has two labels."""
    alone = any(one is not None and one["counts"].max() <= 1.0 for one in records)
    return (PRIOR,) if alone else ()


class CodedClasses(Predictor):
    """Predictions of targets of rows that have codes, `_coded(rows)`: for each codes (n, k) and what the model says."""

    def _learn_opinions(self, rows, indices, weights=None):
        """Of classes by number (n,) of each target, -1 where unlabeled, what labeled rows say beside the model."""
        found = [None] * len(self._form)
        if self.uncertainty == "full" and self.target_kind_ == "classes":
            pairs = zip(self._coded(rows), indices, strict=True)
            found = [as_record(opinion_of(Z, proba, index, weights)) for (Z, proba), index in pairs]
        self.calibration_ = as_given(found, self._vector)

    def _predicted(self, rows):
        records = map(from_record, as_listed(self.calibration_, self._form))
        return [told(own, Z, record) for (Z, own), record in zip(self._coded(rows), records, strict=True)]

    @property
    def _remarks(self):
        return remarks(as_listed(self.calibration_, self._form))
