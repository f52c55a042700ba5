"""What a fit spent: true on every data set, so safe to publish."""

import json
import math
from dataclasses import KW_ONLY, dataclass, field, fields
from decimal import ROUND_CEILING, Context, Decimal
from numbers import Integral, Real
from typing import ClassVar

from .._version import __version__
from .card import card_of

__all__ = ["PrivacyForecast", "PrivacySpent", "text_rounded_up"]


@dataclass(frozen=True, repr=False)
class PrivacySpent:
    """What a fit spent: true on every data set, so safe to publish.

    Unpacks into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee. `epsilon` is inf where a mechanism has none.
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
    version : str
        The version of this library.
    fit_number : int
        1 for the first fit that its process began, 2 for the second, whatever their data and
        whatever became of them. Above 1, what the others spent on the same private data adds up
        with this: after a `GridSearchCV` of 2 candidates and 3 folds, the 7th fit is the one in
        hand. Worker processes count for themselves: with `n_jobs`, the search's last fit, which is
        made in the first process, is the 1st that this has seen. So a 1 does not say that nothing
        else was spent; a `ledger.PrivacyLedger` counts in all processes. A private search counts
        as one fit, as the number of its trials is a secret. Records that are otherwise equal are
        equal.

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
    version: str = __version__
    fit_number: int = field(default=1, compare=False)

    _kind: ClassVar[str] = "spent"

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
            The attributes by their names, "format", which is 1 until the meaning of one of them
            changes, and "kind": "spent", or "forecast" where nothing is spent yet.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace one record", **numbers)
        >>> record = spent.to_dict()
        >>> record["format"], record["kind"], record["epsilon"]
        (1, 'spent', 0.98)
        """
        plain = {name: _plain(value) for name, value in _fields(self).items()}
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
        told = self.to_dict() | {"epsilon": text_rounded_up(self.epsilon)}
        lines = [(name, str(told[name])) for name in _fields(self) if told[name] is not None]
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
        Any one record (one row of the table) changes the probability of any outcome by at most a factor e^0.98 (epsilon), except with probability 1e-05 (delta)
        """  # noqa: E501
        if not math.isfinite(self.epsilon):
            return f"No privacy is guaranteed (epsilon is infinite). {self._answered()}"
        sentences = [
            *_ABOUT_SEEDS[self.generator],
            self._bound(),
            f"The change that is covered: {self.adjacency}.",
            *_ABOUT_ALONE.get(self.unit, []),
            self._answered(),
            "This is about all that one fit published: the student, the labels and this statement.",
            *self._about_rows(),
            *self._about_others(),
            "Not covered either is whatever was computed from the private data beside the fit, as "
            "scores, scaling or a choice of settings; nor what follows about a person from facts "
            "that are true of many.",
            *_ABOUT_ARITHMETIC[self.arithmetic],
        ]
        return " ".join(sentences)

    def _bound(self):
        """Say what epsilon and delta bound."""
        change = _ABOUT_UNIT.get(self.unit, f"Any one {self.unit} changes")
        # All digits of delta: a rounded one might be too small
        exception = (
            f"except with probability {float(self.delta)!r} (delta)"
            if self.delta
            else "without exception (delta is 0)"
        )
        return (
            f"{change} the probability of any outcome by at most a factor "
            f"e^{text_rounded_up(self.epsilon)} (epsilon), {exception}."
        )

    def _about_rows(self):
        """Say whether public rows are protected."""
        if not self.n_synthetic:
            return ["The public rows are not protected, and may be part of the student."]
        return [
            f"It covers the {self.n_synthetic} public rows as well, which were drawn from noisy "
            "statistics of the private data; their columns' names, bounds and categories it does "
            "not."
        ]

    def _about_others(self):
        """Say what other fits mean for this one."""
        others = "Other fits on the same private data are not covered: what they spend adds up."
        if self.fit_number == 1:
            return [others]
        return [f"{others} This is fit number {self.fit_number} of its process."]

    def _answered(self):
        """Say what was released."""
        if self.n_teachers is None:
            return (
                "A noisy table of the records' ballots was released, and "
                f"{self.n_answered} public rows got labels from it."
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


def _plain(value):
    """Return a number of any type as one of Python's, and all else as it is."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


#: Of the dict: it changes where the meaning of a key does.
_FORMAT = 1

_TITLES = {"spent": "Privacy spent", "forecast": "A forecast: nothing is spent yet"}

#: What a summary says of one change, by unit.
_ABOUT_UNIT = {
    "record": "Any one record (one row of the table) changes",
    "group": "All records of any one person (or other group) change",
}
#: Sentences of a summary about the noise: of seeds first of all.
_ABOUT_ARITHMETIC = {
    "exact": ["The noise was whole numbers, drawn without rounding."],
    "real": ["This holds in real arithmetic; floating-point numbers round the noise."],
}
#: And of what a unit leaves out.
_ABOUT_ALONE = {
    "record": ["Each row is protected by itself, not all rows of a person together."],
}
_ABOUT_SEEDS = {
    "system": [],
    "numpy": [],
    "seed": [
        "Made with a seed: whoever knows or guesses the random_state can subtract the noise, and "
        "then nothing is protected. For all others, this holds."
    ],
}


def text_rounded_up(epsilon, n_decimals=3):
    """Write epsilon with so many decimals at most, never rounded down."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize refuses to drop any
    text = f"{exact.quantize(Decimal(10) ** -n_decimals, ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")
