"""scikit-learn's own checks over every public estimator, from one list."""

import importlib.util
import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import gnomon

ESTIMATORS = [
    cls
    for cls in (getattr(gnomon, name) for name in gnomon.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
]
# Estimators that need a package of an extra; without it they are skipped here, their error is tested with them.
EXTRAS = {"ColoredMVU": "clarabel"}

# Parameters without which the checks take long; a slow test runs them at the defaults.
QUICK = {
    "DomainStack": {"scale": 1.0, "C": 10.0},  # nothing is searched for by cross-validation
    # nor is it here, and partial_fit takes "plug-in" alone
    "DPPCA": {"n_factors": 1, "shrinkage": 0.1, "unlabeled_weight": 1.0, "uncertainty": "plug-in"},
    "MixturePPCA": {"n_init": 1},
    "IFA": {"n_init": 1},
    "ColoredMVU": {"n_basis": 3},
    "CPPCA": {"tol": 0.01},
    "SDRGLM": {"tol": 0.01},
    "SEPCA": {"tol": 0.01},
}

# Checks that do not apply, by estimator and name, each with its reason.
SIGNS = {"check_classifiers_classes": "labels -1 and 1 alone are refused: -1 may mark unlabeled rows"}
NUMBERS_TOO = {"check_classifiers_regression_target": "a y with fractions is regressed: the model is a regressor then"}
NAN_IS_A_MARK = {"check_supervised_y_no_nan": "NaN marks an unlabeled row; without labels the model is unsupervised"}
TABLES_ARE_NUMBERS = {"check_classifier_multioutput": "a table of several columns is numbers, and so are predictions"}
INAPPLICABLE: dict[str, dict[str, str]] = {
    "SPPCA": SIGNS | NUMBERS_TOO | NAN_IS_A_MARK | TABLES_ARE_NUMBERS,
    "KernelSPPCA": SIGNS | NUMBERS_TOO | NAN_IS_A_MARK | TABLES_ARE_NUMBERS,
    "CPPCA": SIGNS | NUMBERS_TOO | NAN_IS_A_MARK,
    "SDRGLM": SIGNS | NUMBERS_TOO | NAN_IS_A_MARK,
    "SEPCA": SIGNS | NAN_IS_A_MARK,
    "IFA": SIGNS | NAN_IS_A_MARK,
    "DPPCA": SIGNS,
    "GuidedProjection": SIGNS | NUMBERS_TOO,
    "KDA": SIGNS,
    "DomainStack": SIGNS,
}


def expected_failed_checks(estimator):
    return INAPPLICABLE.get(type(estimator).__name__, {})


BATCHES_ARE_ALL_IT_SEES = (
    "at the defaults parameters are chosen by all rows; partial_fit asks for numbers in their place"
)
AT_THE_DEFAULTS = {
    "DPPCA": dict.fromkeys(
        ("check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_estimators_partial_fit_n_features"),
        BATCHES_ARE_ALL_IT_SEES,
    )
}


def expected_at_the_defaults(estimator):
    return expected_failed_checks(estimator) | AT_THE_DEFAULTS.get(type(estimator).__name__, {})


def test_the_list_is_not_empty():
    assert {"PPCA", "MixturePPCA", "SPPCA", "KernelSPPCA", "SCL", "DomainStack"} <= {cls.__name__ for cls in ESTIMATORS}
    assert set(INAPPLICABLE) <= {cls.__name__ for cls in ESTIMATORS}


def run(check, estimator):
    missing = EXTRAS.get(type(estimator).__name__)
    if missing and importlib.util.find_spec(missing) is None:
        pytest.skip(f"{missing} is not installed")
    check(estimator)


said = pytest.mark.filterwarnings("ignore:y marks every row:UserWarning", "ignore:y holds the single class:UserWarning")


@said
@parametrize_with_checks(
    [cls(**QUICK.get(cls.__name__, {})) for cls in ESTIMATORS], expected_failed_checks=expected_failed_checks
)
def test_scikit_learn_checks(estimator, check):
    run(check, estimator)


@said
@pytest.mark.slow
@parametrize_with_checks(
    [cls() for cls in ESTIMATORS if cls.__name__ in QUICK], expected_failed_checks=expected_at_the_defaults
)
def test_scikit_learn_checks_at_the_defaults(estimator, check):
    run(check, estimator)
