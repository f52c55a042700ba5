"""The checks of this folder notice what they are for."""

import pytest

from .helpers import NUMBER, TEXT, X, shown


def test_the_search_for_private_values_finds_what_is_there():
    with pytest.raises(ValueError) as caught:
        raise ValueError("the cause") from KeyError(TEXT)
    assert TEXT in shown(caught.value)
    assert str(NUMBER) in shown(ValueError(X[0, 2]))
