"""What a fit spent: true on every data set, so safe to publish."""

import json
import math
import operator
from dataclasses import KW_ONLY, dataclass, field, fields
from decimal import ROUND_CEILING, Context, Decimal
from typing import ClassVar

from .._version import __version__
from ..adjacency import Adjacency
from .card import card_of

__all__ = ["PrivacyForecast", "PrivacySpent", "text_rounded_up"]


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
    generator : {"system", "numpy", "seed"}
        What the noise was drawn from: "system" is the operating system (``secure=True``), "numpy"
        numpy's generator, seeded by the operating system, and "seed" a generator that was seeded
        by a `random_state`. Whoever knows the seed can subtract the noise.
    n_synthetic : int
        Number of public rows that a synthesizer drew from private data: `epsilon` covers them. 0
        where public rows were given.
    covers : {"fit", "rows"}
        "rows" where a fit failed after its public rows were drawn: `epsilon` is what these cost.
    not_covered : tuple of str
        What this fit published, or learnt from, that private data shaped without a mechanism, such
        as classes that were read from private labels; and what else it alone does not cover.
        `summary` begins with it.
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
    generator: str = "numpy"
    n_synthetic: int = 0
    covers: str = "fit"
    not_covered: tuple[str, ...] = ()
    version: str = __version__
    fit_number: int = field(default=1, compare=False)

    _kind: ClassVar[str] = "spent"

    def __post_init__(self):
        plain = {name: _float_above(name, getattr(self, name)) for name in ("epsilon", "delta")}
        for name in ("n_teachers", "n_queries", "n_answered", "n_synthetic", "fit_number"):
            value = getattr(self, name)
            plain[name] = None if value is None else operator.index(value)
        plain["not_covered"] = tuple(self.not_covered)
        if plain["delta"] > 1:
            raise ValueError(f"delta must be a number from 0 to 1; got {self.delta!r}")
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
        plain = _fields(self) | {"not_covered": list(self.not_covered)}
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
        told = _fields(self) | {
            "epsilon": text_rounded_up(self.epsilon),
            "not_covered": "; ".join(self.not_covered) or None,
        }
        lines = [(name, str(value)) for name, value in told.items() if value is not None]
        return [*lines, ("in words", self.summary())]

    def summary(self):
        """Return the guarantee in words, for those who must sign for it; epsilon is rounded up.

        Returns
        -------
        str
            One paragraph, safe to publish.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace one record", **numbers)
        >>> print(spent.summary().split(". ")[0])
        Any one record (one row of the table) changes the probability of any outcome by at most a factor e^0.98 (epsilon), plus 1e-05 (delta)
        """  # noqa: E501
        first = []
        if self.not_covered:
            first = [f"Not covered by what follows: {'; '.join(self.not_covered)}."]
        if not math.isfinite(self.epsilon):
            none = "No privacy is guaranteed (epsilon is infinite)."
            return " ".join([*first, none, self._answered()])
        sentences = [
            *first,
            *_ABOUT_SEEDS[self.generator],
            self._bound(),
            f"The change that is covered: {self.adjacency}.",
            *_ABOUT_CHANGE.get(self.adjacency, []),
            self._odds(),
            *_LEFT_OUT_BY_UNIT.get(self.unit, []),
            self._answered(),
            self._published(),
            self._about_rows(),
            *self._about_others(),
            self._about_the_rest(),
            *_ABOUT_ARITHMETIC[self.arithmetic],
            *_ABOUT_GENERATOR[self.generator],
        ]
        return " ".join(sentences)

    def _odds(self):
        """Say what epsilon means for somebody who guesses, rounded up."""
        what = "whether such a change was made"
        if self.adjacency == Adjacency.REPLACE_RECORD:
            what = "which of two records it was"
        doubt = 1 / (1 + math.exp(min(self.epsilon, _NO_DOUBT)))
        n_decimals = 2 if doubt > 0.005 else 1 + math.ceil(-math.log10(100 * doubt))
        percent = f"{text_rounded_up(100 * (1 - doubt), n_decimals)} %"
        # A delta allows rare outcomes after which somebody is certain: it bounds guesses alone
        can = f"guess right with a probability of at most {percent} (plus delta)"
        if not self.delta:
            can = f"become at most {percent} sure"
        if self.epsilon >= _NO_DOUBT:
            can = "become practically certain"
        return f"Somebody who thought it a toss-up (50 %) {what} can {can}."

    def _bound(self):
        """Say what epsilon and delta bound."""
        if self.adjacency in _OF_NAMED_GROUPS:
            change = "The records of any one site or named group change"
        else:
            change = _ABOUT_UNIT.get(self.unit, f"Any one {self.unit} changes")
        # All digits of delta: a rounded one might be too small
        more = f"plus {self.delta!r} (delta)" if self.delta else "without exception (delta is 0)"
        return (
            f"{change} the probability of any outcome by at most a factor "
            f"e^{text_rounded_up(self.epsilon)} (epsilon), {more}."
        )

    def _published(self):
        """Say what was published."""
        if self.covers == "rows":
            return "This is about the rows that were drawn and this statement."
        rows = "the rows that were drawn, " if self.n_synthetic else ""
        if self.method == "tuning":
            return (
                f"This is about all that one search published: {rows}the student, the labels, "
                "best_params_, best_score_ and this statement."
            )
        return (
            f"This is about all that one fit published: {rows}the student, the labels and this "
            "statement."
        )

    def _about_rows(self):
        """Say whether public rows are protected."""
        if not self.n_synthetic:
            return "The public rows are not protected, and may be part of the student."
        return (
            f"It covers the {self.n_synthetic} public rows as well, which were drawn from noisy "
            "statistics of the private data; the names, types, bounds and categories of their "
            "columns it does not, nor which columns may have missing values."
        )

    def _about_others(self):
        """Say what other fits mean for this one."""
        others = "Other fits on the same private data are not covered: what they spend adds up."
        if self.fit_number == 1:
            return [others]
        return [f"{others} This is fit number {self.fit_number} of its process."]

    def _about_the_rest(self):
        """Say what is outside of any fit."""
        other = "other " if self.method == "tuning" else ""
        return (
            "Not covered either is whatever was computed from the private data beside the fit, as "
            f"{other}scores, scaling or a choice of {other}settings; nor what follows about a "
            "person from facts that are true of many."
        )

    def _answered(self):
        """Say what was released; where it failed, a release that was paid for may not have been."""
        if self.covers == "rows":
            return "The fit failed after its public rows were drawn, before labels were paid for."
        if self.n_teachers is None:
            if not self.n_answered:
                return (
                    "A noisy table of the records' ballots is paid for, and no public row got a "
                    "label from it."
                )
            return (
                "A noisy table of the records' ballots was released, and "
                f"{self.n_answered} public rows got labels from it."
            )
        if not self.n_answered:
            return (
                f"{self.n_queries} questions to {self.n_teachers} teachers are paid for, and no "
                "label was released."
            )
        return (
            f"{self.n_teachers} teachers were asked {self.n_queries} questions and "
            f"{self.n_answered} answers were released."
        )


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
            One paragraph that says that it is a forecast.
        """
        return (
            "A forecast, nothing is spent yet. Of what a fit would release, this holds: "
            f"{super().summary()}"
        )

    def _answered(self):
        """Say what would be released."""
        if self.n_teachers is None:
            return (
                "A noisy table of the records' ballots would be released, and give labels to "
                f"{self.n_queries} public rows."
            )
        return f"{self.n_teachers} teachers would be asked {self.n_queries} questions."


def _fields(spent):
    return {part.name: getattr(spent, part.name) for part in fields(spent)}


def _float_above(name, value):
    """Return a number of any type as a float that is not below it; refuse negative ones and NaN."""
    number = float(value)
    if not number >= 0:
        raise ValueError(f"{name} must be a number that is at least 0; got {value!r}")
    return math.nextafter(number, math.inf) if number < value else number


#: The number of `to_dict`'s format: it changes where the meaning of a key does.
_FORMAT = 1

#: What stands over a card, by its kind.
_TITLES = {"spent": "Privacy spent", "forecast": "A forecast: nothing is spent yet"}

#: What a summary says of one change, by unit.
_ABOUT_UNIT = {
    "record": "Any one record (one row of the table) changes",
    "group": (
        "The records of any one group, as `groups` named them (a person only if each group is a "
        "person), change"
    ),
    "teacher": "The votes of any one teacher change",
}
#: Changes of which the groups are named in advance.
_OF_NAMED_GROUPS = (Adjacency.CHANGE_NAMED_GROUP, Adjacency.CHANGE_NAMED_GROUP_NEVER_EMPTY)

#: What a unit leaves out.
_LEFT_OUT_BY_UNIT = {
    "record": ["Each row is protected by itself, not all rows of a person together."],
    "teacher": [
        "It is said of votes, not of records: a person is covered only as far as a single teacher "
        "learnt from them."
    ],
}

#: Where the noise came from. A summary begins with it, after what is not covered.
_ABOUT_SEEDS = {
    "system": [],
    "numpy": [],
    "seed": [
        "Made with a seed: whoever knows or guesses the random_state can subtract the noise, and "
        "then nothing is protected. Fits that share a seed share their noise: together they can "
        "undo it, for everybody."
    ],
}

#: How the noise was computed.
_ABOUT_ARITHMETIC = {
    "exact": ["The noise was whole numbers, drawn without rounding."],
    "real": ["This holds in real arithmetic; floating-point numbers round the noise."],
}

#: What a change means, where its name is short.
_ABOUT_CHANGE = {
    Adjacency.REPLACE_RECORD: [
        "That is another row in the place of one; how many rows there are is public."
    ],
}

#: What the noise was drawn from; a summary begins with a seed.
_ABOUT_GENERATOR = {
    "system": ["The noise is drawn from the operating system's generator."],
    "numpy": [
        "The noise is drawn by numpy's generator, seeded by the operating system; secure=True "
        "draws it from the operating system itself."
    ],
    "seed": [],
}

#: From this epsilon on, odds are said without a number.
_NO_DOUBT = 14


def text_rounded_up(epsilon, n_decimals=3):
    """Write epsilon with so many decimals at most, never rounded down."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize refuses to drop any
    text = f"{exact.quantize(Decimal(10) ** -n_decimals, ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")
