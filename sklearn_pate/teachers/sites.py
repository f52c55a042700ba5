"""Private data that stay where they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..encoding.dtypes import difference
from ..encoding.targets import ClassTarget
from ..identifiers import normalize_names
from ..runtime.isolation import PublicError, attempt


@dataclass(frozen=True)
class Sites:
    """Private data that stay where they are: each teacher loads its own, where it is trained.

    They take the place of the private rows in
    ``PATEClassifier(classes=...).fit(Sites(load, names), None, X_public)``. Each site has one
    teacher; a worker sends back the teacher's votes and nothing else. The guarantee covers any
    change of the data of one site: its unit is "group".

    Parameters
    ----------
    load : callable
        ``load(name)`` returns X and y of one site. It runs in the worker that trains the site's
        teacher, and must be importable there. X has the columns of `X_public`, with their types
        and categories; a site without rows is allowed. It may be called more than once for a
        name, for instance if a worker dies. What it returns must depend on `name` and that
        site's data alone: an encoder, a vocabulary or a cache that it keeps in its module would
        let one site's records reach the teachers of others.
    names : sequence of str
        The names of the sites, all different, which are public. They are kept as a tuple of str. A
        teacher's seed follows from its site's name; which classifier of a list it gets, and how it
        votes without records, follow from the position of the name. So a site that is added at
        the end leaves the others' teachers as they are.

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
    >>> clf = PATEClassifier(GaussianNB(), epsilon=20, classes=[0, 1, 2])
    >>> clf = clf.fit(Sites(load, [str(i) for i in range(20)]), None, X_public=X)
    >>> clf.n_teachers_, clf.privacy_spent_.unit
    (20, 'group')
    """

    load: Callable
    names: Sequence[str]

    def __post_init__(self):
        if not callable(self.load):
            raise ValueError(f"load must be callable, load(name) -> (X, y); got {self.load!r}")
        names = list(self.names) if hasattr(self.names, "__next__") else self.names  # read once
        normalize_names(names)
        # A tuple: a name that is added to a list later would give one site several votes
        object.__setattr__(self, "names", tuple(map(str, names)))

    def __repr__(self):
        return f"Sites({len(self.names)} names)"


@dataclass(frozen=True)
class Site:
    """One site: what a worker needs to load its records."""

    load: Callable
    name: str
    target: ClassTarget

    def read(self, X_query):
        """Load X and codes, and check them; messages never quote what was loaded."""
        loaded, failed = attempt(lambda: tuple(self.load(self.name)))
        if failed is not None:  # its text may quote records
            raise PublicError(f"load raised {failed}")
        if len(loaded) != 2:
            raise PublicError("load must return X and y")
        X, y = loaded
        y = np.asarray(y)
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if y.shape != X.shape[:1] or X.shape[1:] != X_query.shape[1:]:
            raise PublicError(
                "load must return X with the columns of X_public, and y with one label per row"
            )
        if difference(X, X_query) is not None:
            raise PublicError(
                "load must return X as X_public is, a DataFrame or an array, with its columns, "
                "dtypes and categories; these are fixed in advance, not dictionaries of Arrow or "
                "Categorical of polars, whose codes are assigned as values appear"
            )
        codes = self.target.codes_of(y)
        if codes is None:
            raise PublicError("load returned labels that are not in classes")
        return X, codes
