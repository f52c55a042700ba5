"""What a fit spent: true on every data set, so safe to publish."""

import json
import math
import operator
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import ClassVar

from .._version import __version__
from .words import card_of, in_words, text_rounded_up


@dataclass(frozen=True, repr=False)
class PrivacySpent:
    """What a fit spent: true on every data set, so safe to publish.

    Unpacks into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee: the probability of any outcome is at most ``e**epsilon`` times that on a
        neighbouring data set, plus `delta`. `epsilon` is inf where a mechanism has none.
    method : str
        How `epsilon` was obtained: "gaussian" (exact composition of Gaussian noise), "renyi"
        (composition of the data-independent Renyi cost of each query), "pure" (plain sum), "mixed"
        (exact composition of pure steps and Gaussian noise), "filter" (a budget that stopped the
        queries), "propose-test-release" (a private test of what the votes cost), "tuning" (the best
        of a random number of trials) or "none".
    unit : str
        The protected unit: "record" or "group"; "teacher" for votes of unknown origin.
    adjacency : str
        The change of the private data that the guarantee covers.
    n_teachers : int or None
        Number of teachers; None where records vote.
    n_queries, n_answered : int
        Number of public rows that teachers were asked about, and of labels released.
    arithmetic : {"exact", "real"}
        "exact": all noise was whole numbers, sampled without rounding. "real": the guarantee holds
        in real arithmetic, and floating-point numbers round the noise.
    generator : {"system", "seed"}
        What the noise was drawn from: the operating system, or a generator that was seeded by a
        `random_state`. Whoever knows the seed can subtract the noise.
    n_synthetic : int
        Number of public rows that a synthesizer drew from private data: `epsilon` covers them. 0
        where public rows were given.
    covers : {"fit", "rows"}
        "rows" where a fit failed after its public rows were drawn: `epsilon` is what these cost.
    not_covered : tuple of str
        What this fit published, or learnt from, that private data shaped without a mechanism, such
        as classes that were read from private labels; and what else it alone does not cover.
        `summary` begins with it.
    tables : tuple of str
        Where records vote: what was released of them, in words.
    beside : tuple of str
        What the fit published beside rows and labels, in the words of each release.
    version : str
        The version of this library.
    fit_number : int
        1 for the first fit that its process began, 2 for the second, whatever their data and
        whatever became of them. After a `GridSearchCV` of 2 candidates and 3 folds, the fit in hand
        is the 7th: what all of them spent on the same private data adds up. A private search counts
        as one fit, as the number of its trials is a secret; fits that a teacher makes are part of
        the fit that trains it. Each worker process counts for itself, so a 1 does not say that
        nothing else was spent: with `n_jobs`, the last fit of a search is the 1st that the first
        process has begun. A `ledger.PrivacyLedger` counts in all processes. Two that differ in this
        number alone are equal.

    Examples
    --------
    >>> from sklearn_pate import PrivacySpent
    >>> numbers = {"n_teachers": 100, "n_queries": 20, "n_answered": 20}
    >>> spent = PrivacySpent(1.0, 1e-5, "gaussian", "record", "replace one record", **numbers)
    >>> epsilon, delta = spent
    >>> epsilon
    1.0
    """

    epsilon: float
    delta: float
    method: str
    unit: str
    adjacency: str
    _: KW_ONLY
    n_teachers: int | None
    n_queries: int
    n_answered: int
    arithmetic: str = "real"
    generator: str = "system"
    n_synthetic: int = 0
    covers: str = "fit"
    not_covered: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    version: str = __version__
    fit_number: int = field(default=1, compare=False)

    _kind: ClassVar[str] = "spent"

    def __post_init__(self):
        plain = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        if not plain["epsilon"] >= 0:
            raise ValueError(f"epsilon must be a number, at least 0; got {self.epsilon!r}")
        if not 0 <= plain["delta"] <= 1:
            raise ValueError(f"delta must be a number from 0 to 1; got {self.delta!r}")
        for name in ("n_teachers", "n_queries", "n_answered", "n_synthetic", "fit_number"):
            value = getattr(self, name)
            plain[name] = None if value is None else operator.index(value)
        for name in ("not_covered", "tables", "beside"):
            plain[name] = tuple(getattr(self, name))
        for name, value in plain.items():
            object.__setattr__(self, name, value)  # it is frozen

    def __iter__(self):
        return iter((self.epsilon, self.delta))

    def __repr__(self):
        shown = _fields(self) | {"epsilon": float(text_rounded_up(self.epsilon, n_decimals=6))}
        parts = (f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({', '.join(parts)})"

    def to_dict(self):
        """Return the same as a dict of plain numbers and text, to be kept beside a model.

        Returns
        -------
        dict
            The attributes by their names, `not_covered` as a list; "format", which is 1 until the
            meaning of one of them changes; and "kind": "spent", or "forecast" where nothing is
            spent yet.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace one record", **numbers)
        >>> record = spent.to_dict()
        >>> record["format"], record["kind"], record["epsilon"]
        (1, 'spent', 0.98)
        """
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in _fields(self).items()
        }
        return {"format": _FORMAT, "kind": self._kind} | plain

    def to_json(self):
        """Return `to_dict` as JSON; an infinite epsilon, which JSON lacks, is "Infinity".

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": None, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(1.0, 0.0, "pure", "record", "replace one record", **numbers)
        >>> json.loads(spent.to_json()) == spent.to_dict()
        True
        """
        record = self.to_dict()
        if not math.isfinite(self.epsilon):
            record["epsilon"] = "Infinity"
        return json.dumps(record, allow_nan=False)

    def _repr_html_(self):
        return card_of(_TITLES[self._kind], self._lines())

    def _lines(self):
        """Return pairs of a name and what a card says of it, epsilon rounded up."""
        told = _fields(self) | {"epsilon": text_rounded_up(self.epsilon)}
        for name in ("not_covered", "tables", "beside"):
            told[name] = "; ".join(told[name]) or None
        lines = [(name, str(value)) for name, value in told.items() if value is not None]
        return [*lines, ("in words", self.summary())]

    def summary(self):
        """Return the guarantee in words, for those who must sign for it; epsilon is rounded up.

        Returns
        -------
        str
            Short paragraphs, safe to publish.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace one record", **numbers)
        >>> print(spent.summary().split(". ")[0])
        Any one record (one row of the table) changes the probability of any outcome by at most a factor e^0.98 (epsilon), plus 1e-05 (delta)
        """  # noqa: E501
        return in_words(self, is_forecast=False)


@dataclass(frozen=True, repr=False)
class PrivacyForecast(PrivacySpent):
    """What a fit would spend: of the plan that has it, before anything is spent or released.

    Its numbers are those of `PrivacySpent`, all of them public, with no query answered yet.

    Examples
    --------
    >>> from sklearn_pate.accountant import PrivacyForecast
    >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 0}
    >>> forecast = PrivacyForecast(0.98, 1e-5, "renyi", "record", "replace one record", **numbers)
    >>> print(forecast.summary().split(". ")[0])
    A forecast, nothing is spent yet
    >>> "100 teachers would be asked 9 questions." in forecast.summary()
    True
    >>> type(forecast.paid())
    <class 'sklearn_pate.accountant.spent.PrivacySpent'>
    """

    _kind: ClassVar[str] = "forecast"

    @classmethod
    def of(cls, spent):
        """Return the forecast of what will be spent.

        Parameters
        ----------
        spent : PrivacySpent
            With no query answered yet.

        Returns
        -------
        PrivacyForecast
        """
        return cls(**_fields(spent))

    def paid(self):
        """Return the same as what is spent, once the fit has paid for it.

        Returns
        -------
        PrivacySpent
        """
        return PrivacySpent(**_fields(self))

    def summary(self):
        """Return in words what a fit would guarantee; see `PrivacySpent.summary`.

        Returns
        -------
        str
            Short paragraphs, the first of which says that it is a forecast.
        """
        words = in_words(self, is_forecast=True)
        return f"A forecast, nothing is spent yet. Of what a fit would release, this holds: {words}"


def _fields(spent):
    """Return the fields by name."""
    return {part.name: getattr(spent, part.name) for part in fields(spent)}


#: The number of `to_dict`'s format: it changes where the meaning of a key does.
_FORMAT = 1

#: What stands over a card, by its kind.
_TITLES = {"spent": "Privacy spent", "forecast": "A forecast: nothing is spent yet"}
