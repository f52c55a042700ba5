"""Ledger of the privacy costs of fits on one data set, which may not exceed a budget."""

from __future__ import annotations

import math
import sqlite3
from operator import attrgetter
from os import PathLike
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ..exceptions import BudgetExceededError
from ..rdp import DEFAULT_ORDERS
from ..rdp.records import exact_text
from ..report.relations import change_in_words
from . import file, filters

if TYPE_CHECKING:
    from ..accounting.spent import PrivacySpent
    from ..rdp.cost import Cost


class PrivacyLedger:
    """Privacy budget of one private data set for all fits on it, in any process.

    ``PATEClassifier(..., ledger=ledger)`` checks the budget before teachers train, and records the
    cost of the fit before any label is released. A fit that would exceed the budget raises
    `BudgetExceededError`. The total epsilon of many fits is far less than the sum of their
    epsilons.

    Parameters
    ----------
    path : str or path-like
        The file of the ledger, an SQLite database. It is created if it does not exist, and contains
        public numbers only. Use one file for each private data set, and do not store it on a
        network drive without file locks.
    epsilon : float
        Epsilon of all fits together, above 0.
    delta : float, default=1e-5
        Delta of the guarantee of all fits together.
    composition : {"renyi", "gaussian", "pure"}, default="renyi"
        Composition of costs, fixed when the file is created. "renyi" accepts all fits with a
        guarantee, and is recommended in nearly all cases. "gaussian" sums squared Gaussian-DP
        parameters. It accepts fits with Gaussian or pure costs, but no private searches. "pure" is
        the plain sum of pure epsilons.
    reserved_delta : float or None, default=None
        Part of `delta` that is reserved, when the file is created, for fits with their own delta:
        fits with `StableArgmax` or with ``accounting="ptr"``. With 0, such fits raise an error.
        None reserves a tenth of `delta`, or all of it with "pure".

    Attributes
    ----------
    path, epsilon, delta, composition, reserved_delta
        The parameters; they cannot be set.
    epsilon_spent : float
        Total epsilon of the recorded fits, rounded up. It is at most `epsilon`, up to rounding.

    Raises
    ------
    ValueError
        If a parameter is out of range, the folder does not exist, or the file is not a ledger, is
        damaged, or was created with another budget.

    See Also
    --------
    model_selection.PrivateGridSearchCV : A search that costs far less than the sum of its fits.

    Notes
    -----
    *Composition.* The cost of a fit may depend on the releases of earlier fits. So the sums and
    their limits are privacy filters, which are fixed in advance by the parameters of the ledger.
    "renyi" has six filters. The first sums costs at the best order for Gaussian noise with a total
    cost of `epsilon`, and has five sixths of delta without `reserved_delta`. Four filters sum costs
    at higher orders, and share the rest; the order minus 1 triples from each filter to the next.
    The last filter is the plain sum of pure epsilons, which needs no delta. A fit is accepted if at
    least one filter allows it together with all earlier fits. "gaussian" has two filters: the
    Gaussian sum, in which an `e`-DP step counts as `rdp.pure_to_gdp` of `e`, and the pure sum.

    Proof of validity: consider the process that filter `k` alone would stop. This process is
    ``(epsilon, delta_k)``-DP, with costs chosen adaptively (Renyi: Feldman, Zrnic (2021), Theorem
    3.3; Gaussian: Smith, Thakurta (2022); pure: Rogers, Roth, Ullman, Vadhan (2016)). Runs that end
    within filter `k` are also outcomes of this process, with the same probabilities, and each run
    ends within at least one filter. So for any event ``S``, ``P(S) - exp(epsilon) Q(S)`` is at most
    the sum of all `delta_k`. The deltas of fits with their own delta add up to at most
    `reserved_delta`. The sum of all `delta_k` and `reserved_delta` is at most `delta`.

    If no filter allows the first fit, but its own epsilon is within the budget, the fit is accepted
    and uses the whole budget: no later fit is accepted. If such a fit has several releases that are
    recorded one by one, and may be interrupted between them, the ledger adds the epsilons and
    deltas of its fits instead: a fit that was interrupted early leaves a part of both. This rule is
    fixed before the first release, because a choice by its outcome could double delta: see
    `ledger.filters.Account`. The filters are designed for many fits. The
    total of a few fits is somewhat larger than their epsilon: for example, a fit with an epsilon of
    1 has a total of 1.13 in a ledger with an epsilon of 4.

    The epsilon of a fit by itself is the smallest of all compositions and orders, except for a fit
    that first finds its classes, bounds or class shares: the outcome chooses its later steps. Its
    own epsilon is then the stated one, the sum of the epsilons of its releases, and only if it
    states at most the ledger's delta (Dwork, Roth (2014), theorem 3.16).

    *Detected changes of the file.* Each file has a random identifier, which is stored in the object
    and in its pickles and copies. If the file was deleted or replaced by another ledger, even by
    one with the same budget, these objects raise an error; nothing is recorded, and no file is
    created. They also store the sums of the entries that they have read or written. A file with
    smaller sums is an older copy, and raises an error. So does a truncated, empty or partly
    overwritten file; each entry has a checksum. Some changes are not detected: an older copy of the
    file that a new object opens, a file edited by hand together with its checksums, two copies of
    one file that are both used, a new ledger that is created after the file was deleted, and fits
    without a ledger.

    Files of version 0.1.0 can be opened, and get the new columns with the next fit. Their
    entries have no checksum, and no separate costs of pure and Gaussian steps. So the recorded cost
    of a fit with both kinds of steps is at least its own cost.

    All fits must protect the same unit under the same relation (`PrivacySpent.unit` and
    `relation`), because costs under different relations cannot be added. Fits with a `random_state`
    raise an error: two fits with the same seed, such as clones in a search, share their noise, so
    their costs cannot be added.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.ledger import PrivacyLedger
    >>> X, y = make_classification(900, n_features=5, class_sep=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(pathlib.Path(folder) / "patients.sqlite", epsilon=2.0)
    ...     clf = PATEClassifier(GaussianNB(), n_teachers=50, classes=[0, 1], ledger=ledger)
    ...     for _ in range(3):
    ...         clf = clf.fit(X[:600], y[:600], X_public=X[600:])
    ...     ledger.history()["epsilon"].round(2).tolist(), ledger.epsilon_spent < 2.0
    ([1.0, 1.0, 1.0], True)
    """

    #: Totals of all entries that the object has read or written; lower totals raise an error.
    _seen: Any = 0.0  # for pickles of version 0.1.0, which contain no totals

    def __init__(
        self,
        path: str | PathLike[str],
        epsilon: float,
        delta: float = 1e-5,
        *,
        composition: Literal["renyi", "gaussian", "pure"] = "renyi",
        reserved_delta: float | None = None,
    ) -> None:
        self._path = Path(path).absolute()
        self._budget = filters.checked_budget(epsilon, delta, composition, reserved_delta)
        if not self.path.parent.is_dir():
            raise ValueError(f"the folder of the ledger does not exist: {self.path.parent}")
        is_new = file.create(self.path)
        try:
            with file.transaction(self.path, is_new) as db:
                if is_new:
                    file.make_tables(db, self._budget)
                budget_in_file, self._file_id, _ = file.read_budget(db)
                if budget_in_file != self._budget:
                    raise ValueError(
                        f"{self.path.name} was created with {budget_in_file._asdict()}; got "
                        f"{self._budget._asdict()}. The budget of a ledger cannot be changed: use "
                        "the budget of the file"
                    )
                self._account(db)
        except BaseException:
            if is_new:  # a later call would raise an error for an empty file
                self.path.resolve().unlink(missing_ok=True)
            raise

    path = property(attrgetter("_path"), doc="The file.")
    epsilon = property(attrgetter("_budget.epsilon"), doc="Epsilon of all fits together.")
    delta = property(attrgetter("_budget.delta"), doc="Delta of all fits together.")
    composition = property(attrgetter("_budget.composition"), doc="Composition of costs.")
    reserved_delta = property(
        attrgetter("_budget.reserved_delta"), doc="Part of `delta` for fits with their own delta."
    )

    def __repr__(self) -> str:
        return f"PrivacyLedger({self.path.name!r}, {self._budget})"

    def __eq__(self, other: object) -> bool:
        """Return whether both objects use the same file, such as an object and its copy."""
        return isinstance(other, PrivacyLedger) and self._file_id == other._file_id

    def __hash__(self) -> int:
        return hash(self._file_id)

    def check(self, spent: PrivacySpent, cost: Cost, entry: int | None = None) -> None:
        """Raise an error if a fit would exceed the budget; nothing is recorded.

        Parameters
        ----------
        spent : PrivacySpent
            Privacy cost of the fit by itself.
        cost : rdp.Cost
            The same cost in all additive measures.
        entry : int, default=None
            Number of the entry that this cost would replace; see `record`.

        Raises
        ------
        BudgetExceededError
            If the total of all earlier fits and this one exceeds the budget.
        ValueError
            If the cost has invalid numbers, if the composition of the ledger has no finite cost for
            the fit, if the fit protects another unit or relation than earlier fits, or if the file
            is damaged or no longer belongs to this ledger.
        """
        with file.transaction(self.path) as db:
            self._check_affordable(db, spent, cost, entry)

    def record(self, spent: PrivacySpent, cost: Cost, entry: int | None = None) -> int:
        """Record the cost of a fit; call it before anything is released.

        Parameters
        ----------
        spent, cost
            As in `check`.
        entry : int, default=None
            Number that an earlier call for the same fit returned. The new entry replaces this
            earlier entry, and gets a new number. The earlier entry must have no queries, its cost
            must be included in this cost, and both costs must be fixed before anything is released,
            unless `cost.stated` is the sum of the epsilons and deltas of the releases.
            If there is no entry with this number, because a copy of an interrupted estimator has
            replaced it, the cost is recorded as a separate entry.

        Returns
        -------
        int
            Number of the new entry.

        Raises
        ------
        BudgetExceededError
            As in `check`; nothing was recorded.
        ValueError
            As in `check`, or if the earlier entry has queries, or costs more than `cost`; nothing
            was recorded.
        """
        with file.transaction(self.path) as db:
            if file.has_entry(db, entry):
                file.check_grows(db, entry, cost)
            before = self._check_affordable(db, spent, cost, entry)
            cost = before.recorded(cost)
            written = file.write_fit(db, spent, cost, entry, before.by_statement)
        self._seen = np.maximum(self._seen, before.plus(cost).totals())  # after the commit
        return written

    def before(self, entry: int | None = None) -> dict[str, Any]:
        """Return the limits of this ledger and the total of the recorded fits, for a statement.

        Parameters
        ----------
        entry : int or None, default=None
            Entry of a fit to leave out, as in `record`.

        Returns
        -------
        dict
            Public numbers; floats as hexadecimal text.
        """
        with file.transaction(self.path) as db:
            account = self._account(db, without=entry)
        return {
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "composition": self.composition,
            "n_fits_before": len(account.costs),
            "epsilon_before": exact_text(account.epsilon()),
        }

    @property
    def epsilon_spent(self) -> float:
        """Total epsilon of the recorded fits, rounded up; at most `epsilon`, up to rounding."""
        with file.transaction(self.path) as db:
            return self._account(db).epsilon()

    def history(self) -> pd.DataFrame:
        """Return the recorded fits.

        Returns
        -------
        DataFrame
            One row per fit: `time` (UTC), `composition`, `n_teachers` and `n_queries` as in
            `PrivacySpent`, `epsilon` of the fit alone and `epsilon_total` of all fits up to it, at
            the ledger's delta.
        """
        with file.transaction(self.path) as db:
            account = self._account(db)
            fits = file.read_fits(db)
        rows = []
        for n_fits, (fit, cost) in enumerate(zip(fits, account.costs, strict=True), start=1):
            alone = account.epsilon_alone(cost)
            so_far = account._replace(costs=account.costs[:n_fits])
            rows.append((*fit, alone, so_far.epsilon()))
        names = ["time", "composition", "n_teachers", "n_queries", "epsilon", "epsilon_total"]
        return pd.DataFrame(rows, columns=names)

    def _account(self, db: Connection, without: int | None = None) -> filters.Account:
        """Return the recorded fits; raise an error if the file is not the file of this ledger."""
        budget, file_id, protected = file.read_budget(db)
        if (budget, file_id) != (self._budget, self._file_id):
            raise ValueError(
                f"{self.path.name} is another ledger, not the one that this object was created "
                "for. Restore the old file, or create a new PrivacyLedger object for this file"
            )
        costs = file.read_costs(db)
        account = filters.Account(
            budget,
            file.read_filters(db, budget),
            list(costs.values()),
            protected,
            by_statement=file.is_by_statement(db),
        )
        totals = account.totals()
        if (totals < self._seen).any():
            raise ValueError(
                f"{self.path.name} contains less than was recorded in it: it was replaced by an "
                "older copy, or entries were removed. Nothing was recorded; restore the newest copy"
            )
        self._seen = np.maximum(self._seen, totals)
        if costs and None in protected:
            raise sqlite3.DatabaseError("it has entries, but no unit and relation for them")
        if without is not None:
            costs.pop(without, None)
        return account._replace(costs=list(costs.values()))

    def _check_affordable(
        self, db: Connection, spent: PrivacySpent, cost: Cost, entry: int | None = None
    ) -> filters.Account:
        """Raise an error if a fit exceeds the budget; return the account of all other fits.

        The first record of a fit on an empty ledger fixes the rule of the ledger. A later record of
        the same fit must then be within the budget by this rule, whatever its releases were.
        """
        _check_cost(cost)
        before = self._account(db, without=entry)
        protected = file.protected_by(spent.unit, spent.relation)
        if before.costs and before.protected != protected:
            change = change_in_words(*reversed(before.protected))
            raise ValueError(
                f"all fits of a ledger must cover the same change of the data, here {change!r}; "
                f"this fit covers {spent.change!r}. Use the same partition and unit in all fits"
            )
        has_earlier_steps = file.has_entry(db, entry)
        if not before.costs and not has_earlier_steps:
            before = before.with_rule_for(cost)
        if not before.by_statement:
            _check_can_be_added(spent, cost, before)
        planned = cost.whole if before.by_statement and cost.whole is not None else cost
        is_affordable = before.pays_for(planned)
        if has_earlier_steps and not before.by_statement:  # the rule is fixed: the filters
            is_affordable = before.plus(cost).filters_pay()
        if not is_affordable:
            raise _over_budget(planned, before)
        return before


def _check_cost(cost: Cost) -> None:
    """Raise an error if a cost would make the sums invalid."""
    numbers = [*filters.parts_of(cost), *(cost.stated or ())]
    are_numbers = all(number >= 0 for number in numbers)  # false for NaN, too
    if not are_numbers or np.shape(cost.rdp) != DEFAULT_ORDERS.shape:
        raise ValueError(
            "a cost must have no negative numbers and no NaN, and one Renyi cost for each of the "
            f"{DEFAULT_ORDERS.size} rdp.DEFAULT_ORDERS; nothing was recorded"
        )


def _check_can_be_added(spent: PrivacySpent, cost: Cost, account: filters.Account) -> None:
    """Raise an error if a fit has a guarantee, but an infinite cost in every filter."""
    budget = account.budget
    epsilon, _ = cost.epsilon(budget.delta)
    has_guarantee = min(epsilon, account.epsilon_alone(cost)) < math.inf
    if has_guarantee and all(filter_.amount(cost) == math.inf for filter_ in account.filters):
        raise ValueError(
            f"the ledger has composition={budget.composition!r}, but this fit (composition="
            f"{spent.composition!r}) has no finite cost for it. Use another aggregator, or a "
            "ledger with composition='renyi'"
        )


def _over_budget(cost: Cost, before: filters.Account) -> BudgetExceededError:
    """Return the error for a cost that exceeds the budget together with earlier costs."""
    budget = before.budget
    set_aside = ""
    if before.by_statement:
        left = budget.delta - sum(delta for _, delta in map(before.statement_of, before.costs))
        set_aside = (
            ". This ledger adds the epsilons and deltas of its fits, because its first fit takes "
            f"most of the budget; {max(left, 0.0):.3g} of this delta is left"
        )
    elif cost.delta > 0:
        delta_before = sum(earlier.delta for earlier in before.costs)
        set_aside = (
            f". {budget.reserved_delta:g} of this delta is for fits with their own delta; "
            f"this fit has {cost.delta:g}, and earlier fits have {delta_before:g}"
        )
    alone = before.epsilon_alone(cost)
    return BudgetExceededError(
        f"this fit costs epsilon={alone:.4g}, and the {len(before.costs)} earlier fit(s) cost "
        f"{before.epsilon():.4g}: together more than the ledger's epsilon={budget.epsilon:g} at "
        f"delta={budget.delta:g}{set_aside}. Lower epsilon, or make fewer queries"
    )
