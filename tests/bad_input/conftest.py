"""Every test starts with no estimator made and no teacher fitted."""

import pytest

from .helpers import ESTIMATORS, Teacher


@pytest.fixture(autouse=True)
def nothing_made_and_nothing_fitted():
    ESTIMATORS.clear()
    Teacher.fits = 0
