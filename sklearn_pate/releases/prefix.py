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
    ledgers : tuple
        Ledgers that have recorded `cost`.
    n_fits : int
        Number of fits, interrupted ones included.
    """

    spent: PrivacySpent
    cost: Cost
    synthesis: Synthesis | None = None
    ledgers: tuple = ()
    n_fits: int = 1

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
        synthesis = account.synthesis
        # A synthesizer of the user's may keep records: its rows stay, and it does not
        if not account.has_begun and synthesis is not None and is_ours(synthesis.synthesizer):
            ledgers = () if prior is None else prior.ledgers
            return cls(spent, before, synthesis, ledgers, n_fits)
        ledgers = () if account.ledger is None else (account.ledger,)
        return cls(spent, before.plus(account.cost), None, ledgers, n_fits)

    def goes_on_with(self, synthesizer):
        """Return whether a declared synthesizer can go on after the published steps.

        Parameters
        ----------
        synthesizer : Synthesizer
            Declared by the next fit.
        """
        if self.synthesis is None or type(synthesizer) is not type(self.synthesis.synthesizer):
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
        if hasattr(synthesizer, "n_jobs"):
            own.n_jobs = synthesizer.n_jobs
        return replace(self.synthesis, synthesizer=own, neighbors=neighbors)

    def without_synthesis(self):
        """Return the same where the next fit cannot go on with the synthesizer: it has a cost."""
        if self.synthesis is None:
            return self
        ledgers = tuple(ledger for ledger, _ in self.synthesis.entries)
        cost = self.cost.plus(self.synthesis.cost)
        return replace(self, cost=cost, synthesis=None, ledgers=ledgers)

    def check_protects(self, neighbors):
        """Refuse to go on with a fit that protects another change of the data."""
        spent = self.spent
        if (spent.unit, spent.relation) != (neighbors.unit, neighbors.relation):
            raise ValueError(
                f"warm_start goes on with fits that protect one {spent.unit} ({spent.relation}); "
                f"this one protects one {neighbors.unit} ({neighbors.relation}). Use the same "
                "partition and unit, or warm_start=False"
            )

    def check_left(self, epsilon, delta):
        """Refuse a limit of which earlier fits leave nothing.

        Parameters
        ----------
        epsilon, delta : float
            The limit of all fits together; epsilon may be None.
        """
        spent, _ = self.cost.epsilon(delta)
        if epsilon is not None and self.synthesis is None and spent > _NEARLY_ALL * epsilon:
            raise BudgetExceededError(
                f"warm_start=True goes on after {self.n_fits} fit(s) of this estimator, which cost "
                f"epsilon={spent:.4g} of epsilon={epsilon:g}: raise epsilon, or start anew with "
                "warm_start=False"
            )

    def cost_at(self, orders):
        """Return the cost at some orders; between two of them, that of the larger one holds."""
        place = np.searchsorted(DEFAULT_ORDERS, orders)
        rdp = np.append(self.cost.rdp, np.inf)[place]
        return replace(self.cost, rdp=rdp)


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
