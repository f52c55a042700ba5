"""Records that stay at their sites: each site computes a statistic, and the results are added up.

A site returns whole numbers: a table, sums, or a dict of counts. Whole numbers add up exactly, so
the sum over the sites is the statistic of the pooled records, and the order of the sites does not
matter. Rows stay where they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from joblib import parallel_config
from sklearn import config_context, get_config

from ..exceptions import TeacherError
from .isolation import PublicError, attempt, suppress_output
from .private_data import Private
from .workers import add_up, run, threads_per_worker, warn_if_taking_turns

if TYPE_CHECKING:
    from .._typing import Rows
    from .private_data import PrivateData

#: The sum of two int64 numbers of at most this size does not overflow.
_SAFE = 2**62 - 1


class Reader(Protocol):
    """Loads the records of one site, where it is called. It is sent to a worker."""

    @property
    def name(self) -> str:
        """Public name of the site."""

    def read(self) -> PrivateData | None:
        """Return the checked records of the site; None if there are none.

        Raise a `PublicError` for invalid records.
        """


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SiteRecords(Private):
    """Records at sites, in place of `PrivateData.X`; their number and form are known.

    Attributes
    ----------
    readers : tuple of Reader
        One for each site.
    n_records : int
        Number of records of all sites together.
    forms : tuple of array-like with 0 rows
        Columns and dtypes of the records of each site.
    labels : str
        Kind of the labels, "truth values", "numbers" or "text"; for several targets, the kinds of
        all, joined.
    has_groups, has_weight : bool
        Whether sites return groups, and weights.
    has_others : bool, default=False
        Whether the classes were found, so that records may have other labels, which count nowhere.
    n_jobs : int or None
        As in joblib.
    """

    readers: tuple[Any, ...]
    n_records: int
    forms: tuple[Rows, ...]
    labels: str
    has_groups: bool
    has_weight: bool
    n_jobs: int | None
    has_others: bool = False

    def __len__(self) -> int:
        return self.n_records

    @property
    def form(self) -> Rows:
        """Columns and dtypes of the records of the first site."""
        return self.forms[0]

    def with_readers(self, **changes: Any) -> SiteRecords:
        """Return a copy whose readers have other attributes."""
        return replace(self, readers=tuple(replace(reader, **changes) for reader in self.readers))

    def gathered(
        self,
        gather: Callable[[PrivateData], Any],
        *,
        on_done: Callable[[int], Any] | None = None,
    ) -> Any:
        """Return the sum of a statistic over all sites.

        Parameters
        ----------
        gather : callable
            Takes the `PrivateData` of one site, and returns its whole numbers. It is pickled if
            sites run in other processes.
        on_done : callable, default=None
            Called with the number of finished sites after each site.

        Returns
        -------
        object
            As from `gather`; see `plus`.

        Raises
        ------
        TeacherError
            If a site failed. The message has the name of the site, and no private value.
        """
        total: Any = None

        def add(gathered: Any) -> None:
            nonlocal total
            total = plus(total, gathered)

        each_site(
            self.readers,
            partial(_gathered, gather),
            add,
            n_jobs=self.n_jobs,
            on_done=on_done,
        )
        return total


class _Result(NamedTuple):
    """The result of a site, and a public description of a failure."""

    gathered: Any = None
    problem: str | None = None
    is_cached: bool = True


def each_site(
    readers: tuple[Any, ...],
    function: Callable[[Any], Any],
    add: Callable[[Any], None],
    *,
    n_jobs: int | None,
    on_done: Callable[[int], Any] | None = None,
) -> None:
    """Call a function for the reader of each site, in workers or here, and `add` the results.

    Parameters
    ----------
    readers : tuple of Reader
        One for each site.
    function : callable
        Takes a reader. A `PublicError` of it is raised here; any other error is redacted.
    add : callable
        Takes a result, in the order in which sites finish.
    n_jobs, on_done
        As in `SiteRecords`.
    """
    warn_if_taking_turns(n_jobs, "sites")
    threads = threads_per_worker(n_jobs)
    tasks = ((reader, function, get_config()) for reader in readers)
    add_up(
        lambda result: add(result.gathered),
        # No site is loaded in this process if its function cannot be sent to a worker
        partial(run, function=_at_site, n_jobs=n_jobs, may_stay=False),
        tasks,
        threads=threads,
        on_done=on_done,
    )


def _at_site(reader: Any, function: Callable[[Any], Any], config: dict[str, Any]) -> _Result:
    """Return the result of a function for one site; return a failure instead of raising it."""

    def outcome() -> _Result:
        try:
            return _Result(function(reader))
        except (PublicError, TeacherError) as error:  # their texts quote no values
            return _Result(problem=f"site {reader.name!r}: {error}")

    # An error is returned, not raised, because its traceback would contain private rows
    with suppress_output(), config_context(**config), parallel_config(backend="sequential"):
        result, failed = attempt(outcome)
    if failed is None:
        return result
    return _Result(problem=f"site {reader.name!r}: its records could not be counted: {failed}")


def _gathered(gather: Callable[[PrivateData], Any], reader: Any) -> Any:
    records = reader.read()
    return None if records is None else gather(records)


def plus(first: Any, second: Any) -> Any:
    """Return the sum of the statistics of two sites, exactly.

    Parameters
    ----------
    first, second : ndarray of int, int, dict, tuple, object with a method `plus`, or None
        Arrays and numbers are added; so are the entries of tuples, and of dicts by key. None, the
        statistic of no records, adds nothing.

    Returns
    -------
    object
        Arrays that would exceed 64 bits hold Python integers.

    Examples
    --------
    >>> from sklearn_pate.runtime.sites import plus
    >>> plus({"a": 1, "b": 2}, {"b": 40})
    {'a': 1, 'b': 42}
    """
    if first is None or second is None:
        return second if first is None else first
    if hasattr(first, "plus"):
        return first.plus(second)
    if isinstance(first, dict):
        keys = first | second
        return {key: plus(first.get(key), second.get(key)) for key in keys}
    if isinstance(first, tuple):
        return tuple(plus(*pair) for pair in zip(first, second, strict=True))
    if np.shape(first) != np.shape(second):
        raise ValueError("the statistics of two sites have different shapes")
    if isinstance(first, np.ndarray) and not (_is_small(first) and _is_small(second)):
        return first.astype(object) + second.astype(object)
    return first + second


def _is_small(whole: np.ndarray) -> bool:
    return not whole.size or max(int(whole.max()), -int(whole.min())) <= _SAFE


def has_groups(X: Any, groups: Any) -> bool:
    """Return whether the records of a fit have groups, from its arguments `X` and `groups`."""
    return groups is not None or (isinstance(X, SiteRecords) and X.has_groups)
