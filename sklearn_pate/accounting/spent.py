"""Statement of the privacy that a fit spent: true on every data set, so safe to publish."""

import json
import math
import operator
from dataclasses import KW_ONLY, dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from html import escape
from typing import ClassVar

from .._version import __version__
from ..rdp import NeighboringRelation
from ..rdp.contribution import OF_NAMED_GROUPS

#: Title of a card, by its kind.
_TITLES = {"spent": "Privacy spent", "forecast": "A forecast: nothing is spent yet"}


@dataclass(frozen=True, repr=False)
class PrivacySpent:
    """Privacy that a fit spent: a statement true on every data set, so safe to publish.

    It unpacks into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee: the probability of any outcome is at most ``e**epsilon`` times its
        probability on a neighbouring data set, plus `delta`. `epsilon` is inf if a mechanism has no
        guarantee.
    composition : str
        Rule that adds up the costs: "gaussian" (exact composition of Gaussian noise), "renyi"
        (composition of the data-independent Renyi cost of each query), "pure" (plain sum), "mixed"
        (exact composition of pure steps and Gaussian noise), "sum" (of rows that `poll` published
        and of labels under another plan), "filter" (a budget that stopped the queries),
        "propose-test-release" (a private test of the cost of the votes), "tuning" (the best of a
        random number of trials) or "none".
    unit : str
        The protected unit: "record" or "group"; "teacher" for votes of unknown origin.
    relation : NeighboringRelation or str
        Difference between neighboring data sets, in one `unit`. It is a text of the partition, if
        the partition is a user's own. `change` describes it in words.
    n_teachers : int or None
        Number of teachers; None for methods of records.
    n_queries, n_answered : int
        Number of queried public rows, and number of released labels.
    arithmetic : {"exact", "real"}
        "exact": all noise was whole numbers, sampled without rounding. "real": the guarantee holds
        in real arithmetic, and floating-point numbers round the noise.
    generator : {"system", "seed"}
        Source of the noise: the operating system, or a generator that was seeded by a
        `random_state`. Anyone with the seed can subtract the noise.
    n_synthetic : int
        Number of synthetic rows that this fit sampled from private data; `epsilon` covers them. 0
        if public rows were given, even synthetic rows of an earlier fit, which paid for them.
    covers : {"fit", "rows", "statistics"}
        "rows" if a fit failed after the release of its synthetic rows: `epsilon` is their cost.
        "statistics" if it failed earlier, after the release of some statistics for these rows.
    not_covered : tuple of str
        Releases and inputs of this fit that depend on private data without a mechanism, such as
        classes that were read from private labels, and other gaps in its guarantee. `summary`
        begins with them.
    tables : tuple of str
        Released tables, in words, for methods of records.
    extra_releases : tuple of str
        Releases other than rows and labels, each in its own words.
    version : str
        The version of this library.
    fit_number : int
        Number of this fit among all fits that its process began, from 1, whatever their data and
        their outcome. After a `GridSearchCV` of 2 candidates and 3 folds, the current fit is the
        7th, and the costs of all 7 on the same private data add up. A private search counts as one
        fit, as the number of its trials is a secret; fits of a teacher are part of the fit that
        trains the teacher. Each worker process has its own count, so 1 does not rule out other
        costs: with `n_jobs`, the last fit of a search is the 1st of the first process. A
        `ledger.PrivacyLedger` counts in all processes. Statements that differ in this number alone
        are equal.

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
    covers: str = "fit"
    not_covered: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    extra_releases: tuple[str, ...] = ()
    version: str = __version__
    fit_number: int = field(default=1, compare=False)

    _kind: ClassVar[str] = "spent"

    def __post_init__(self):
        plain = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        if self.relation in list(NeighboringRelation):
            plain["relation"] = NeighboringRelation(self.relation)
        if not plain["epsilon"] >= 0:
            raise ValueError(f"epsilon must be a number, at least 0; got {self.epsilon!r}")
        if not 0 <= plain["delta"] <= 1:
            raise ValueError(f"delta must be a number from 0 to 1; got {self.delta!r}")
        for name in ("n_teachers", "n_queries", "n_answered", "n_synthetic", "fit_number"):
            value = getattr(self, name)
            plain[name] = None if value is None else operator.index(value)
        for name in ("not_covered", "tables", "extra_releases"):
            plain[name] = tuple(getattr(self, name))
        vars(self).update(plain)  # the dataclass is frozen

    @property
    def change(self):
        """The change of the private data that the guarantee covers, in words."""
        return change_in_words(self.relation, self.unit)

    def __iter__(self):
        return iter((self.epsilon, self.delta))

    def __getstate__(self):
        return vars(self) | {"relation": str(self.relation)}  # plain text, as in `to_dict`

    def __setstate__(self, state):
        vars(self).update(state)
        self.__post_init__()

    def __repr__(self):
        shown = self.__getstate__()
        shown["epsilon"] = float(text_rounded_up(self.epsilon, n_decimals=6))
        parts = (f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({', '.join(parts)})"

    def to_dict(self):
        """Return the attributes as a dict of plain numbers and text, to be stored with a model.

        Returns
        -------
        dict
            The attributes by their names, with tuples as lists; "format", which is 1 until the
            meaning of one of them changes; and "kind": "spent", or "forecast" if nothing is spent
            yet.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace_one", **numbers)
        >>> record = spent.to_dict()
        >>> record["format"], record["kind"], record["epsilon"]
        (1, 'spent', 0.98)
        """
        lists = {n: list(value) for n, value in vars(self).items() if isinstance(value, tuple)}
        # The number of the format changes with the meaning of a key
        return {"format": 1, "kind": self._kind} | self.__getstate__() | lists

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
        >>> spent = PrivacySpent(1.0, 0.0, "pure", "record", "replace_one", **numbers)
        >>> json.loads(spent.to_json()) == spent.to_dict()
        True
        """
        record = self.to_dict()
        if not math.isfinite(self.epsilon):
            record["epsilon"] = "Infinity"
        return json.dumps(record, allow_nan=False)

    def _repr_html_(self):
        shown = vars(self) | {"epsilon": text_rounded_up(self.epsilon)}
        for name in ("not_covered", "tables", "extra_releases"):
            shown[name] = "; ".join(shown[name]) or None
        lines = [(name, str(value)) for name, value in shown.items() if value is not None]
        return card_of(_TITLES[self._kind], [*lines, ("in words", self.summary())])

    def summary(self):
        """Return the guarantee in words, for a person who signs for it; epsilon is rounded up.

        Returns
        -------
        str
            Short paragraphs, safe to publish.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace_one", **numbers)
        >>> print(spent.summary().split(". ")[0])
        Any one record (one row of the table) changes the probability of any outcome by at most a factor e^0.98 (epsilon), plus 1e-05 (delta)
        """  # noqa: E501
        not_covered = "; ".join(self.not_covered)
        first = f"Not covered by this guarantee: {not_covered}." if not_covered else ""
        release = _release(self)
        if not math.isfinite(self.epsilon):
            return _joined(first, "No privacy is guaranteed (epsilon is infinite).", release)
        arithmetic = "This holds in real arithmetic; floating-point numbers round the noise."
        if self.arithmetic == "exact":
            arithmetic = "The noise was whole numbers, sampled exactly."
        seeded, system = _SEEDED, ""
        if self.generator == "system":
            seeded, system = "", "The noise came from the operating system's generator."
        paragraphs = [
            _joined(first, seeded),
            _joined(_bound(self), _odds(self), _LEFT_OUT_BY_UNIT.get(self.unit, "")),
            _joined(release, _published(self)),
            _about_others(self),
            _joined(arithmetic, system),
        ]
        return "\n\n".join(filter(None, paragraphs))


@dataclass(frozen=True, repr=False)
class PrivacyForecast(PrivacySpent):
    """Privacy that a planned fit would spend, before anything is spent or released.

    Its attributes are the same as for `PrivacySpent`, all public, with no query answered yet.

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

    _kind: ClassVar[str] = "forecast"

    def paid(self):
        """Return the statement of a fit that has paid for this forecast.

        Returns
        -------
        PrivacySpent
        """
        return PrivacySpent(**vars(self))

    def summary(self):
        """Return the guarantee of a planned fit in words; see `PrivacySpent.summary`.

        Returns
        -------
        str
            Short paragraphs. The first one begins with the words "A forecast".
        """
        words = super().summary()
        return f"A forecast, nothing is spent yet. A fit would have this guarantee: {words}"


# --- a guarantee in words -------------------------------------------------------------------------


#: Subject of the guarantee in a summary, by unit.
_ABOUT_UNIT = {
    "record": "Any one record (one row of the table) changes",
    "group": (
        "The records of any one group, as defined by `groups` (a person only if each group is a "
        "person), change"
    ),
    "teacher": "The votes of any one teacher change",
}

#: The change that a guarantee covers, by relation and unit.
_CHANGES = {
    (NeighboringRelation.REPLACE_ONE, "record"): "replace one record",
    (
        NeighboringRelation.REPLACE_ONE,
        "group",
    ): "replace one group, or add, remove or change some of its records",
    (NeighboringRelation.REPLACE_ONE, "teacher"): "change the votes of one",
    (NeighboringRelation.ADD_OR_REMOVE_ONE, "record"): "add or remove one record",
    (
        NeighboringRelation.ADD_OR_REMOVE_ONE,
        "group",
    ): "add or remove one group, with all of its records",
    (
        NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE,
        "record",
    ): "add or remove one record, or change it under the same identifier",
    (
        NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE,
        "group",
    ): "add or remove one group, or change its records under the same identifier",
    (
        NeighboringRelation.CHANGE_ONE_NAMED,
        "group",
    ): "add, remove or change records of one named group, even all; the names are public",
    (
        NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY,
        "group",
    ): "add, remove or change records of one named group, which keeps at least one; no name joins",
}


def change_in_words(relation, unit):
    """Return the change of the private data that a guarantee covers, in words.

    Parameters
    ----------
    relation : NeighboringRelation or str
        A text that is no relation of the library is returned unchanged.
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    str
    """
    unit = "group" if relation in OF_NAMED_GROUPS else unit
    return _CHANGES.get((relation, unit), str(relation))


#: Limits of a unit.
_LEFT_OUT_BY_UNIT = {
    "record": "Each row is protected by itself, not all rows of a person together.",
    "teacher": (
        "The guarantee is about votes, not about records: a person is covered only if no more than "
        "one teacher learned from their records."
    ),
}

#: Warning about a seed, at the beginning of a summary, after the list of gaps.
_SEEDED = (
    "Made with a seed: anyone who has or guesses the random_state can subtract the noise, and then "
    "nothing is protected. Fits that share a seed share their noise: together they can undo it, "
    "for all records."
)

#: From this epsilon on, a summary gives odds without a number.
_NO_DIFFERENCE = 14


def _joined(*sentences):
    return " ".join(filter(None, sentences))


def text_rounded_up(epsilon, n_decimals=3):
    """Format epsilon with at most `n_decimals` decimals, never rounded down."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize does not drop any of them
    text = f"{exact.quantize(Decimal(10) ** -n_decimals, ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")


def _release(spent):
    """Return sentences on the releases; a failed fit may have paid for more than it released."""
    if spent.covers == "statistics":
        return (
            "The fit failed after statistics of the columns were paid for, before synthetic rows "
            "were sampled from them."
        )
    if spent.covers == "rows":
        return "The fit failed after its synthetic rows were sampled, before labels were paid for."
    is_forecast = spent._kind == "forecast"
    n_teachers, n_queries, n_answered = spent.n_teachers, spent.n_queries, spent.n_answered
    if n_teachers is None:
        tables = ", and ".join(spent.tables or ["a noisy table of the records' votes"])
        rows = "synthetic rows" if spent.n_synthetic else "public rows"
        subject = "The search" if spent.composition == "tuning" else "The fit"
        if is_forecast:
            return f"{subject} would release {tables}. It would label {n_queries} {rows}."
        if n_answered:
            return f"{subject} released {tables}. It labelled {n_answered} {rows}."
        return f"{subject} paid for {tables}. It labelled no row."
    if is_forecast:
        return f"{n_teachers} teachers would vote on {n_queries} queries."
    if n_answered:
        queried = f"{n_teachers} teachers voted on {n_queries} queries"
        return f"{queried} and {n_answered} answers were released."
    paid = f"{n_queries} queries of {n_teachers} teachers are paid for"
    return f"{paid}, and no label was released."


def _odds(spent):
    """Return a sentence on the largest probability of a right guess, rounded up."""
    is_replaced = _is_replaced_record(spent)
    what = "which of two records it was" if is_replaced else "whether such a change was made"
    error_probability = 1 / (1 + math.exp(min(spent.epsilon, _NO_DIFFERENCE)))
    n_decimals = (
        2 if error_probability > 0.005 else 1 + math.ceil(-math.log10(100 * error_probability))
    )
    percent = f"{text_rounded_up(100 * (1 - error_probability), n_decimals)} %"
    # With a delta, rare outcomes may make a reader certain, so only guesses have a bound
    can = f"guess right with a probability of at most {percent} (plus delta)"
    if not spent.delta:
        can = f"become at most {percent} sure"
    if spent.epsilon >= _NO_DIFFERENCE:
        can = "become practically certain"
    return f"A reader who thought it a toss-up (50 %) {what} can {can}."


def _bound(spent):
    """Return sentences on the bound of epsilon and delta, and on the change that it covers."""
    change = _ABOUT_UNIT.get(spent.unit, f"Any one {spent.unit} changes")
    if spent.relation in OF_NAMED_GROUPS:
        change = "The records of any one site or named group change"
    # Delta has all its digits, as a rounded one might be too small
    more = f"plus {spent.delta!r} (delta)" if spent.delta else "without exception (delta is 0)"
    is_replaced = _is_replaced_record(spent)
    return (
        f"{change} the probability of any outcome by at most a factor "
        f"e^{text_rounded_up(spent.epsilon)} (epsilon), {more}. The change that is covered: "
        f"{spent.change}.{' The number of rows is public.' if is_replaced else ''}"
    )


def _is_replaced_record(spent):
    return spent.relation == NeighboringRelation.REPLACE_ONE and spent.unit == "record"


def _published(spent):
    """Return sentences on the published objects, and on the protection of public rows."""
    rows, about_rows = [], "The public rows are not protected, and may be part of the student."
    if spent.n_synthetic:
        rows = ["the synthetic rows"]
        about_rows = (
            f"The {spent.n_synthetic} synthetic rows are covered as well: they were made from "
            "noisy statistics of the private data. The names, types, bounds and categories of "
            "their columns are not covered, nor is the choice of columns that may have missing "
            "values."
        )
    elif spent.covers == "statistics":
        about_rows = (
            "The names, types, bounds and categories of the columns are not covered, nor is the "
            "choice of columns that may have missing values."
        )
    if spent.covers != "fit":
        what = "the synthetic rows" if spent.covers == "rows" else "these statistics"
        return f"This guarantee covers {what} and this statement. {about_rows}"
    what, last = "one fit", "the labels and this statement"
    if spent.composition == "tuning":
        what, last = "one search", "the labels, best_params_, best_score_ and this statement"
    parts = ", ".join([*rows, *spent.extra_releases, "the student", last])
    return f"This guarantee covers everything that {what} published: {parts}. {about_rows}"


def _about_others(spent):
    """Return sentences on other fits, and on uses of the private data outside of any fit."""
    nth = f" (this is fit number {spent.fit_number} of its process)" if spent.fit_number > 1 else ""
    other = "other " if spent.composition == "tuning" else ""
    return (
        f"Other fits on the same private data are not covered{nth}, nor are synthetic rows that "
        "they published, whether they are public rows here or not: their costs add up. Other "
        f"computations on the private data are not covered, such as {other}scores, scaling or a "
        f"choice of {other}settings, nor are conclusions about a person from facts that are true "
        "of many."
    )


# --- a card --------------------------------------------------------------------------------------

_STYLE = """
.sk-pate-card {
  color: var(--sg-text-color, var(--theme-code-foreground, var(--jp-content-font-color1, inherit)));
  font-family: sans-serif; max-width: 52em;
}
.sk-pate-card table { border-collapse: collapse; background: #8881; width: 100%; }
.sk-pate-card caption { text-align: left; padding: 0.4em 0; font-weight: bold; color: inherit; }
.sk-pate-card th, .sk-pate-card td {
  border: 1px dashed #8886; padding: 0.3em 0.6em; text-align: left; vertical-align: top;
  color: inherit; background: transparent; white-space: pre-line;
}
.sk-pate-card li { border-left: 4px solid #e69f00; margin: 0.3em 0; padding: 0.3em 0.6em; }
"""


def card_of(title, lines, remarks=()):
    """Return a card as self-contained HTML, for light and dark pages.

    Parameters
    ----------
    title : str
        Caption of the card.
    lines : list of (str, str)
        Name and description of each row.
    remarks : list of str, default=()
        Entries of a list below the rows.

    Returns
    -------
    str
    """
    rows = [
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(words)}</td></tr>"
        for name, words in lines
    ]
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return (
        f"<div class='sk-pate-card'><style>{_STYLE}</style><table>"
        f"<caption>{escape(title)}</caption>{''.join(rows)}</table>"
        f"{f'<ul>{items}</ul>' if items else ''}</div>"
    )
