"""A budget for one private data set, and choosing parameters at a price of its own."""

import math
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from .exceptions import BudgetExceededError
from .rdp import (
    DEFAULT_ORDERS,
    Cost,
    check_delta,
    check_positive,
    epsilon_by_order,
    gdp_mu,
    gdp_to_epsilon,
)

__all__ = ["PrivacyLedger"]


class PrivacyLedger:
    """A budget for one private data set, shared by fits, processes and days.

    ``PATEClassifier(..., ledger=ledger)`` asks it before teachers train, and records what the fit
    spends before any label is released. Costs add up as order curves, which is far less than the
    sum of their epsilons. A fit that would exceed the budget is refused.

    Parameters
    ----------
    path : str or path-like
        The file of the ledger (SQLite), made if there is none. It holds public numbers only. One
        file for one private data set; not on a network drive that does not lock files.
    epsilon : float
        Budget of all fits together.
    delta : float, default=1e-5
        Probability with which the guarantee of all fits together may fail.

    Raises
    ------
    ValueError
        If the file is the ledger of another budget, or none at all.

    See Also
    --------
    PrivateGridSearchCV : A search that costs far less than the sum of its fits.

    Notes
    -----
    What a fit costs may depend on what earlier ones released, so one way of adding up must be fixed
    in advance: a Renyi order, Gaussian or pure privacy, each of which is a privacy filter (Feldman,
    Zrnic (2021), NeurIPS; Smith, Thakurta (2022)). The first fit that is recorded decides: the way
    that would pay for most repetitions of it is kept.

    All fits must protect the same change of the data (`PrivacySpent.unit` and `adjacency`), as
    costs of different changes do not add up. Fits with a `random_state` are refused: two with
    one seed, clones in a search for instance, share noise, which voids the sum.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.model_selection import PrivacyLedger
    >>> X, y = make_classification(3000, n_features=5, class_sep=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(pathlib.Path(folder) / "patients.sqlite", epsilon=1.5)
    ...     clf = PATEClassifier(LogisticRegression(), classes=[0, 1], ledger=ledger)
    ...     for _ in range(2):
    ...         clf = clf.fit(X[:2000], y[:2000], X_public=X[2000:])
    ...     ledger.history()["epsilon"].round(2).tolist(), ledger.epsilon_spent < 1.5
    ([1.0, 1.0], True)
    """

    def __init__(self, path, epsilon, delta=1e-5):
        self.path = Path(path).absolute()
        self.epsilon = check_positive("epsilon", epsilon)
        self.delta = check_delta(delta)
        new = not self.path.exists()
        if new and not self.path.parent.is_dir():
            raise ValueError(f"the folder of the ledger does not exist: {self.path.parent}")
        with self._transaction("rwc") as db:
            if new:
                db.execute(
                    "CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY CHECK (one = 1), "
                    "epsilon REAL, delta REAL, unit TEXT, adjacency TEXT, way TEXT, "
                    '"limit" REAL, delta_limit REAL)'
                )
                db.execute(
                    "CREATE TABLE IF NOT EXISTS spending (fit INTEGER PRIMARY KEY, time TEXT, "
                    "method TEXT, n_teachers INTEGER, n_queries INTEGER, rdp BLOB, "
                    "mu_squared REAL, pure REAL, delta REAL, amount REAL)"
                )
                db.execute(
                    "INSERT OR IGNORE INTO budget (one, epsilon, delta) VALUES (1, ?, ?)",
                    (self.epsilon, self.delta),
                )
            held = db.execute("SELECT epsilon, delta FROM budget").fetchone()
        if held != (self.epsilon, self.delta):
            raise ValueError(
                f"{self.path.name} is the ledger of epsilon={held[0]:g}, delta={held[1]:g}; got "
                f"epsilon={self.epsilon:g}, delta={self.delta:g}. A budget cannot be changed: give "
                "those numbers"
            )

    def __repr__(self):
        return f"PrivacyLedger({self.path.name!r}, epsilon={self.epsilon:g}, delta={self.delta:g})"

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
            If it protects another change of the data than the fits before.
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
            way, limit, delta_limit, amount = self._afford(db, spent, cost)
            db.execute(
                'UPDATE budget SET unit = ?, adjacency = ?, way = ?, "limit" = ?, delta_limit = ?',
                (spent.unit, spent.adjacency, way, limit, delta_limit),
            )
            rdp = np.asarray(cost.rdp, dtype="<f8").tobytes()
            db.execute(
                "INSERT INTO spending (time, method, n_teachers, n_queries, rdp, mu_squared, pure, "
                "delta, amount) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(datetime.now(UTC).isoformat(timespec="seconds"), spent.method),
                    *(spent.n_teachers, spent.n_queries, rdp),
                    *(float(cost.mu_squared), float(cost.pure), float(cost.delta), amount),
                ),
            )

    @property
    def epsilon_spent(self):
        """What the recorded fits cost together, at most `epsilon`."""
        history = self.history()
        return float(history["epsilon_total"].iloc[-1]) if len(history) else 0.0

    def history(self):
        """Return the fits that were recorded.

        Returns
        -------
        DataFrame
            One row per fit: `time` (UTC), `method`, `n_teachers` and `n_queries` as in
            `PrivacySpent`, `epsilon` of that fit alone and `epsilon_total` of all up to it, at the
            ledger's delta.
        """
        with self._transaction() as db:
            way, delta_limit = db.execute("SELECT way, delta_limit FROM budget").fetchone()
            rows = db.execute(
                "SELECT time, method, n_teachers, n_queries, rdp, mu_squared, pure, delta, amount "
                "FROM spending ORDER BY fit"
            ).fetchall()
        table, total = [], 0.0
        for *told, rdp, mu_squared, pure, delta, amount in rows:
            cost, total = (
                Cost(np.frombuffer(rdp, dtype="<f8"), mu_squared, pure, delta),
                total + amount,
            )
            together = _epsilon(way, total, self.delta - delta_limit)
            table.append((*told, cost.epsilon(self.delta)[0], together))
        names = ["time", "method", "n_teachers", "n_queries", "epsilon", "epsilon_total"]
        return pd.DataFrame(table, columns=names)

    @contextmanager
    def _transaction(self, mode="rw"):
        """All or nothing, and one at a time: a process that dies leaves neither half nor lock."""
        try:
            uri = f"{self.path.as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, uri=True, timeout=120, isolation_level=None)) as db:
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

    def _afford(self, db, spent, cost):
        """Way, limits and amount with which the cost fits in the budget, or an error."""
        unit, adjacency, way, limit, delta_limit = db.execute(
            'SELECT unit, adjacency, way, "limit", delta_limit FROM budget'
        ).fetchone()
        total, n_fits, delta = db.execute(
            "SELECT TOTAL(amount), COUNT(*), TOTAL(delta) FROM spending"
        ).fetchone()
        if way is not None and (unit, adjacency) != (spent.unit, spent.adjacency):
            raise ValueError(
                f"this ledger adds up costs of one change of the data, {adjacency!r} "
                f"(unit={unit!r}); this fit protects {spent.adjacency!r} (unit={spent.unit!r}), "
                "and such costs do not add up. Use the same partition and unit in all fits"
            )
        if way is None:
            way, limit, delta_limit = self._best_way(cost)
        amount = _amount(way, cost)
        if total + amount <= limit and delta + cost.delta <= delta_limit:
            return way, limit, delta_limit, amount
        before = _epsilon(way, total, self.delta - delta_limit)
        raise BudgetExceededError(
            f"this fit costs epsilon={cost.epsilon(self.delta)[0]:.4g} at delta={self.delta:g} by "
            f"itself, and the {n_fits} fit(s) before cost {before:.4g}; together that "
            f"is more than the ledger's epsilon={self.epsilon:g} at delta={self.delta:g}. Ask "
            "fewer queries or use more noise. Nothing was spent"
        )

    def _best_way(self, cost):
        """The Renyi order that pays for most repetitions of the first fit, with its limits.

        Only if none pays for one: Gaussian or pure sums, which not all mechanisms have.
        """
        # A mechanism with a delta of its own gets half of the ledger's; pure sums need none
        share = self.delta / 2 if cost.delta > 0 else 0.0
        left = self.delta - share
        start = epsilon_by_order(np.full(DEFAULT_ORDERS.size, 1e3), left, DEFAULT_ORDERS) - 1e3
        ways = {
            f"renyi {order!r}": (self.epsilon - penalty, share)
            for order, penalty in zip(DEFAULT_ORDERS.tolist(), start.tolist(), strict=True)
        }
        others = {
            "gaussian": (gdp_mu(self.epsilon, left) ** 2, share),
            "pure": (self.epsilon, self.delta),
        }

        def repetitions(way):
            limit, delta_limit = (ways | others)[way]
            deltas = delta_limit / cost.delta if cost.delta > 0 else math.inf
            return min(limit / max(_amount(way, cost), 1e-300), deltas)

        best = max(ways, key=repetitions)
        if repetitions(best) < 1:
            best = max([best, *others], key=repetitions)
        return best, *(ways | others)[best]


def _amount(way, cost):
    """What is added up of a cost."""
    if way == "gaussian":
        return float(cost.mu_squared)
    if way == "pure":
        return float(cost.pure)
    return float(cost.rdp[float(way.removeprefix("renyi ")) == DEFAULT_ORDERS].item())


def _epsilon(way, total, delta):
    """The epsilon of what was added up."""
    if not total:
        return 0.0
    if way == "gaussian":
        return gdp_to_epsilon(math.sqrt(total), delta)
    if way == "pure":
        return total
    order = float(way.removeprefix("renyi "))
    return float(epsilon_by_order([total], delta, [order]).item())
