"""What a fit spent: true on every data set, so safe to publish."""

import math
from dataclasses import KW_ONLY, dataclass, fields
from decimal import ROUND_CEILING, Context, Decimal

from .._version import __version__

__all__ = ["PrivacyForecast", "PrivacySpent", "text_rounded_up"]


@dataclass(frozen=True)
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
        by a `random_state`. Whoever knows the seed can undo the noise.
    n_synthetic : int
        Number of public rows that a synthesizer drew from private data: `epsilon` covers them. 0
        where public rows were given.
    version : str
        The version of this library.

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

    def __iter__(self):
        return iter((self.epsilon, self.delta))

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
        Any one person's record changes the probability of any outcome by at most a factor e^0.98, except with probability 1e-05
        """  # noqa: E501
        answered = self._answered()
        if not math.isfinite(self.epsilon):
            return f"No privacy is guaranteed (epsilon is infinite). {answered}"
        change = _ABOUT_UNIT.get(self.unit, f"Any one {self.unit} changes")
        # All digits of delta: a rounded one might be too small
        exception = f", except with probability {float(self.delta)!r}" if self.delta else ""
        sentences = [
            f"{change} the probability of any outcome by at most a factor "
            f"e^{text_rounded_up(self.epsilon)}{exception}.",
            f"The change that is covered: {self.adjacency}.",
        ]
        if self.unit == "record":
            sentences.append("Each record is protected by itself.")
        if self.n_synthetic:
            sentences.append(
                f"This covers the {self.n_synthetic} public rows as well, which were drawn from "
                "noisy statistics of the private data."
            )
        sentences += _ABOUT_ARITHMETIC[self.arithmetic]
        sentences += _ABOUT_GENERATOR[self.generator]
        return " ".join([*sentences, answered])

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


@dataclass(frozen=True)
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
    >>> print(forecast.summary().split(". ")[-1])
    100 teachers would be asked 9 questions.
    >>> type(forecast.paid())
    <class 'sklearn_pate.accountant.spent.PrivacySpent'>
    """

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


#: What a summary says of one change, by unit.
_ABOUT_UNIT = {
    "record": "Any one person's record changes",
    "group": "All records of any one person (or other group) change",
}
#: Sentences that a summary adds about the noise.
_ABOUT_ARITHMETIC = {
    "exact": [],
    "real": ["This holds in real arithmetic; floating-point numbers round the noise."],
}
_ABOUT_GENERATOR = {
    "system": [],
    "numpy": [],
    "seed": ["The noise follows from a seed: whoever knows or guesses it can undo the protection."],
}


def text_rounded_up(epsilon):
    """Write epsilon with three decimals at most, never rounded down."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize refuses to drop any
    text = f"{exact.quantize(Decimal('0.001'), ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")
