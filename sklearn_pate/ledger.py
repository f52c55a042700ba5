"""One budget for all fits on one private data set."""

import math
import os
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import numpy as np
import pandas as pd

from .exceptions import BudgetExceededError
from .rdp import DEFAULT_ORDERS, Cost, gdp_mu, gdp_to_epsilon, pure_to_gdp
from .rdp.checks import check_delta, check_positive
from .rdp.conversion import conversion_penalty, epsilon_by_order

__all__ = ["PrivacyLedger"]


class PrivacyLedger:
    """A budget for one private data set, shared by fits, processes and days.

    ``PATEClassifier(..., ledger=ledger)`` asks it before teachers train, and records what the fit
    spends before any label is released. A fit that would exceed the budget is refused. Costs of
    many fits add up to far less than the sum of their epsilons.

    Parameters
    ----------
    path : str or path-like
        The file of the ledger (SQLite), made if there is none. It holds public numbers only. One
        file for one private data set; not on a network drive that does not lock files.
    epsilon : float
        Budget of all fits together.
    delta : float, default=1e-5
        Probability with which the guarantee of all fits together may fail.
    composition : {"renyi", "gaussian", "pure"}, default="renyi"
        How costs add up, fixed when the file is made. "renyi" takes all that has a guarantee and
        suits nearly all. "gaussian" sums squared Gaussian-DP parameters: for fits with Gaussian or
        pure costs, not for private searches. "pure" is the plain sum of pure epsilons.
    failure_probability : float or None, default=None
        Part of `delta` that is set aside, when the file is made, for fits with a delta of their
        own: `StableArgmax` and ``accounting="ptr"``. 0 refuses them. None is a tenth of
        `delta`, with "pure" all of it.

    Attributes
    ----------
    path, epsilon, delta, composition, failure_probability
        As given; they cannot be set.
    epsilon_spent : float
        What the recorded fits cost together, at most `epsilon`.

    Raises
    ------
    ValueError
        If the file is the ledger of another budget, or none at all.

    See Also
    --------
    model_selection.PrivateGridSearchCV : A search that costs far less than the sum of its fits.

    Notes
    -----
    *How costs add up.* What a fit costs may depend on what earlier ones released, so the ways of
    adding up, and their limits, are fixed in advance, by `epsilon` and `delta` alone: they are
    privacy filters. "renyi" keeps six at once. The order at which Gaussian noise that uses up the
    budget converts best has five sixths of delta, four orders further up, each time three times as
    far from 1, share the rest, and the plain sum of pure epsilons needs no delta. A fit is let
    through if at least one filter allows it together with all fits before. "gaussian" has two:
    the Gaussian sum, in which an `e`-DP step counts as `rdp.pure_to_gdp` says, and the pure one.

    Why that is valid: the process that filter `k` alone would stop is ``(epsilon, delta_k)``-DP,
    with costs chosen adaptively (Renyi: Feldman, Zrnic (2021), Theorem 3.3; Gaussian: Smith,
    Thakurta (2022); pure: Rogers, Roth, Ullman, Vadhan (2016)). Runs that end within filter `k`
    are outcomes of that process too, with the same probabilities, and each run ends within some
    filter. So for any event ``S``, ``P(S) - exp(epsilon) Q(S)`` is at most the sum of all
    `delta_k`. Fits with a delta of their own add the probability that one of them fails, at most
    `failure_probability`; all parts together are `delta`.

    A first fit for which no filter has room, but which is within the budget by itself, takes all
    of it: nothing is let through after it. Otherwise a few fits alone count for somewhat more than
    their epsilon (one of 1 in a ledger of 4 as 1.13): the filters suit many.

    *What is noticed.* Each file has a random name of its own, which the object, its pickles and
    its copies remember. If their file was deleted, replaced by another ledger (even one of the
    same budget), or holds other numbers, they refuse; nothing is recorded, and no file is made.
    Not noticed: a file put back from an older backup or edited by hand, two copies of one file that
    are both used, a new ledger by a new call after the file was deleted, and what is spent
    without a ledger.

    All fits must protect the same change of the data (`PrivacySpent.unit` and `adjacency`), as
    costs of different changes do not add up. Fits with a `random_state` are refused: two with
    one seed, clones in a search for instance, share noise, which voids the sum.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.ledger import PrivacyLedger
    >>> X, y = make_classification(3000, n_features=5, class_sep=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(pathlib.Path(folder) / "patients.sqlite", epsilon=2.0)
    ...     clf = PATEClassifier(LogisticRegression(), classes=[0, 1], ledger=ledger)
    ...     for _ in range(3):
    ...         clf = clf.fit(X[:2000], y[:2000], X_public=X[2000:])
    ...     ledger.history()["epsilon"].round(2).tolist(), ledger.epsilon_spent < 2.0
    ([1.0, 1.0, 1.0], True)
    """

    def __init__(self, path, epsilon, delta=1e-5, *, composition="renyi", failure_probability=None):
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"path must be the path of a file; got {path!r}")
        self._path = Path(path).absolute()
        epsilon = check_positive("epsilon", epsilon)
        delta = check_delta(delta)
        if composition not in _COMPOSITIONS:
            raise ValueError(
                f"composition must be one of {', '.join(map(repr, _COMPOSITIONS))}; "
                f"got {composition!r}"
            )
        failure = _check_failure_probability(failure_probability, delta, composition)
        self._budget = _Budget(epsilon, delta, composition, failure)
        new = not self.path.exists() or self.path.stat().st_size == 0
        if new and not self.path.parent.is_dir():
            raise ValueError(f"the folder of the ledger does not exist: {self.path.parent}")
        with self._transaction("rwc" if new else "rw") as db:
            if new:
                _make_tables(db, self._budget)
            held, self._file_id = _held(db)
        if held != self._budget:
            raise ValueError(
                f"{self._difference(held)}. A budget cannot be changed: give those numbers"
            )

    @property
    def path(self):
        """The file."""
        return self._path

    @property
    def epsilon(self):
        """Budget of all fits together."""
        return self._budget.epsilon

    @property
    def delta(self):
        """Probability with which the guarantee of all fits together may fail."""
        return self._budget.delta

    @property
    def composition(self):
        """How costs add up."""
        return self._budget.composition

    @property
    def failure_probability(self):
        """Part of `delta` for fits with a delta of their own."""
        return self._budget.failure_probability

    def __repr__(self):
        usual = _check_failure_probability(None, self.delta, self.composition)
        told = f"{self.path.name!r}, epsilon={self.epsilon:g}, delta={self.delta:g}"
        if self.composition != "renyi":
            told += f", composition={self.composition!r}"
        if self.failure_probability != usual:
            told += f", failure_probability={self.failure_probability:g}"
        return f"PrivacyLedger({told})"

    def check(self, spent, cost):
        """Refuse a fit that would exceed the budget; record nothing.

        Parameters
        ----------
        spent : PrivacySpent
            What the fit alone will say.
        cost : rdp.Cost
            The same, as it adds up.

        Raises
        ------
        BudgetExceededError
            If it does not fit.
        ValueError
            If its cost is of a kind that the ledger's composition cannot add up, if it protects
            another change of the data than the fits before, or if the file is no longer this
            ledger's.
        """
        with self._transaction() as db:
            self._afford(db, spent, cost)

    def record(self, spent, cost):
        """Write down that a fit spends; call it before anything is released.

        Parameters
        ----------
        spent, cost
            As in `check`.

        Raises
        ------
        BudgetExceededError, ValueError
            As `check`; nothing was recorded.
        """
        with self._transaction() as db:
            self._afford(db, spent, cost)
            db.execute("UPDATE budget SET unit = ?, adjacency = ?", (spent.unit, spent.adjacency))
            db.execute(
                "INSERT INTO spending (time, method, n_teachers, n_queries, rdp, mu_squared, pure, "
                "delta) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    spent.method,
                    int(spent.n_teachers),
                    int(spent.n_queries),
                    np.asarray(cost.rdp, dtype="<f8").tobytes(),
                    float(cost.mu_squared),
                    float(cost.pure),
                    float(cost.delta),
                ),
            )

    @property
    def epsilon_spent(self):
        """What the recorded fits cost together, at most `epsilon`."""
        with self._transaction() as db:
            budget = self._own_budget(db)
            filters = _filters(db)
            costs = _costs(db)
        return _together(budget, filters, costs, _amounts(filters, costs))

    def history(self):
        """Return the fits that were recorded.

        Returns
        -------
        DataFrame
            One row per fit: `time` (UTC), `method`, `n_teachers` and `n_queries` as in
            `PrivacySpent`, `epsilon` of that fit alone and `epsilon_total` of all up to it, at the
            ledger's delta, and `share`, the part of the budget that is used up.
        """
        with self._transaction() as db:
            budget = self._own_budget(db)
            filters = _filters(db)
            costs = _costs(db)
            told = db.execute(
                "SELECT time, method, n_teachers, n_queries FROM spending ORDER BY fit"
            ).fetchall()
        amounts = _amounts(filters, costs)
        table = []
        for n, (row, cost) in enumerate(zip(told, costs, strict=True), start=1):
            so_far = [own[:n] for own in amounts]
            together = _together(budget, filters, costs[:n], so_far)
            share = min(
                one.share(math.fsum(own), budget.epsilon)
                for one, own in zip(filters, so_far, strict=True)
            )
            table.append((*row, _alone(budget, cost), together, min(share, 1.0)))
        names = ["time", "method", "n_teachers", "n_queries", "epsilon", "epsilon_total", "share"]
        return pd.DataFrame(table, columns=names)

    @contextmanager
    def _transaction(self, mode="rw"):
        """All or nothing, and one at a time: a process that dies leaves neither half nor lock."""
        try:
            uri = f"{self.path.as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, uri=True, timeout=120, isolation_level=None)) as db:
                # With less, a power cut soon after COMMIT may undo it, when labels are out
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise ValueError(
                f"{self.path} cannot be used as a ledger ({error}). It must be a file that "
                "PrivacyLedger made, and that can be written; nothing was recorded"
            ) from error

    def _own_budget(self, db):
        """The budget in the file, which decides; an error if it is not this object's."""
        held, file_id = _held(db)
        if held != self._budget:
            raise ValueError(
                f"{self._difference(held)} in this object. The file was replaced, or the object "
                "changed; make a new one, with the file's numbers. Nothing was recorded"
            )
        if file_id != self._file_id:
            raise ValueError(
                f"{self.path.name} is another ledger than the one this object was made with: the "
                "file was replaced, and what it held is not counted in this one. Put the old file "
                "back, or make a new PrivacyLedger to use this one. Nothing was recorded"
            )
        return held

    def _difference(self, held):
        names = ["epsilon", "delta"]
        for name in ("composition", "failure_probability"):
            if getattr(held, name) != getattr(self._budget, name):
                names.append(name)
        told, got = (
            ", ".join(
                f"{name}={value!r}" if isinstance(value, str) else f"{name}={value:g}"
                for name, value in ((name, getattr(budget, name)) for name in names)
            )
            for budget in (held, self._budget)
        )
        return f"{self.path.name} is the ledger of {told}; got {got}"

    def _afford(self, db, spent, cost):
        """Refuse what the budget does not pay for."""
        _check_cost(cost)
        budget = self._own_budget(db)
        unit, adjacency = _the_row(db, "unit, adjacency")
        costs = _costs(db)
        if costs and (unit, adjacency) != (spent.unit, spent.adjacency):
            raise ValueError(
                f"this ledger adds up costs of one change of the data, {adjacency!r} "
                f"(unit={unit!r}); this fit protects {spent.adjacency!r} (unit={spent.unit!r}), "
                "and such costs do not add up. Use the same partition and unit in all fits"
            )
        filters = _filters(db)
        alone = _alone(budget, cost)
        known = min(cost.epsilon(budget.delta)[0], alone) < math.inf
        if known and all(one.amount(cost) == math.inf for one in filters):
            raise ValueError(
                f"this ledger has composition={budget.composition!r}, and this fit (method="
                f"{spent.method!r}) has {_ADVICE[budget.composition]}. Nothing was spent"
            )
        amounts = _amounts(filters, [*costs, cost])
        if _together(budget, filters, [*costs, cost], amounts) <= budget.epsilon:
            return
        before = _together(budget, filters, costs, [own[:-1] for own in amounts])
        own = (
            f", {budget.failure_probability:g} of which is for fits with a delta of their own; "
            f"this one has {cost.delta:g}, and those before {sum(c.delta for c in costs):g}"
            if cost.delta > 0
            else ""
        )
        raise BudgetExceededError(
            f"this fit costs epsilon={alone:.4g} at delta={budget.delta:g} by "
            f"itself, and the {len(costs)} fit(s) before cost {before:.4g}; together that "
            f"is more than the ledger's epsilon={budget.epsilon:g} at delta={budget.delta:g}{own}. "
            "Lower epsilon, ask fewer queries or use more noise. Nothing was spent"
        )


#: Ways of adding up that a ledger may have.
_COMPOSITIONS = ("renyi", "gaussian", "pure")

#: What to do with a cost that a composition cannot add up.
_ADVICE = {
    "renyi": "no Renyi cost. Use another aggregator",
    "gaussian": (
        "neither a Gaussian nor a pure cost, as private searches and most mechanisms with a check "
        "of their own have none. Use a ledger with composition='renyi', or fits whose aggregator "
        "has one"
    ),
    "pure": (
        "no pure cost. Use a ledger with composition='renyi', or an aggregator with Laplace or "
        "exponential noise"
    ),
}


#: Parts of delta of the Renyi orders of a ledger, from the lowest: five sixths of what is left.
_PARTS = np.array([5 / 6, 5 / 36, 5 / 216, 5 / 1296, 1 / 1296])


class _Budget(NamedTuple):
    """What is fixed when the file of a ledger is made."""

    epsilon: float
    delta: float
    composition: str
    failure_probability: float


class _Filter(NamedTuple):
    """One way of adding up, fixed in advance, with its part of delta."""

    kind: str
    order: float | None
    delta: float

    def amount(self, cost):
        """What is added up of a cost."""
        if self.kind == "gaussian":
            return float(min(cost.mu_squared, pure_to_gdp(float(cost.pure)) ** 2))
        if self.kind == "pure":
            return float(cost.pure)
        return float(cost.rdp[np.flatnonzero(self.order == DEFAULT_ORDERS)].item())

    def epsilon(self, total):
        """Epsilon, at its part of delta, of what was added up."""
        if self.kind == "gaussian":
            return gdp_to_epsilon(math.sqrt(total), self.delta)
        if self.kind == "pure":
            return total
        return float(epsilon_by_order([total], self.delta, [self.order]).item())

    def share(self, total, epsilon):
        """Part of what it allows that is used up."""
        if self.kind == "gaussian":
            limit = gdp_mu(epsilon, self.delta) ** 2
        elif self.kind == "pure":
            limit = epsilon
        else:
            limit = epsilon - conversion_penalty(self.delta, [self.order]).item()
        return total / limit if limit > 0 else math.inf


def _new_filters(budget):
    """Filters of a new ledger: public numbers decide, never an entry."""
    pure = _Filter("pure", None, 0.0)
    left = budget.delta - budget.failure_probability
    if budget.composition == "pure":
        return [pure]
    if budget.composition == "gaussian":
        return [_Filter("gaussian", None, left), pure]
    parts = left * _PARTS
    # Gaussian noise costs in proportion to the order, and small pure steps nearly so
    pays = (budget.epsilon - conversion_penalty(parts[0], DEFAULT_ORDERS)) / DEFAULT_ORDERS
    first = DEFAULT_ORDERS[np.argmax(pays)]
    # Larger costs, private searches among them, need higher orders; there little delta is enough
    wanted = (first - 1) * 3.0 ** np.arange(len(parts))
    apart = np.abs(np.log(DEFAULT_ORDERS - 1) - np.log(wanted)[:, None])
    orders = DEFAULT_ORDERS[np.argmin(apart, axis=1)]
    renyi = [_Filter("renyi", *pair) for pair in zip(orders.tolist(), parts.tolist(), strict=True)]
    return [*renyi, pure]


def _alone(budget, cost):
    """Epsilon of one fit by itself, at the ledger's delta."""
    pure = float(cost.pure) if cost.delta <= budget.delta else math.inf
    return pure if budget.composition == "pure" else min(cost.epsilon(budget.delta)[0], pure)


def _amounts(filters, costs):
    """What each filter adds up, cost by cost."""
    return [[one.amount(cost) for cost in costs] for one in filters]


def _together(budget, filters, costs, amounts):
    """Epsilon of all costs; above the budget's if no filter allows them."""
    if not costs:
        return 0.0
    if math.fsum(cost.delta for cost in costs) > budget.failure_probability:
        return math.inf
    epsilon = min(one.epsilon(math.fsum(own)) for one, own in zip(filters, amounts, strict=True))
    if len(costs) == 1 and epsilon > budget.epsilon:  # it may take all, as nothing can follow
        return _alone(budget, costs[0])
    return epsilon


def _check_failure_probability(value, delta, composition):
    """Return the part of delta for fits with a delta of their own."""
    if value is None:
        return delta if composition == "pure" else delta / 10
    most = "at most" if composition == "pure" else "below"
    fits = isinstance(value, Real) and 0 <= value <= delta
    if not fits or (most == "below" and value == delta):
        raise ValueError(
            f"failure_probability is a part of delta={delta:g}: it must be at least 0 and {most} "
            f"that; got {value!r}"
        )
    return float(value)


def _check_cost(cost):
    """Refuse what would corrupt a sum."""
    parts = [*np.ravel(cost.rdp), cost.mu_squared, cost.pure, cost.delta]
    if not all(part >= 0 for part in parts):
        raise ValueError("a cost has no negative parts and no NaN; nothing was recorded")
    if np.shape(cost.rdp) != DEFAULT_ORDERS.shape:
        raise ValueError(
            f"a cost has one Renyi cost for each of rdp.DEFAULT_ORDERS, {DEFAULT_ORDERS.size}; got "
            f"shape {np.shape(cost.rdp)}. Nothing was recorded"
        )


def _make_tables(db, budget):
    """Make a ledger of an empty file, unless another process has."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY CHECK (one = 1), "
        "epsilon REAL, delta REAL, composition TEXT, failure_probability REAL, file TEXT, "
        "orders BLOB, unit TEXT, adjacency TEXT)"
    )
    db.execute('CREATE TABLE IF NOT EXISTS filters (kind TEXT, "order" REAL, delta REAL)')
    db.execute(
        "CREATE TABLE IF NOT EXISTS spending (fit INTEGER PRIMARY KEY, time TEXT, "
        "method TEXT, n_teachers INTEGER, n_queries INTEGER, rdp BLOB, "
        "mu_squared REAL, pure REAL, delta REAL)"
    )
    made = db.execute(
        "INSERT OR IGNORE INTO budget (one, epsilon, delta, composition, failure_probability, "
        "file, orders) VALUES (1, ?, ?, ?, ?, ?, ?)",
        (*budget, token_hex(16), DEFAULT_ORDERS.astype("<f8").tobytes()),
    )
    if made.rowcount:
        db.executemany("INSERT INTO filters VALUES (?, ?, ?)", _new_filters(budget))


def _the_row(db, columns):
    """Read the one row of a ledger's table `budget`."""
    row = db.execute(f"SELECT {columns} FROM budget").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("it holds no budget")
    return row


def _held(db):
    """The budget in a file, and the file's name of its own."""
    *numbers, file_id, orders = _the_row(
        db, "epsilon, delta, composition, failure_probability, file, orders"
    )
    if orders != DEFAULT_ORDERS.astype("<f8").tobytes():
        raise sqlite3.DatabaseError("its costs are at other Renyi orders than this version's")
    return _Budget(*numbers), file_id


def _filters(db):
    """Ways of adding up that were fixed when the file was made."""
    filters = [_Filter(*row) for row in db.execute('SELECT kind, "order", delta FROM filters')]
    if not filters:
        raise sqlite3.DatabaseError("it holds no filters")
    return filters


def _costs(db):
    """What was recorded, in order."""
    rows = db.execute("SELECT rdp, mu_squared, pure, delta FROM spending ORDER BY fit")
    return [Cost(np.frombuffer(rdp, dtype="<f8"), *rest) for rdp, *rest in rows]
