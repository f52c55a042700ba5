"""Wrong parameters, arrays and files: one early error that names them, and no private value."""

import pytest

pytest.register_assert_rewrite("bad_input.helpers")
