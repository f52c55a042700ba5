"""Statement of the privacy that a fit spent, which is safe to publish."""

import hashlib
import json
import math
import operator
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import Any, ClassVar

from .._version import __version__
from ..rdp import NeighboringRelation
from ..rdp.records import Record
from ..report.formats import text_rounded_up
from ..report.relations import change_in_words
from ..report.statement import html_of_statement, summary_of
from ..report.steps import sentences_of


@dataclass(frozen=True, repr=False)
class PrivacySpent:
    """Privacy that a fit spent, as a statement that is safe to publish.

    The guarantee holds for every data set. The statement can be unpacked into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee: the probability of any outcome is at most ``e**epsilon`` times its
        probability on a neighbouring data set, plus `delta`. `epsilon` is inf if a mechanism has no
        guarantee.
    composition : str
        Rule that adds up the costs: "gaussian" (exact composition of Gaussian noise), "renyi"
        (composition of the data-independent Renyi cost of each query), "pure" (plain sum), "mixed"
        (exact composition of pure steps and Gaussian noise), "branches" (earlier steps with the
        worst of several methods after each of their outcomes; see `rdp.Cost.worst_of`), "sum"
        (epsilons and deltas are added: of the rows that `poll` published and labels under another
        plan, or of the release that found classes or bounds and all later steps), "filter" (a
        privacy filter that may stop the queries), "propose-test-release" (a private test of the
        cost of the votes), "tuning" (the best of a random number of trials) or "none" (`epsilon` is
        0 or inf).
    unit : str
        The protected unit: "record" or "group"; "teacher" for votes of unknown origin.
    relation : NeighboringRelation or str
        Difference between neighboring data sets, in one `unit`. A user-defined partition may
        describe the difference by another text. `change` is the difference in words.
    n_teachers : int or None
        Number of teachers; None for methods of records.
    n_queries, n_answered : int
        Number of queried public rows, and number of released labels. For teachers of several
        targets, sums over the targets: each row has a query for each of them.
    arithmetic : {"exact", "real"}
        "exact": all noise is integer noise, sampled without rounding. "real": the guarantee holds
        in real arithmetic, but the noise is rounded to floating-point numbers.
    generator : {"system", "seed"}
        Source of the noise: the operating system, or a generator with the seed `random_state`.
        Anyone with the seed can subtract the noise.
    n_synthetic : int
        Number of synthetic rows that this fit sampled; `epsilon` covers them. 0 if public rows were
        given, even if these are synthetic rows of an earlier fit.
    schema : {"declared", "estimated", "partly estimated"}
        Whether the bounds and categories of the columns of synthetic rows were declared, or
        estimated by a release that `epsilon` covers.
    covers : {"fit", "rows", "statistics", "target"}
        "fit" for a complete fit. "rows" if the fit failed after the release of its synthetic rows;
        `epsilon` is then their cost. "statistics" if the fit failed earlier, after the release of
        some statistics for these rows. "target" if it failed after the first release, of the
        classes, the bounds or the class counts.
    not_covered : tuple of str
        Releases and inputs of this fit that depend on private data without a mechanism, such as
        classes that were read from private labels, and other gaps in its guarantee. `summary`
        begins with them.
    tables : tuple of str
        Released tables, in words, for methods of records.
    extra_releases : tuple of str
        Descriptions of releases other than rows and labels.
    branches : tuple of str
        Descriptions of all methods that an earlier release of the fit could choose;
        `epsilon` and `delta` hold for each. Empty without a choice.
    version : str
        The version of this library.
    fit_number : int
        Number of this fit among all fits of its process, from 1, on any data and with any outcome.
        With a `GridSearchCV` of 2 candidates and 3 folds, the last fit is the 7th, and the costs of
        all 7 fits on the same private data add up. A private search counts as one fit, because the
        number of its trials is secret; fits of a teacher are part of the fit that trains the
        teacher. Each worker process has its own count, so a number of 1 does not exclude other
        costs: with `n_jobs`, the last fit of a search is the 1st of the main process. A
        `ledger.PrivacyLedger` counts the fits of all processes. Statements that differ only in this
        number are equal.
    guarantee : dict or None
        How `epsilon` and `delta` follow from the steps of the fit: the noise of each, the largest
        change by one unit, and how costs add up. ``python -m sklearn_pate.verify`` recomputes
        epsilon from it. None for a statement that was not made by a fit.
    ledger : dict or None
        Limits of the ledger, and the number and the total epsilon of the fits that it had recorded
        when this fit was planned; None without a `ledger.PrivacyLedger`.

    Examples
    --------
    >>> from sklearn_pate import PrivacySpent
    >>> numbers = {"n_teachers": 100, "n_queries": 20, "n_answered": 20}
    >>> spent = PrivacySpent(1.0, 1e-5, "gaussian", "record", "replace_one", **numbers)
    >>> epsilon, delta = spent
    >>> epsilon
    1.0
    """

    epsilon: float
    delta: float
    composition: str
    unit: str
    relation: NeighboringRelation | str
    _: KW_ONLY
    n_teachers: int | None
    n_queries: int
    n_answered: int
    arithmetic: str = "real"
    generator: str = "system"
    n_synthetic: int = 0
    schema: str = "declared"
    covers: str = "fit"
    not_covered: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    extra_releases: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    version: str = __version__
    fit_number: int = field(default=1, compare=False)
    guarantee: Record | None = field(default=None, compare=False)
    ledger: Record | None = field(default=None, compare=False)

    #: "spent", or "forecast" if nothing is spent yet.
    kind: ClassVar[str] = "spent"

    def __post_init__(self) -> None:
        plain: dict[str, Any] = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        if self.relation in list(NeighboringRelation):
            plain["relation"] = NeighboringRelation(self.relation)
        if not plain["epsilon"] >= 0:
            raise ValueError(f"epsilon must be a number, at least 0; got {self.epsilon!r}")
        if not 0 <= plain["delta"] <= 1:
            raise ValueError(f"delta must be a number from 0 to 1; got {self.delta!r}")
        for name in ("n_teachers", "n_queries", "n_answered", "n_synthetic", "fit_number"):
            value = getattr(self, name)
            plain[name] = None if value is None else operator.index(value)
        for name in ("not_covered", "tables", "extra_releases", "branches"):
            plain[name] = tuple(getattr(self, name))
        vars(self).update(plain)  # the dataclass is frozen

    @property
    def change(self) -> str:
        """The change of the private data that the guarantee covers, in words."""
        return change_in_words(self.relation, self.unit)

    def __iter__(self) -> Iterator[float]:
        return iter((self.epsilon, self.delta))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"relation": str(self.relation)}  # plain text, as in `to_dict`

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        shown = self.__getstate__()
        del shown["guarantee"], shown["ledger"]
        shown["epsilon"] = float(text_rounded_up(self.epsilon, n_decimals=6))
        parts = (f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({', '.join(parts)})"

    def to_dict(self, model: str | PathLike[str] | None = None) -> dict[str, Any]:
        """Return the attributes as a dict of numbers and text, to be stored with a model.

        Parameters
        ----------
        model : str or path-like, default=None
            The file of the exported model. The dict then has its SHA-256 digest as "model_sha256",
            so that a recipient can check that both belong together.

        Returns
        -------
        dict
            The attributes by name, with tuples as lists; "format", the number of the format, which
            is 2; and "kind", which is "spent", or "forecast" if nothing is spent yet. Without
            "guarantee" and "ledger", if they are None. The file ``statement.schema.json`` of this
            package describes all keys.

        Raises
        ------
        OSError
            If the file of the model cannot be read.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace_one", **numbers)
        >>> record = spent.to_dict()
        >>> record["format"], record["kind"], record["epsilon"]
        (2, 'spent', 0.98)
        """
        record = self.__getstate__()
        record |= {name: list(value) for name, value in record.items() if isinstance(value, tuple)}
        record = {name: v for name, v in record.items() if v is not None or name == "n_teachers"}
        if model is not None:
            with open(model, "rb") as file:
                record["model_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        # Increase the number of the format if the meaning of a key changes
        return {"format": 2, "kind": self.kind} | deepcopy(record)

    def to_json(self, model: str | PathLike[str] | None = None) -> str:
        """Return the result of `to_dict` as JSON; an infinite epsilon becomes "Infinity".

        ``python -m sklearn_pate.verify statement.json`` recomputes epsilon and delta from it.

        Parameters
        ----------
        model : str or path-like, default=None
            As in `to_dict`.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": None, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(1.0, 0.0, "pure", "record", "replace_one", **numbers)
        >>> json.loads(spent.to_json()) == spent.to_dict()
        True
        """
        record = self.to_dict(model)
        if not math.isfinite(self.epsilon):
            record["epsilon"] = "Infinity"
        return json.dumps(record, allow_nan=False)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook, on light and dark pages."""
        return html_of_statement(self)

    def describe_steps(self) -> list[str]:
        """Return a sentence for each step of the fit, and for the addition of their costs.

        Returns
        -------
        list of str
            Sentences on the noise of each step and on the largest change by one unit; safe to
            publish. Empty for a statement that was not made by a fit.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PATEClassifier(epsilon=20, classes=[0, 1, 2], method="neighbors")
        >>> clf = clf.fit(X[::2], y[::2], X_public=X[1::2])
        >>> clf.privacy_spent_.describe_steps()[1]
        'The costs of these steps add up to epsilon 20 at delta 0.'
        """
        return [] if self.guarantee is None else sentences_of(self.guarantee, self.unit)

    def summary(self) -> str:
        """Return the guarantee in words, for a person who approves it; epsilon is rounded up.

        Returns
        -------
        str
            Short paragraphs, safe to publish. The summary of a forecast begins with "A forecast".

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace_one", **numbers)
        >>> print(spent.summary().split(". ")[0])
        Any one record (one row of the table) changes the probability of any outcome by at most a factor e^0.98 (epsilon), plus 1e-05 (delta)
        """  # noqa: E501
        return summary_of(self)


@dataclass(frozen=True, repr=False)
class PrivacyForecast(PrivacySpent):
    """Privacy that a planned fit would spend, before anything is spent or released.

    It has the attributes of `PrivacySpent`, all of them public; `n_answered` is 0.

    Examples
    --------
    >>> from sklearn_pate.accounting import PrivacyForecast
    >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 0}
    >>> forecast = PrivacyForecast(0.98, 1e-5, "renyi", "record", "replace_one", **numbers)
    >>> print(forecast.summary().split(". ")[0])
    A forecast, nothing is spent yet
    >>> "100 teachers would vote on 9 queries." in forecast.summary()
    True
    >>> type(forecast.paid())
    <class 'sklearn_pate.accounting.spent.PrivacySpent'>
    """

    kind: ClassVar[str] = "forecast"

    def paid(self) -> PrivacySpent:
        """Return this forecast as a `PrivacySpent`, for a fit that has spent its cost.

        Returns
        -------
        PrivacySpent
        """
        return PrivacySpent(**vars(self))
