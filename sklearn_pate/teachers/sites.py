"""Private data that stay at their sites, such as hospitals.

If teachers vote, each site is one teacher: `Site` loads its records for training. If records vote,
`fitting.sites` reads them at their site.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoding.dtypes import difference
from ..encoding.targets import Target
from ..identifiers import normalize_names
from ..runtime.isolation import PublicError, attempt

if TYPE_CHECKING:
    from .._typing import Rows


@dataclass(frozen=True)
class Sites:
    """Private data that stay at their sites, and are loaded and counted there.

    Pass `Sites` in place of the private rows, ``PATEClassifier().fit(Sites(load, names), None,
    X_public)``. By default, the records of all sites vote: each site returns the sum of its votes,
    or of its encoded rows, in whole numbers. The process of the fit adds them up, and draws the
    noise once. The published results equal those for pooled records, and the unit is one record.
    With `base_estimator` or ``method="teachers"``, each site has one teacher instead, and returns
    only its votes; the guarantee then covers any change of the data of one site, and its unit is
    "group".

    Parameters
    ----------
    load : callable
        ``load(name)`` returns X and y of one site. Where records vote, it may return a third
        object, a dict with the keys of `fit`: "groups", "sample_weight" or both, the same at all
        sites. The function runs in a worker, and must be importable there. X has the columns of
        `X_public`, with their types and categories, also at a site without rows. The function is
        called more than once for a name: once to check and to count the records, once for each
        step of a fit, and again if a worker dies. Its result must depend only on `name` and on the
        data of this site. An encoder, a vocabulary or a cache in its module would pass records of
        one site to other sites.
    names : sequence of str
        The distinct names of the sites. They are public, and stored as a tuple of str. The seed of
        a teacher depends on the name of its site. If `base_estimator` is a list, the classifier of
        a teacher depends on the position of the name, and so does the vote of a teacher without
        records. So a site that is added at the end does not change the teachers of other sites.

    Notes
    -----
    Where records vote, the number of records of all sites together is public under "replace one",
    as it is for pooled records. The number of each site is not, and no result, error or pickle has
    it. Several targets must be declared, with a list in `classes` or `bounds` for each. Votes and
    sums reach the process of the fit without noise, and the sums of a site with few records are
    nearly its rows: this process must be trusted. Identifiers of two sites are not compared: the
    records of a group at each site are a group of their own. A person with records at two sites is
    two groups, as `privacy_spent_.not_covered` states.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.teachers import Sites
    >>> X, y = load_iris(return_X_y=True)
    >>> def load(name):
    ...     return X[int(name) :: 20], y[int(name) :: 20]
    >>> sites = Sites(load, [str(i) for i in range(20)])
    >>> clf = PATEClassifier(epsilon=20, classes=[0, 1, 2], random_state=0)
    >>> clf = clf.fit(sites, None, X_public=X)
    >>> clf.privacy_spent_.unit, clf.score(X, y) > 0.8
    ('record', True)
    >>> clf = PATEClassifier(GaussianNB(), epsilon=20, classes=[0, 1, 2])
    >>> clf = clf.fit(sites, None, X_public=X)
    >>> clf.n_teachers_, clf.privacy_spent_.unit
    (20, 'group')
    """

    load: Callable[[str], Any]
    names: Sequence[str]

    def __post_init__(self) -> None:
        if not callable(self.load):
            raise ValueError(f"load must be callable, load(name) -> (X, y); got {self.load!r}")
        names = list(self.names) if hasattr(self.names, "__next__") else self.names  # read once
        normalize_names(names)
        texts = tuple(map(str, names))
        normalize_names(texts)  # a site would be loaded and counted twice under two equal texts
        # A tuple, because a name that is appended to a list later could give a site several votes
        object.__setattr__(self, "names", texts)

    def __repr__(self) -> str:
        return f"Sites({len(self.names)} names)"


@dataclass(frozen=True)
class Site:
    """One site: its name, and the function and the target that load and encode its records."""

    load: Callable[[str], Any]
    name: str
    target: Target

    def read(self, X_query: Rows) -> tuple[Any, np.ndarray]:
        """Load X and y, check them, and return X and the codes of y.

        Error messages never quote loaded values.
        """
        loaded, failed = attempt(lambda: tuple(self.load(self.name)))
        if failed is not None:  # its text may quote records
            raise PublicError(f"load raised {failed}")
        if len(loaded) != 2:
            raise PublicError("load must return X and y")
        X, y = loaded
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        columns = self._columns(y)
        if (
            any(column.shape != X.shape[:1] for column in columns)
            or X.shape[1:] != X_query.shape[1:]
        ):
            raise PublicError(
                "load must return X with the columns of X_public, and y with one label per row"
                f"{' and target' if len(columns) > 1 else ''}"
            )
        if difference(X, X_query) is not None:
            raise PublicError(
                "load must return X like X_public, a DataFrame or an array, with the same columns, "
                "dtypes and categories. Fix categories in advance: dictionaries of Arrow and "
                "Categorical of polars assign codes in order of appearance"
            )
        parts: Any = self.target.parts
        codes = [part.codes_of(own) for part, own in zip(parts, columns, strict=True)]
        if any(of_target is None for of_target in codes):
            raise PublicError("load returned labels that are not in classes")
        return X, np.column_stack(codes) if len(codes) > 1 else codes[0]

    def _columns(self, y: Any) -> list[np.ndarray]:
        """Return the labels of each target as an array."""
        n_targets = self.target.n_targets
        if n_targets == 1:
            return [np.asarray(y)]
        columns, _ = attempt(lambda: self.target.kind.columns(y))
        if columns is None or len(columns) != n_targets:
            raise PublicError(f"load must return y with {n_targets} columns, one for each target")
        return columns
