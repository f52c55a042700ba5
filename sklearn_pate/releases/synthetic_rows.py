"""Steps of a synthesizer in one fit, and the synthetic rows drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting.budget import calibrated, priced, stated_cost, stated_event
from ..aggregators import TableMechanism
from ..aggregators.table import dry_run_table
from ..encoding.columns import Columns
from ..encoding.dtypes import difference
from ..encoding.targets import Target
from ..exceptions import BudgetExceededError
from ..identifiers import normalize_groups, normalize_identifiers
from ..rdp import NeighboringRelation, Neighbors
from ..rdp.contribution import OF_NAMED_GROUPS
from ..rules import default_rows_fraction
from ..runtime.copies import copied_data, without_index
from ..runtime.isolation import is_ours, redacted, suppress_output
from .base import Step

if TYPE_CHECKING:
    from .._typing import Rows
    from ..fitting.run import Account
    from ..ledger.ledger import PrivacyLedger
    from ..rdp.cost import Cost
    from ..runtime.private_data import PrivateData


@dataclass(frozen=True, eq=False)
class Synthesis:
    """Published steps of a synthesizer in one fit, and the synthetic rows.

    Attributes
    ----------
    synthesizer : Synthesizer
        Synthesizer with its noise set, after a call of `declare`.
    neighbors : Neighbors
        The neighboring data sets that the guarantee covers.
    target : targets.Target
        Classes or levels that the records vote for.
    published : tuple
        Published statistics of each step so far.
    rows : array-like with n_rows rows or None
        The synthetic rows; None before they are drawn.
    entries : tuple of (ledger, entry)
        Ledgers that have recorded the steps so far, each with its entry.
    generator : str or None
        Source of the noise, as in `PrivacySpent`; None before the first step.
    fixed : dict or None
        Result of `prefix.fixed_by` for the plan of `poll`; None in a fit.
    ledgers : list
        Ledgers that have recorded the cost of all steps in an entry with labels. All copies share
        this list, so later calls of `fit_votes` with the same rows do not record this cost again.
    """

    synthesizer: Any
    neighbors: Neighbors
    target: Target
    published: tuple[Any, ...] = ()
    rows: Any = None
    entries: tuple[Any, ...] = field(default=(), repr=False)
    generator: str | None = None
    fixed: dict[str, Any] | None = field(default=None, repr=False)
    ledgers: list[Any] = field(default_factory=list, repr=False)

    @property
    def prior(self) -> Any:
        """Released statistics that predict classes; None if the synthesizer has none."""
        return getattr(self.synthesizer, "released_", None)

    @property
    def schema_source(self) -> str:
        """Whether the schema is declared or estimated, as in `PrivacySpent`."""
        return getattr(self.synthesizer, "schema_source", "declared")

    @property
    def columns(self) -> Columns | None:
        """Columns of the rows, as declared or estimated; None if the synthesizer has none."""
        columns = getattr(self.synthesizer, "schema_", None)
        return columns if isinstance(columns, Columns) else None

    @classmethod
    def planned(
        cls,
        synthesizer: Any,
        private: PrivateData,
        neighbors: Neighbors,
        *,
        pure: bool,
        epsilon: float | None,
        delta: float,
    ) -> Synthesis:
        """Calibrate the noise of a synthesizer to its fraction of `epsilon`.

        Parameters
        ----------
        synthesizer : Synthesizer
            Synthesizer, after a call of `declare`.
        private : PrivateData
            The private data.
        neighbors : Neighbors
            The neighboring data sets that the guarantee covers.
        pure : bool
            Whether labels and extra releases have a pure epsilon.
        epsilon, delta : float
            Limits of the fit; epsilon may be None.

        Returns
        -------
        Synthesis

        Raises
        ------
        BudgetExceededError
            If the synthesizer costs more than `epsilon`, or all of `epsilon` although votes need
            a part of it.
        ValueError
            If the guarantee covers groups and the groups of records are not given.
        """
        if private.at_sites is None:
            units_of(private, neighbors)  # raises errors before rows are paid for
        synthesizer = synthesizer.suited_to(pure=pure)
        synthesizer = synthesizer.planned_for(
            n_records=neighbors.n_records, epsilon=epsilon, delta=delta
        )
        fraction = synthesizer.epsilon_fraction
        fraction = default_rows_fraction() if fraction is None else fraction
        event_of = partial(stated_event, neighbors=neighbors)
        synthesizer = calibrated(synthesizer, event_of, epsilon, delta, fraction=fraction)
        spent, _ = stated_cost(synthesizer, neighbors).epsilon(delta)
        is_all = synthesizer.epsilon_fraction == 1
        if epsilon is not None and (spent > epsilon if is_all else spent >= epsilon):
            raise BudgetExceededError(
                f"{type(synthesizer).__name__} costs epsilon={spent:.4g}, so the limit "
                f"epsilon={epsilon:g} leaves no epsilon for votes. Use more noise, or raise epsilon"
            )
        noise = getattr(synthesizer, "noise", None)
        if isinstance(noise, TableMechanism):
            n_classes = private.target.n_values
            dry_run_table(noise, contribution=neighbors.counts(1), n_classes=n_classes)
        return cls(synthesizer, neighbors, private.target)

    @property
    def cost(self) -> Cost | None:
        """Cost of the published steps; None before the first step."""
        return self.cost_of_steps(len(self.published)) if self.published else None

    def cost_of_steps(self, n_steps: int) -> Cost:
        """Return the cost of the first steps; for all steps, it equals the cost in the plan."""
        is_all = n_steps == self.synthesizer.n_steps
        event = self.synthesizer.event(self.neighbors, n_steps=None if is_all else n_steps)
        return priced(event, self.synthesizer)

    def entry_in(self, ledger: PrivacyLedger) -> Any:
        """Return the ledger's entry with the cost of the steps; None if there is no entry."""
        return next((entry for own, entry in self.entries if own is ledger or own == ledger), None)

    def is_recorded_in(self, ledger: PrivacyLedger) -> bool:
        """Return whether a ledger has recorded the cost of the steps."""
        return self.entry_in(ledger) is not None or ledger in self.ledgers

    def gather(self, private: PrivateData) -> Any:
        """Return the private statistics of the next step."""
        synthesizer = self.synthesizer
        if private.at_sites is not None:
            given = at_one_site(synthesizer), self.neighbors, self.published
            return private.at_sites.gathered(partial(_gather_site, *given))
        units = units_of(private, self.neighbors)
        records = (private.X, private.codes, private.vote_weight, units, private.target)

        def gather() -> Any:
            X, codes, weight, groups, target = records
            inputs = {"sample_weight": weight, "groups": groups, "target": target}
            return synthesizer.gather(X, codes, **inputs, published=self.published)

        with suppress_output():
            if is_ours(synthesizer):  # errors of this library quote no values
                return gather()
            records = copied_data(records)  # a user's synthesizer may change them in place
            name = type(synthesizer).__name__
            return redacted(gather, f"gather of {name} failed:", "Its step is not paid for")

    def publish(self, gathered: Any, noise: np.random.Generator, *, generator: str) -> Synthesis:
        """Publish the statistics of the next step after it is paid for.

        Parameters
        ----------
        gathered : object
            Result of `gather`.
        noise : numpy.random.Generator
            Source of the noise.
        generator : str
            Kind of this source, as in `PrivacySpent`.

        Returns
        -------
        Synthesis
            A copy with the new published statistics.
        """
        synthesizer = self.synthesizer
        with suppress_output():
            part = redacted(
                lambda: synthesizer.publish(gathered, noise, published=self.published),
                f"publish of {type(synthesizer).__name__} failed:",
                "It is paid for",
            )
        generator = "seed" if self.generator == "seed" else generator  # one seeded step suffices
        return replace(self, published=(*self.published, part), generator=generator)

    def with_rows(self, rng: np.random.Generator) -> Synthesis:
        """Return a copy with rows drawn from the published statistics, at no privacy cost.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness of the rows.
        """
        synthesizer = self.synthesizer
        name = type(synthesizer).__name__

        def draw() -> Rows:
            rows = synthesizer.draw(self.published, rng)
            # Without index or attributes
            is_bare = isinstance(rows, np.ndarray | list | tuple)
            return np.array(rows) if is_bare else without_index(rows)

        with suppress_output():
            rows = redacted(draw, f"{name} could not draw rows:", "They are paid for")
        expected = dry_run_rows(synthesizer)
        if np.shape(rows) != np.shape(expected) or difference(rows, expected) is not None:
            raise ValueError(
                f"draw of {name} must return n_rows={synthesizer.n_rows} rows with the columns and "
                "dtypes of dry_run_rows; got others. They are paid for"
            )
        return replace(self, rows=rows)


class RowsStep(Step):
    """Step that releases one part of the statistics of a synthesizer.

    Parameters
    ----------
    account : Account
        Account with the `Synthesis` of all earlier steps. `publish` replaces this `Synthesis`.
    private : PrivateData
        The private data.
    noise : numpy.random.Generator
        Source of the noise.
    generator : str
        Kind of this source, as in `PrivacySpent`.
    statement : callable
        ``statement(n_steps, cost)`` returns the `PrivacySpent` of the first `n_steps` steps.
    phase : callable
        Context manager that shows progress; see `Inputs.phase`.
    """

    def __init__(
        self,
        account: Account,
        private: PrivateData,
        noise: np.random.Generator,
        *,
        generator: str,
        statement: Callable[..., Any],
        phase: Callable[..., Any],
    ) -> None:
        self.account = account
        self.private = private
        self.noise = noise
        self.generator = generator
        self.statement = statement
        self.phase = phase

    def gather(self) -> Any:
        """Return the private statistics of the step."""
        with self.phase("statistics", 1) as done:
            gathered = self.account.synthesis.gather(self.private)
            done(1)
        return gathered

    def pay(self) -> None:
        """Record the cost of all steps of the synthesizer up to this one."""
        synthesis = self.account.synthesis
        n_steps = len(synthesis.published) + 1
        cost = synthesis.cost_of_steps(n_steps)
        self.account.append(self.statement(n_steps, cost), cost)

    def publish(self, gathered: Any) -> None:
        """Add noise to the statistics, and store them in the account."""
        account = self.account
        synthesis = replace(account.synthesis, entries=account.entries)
        account.keep(synthesis.publish(gathered, self.noise, generator=self.generator))


def steps_of_rows(
    account: Account, private: PrivateData, noise: np.random.Generator, **params: Any
) -> Iterator[RowsStep]:
    """Yield the remaining steps of a synthesizer; see `RowsStep`."""
    while len(account.synthesis.published) < account.synthesis.synthesizer.n_steps:
        yield RowsStep(account, private, noise, **params)


def at_one_site(synthesizer: Any) -> Any:
    """Return a copy of a synthesizer of this library that uses no workers and no cache."""
    alone = copy(synthesizer)
    alone.n_jobs = alone.memory = None
    return alone


def _gather_site(
    synthesizer: Any, neighbors: Neighbors, published: tuple[Any, ...], private: PrivateData
) -> Any:
    """Return the private statistics of the next step, of the records of one site."""
    return synthesizer.gather(
        private.X,
        private.codes,
        target=private.target,
        sample_weight=private.vote_weight,
        groups=units_of(private, neighbors),
        published=published,
    )


def dry_run_rows(synthesizer: Any) -> Rows:
    """Return made-up rows from the schema only, as a placeholder for the synthetic rows."""
    return synthesizer.dry_run_rows(synthesizer.n_rows, np.random.default_rng(0))


def units_of(private: PrivateData, neighbors: Neighbors) -> np.ndarray | None:
    """Return the protected unit of each record; None if each record is a unit by itself.

    All records of a unit count as one record in a statistic. Raise a ValueError if the guarantee
    covers groups and `groups` is None.
    """
    neighbors.check_known()
    if neighbors.unit == "record" and neighbors.relation not in OF_NAMED_GROUPS:
        is_identified = neighbors.relation == NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        are_identified = is_identified and hasattr(private.X, "index")
        return normalize_identifiers(private.X.index, "the index of X") if are_identified else None
    if private.groups is None:
        raise ValueError(
            f"this fit protects groups of records ({neighbors.relation}), but groups is None: "
            "a synthesizer, or a release of your own, requires the argument groups, one identifier "
            "per record"
        )
    return normalize_groups(private.groups, private.n_records)
