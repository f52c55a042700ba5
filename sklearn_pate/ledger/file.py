"""The file of a ledger: a SQLite database of three tables."""

import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from secrets import token_hex

import numpy as np

from ..rdp import DEFAULT_ORDERS, Cost, NeighboringRelation
from .filters import COMPOSITIONS, Budget, Filter, new_filters, parts_of

#: Relations by unit, as files of version 0.1 hold them in the column "adjacency".
_OLD_RELATIONS = {
    "record": {
        "replace one record": NeighboringRelation.REPLACE_ONE,
        "add or remove one record": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "add or remove one record, or change it under the same identifier": (
            NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        ),
    },
    "group": {
        "replace one group, or add, remove or change some of its records": (
            NeighboringRelation.REPLACE_ONE
        ),
        "add or remove one group, with all of its records": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "add or remove one group, or change its records under the same identifier": (
            NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        ),
        "add, remove or change records of one named group, even all; the names are public": (
            NeighboringRelation.CHANGE_ONE_NAMED
        ),
        "add, remove or change records of one named group, which keeps at least one; no name "
        "joins": NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY,
    },
    "teacher": {"change the votes of one": NeighboringRelation.REPLACE_ONE},
}


@contextmanager
def transaction(path, mode="rw"):
    """Open a ledger for one process at a time, and write all of the block or nothing.

    A process that dies leaves neither half of an entry nor a lock.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    mode : {"rw", "rwc"}, default="rw"
        "rwc" makes a file that is missing.

    Yields
    ------
    sqlite3.Connection
        What is written is kept if no error leaves the block.

    Raises
    ------
    ValueError
        If the file cannot be read and written, or is no ledger.
    """
    try:
        uri = f"{path.as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, uri=True, timeout=120, isolation_level=None)) as db:
            # With less, a power cut may undo a COMMIT after the labels were released
            db.execute("PRAGMA synchronous = EXTRA")
            # Locked before anything is read: what is checked is still true when it is recorded
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
            f"{path} cannot be used as a ledger ({error}). It must be a file that "
            "PrivacyLedger made, and that can be written; nothing was recorded"
        ) from error


def make_tables(db, budget):
    """Make an empty file a ledger, unless another process has done so."""
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
    inserted = db.execute(
        "INSERT OR IGNORE INTO budget VALUES (1, ?, ?, ?, ?, ?, ?, NULL, NULL)",
        (*budget, token_hex(16), _as_bytes(DEFAULT_ORDERS)),
    )
    if inserted.rowcount:  # else another process was first, and its filters count
        db.executemany("INSERT INTO filters VALUES (?, ?, ?)", new_filters(budget))


def read_budget(db):
    """Return the `Budget` in a file, its random identifier, and what all fits protect.

    That is the unit and the relation; both are None before the first fit.
    """
    row = db.execute(
        "SELECT epsilon, delta, composition, failure_probability, file, orders, unit, adjacency "
        "FROM budget"
    ).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("it holds no budget")
    *numbers, file_id, orders, unit, relation = row
    if orders != _as_bytes(DEFAULT_ORDERS):
        raise sqlite3.DatabaseError("its costs are at other Renyi orders than this version's")
    return Budget(*numbers), file_id, protected_by(unit, relation)


def protected_by(unit, relation):
    """Return a unit and a relation, the relation of an old file as it is named now."""
    return unit, _OLD_RELATIONS.get(unit, {}).get(relation, relation)


def read_filters(db):
    """Return the filters that were fixed when the file was made."""
    filters = [Filter(*row) for row in db.execute('SELECT kind, "order", delta FROM filters')]
    if not filters or any(filter_.kind not in COMPOSITIONS for filter_ in filters):
        raise sqlite3.DatabaseError("it holds no filters, or some of an unknown kind")
    return filters


def read_costs(db, which, entry):
    """Return the `Cost` of each fit that a condition on its entry picks, in order."""
    rows = db.execute(
        f"SELECT rdp, mu_squared, pure, delta FROM spending WHERE {which} ORDER BY fit", (entry,)
    )
    return [Cost(np.frombuffer(rdp, dtype="<f8"), *numbers) for rdp, *numbers in rows]


def check_grows(db, entry, cost):
    """Refuse to change an entry that has queries, or costs more in any way than it would then."""
    before = read_costs(db, "fit = ? AND n_queries = 0", entry)
    if not before or not (parts_of(before[0]) <= parts_of(cost)).all():
        raise ValueError(f"entry {entry} is not one of rows that this cost has as a part")


def read_fits(db):
    """Return time, method, number of teachers and number of queries of each fit, in order."""
    rows = db.execute("SELECT time, method, n_teachers, n_queries FROM spending ORDER BY fit")
    return rows.fetchall()


def write_fit(db, spent, cost, entry):
    """Write down what a fit spends, and what it protects; return its entry."""
    db.execute("UPDATE budget SET unit = ?, adjacency = ?", (spent.unit, str(spent.relation)))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    asked = int(spent.n_teachers or 0), int(spent.n_queries)  # no teachers, where records vote
    costs = _as_bytes(cost.rdp), float(cost.mu_squared), float(cost.pure), float(cost.delta)
    written = db.execute(
        "INSERT OR REPLACE INTO spending (fit, time, method, n_teachers, n_queries, rdp, "
        "mu_squared, pure, delta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (entry, now, spent.method, *asked, *costs),
    )
    return written.lastrowid


def _as_bytes(numbers):
    return numbers.astype("<f8").tobytes()
