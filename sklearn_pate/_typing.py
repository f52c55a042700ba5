"""Names for types in annotations; nothing imports them when it runs."""

from typing import Any, TypeAlias

import numpy as np

#: An array-like, a sparse matrix or a DataFrame with one row for each record.
Rows: TypeAlias = Any

#: A scikit-learn estimator, of any library.
Estimator: TypeAlias = Any

#: Seed of a mechanism's noise.
Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

#: The `random_state` of a scikit-learn estimator.
RandomState: TypeAlias = int | np.random.RandomState | None

#: The `random_state` of an audit, whose draws need no secrecy.
RandomGenerator: TypeAlias = int | np.random.Generator | None
