"""The ledger: which fits it lets through, and what it writes down."""

import math
import sqlite3
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd

from ..accounting.spent import change_in_words
from ..exceptions import BudgetExceededError
from ..rdp import DEFAULT_ORDERS
from . import file, filters


class PrivacyLedger:
    """A budget for one private data set, shared by fits, processes and days.

    ``PATEClassifier(..., ledger=ledger)`` checks it before teachers train, and records what the fit
    spends before any label is released. A fit that would go over budget is refused. The costs of
    many fits add up to far less than the sum of their epsilons.

    Parameters
    ----------
    path : str or path-like
        The file of the ledger (SQLite), made if there is none. It holds public numbers only. Use
        one file for each private data set, and not on a network drive that does not lock files.
    epsilon : float
        Budget of all fits together.
    delta : float, default=1e-5
        Delta of the guarantee of all fits together.
    composition : {"renyi", "gaussian", "pure"}, default="renyi"
        How costs add up, fixed when the file is made. "renyi" takes every fit that has a guarantee
        and suits nearly all data sets. "gaussian" sums squared Gaussian-DP parameters: for fits
        with Gaussian or pure costs, not for private searches. "pure" is the plain sum of pure
        epsilons.
    failure_probability : float or None, default=None
        Part of `delta` that is set aside, when the file is made, for fits with a delta of their
        own: `StableArgmax` and ``accounting="ptr"``. 0 refuses them. None is a tenth of
        `delta`, with "pure" all of it.

    Attributes
    ----------
    path, epsilon, delta, composition, failure_probability
        As given; they cannot be set.
    epsilon_spent : float
        What the recorded fits cost together, rounded up; at most `epsilon`, but for rounding.

    Raises
    ------
    ValueError
        If the file is the ledger of another budget, or not a ledger at all.

    See Also
    --------
    model_selection.PrivateGridSearchCV : A search that costs far less than the sum of its fits.

    Notes
    -----
    *How costs add up.* What a fit costs may depend on what earlier fits released. So the ways of
    adding up, and their limits, are fixed in advance by `epsilon` and `delta` alone: they are
    privacy filters. "renyi" keeps six at once. One adds up at the order that is best for Gaussian
    noise that uses up the budget, and has five sixths of delta. Four add up at higher orders, each
    three times as far from 1 as the one before, and share the rest of delta. The last is the plain
    sum of pure epsilons, which needs no delta. A fit is let through if at least one filter allows
    it together with all fits before. "gaussian" has two: the Gaussian sum, in which an `e`-DP step
    counts as `rdp.pure_to_gdp` says, and the pure one.

    Why that is valid: the process that filter `k` alone would stop is ``(epsilon, delta_k)``-DP,
    with costs chosen adaptively (Renyi: Feldman, Zrnic (2021), Theorem 3.3; Gaussian: Smith,
    Thakurta (2022); pure: Rogers, Roth, Ullman, Vadhan (2016)). Runs that end within filter `k`
    are outcomes of that process too, with the same probabilities, and each run ends within some
    filter. So for any event ``S``, ``P(S) - exp(epsilon) Q(S)`` is at most the sum of all
    `delta_k`. Fits with a delta of their own add their deltas, at most `failure_probability`; all
    parts together are `delta`.

    If no filter has room for the first fit, but the fit is within the budget by itself, it takes
    the whole budget: nothing is let through after it. The filters are made for many fits: a few
    count for somewhat more than their epsilon (a fit of 1 in a ledger of 4 counts as 1.13).

    *What is noticed.* Each file has a random identifier, which the object, its pickles and its
    copies remember. If their file was deleted or replaced by another ledger, even one of the same
    budget, they refuse; nothing is recorded, and no file is made. They also remember the sums of
    the entries that they have read or written, and refuse a file with less: an older copy of it. A
    file that is cut short, empty or overwritten in some place is refused, each entry by a checksum.
    Not noticed are an older copy that a new call opens, a file edited by hand with its checksums,
    two copies of one file that are both used, a new ledger that a new call makes after the file was
    deleted, and what is spent without a ledger.

    Files of 0.1.0 open, and get three more columns. Their entries have no checksum, and no record
    of which steps were pure and which Gaussian: a fit with both counts as larger or equal.

    All fits must protect the same change of the data (`PrivacySpent.unit` and `relation`), as
    costs of different changes do not add up. Fits with a `random_state` are refused: two fits with
    the same seed, such as clones in a search, share their noise, and their costs do not add up.

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

    #: Totals of all entries that the object has read or written: its file must not have less.
    _seen = 0.0  # of pickles of 0.1.0, which have none

    def __init__(self, path, epsilon, delta=1e-5, *, composition="renyi", failure_probability=None):
        self._path = Path(path).absolute()
        self._budget = filters.checked_budget(epsilon, delta, composition, failure_probability)
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
                        f"{self.path.name} is the ledger of {budget_in_file}; got {self._budget}. "
                        "A budget cannot be changed: give the file's"
                    )
                self._account(db)
        except BaseException:
            if is_new:  # it is empty, and would be refused from now on
                self.path.resolve().unlink(missing_ok=True)
            raise

    path = property(attrgetter("_path"), doc="The file.")
    epsilon = property(attrgetter("_budget.epsilon"), doc="Budget of all fits together.")
    delta = property(attrgetter("_budget.delta"), doc="Delta of their guarantee.")
    composition = property(attrgetter("_budget.composition"), doc="How costs add up.")
    failure_probability = property(
        attrgetter("_budget.failure_probability"), doc="Part of `delta` for fits with their own."
    )

    def __repr__(self):
        return f"PrivacyLedger({self.path.name!r}, {self._budget})"

    def __eq__(self, other):
        """Return whether both are of the same file, as an object and its copy are."""
        return isinstance(other, PrivacyLedger) and self._file_id == other._file_id

    def __hash__(self):
        return hash(self._file_id)

    def check(self, spent, cost, entry=None):
        """Refuse a fit that would go over budget; record nothing.

        Parameters
        ----------
        spent : PrivacySpent
            What the fit spends by itself.
        cost : rdp.Cost
            The same, in all the ways that add up.
        entry : int, default=None
            As in `record`: the entry that this cost would take the place of.

        Raises
        ------
        BudgetExceededError
            If the fits before and this one are over budget together.
        ValueError
            If its cost is of a kind that the ledger's composition cannot add up, if it protects
            another change of the data than the fits before, or if the file is no longer this
            ledger's.
        """
        with file.transaction(self.path) as db:
            self._check_affordable(db, spent, cost, entry)

    def record(self, spent, cost, entry=None):
        """Write down that a fit spends; call it before anything is released.

        Parameters
        ----------
        spent, cost
            As in `check`.
        entry : int, default=None
            From the last call of the same fit, whose cost is a part of this one and was fixed
            together with it, before anything was released. It has no queries yet, and grows: it
            gets another number. So if a copy of an interrupted estimator has gone on with it
            before, it is not found, and this cost is an entry of its own.

        Returns
        -------
        int
            The number of the entry.

        Raises
        ------
        BudgetExceededError, ValueError
            As `check`; nothing was recorded.
        """
        with file.transaction(self.path) as db:
            if file.has_entry(db, entry):
                file.check_grows(db, entry, cost)
            before = self._check_affordable(db, spent, cost, entry)
            written = file.write_fit(db, spent, cost, entry)
        self._seen = np.maximum(self._seen, before.plus(cost).totals())  # it was committed
        return written

    @property
    def epsilon_spent(self):
        """What the recorded fits cost together, rounded up; at most `epsilon`, but for rounding."""
        with file.transaction(self.path) as db:
            return self._account(db).epsilon()

    def history(self):
        """Return the fits that were recorded.

        Returns
        -------
        DataFrame
            One row per fit: `time` (UTC), `composition`, `n_teachers` and `n_queries` as in
            `PrivacySpent`, `epsilon` of that fit alone and `epsilon_total` of all up to it, at the
            ledger's delta.
        """
        with file.transaction(self.path) as db:
            account = self._account(db)
            fits = file.read_fits(db)
        rows = []
        for n_fits, (fit, cost) in enumerate(zip(fits, account.costs, strict=True), start=1):
            alone = filters.epsilon_alone(cost, account.budget)
            so_far = account._replace(costs=account.costs[:n_fits])
            rows.append((*fit, alone, so_far.epsilon()))
        names = ["time", "composition", "n_teachers", "n_queries", "epsilon", "epsilon_total"]
        return pd.DataFrame(rows, columns=names)

    def _account(self, db, without=None):
        """Return the fits that were recorded; refuse a file that is no longer this ledger's."""
        budget, file_id, protected = file.read_budget(db)
        if (budget, file_id) != (self._budget, self._file_id):
            raise ValueError(
                f"{self.path.name} is another ledger than the one this object was made with. Put "
                "the old file back, or make a new PrivacyLedger to use this one"
            )
        costs = file.read_costs(db)
        account = filters.Account(
            budget, file.read_filters(db, budget), list(costs.values()), protected
        )
        totals = account.totals()
        if (totals < self._seen).any():
            raise ValueError(
                f"{self.path.name} holds less than was recorded in it: it was replaced by an older "
                "copy, or entries were removed. Nothing was recorded; restore the newest copy"
            )
        self._seen = np.maximum(self._seen, totals)
        if costs and None in protected:
            raise sqlite3.DatabaseError("it holds entries, and not the change that they protect")
        costs.pop(without, None)
        return account._replace(costs=list(costs.values()))

    def _check_affordable(self, db, spent, cost, entry=None):
        """Refuse a fit that the budget does not pay for; return the account of all others."""
        _check_cost(cost)
        before = self._account(db, without=entry)
        protected = file.protected_by(spent.unit, spent.relation)
        if before.costs and before.protected != protected:
            change = change_in_words(*reversed(before.protected))
            raise ValueError(
                f"this ledger adds up costs of one change of the data, {change!r}; "
                f"this fit protects {spent.change!r}. Use the same partition and unit in all"
            )
        _check_can_be_added(spent, cost, before)
        if not before.pays_for(cost):
            raise _over_budget(cost, before)
        return before


def _check_cost(cost):
    """Refuse what would corrupt a sum."""
    are_numbers = (filters.parts_of(cost) >= 0).all()  # false for NaN, too
    if not are_numbers or np.shape(cost.rdp) != DEFAULT_ORDERS.shape:
        raise ValueError(
            "a cost must have no negative parts and no NaN, and one Renyi cost for each of the "
            f"{DEFAULT_ORDERS.size} rdp.DEFAULT_ORDERS; nothing was recorded"
        )


def _check_can_be_added(spent, cost, account):
    """Refuse a fit that has a guarantee, but none of the kind that the filters add up."""
    budget = account.budget
    epsilon, _ = cost.epsilon(budget.delta)
    has_guarantee = min(epsilon, filters.epsilon_alone(cost, budget)) < math.inf
    if has_guarantee and all(filter_.amount(cost) == math.inf for filter_ in account.filters):
        raise ValueError(
            f"composition={budget.composition!r}, and this fit (composition="
            f"{spent.composition!r}) has no cost that it adds up. Use another "
            "aggregator, or a ledger with composition='renyi'"
        )


def _over_budget(cost, before):
    """Return the error for a cost that is over budget together with those before."""
    budget = before.budget
    set_aside = ""
    if cost.delta > 0:
        delta_before = sum(earlier.delta for earlier in before.costs)
        set_aside = (
            f", {budget.failure_probability:g} of which is for fits with a delta of their own; "
            f"this one has {cost.delta:g}, and those before {delta_before:g}"
        )
    alone = filters.epsilon_alone(cost, budget)
    return BudgetExceededError(
        f"this fit costs epsilon={alone:.4g}, and the {len(before.costs)} "
        f"fit(s) before {before.epsilon():.4g}: together more than the ledger's epsilon="
        f"{budget.epsilon:g} at delta={budget.delta:g}{set_aside}. Lower epsilon or ask less"
    )
