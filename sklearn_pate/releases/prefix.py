"""The steps that earlier fits of an estimator published, and their cost: `warm_start` goes on."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..accountant import PrivacySpent
from ..exceptions import BudgetExceededError
from ..isolation import is_ours
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.cost import no_cost
from .ahead import Synthesis

#: Parameters of a synthesizer that set its noise: a continued one keeps its own.
_OF_NOISE = ("noise", "noise_multiplier", "share")

#: Earlier fits that cost more than this part of epsilon leave too little for another.
_NEARLY_ALL = 0.999


@dataclass(frozen=True, eq=False)
class Prefix:
    """The steps that earlier fits of an estimator published. Everything here is public.

    Attributes
    ----------
    spent : PrivacySpent
        The statement of all of them.
    cost : rdp.Cost
        Their cost, without that of `synthesis`.
    synthesis : releases.ahead.Synthesis or None
        Published steps of a synthesizer, with which an interrupted fit can go on.
    paid : rdp.Cost or None
        The cost that was recorded for `synthesis`: of the published steps and, if a step was paid
        for and not published, of that one. None without a synthesis.
    ledgers : tuple
        Ledgers that have recorded `cost`.
    n_fits : int
        Number of fits, interrupted ones included.
    is_open : bool
        Whether the ledger's entry of `synthesis` can grow: it has no labels yet.
    """

    spent: PrivacySpent
    cost: Cost
    synthesis: Synthesis | None = None
    paid: Cost | None = None
    ledgers: tuple = ()
    n_fits: int = 1
    is_open: bool = True

    @classmethod
    def after(cls, account, spent):
        """Return the prefix that a fit leaves to the next one.

        Parameters
        ----------
        account : fitting.release.Account
            Of the fit, which has recorded a cost.
        spent : PrivacySpent
            The statement of the fit.
        """
        prior = account.prior
        n_fits = 1 if prior is None else prior.n_fits + 1
        before = no_cost(DEFAULT_ORDERS) if prior is None else prior.cost
        told = {"ledgers": account.ledgers, "n_fits": n_fits}
        if account.has_begun or not can_go_on(account.synthesis):
            return cls(spent, before.plus(account.cost), **told)
        synthesis = replace(account.synthesis, entries=account.entries)
        if account.labels is not None:  # paid for, and perhaps the outcome of a private test
            cost = before.plus(account.labels)
            return cls(spent, cost, synthesis, synthesis.cost, **told, is_open=False)
        ledgers = () if prior is None else prior.ledgers
        return cls(spent, before, synthesis, account.cost, ledgers=ledgers, n_fits=n_fits)

    def goes_on_with(self, synthesizer, target):
        """Return whether a declared synthesizer can go on after the published steps.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared by the next fit.
        target : targets.Target
            Target of the next fit: statistics by class are those of its values, in this order.
        """
        if self.synthesis is None or type(synthesizer) is not type(self.synthesis.synthesizer):
            return False
        if target != self.synthesis.target:
            return False
        return _declaration(synthesizer) == _declaration(self.synthesis.synthesizer)

    def continued(self, synthesizer, neighbors):
        """Return the `Synthesis` that goes on: the noise is that of the earlier fit.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared by the next fit.
        neighbors : rdp.Neighbors
            The neighboring data sets of the next fit.
        """
        own = copy.copy(self.synthesis.synthesizer)
        own.share = synthesizer.share  # it decides whether anybody votes, and not the noise
        if hasattr(synthesizer, "n_jobs"):
            own.n_jobs = synthesizer.n_jobs
        return replace(self.synthesis, synthesizer=own, neighbors=neighbors)

    def without_synthesis(self):
        """Return the same where the next fit cannot go on with the synthesizer: it has a cost."""
        if self.synthesis is None:
            return self
        ledgers = tuple(ledger for ledger, _ in self.synthesis.entries)
        cost = self.cost.plus(self.paid)
        return replace(self, cost=cost, synthesis=None, paid=None, ledgers=ledgers)

    def check_protects(self, neighbors):
        """Refuse to go on with a fit that protects another change of the data."""
        spent = self.spent
        if (spent.unit, spent.relation) != (neighbors.unit, neighbors.relation):
            raise ValueError(
                f"warm_start goes on with fits that protect one {spent.unit} ({spent.relation}); "
                f"this one protects one {neighbors.unit} ({neighbors.relation}). Use the same "
                "partition and unit, or warm_start=False"
            )

    def check_left(self, epsilon, delta, synthesis=None):
        """Refuse a limit of which earlier fits, and the steps that they began, leave nothing.

        Parameters
        ----------
        epsilon, delta : float
            The limit of all fits together; epsilon may be None.
        synthesis : Synthesis or None, default=None
            Published steps with which the next fit goes on; their noise is set.
        """
        if epsilon is None:
            return
        cost, steps, limit = self.cost, "", _NEARLY_ALL * epsilon
        if synthesis is not None:
            synthesizer = synthesis.synthesizer
            cost = cost.plus(synthesis.cost_of_steps(synthesizer.n_steps))
            steps = f" with all steps of {type(synthesizer).__name__}"
            limit = epsilon if synthesizer.share == 1 else limit  # then nobody votes
        spent, _ = cost.epsilon(delta)
        if spent > limit:
            raise BudgetExceededError(
                f"warm_start=True goes on after {self.n_fits} fit(s) of this estimator, which cost "
                f"epsilon={spent:.4g}{steps} of epsilon={epsilon:g}: raise epsilon, or start anew "
                "with warm_start=False"
            )

    def cost_at(self, orders):
        """Return the cost at some orders; between two of them, that of the larger one holds."""
        place = np.searchsorted(DEFAULT_ORDERS, orders)
        rdp = np.append(self.cost.rdp, np.inf)[place]
        return replace(self.cost, rdp=rdp)


def can_go_on(synthesis):
    """Return whether the next fit can go on with published steps, if there are any.

    A synthesizer or noise of the user's may keep records: its rows stay, and it does not.

    Parameters
    ----------
    synthesis : Synthesis or None
        Published steps of the fit.
    """
    if synthesis is None:
        return False
    synthesizer = synthesis.synthesizer
    return is_ours(synthesizer) and is_ours(getattr(synthesizer, "noise", synthesizer))


def _declaration(synthesizer):
    """Return the parameters and columns of a declared synthesizer, without its noise."""
    params = synthesizer.get_params(deep=False)
    own = {name: value for name, value in params.items() if name not in _OF_NOISE}
    return _plain((own, synthesizer.schema_))


def _plain(value):
    """Return nested tuples of text that are equal for equal values, also after pickling."""
    if isinstance(value, np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    parts = getattr(value, "__dict__", None)
    return repr(value) if parts is None else (type(value).__name__, _plain(parts))
