"""Records of sites that vote: each site is read where it is, and only whole numbers come back.

Before anything is paid for, each site is read once, to check its records and to count them. Then
each step of the fit reads it again, and adds up the statistics of all sites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_bool_dtype
from scipy import sparse

from .._sklearn import _num_samples
from ..encoding.dtypes import difference
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..identifiers import normalize_groups
from ..methods.base import Method, TableMethod
from ..public import indexable_rows
from ..rdp import Neighbors
from ..releases.synthetic_rows import dry_run_rows, units_of
from ..runtime.copies import without_index
from ..runtime.isolation import PublicError, attempt, is_ours, isolated
from ..runtime.private_data import Private, PrivateData
from ..runtime.sites import SiteRecords, each_site
from ..schema_release import ClassRelease, RangeRelease, ShareRelease, count_numeric_records
from ..schema_release.targets import counts_of_numbers
from ..teachers import Sites
from . import checks
from .methods import chosen
from .synthesizers import check_no_public

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..schema_release import TargetRelease

#: What `load` may return in addition to X and y.
_KEYS = ("groups", "sample_weight")

#: Entry of `privacy_spent_.not_covered`: identifiers of two sites are not compared.
_JOINED_GROUPS = (
    "all records together of a group at several sites, because its records at each site count as "
    "a group of their own"
)


class _Loaded(NamedTuple):
    """Checked records of one site; `columns` are those of y, and `labels` as in `_Survey`."""

    X: Any
    columns: list[np.ndarray]
    labels: str | None
    groups: np.ndarray | None
    sample_weight: np.ndarray | None


@dataclass(frozen=True, eq=False, repr=False)
class _Survey:
    """The form of the records of one site, and their number, which is private.

    Attributes
    ----------
    name : str
        Name of the site.
    n_records : int
        Number of records.
    form : array-like with 0 rows
        Columns and dtypes.
    keys : tuple of str
        "groups", "sample_weight", or both, if `load` returned them.
    labels : str or None
        Kind of the labels, as in `SiteRecords`; None without records.
    is_within : tuple of bool
        Whether a number is within the declared bounds of each target.
    """

    name: str
    n_records: int
    form: Any
    keys: tuple[str, ...]
    labels: str | None
    is_within: tuple[bool, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SiteReader:
    """Loads and checks the records of one site, where it is called; see `runtime.sites.Reader`.

    Attributes
    ----------
    load : callable
        As in `teachers.Sites`.
    name : str
        Name of the site.
    target_type : type of targets.Target
        The kind of target.
    target : targets.Target or None
        Its codes replace the labels or numbers. None leaves these as they are.
    is_found : bool
        Whether the target was found, so that records may have other labels.
    expected : _Survey or None
        Survey of this site; None before it.
    like : callable or None
        Converts the rows to the form of synthetic rows.
    """

    load: Callable[[str], Any]
    name: str
    target_type: type[Target]
    target: Target | None = None
    is_found: bool = False
    expected: _Survey | None = None
    like: Callable[[Rows], Rows] | None = None

    def read(self) -> PrivateData | None:
        """Return the records of the site; None if there are none."""
        loaded = self._load()
        self._check_expected(loaded)
        X, columns, _, groups, sample_weight = loaded
        if not len(columns[0]):
            return None
        codes, is_other = self._codes(columns)
        if self.like is not None:
            X, failed = attempt(partial(self.like, X))
            if failed is not None:
                raise PublicError(
                    f"its rows could not be converted to the form of the synthetic rows: {failed}"
                )
        return PrivateData(
            X=X,
            codes=codes,
            target=self.target,  # type: ignore[arg-type]
            sample_weight=sample_weight,
            groups=groups,
            is_other=is_other,
        )

    def survey(self) -> _Survey:
        """Check the records of the site, and return their form and number."""
        loaded = self._load()
        survey = self._survey_of(loaded)
        if survey.n_records:
            self._codes(loaded.columns)  # raises errors
        return survey

    def _load(self) -> _Loaded:
        """Call `load`, and check its result; a `PublicError` never quotes loaded values."""
        # A generator of this process must not determine the result of a site
        with isolated(0):
            loaded, failed = attempt(partial(self.load, self.name))
        if failed is not None:  # its text may quote records
            raise PublicError(f"load raised {failed}")
        if not isinstance(loaded, tuple | list) or len(loaded) not in (2, 3):
            raise PublicError(
                "load must return X and y, or X, y and a dict of groups, sample_weight or both"
            )
        X, y, *others = loaded
        others = others[0] if others else {}
        if not isinstance(others, dict) or not set(others) <= set(_KEYS):
            raise PublicError(
                "the third object that load returns must be a dict whose keys are 'groups', "
                "'sample_weight' or both"
            )
        try:
            return self._checked(X, y, **others)
        except (TypeError, ValueError) as error:  # of this library: it quotes no values
            message = str(error)
        raise PublicError(message)

    def _checked(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> _Loaded:
        X = without_index(indexable_rows(X, "X"))
        if len(X.shape) < 2 or X.shape[1] == 0:
            raise PublicError("load must return X with rows and columns")
        n_records = _num_samples(X)
        if attempt(lambda: len(y))[0] != n_records:
            raise PublicError("load must return y with one value for each row of X")
        n_targets = 1 if self.target is None else self.target.n_targets
        _check_one_each(n_records, n_targets, y=y, groups=groups, sample_weight=sample_weight)
        labels, columns = None, [np.zeros(0, dtype=int)] * n_targets
        if n_records:
            release = ClassRelease if issubclass(self.target_type, ClassTarget) else RangeRelease
            given = [y] if n_targets == 1 else self.target_type.columns(y)
            columns = [release.check(own) for own in given]
            pairs = zip(given, columns, strict=True)
            kinds = ["numbers" if release is RangeRelease else _kind_of_labels(*p) for p in pairs]
            labels = " and ".join(kinds)
        groups = None if groups is None else normalize_groups(groups, n_records)
        weight, failed = attempt(lambda: checks._checked_weight(n_records, sample_weight))
        if failed is not None:  # its text has the number of records
            raise PublicError("sample_weight must be finite numbers, one for each row of X")
        if weight is not None and ((weight < 0) | (weight > 1)).any():
            raise PublicError("sample_weight must be between 0 and 1 where records vote")
        return _Loaded(X, columns, labels, groups, weight)

    def _survey_of(self, loaded: _Loaded) -> _Survey:
        X, columns, labels = loaded[:3]
        is_within: tuple[bool, ...] = ()
        if self.target is not None and self.target.kind is NumberTarget:
            pairs = zip(columns, self.target.parts, strict=True)
            is_within = tuple(
                bool(((own >= part.values[0]) & (own <= part.values[-1])).any())
                for own, part in pairs
            )
        keys = tuple(key for key in _KEYS if getattr(loaded, key) is not None)
        return _Survey(self.name, len(columns[0]), _form_of(X), keys, labels, is_within)

    def _check_expected(self, loaded: _Loaded) -> None:
        """Refuse records that differ from the surveyed ones in number, form or kind."""
        if self.expected is None:
            return
        found, before = self._survey_of(loaded), self.expected
        changed = difference(found.form, before.form)
        is_same = found.form.shape == before.form.shape and (
            changed is None or changed.kind == "codes"
        )
        for part in ("n_records", "keys", "labels"):
            is_same = is_same and getattr(found, part) == getattr(before, part)
        if not is_same:
            raise PublicError(
                "load returned other records than the first time: each step of a fit loads each "
                "site again, so load must return the same records until the fit ends"
            )

    def _codes(self, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the codes of y, and whether each label is none of the found classes."""
        if self.target is None:
            return columns[0], None
        parts: Any = self.target.parts
        if self.target.kind is NumberTarget:
            codes = [part.encode_found(own) for part, own in zip(parts, columns, strict=True)]
            return _side_by_side(codes), None
        codes = [part.codes_with_others(own) for part, own in zip(parts, columns, strict=True)]
        for of_target in codes:
            if of_target is None or (not self.is_found and (of_target < 0).any()):
                raise PublicError(
                    "load returned labels that are not in classes, or are of another type"
                )
        is_other = np.any(np.less(codes, 0), axis=0) if self.is_found else None
        return _side_by_side([np.maximum(of_target, 0) for of_target in codes]), is_other


def _side_by_side(columns: list[np.ndarray]) -> np.ndarray:
    """Return codes of several targets as columns, and those of one target unchanged."""
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _check_one_each(n_records: int, n_targets: int, **given: Any) -> None:
    """Refuse values that later checks would refuse with the number of records in the message.

    The number of records of each site is private.
    """
    for name, values in given.items():
        if values is None:
            continue
        if name == "groups" and isinstance(values, list | tuple):  # also of tuples
            shape: Any = (len(values),)
        else:
            shape, _ = attempt(partial(np.shape, values))
        if name == "y" and n_targets > 1:
            if shape != (n_records, n_targets):
                raise PublicError(f"y must have {n_targets} columns, one for each target")
        elif shape != (n_records,) and (name, shape) != ("y", (n_records, 1)):
            raise PublicError(f"{name} must have one value for each row of X")


def _kind_of_labels(y: Any, values: np.ndarray) -> str:
    """Return the kind of labels, as in `SiteRecords`, from the labels before and after checks."""
    if values.dtype.kind == "b" or is_bool_dtype(getattr(y, "dtype", None)):
        return "truth values"
    return "numbers" if values.dtype.kind in "iuf" else "text"


def _form_of(X: Rows) -> Rows:
    """Return a table with the columns and dtypes of `X`, made from these alone.

    A slice of `X` might refer to the memory of all its rows, which would be pickled with it.
    """
    if isinstance(X, pd.DataFrame):
        dtypes = enumerate(X.dtypes)
        form = pd.DataFrame({k: pd.Series([], dtype=dtype) for k, dtype in dtypes})
        form.columns = X.columns
        return form
    if sparse.issparse(X):
        return sparse.csr_matrix((0, X.shape[1]), dtype=X.dtype)
    if isinstance(X, np.ndarray):
        return np.empty((0, *X.shape[1:]), dtype=X.dtype)
    if hasattr(X, "clear") and hasattr(X, "get_column"):  # of polars
        return X.clear()
    raise PublicError(
        "load must return X as an array, a sparse matrix, or a DataFrame of pandas or polars"
    )


# --- the survey -----------------------------------------------------------------------------------


def records_of(
    estimator: Estimator,
    X: Any,
    *,
    y: Any,
    X_public: Rows,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Any:
    """Return `SiteRecords` if X is `Sites` whose records vote; otherwise, return X.

    Each site is loaded once, where joblib runs it, and its records are checked and counted.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Estimator of the fit.
    X, y, X_public, groups, sample_weight
        Arguments of `fit`.

    Raises
    ------
    TeacherError
        If a site cannot be loaded, or its records are invalid. The message has its name.
    ValueError
        If an argument or a parameter cannot be used with `Sites`, or sites differ in form.
    """
    if not isinstance(X, Sites) or not _records_vote(estimator):
        return X
    given = {"y": y, "groups": groups, "sample_weight": sample_weight}
    _check_supported(estimator, X_public, given)
    target = estimator._declared_target()
    readers = tuple(
        SiteReader(X.load, name, type(estimator).target_type, target=target) for name in X.names
    )
    surveys: dict[str, _Survey] = {}

    def add(survey: _Survey) -> None:
        surveys[survey.name] = survey

    each_site(readers, SiteReader.survey, add, n_jobs=estimator.n_jobs)
    found = [surveys[name] for name in X.names]
    n_records = sum(survey.n_records for survey in found)
    if not n_records:
        raise ValueError("no site has a record: load must return at least one row of one site")
    _check_alike(found)
    for number, are_within in enumerate(zip(*(each.is_within for each in found), strict=True)):
        if not any(are_within):
            low, high = target.parts[number].values[[0, -1]]
            of_y = "y" if len(target.parts) == 1 else f"column {number} of y"
            raise ValueError(
                f"all of {of_y} lies outside of bounds=({low:g}, {high:g}) at all sites: give "
                "bounds in the unit of y"
            )
    labels = next(survey.labels for survey in found if survey.labels is not None)
    if target is None and estimator.epsilon is None and labels != "truth values":
        raise ValueError(
            "classes must be given when X is Sites and epsilon=None, because no label is read "
            "without noise: give classes=[all labels that may occur], or set epsilon"
        )
    keys = found[0].keys
    return SiteRecords(
        readers=tuple(
            SiteReader(X.load, survey.name, type(estimator).target_type, expected=survey)
            for survey in found
        ),
        n_records=n_records,
        forms=tuple(survey.form for survey in found),
        labels=str(labels),
        has_groups="groups" in keys,
        has_weight="sample_weight" in keys,
        n_jobs=estimator.n_jobs,
    )


def _records_vote(estimator: Estimator) -> bool:
    """Return whether the parameters select a method of this library in which records vote."""
    if isinstance(estimator.method, Method):
        return isinstance(estimator.method, TableMethod) and is_ours(estimator.method)
    return chosen(estimator).name != "teachers"


def _check_supported(estimator: Estimator, X_public: Rows, given: dict[str, Any]) -> None:
    """Refuse arguments and parameters that require the records here."""
    for name, value in given.items():
        if value is not None:
            returned = "X, y" if name == "y" else f"X, y, {{{name!r}: ...}}"
            raise ValueError(
                f"{name} must be None when X is Sites, because load returns it: return {returned}"
            )
    if estimator.releases:
        raise ValueError(
            "releases must be None when X is Sites, because a release of your own counts records "
            "in the process of the fit"
        )
    if estimator.synthesizer is not None:
        check_no_public(X_public)
        if not is_ours(estimator.synthesizer):
            raise ValueError(
                "a synthesizer of your own cannot be used when X is Sites, because it counts "
                "records in the process of the fit: leave synthesizer=None"
            )


def _check_alike(surveys: list[_Survey]) -> None:
    """Refuse sites that differ in the columns, in groups and weights, or in the kind of labels."""
    first = surveys[0]
    for survey in surveys[1:]:
        found = difference(survey.form, first.form)
        columns = survey.form.shape[1:] == first.form.shape[1:] and (
            found is None or found.kind not in ("form", "columns")
        )
        for what, is_same in (
            ("columns", columns),
            ("keys in the dict of groups and sample_weight", survey.keys == first.keys),
        ):
            if not is_same:
                raise ValueError(
                    f"sites {survey.name!r} and {first.name!r} have different {what}; load must "
                    "return the same for all sites, also for a site without records"
                )
    kinds = sorted({survey.labels for survey in surveys if survey.labels is not None})
    if len(kinds) > 1:  # names of sites would show which sites have no records
        raise ValueError(
            f"the sites have different kinds of labels, {' and '.join(kinds)}: use the same type "
            "at all sites"
        )


# --- the records in a fit -------------------------------------------------------------------------


def check_data(
    estimator: Estimator,
    X: SiteRecords,
    X_public: Rows | None,
    is_found: bool,
    synthesizer: Any = None,
) -> PrivateData:
    """Compare the form of the records of each site with the public rows, and return the records.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        The estimator, which is changed in place: it stores the number and names of the features.
    X : SiteRecords
        From `records_of`.
    X_public : array-like with n_public rows or None
        As in `checks.check_data`. With a synthesizer, sites are compared with its columns instead.
    is_found : bool
        Whether the target was found by a noisy release.
    synthesizer : Synthesizer or None
        Synthesizer of the fit, after a call of `declare`; None if there are public rows.
    """
    target = estimator._declared_target()
    for reader, form in zip(X.readers, X.forms, strict=True):
        try:
            if X_public is None or synthesizer is not None:
                _check_declared(form, synthesizer)
            elif form.shape[1:] != X_public.shape[1:]:
                raise ValueError("X does not have the columns of X_public")
            else:
                checks.check_forms(form, X_public)
                checks.check_dtypes(form, X_public)
        except (TypeError, ValueError) as error:
            raise type(error)(f"site {reader.name!r}: {error}") from None
    if X_public is not None:
        checks.check_features(estimator, X_public, "X_public", reset=True)
    at_sites = replace(
        X.with_readers(target=target, is_found=is_found),
        has_others=is_found and target is not None and target.kind is ClassTarget,
    )
    return PrivateData(X=None, codes=None, target=target, at_sites=at_sites)


def not_covered_by(X: SiteRecords) -> tuple[str, ...]:
    """Return entries for `privacy_spent_.not_covered`."""
    return (_JOINED_GROUPS,) if X.has_groups and len(X.readers) > 1 else ()


def _check_declared(form: Rows, synthesizer: Any) -> None:
    """Refuse rows whose declared columns have other dtypes than at the first site."""
    rows, failed = attempt(partial(synthesizer.like, form))
    if failed is not None or difference(rows, dry_run_rows(synthesizer)) is not None:
        raise ValueError(
            "its declared columns have other dtypes than at the first site: use the same "
            "dtypes at all sites, also at a site without records"
        )


def gather_target(private: PrivateData, release: TargetRelease, neighbors: Neighbors) -> Any:
    """Return the counts that a `TargetRelease` publishes with noise, from the records of all sites.

    Parameters
    ----------
    private : PrivateData
        The private data, with `at_sites`.
    release : TargetRelease
        The release.
    neighbors : Neighbors
        The neighboring data sets.
    """
    at_sites: Any = private.at_sites
    if not isinstance(release, ShareRelease):
        at_sites = at_sites.with_readers(target=None)  # labels or numbers, and no codes
    if not isinstance(release, RangeRelease):
        return at_sites.gathered(partial(_counts, release, neighbors))
    return _NumbersAtSites(at_sites, partial(_counts, release, neighbors))


def count_numeric_records_at(private: PrivateData) -> int:
    """Return the number of records with numbers alone, at all sites."""
    at_sites: Any = private.at_sites
    return int(at_sites.gathered(_n_numeric_records))


def _n_numeric_records(private: PrivateData) -> int:
    return count_numeric_records(private.X)


def _counts(
    release: TargetRelease,
    neighbors: Neighbors,
    private: PrivateData,
    edges: np.ndarray | None = None,
) -> Any:
    """Return the counts of one site; for numbers, in bins or between edges."""
    units = units_of(private, neighbors)
    numbered = None if units is None else np.unique(units, return_inverse=True)[1]
    gathered = release.gather(private.codes, numbered)  # type: ignore[arg-type]
    if isinstance(release, RangeRelease):
        return counts_of_numbers(gathered, edges)
    return gathered


class _NumbersAtSites(Private):
    """Counts of the numbers of all sites, for `RangeRelease.publish`.

    The sites are read once before anything is paid for, and again for the edges that follow from
    the published counts.
    """

    def __init__(self, at_sites: SiteRecords, count: Callable[..., Any]) -> None:
        self._at_sites = at_sites
        self._count = count
        self._in_bins = at_sites.gathered(count)

    def __call__(self, edges: np.ndarray | None = None) -> np.ndarray:
        if edges is None:
            return self._in_bins
        return self._at_sites.gathered(partial(self._count, edges=edges))
