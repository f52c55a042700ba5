"""File of a ledger: a SQLite database with three tables."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rdp import DEFAULT_ORDERS, Cost, NeighboringRelation
from .filters import Filter, LedgerTerms, are_valid, new_filters, parts_of

if TYPE_CHECKING:
    from ..accounting.spent import PrivacySpent

#: Columns of an entry; files of earlier versions lack the last ones.
_COLUMNS = {
    "time": "TEXT",
    "method": "TEXT",
    "n_teachers": "INTEGER",
    "n_queries": "INTEGER",
    "rdp": "BLOB",
    "mu_squared": "REAL",
    "pure": "REAL",
    "delta": "REAL",
    "pure_part": "REAL",
    "mu_squared_part": "REAL",
    "branches": "BLOB",
    "stated_epsilon": "REAL",
    "stated_delta": "REAL",
    "by_statement": "INTEGER",
    "checksum": "BLOB",
}

#: Longest time to wait for another process that creates the tables of a new file, in seconds.
_SECONDS_TO_MAKE = 5.0


def create(path: Path) -> bool:
    """Create an empty file if there is none, and return whether it was created.

    If the file exists but is empty, wait for up to 5 seconds, because another process may have just
    created it. An existing empty file is never used as a new ledger, because it may be a damaged
    ledger.
    """
    try:
        path.resolve().touch(mode=0o644, exist_ok=False)  # SQLite's mode
    except FileExistsError:
        deadline = time.monotonic() + _SECONDS_TO_MAKE
        while path.exists() and path.stat().st_size == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        return False
    except OSError as error:
        raise _unusable(path, error.strerror) from None
    return True


#: Relations by unit and by the text that version 0.1 stored in the column "adjacency".
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
def transaction(path: Path, is_new: bool = False) -> Iterator[Connection]:
    """Lock and open a ledger, and commit either all changes of the block or none.

    Only one process at a time can open a ledger. If a process dies, neither a partial entry nor a
    lock remains.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    is_new : bool, default=False
        Whether the file is empty because `create` has just created it.

    Yields
    ------
    sqlite3.Connection
        The database. Its changes are committed if the block raises no error.

    Raises
    ------
    ValueError
        If the file cannot be read or written, is damaged, or is not a ledger.
    """
    try:
        uri = f"{path.as_uri()}?mode=rw"  # a missing file is never recreated
        with closing(sqlite3.connect(uri, uri=True, timeout=120, isolation_level=None)) as db:
            # With other settings, a power failure may undo a COMMIT after labels were released
            db.execute("PRAGMA synchronous = EXTRA")
            # Locked before the first read, so that the checks are valid when a fit is recorded
            db.execute("BEGIN IMMEDIATE")
            try:
                if not is_new:
                    _check_whole(db, path)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, reason: object) -> ValueError:
    return ValueError(
        f"{path} cannot be used as a ledger ({reason}). It must be a writable file that "
        "PrivacyLedger created; nothing was recorded. If it is damaged or empty, restore a copy "
        "with all entries; delete it only if it never had any"
    )


def _check_whole(db: Connection, path: Path) -> None:
    """Raise an error if a file is empty, or if parts of it are missing or overwritten."""
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        raise sqlite3.DatabaseError("it is empty")
    ((page_size,),) = db.execute("PRAGMA page_size")
    # SQLite reads the rest of the last page as zeros
    has_whole_pages = path.stat().st_size % page_size == 0
    if not has_whole_pages or db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("a part of it is missing or was overwritten")


def _missing_columns(db: Connection) -> list[str]:
    """Return the columns that a file of an earlier version lacks."""
    present = {name for _, name, *_ in db.execute("PRAGMA table_info(spending)")}
    return [name for name in _COLUMNS if name not in present]


def make_tables(db: Connection, budget: LedgerTerms) -> None:
    """Write the tables of a new ledger to an empty file.

    The names of the columns are from the first version: the column `failure_probability` contains
    `reserved_delta`, and the column `adjacency` contains the relation.
    """
    db.execute(
        "CREATE TABLE budget (one INTEGER PRIMARY KEY CHECK (one = 1), "
        "epsilon REAL, delta REAL, composition TEXT, failure_probability REAL, file TEXT, "
        "orders BLOB, unit TEXT, adjacency TEXT)"
    )
    db.execute('CREATE TABLE filters (kind TEXT, "order" REAL, delta REAL)')
    columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    db.execute(f"CREATE TABLE spending (fit INTEGER PRIMARY KEY, {columns})")
    db.execute(
        "INSERT INTO budget VALUES (1, ?, ?, ?, ?, ?, ?, NULL, NULL)",
        (*budget, token_hex(16), _as_bytes(DEFAULT_ORDERS)),
    )
    db.executemany("INSERT INTO filters VALUES (?, ?, ?)", new_filters(budget))


def read_budget(db: Connection) -> tuple[LedgerTerms, Any, tuple[Any, Any]]:
    """Return the `LedgerTerms` of a file, its random identifier, and the unit and relation.

    All fits protect this unit under this relation. Both are None before the first fit.
    """
    row = db.execute(
        "SELECT epsilon, delta, composition, failure_probability, file, orders, unit, adjacency "
        "FROM budget"
    ).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("it contains no budget")
    *numbers, file_id, orders, unit, relation = row
    if orders != _as_bytes(DEFAULT_ORDERS):
        raise sqlite3.DatabaseError("its Renyi orders differ from the orders of this version")
    return LedgerTerms(*numbers), file_id, protected_by(unit, relation)


def protected_by(unit: Any, relation: Any) -> tuple[Any, Any]:
    """Return the unit and the relation; texts of version 0.1 are converted to relations."""
    return unit, _OLD_RELATIONS.get(unit, {}).get(relation, relation)


def read_filters(db: Connection, budget: LedgerTerms) -> list[Filter]:
    """Return the filters that were fixed when the file was created."""
    filters = [Filter(*row) for row in db.execute('SELECT kind, "order", delta FROM filters')]
    if not are_valid(filters, budget):
        raise sqlite3.DatabaseError("it contains no filters, or filters of an unknown kind")
    return filters


def read_costs(
    db: Connection, which: str = "fit IS NOT ?", entry: int | None = None
) -> dict[int, Cost]:
    """Return the costs of the entries that meet a condition, as a dict sorted by entry number.

    An entry of an earlier version has neither `pure_part` nor `mu_squared_part`. `Cost` derives
    both from the totals, so that epsilon is at least the epsilon of the fit. Only the entry of a
    fit with branches has `branches`, and only that of a fit whose first release chose its later
    steps, or of a ledger that adds statements, has `stated`; such an entry of an earlier version
    counts as other entries do.
    """
    missing = _missing_columns(db)  # added by `write_fit`, because reading must not change the file
    names = ", ".join("NULL" if name in missing else name for name in _COLUMNS)
    rows = db.execute(f"SELECT fit, {names} FROM spending WHERE {which} ORDER BY fit", (entry,))
    return {fit: _checked_cost(fit, dict(zip(_COLUMNS, row, strict=True))) for fit, *row in rows}


def _checked_cost(fit: int, row: dict[str, Any]) -> Cost:
    """Return the `Cost` of an entry; raise an error if the entry was changed after writing."""
    checksum = row.pop("checksum")
    numbers = [row[name] for name in ("mu_squared", "pure", "delta")]
    parts = [row["pure_part"], row["mu_squared_part"]]
    branches = row["branches"]
    stated = [row["stated_epsilon"], row["stated_delta"]]
    by_statement = row["by_statement"]
    if checksum is None:  # an entry of an earlier version, which has none of these
        is_as_written = [*parts, branches, *stated, by_statement] == [None] * 6
    else:
        is_as_written = checksum == _checksum(row.values())
        numbers += parts
    if stated == [None, None]:  # either none or both, so that no value counts as another
        stated = []
    is_complete = isinstance(row["rdp"], bytes) and len(row["rdp"]) == DEFAULT_ORDERS.nbytes
    is_complete = is_complete and isinstance(branches, bytes | None)
    is_complete = is_complete and (by_statement is None or (by_statement == 1 and stated != []))
    are_floats = all(isinstance(number, float) for number in [*numbers, *stated])
    if is_as_written and is_complete and are_floats:
        cost = Cost(np.frombuffer(row["rdp"], dtype="<f8"), *numbers)
        cost = replace(cost, stated=tuple(stated) or None)
        if (np.array([*parts_of(cost), *stated]) >= 0).all():  # false for NaN, too
            return cost if branches is None else _with_branches(cost, branches)
    raise sqlite3.DatabaseError(f"entry {fit} was changed after it was written")


def _checksum(values: Iterable[Any]) -> bytes:
    """Return a hash of the values of an entry, to detect corruption on disk.

    NULL is left out, as the entries of earlier versions lack columns.
    """
    written = tuple(value for value in values if value is not None)
    return hashlib.sha256(repr(written).encode()).digest()


def has_entry(db: Connection, entry: int | None) -> bool:
    """Return whether there is an entry with this number; False for None."""
    return db.execute("SELECT 1 FROM spending WHERE fit = ?", (entry,)).fetchone() is not None


def is_by_statement(db: Connection) -> bool:
    """Return whether the ledger adds the epsilons and deltas of its fits; see `filters.Account`."""
    if "by_statement" in _missing_columns(db):
        return False
    return db.execute("SELECT 1 FROM spending WHERE by_statement = 1").fetchone() is not None


def check_grows(db: Connection, entry: int | None, cost: Cost) -> None:
    """Raise ValueError if an entry has queries, or if its cost exceeds `cost` in any measure."""
    (before,) = read_costs(db, "fit = ? AND n_queries = 0", entry).values() or (None,)
    grows = before is not None and bool((parts_of(before) <= parts_of(cost)).all())
    if before is not None and before.stated is not None and cost.stated is not None:
        grows = grows and before.stated[0] <= cost.stated[0]
    if not grows:
        raise ValueError(
            f"entry {entry} cannot be replaced: it has queries, or its cost exceeds the new cost. "
            "To record a separate fit, omit entry"
        )


def read_fits(db: Connection) -> list[tuple[Any, ...]]:
    """Return time, method, number of teachers and number of queries of each fit, in order."""
    rows = db.execute("SELECT time, method, n_teachers, n_queries FROM spending ORDER BY fit")
    return rows.fetchall()


def write_fit(
    db: Connection,
    spent: PrivacySpent,
    cost: Cost,
    entry: int | None,
    by_statement: bool = False,
) -> int:
    """Record the cost, unit and relation of a fit, and return the number of the new entry.

    With `by_statement`, the ledger adds the epsilons and deltas of its fits. An earlier `entry` of
    the same fit is removed, and its number is not used again. Columns that a file of an earlier
    version lacks are added, with NULL in old entries.
    """
    for name in _missing_columns(db):
        db.execute(f"ALTER TABLE spending ADD COLUMN {name} {_COLUMNS[name]}")
    db.execute("UPDATE budget SET unit = ?, adjacency = ?", (spent.unit, str(spent.relation)))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    queried = int(spent.n_teachers or 0), int(spent.n_queries)  # 0 for methods of records
    costs = cost.mu_squared, cost.pure, cost.delta, cost.pure_part, cost.mu_squared_part
    # No number is negative, but SQLite returns 0.0 for -0.0
    numbers = [abs(float(number)) for number in costs]
    branches = None
    if cost.earlier is not None:
        of_steps = [parts_of(step) for step in (cost.earlier, *cost.branches)]
        branches = _as_bytes(np.concatenate(of_steps))
    stated = [None, None] if cost.stated is None else [abs(float(part)) for part in cost.stated]
    rule = 1 if by_statement else None
    measures = _as_bytes(cost.rdp), *numbers, branches, *stated
    row = now, str(spent.composition), *queried, *measures, rule
    written = db.execute(
        f"INSERT INTO spending ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
        (*row, _checksum(row)),
    )
    db.execute("DELETE FROM spending WHERE fit = ?", (entry,))
    return written.lastrowid  # type: ignore[return-value]


def _with_branches(cost: Cost, stored: bytes) -> Cost:
    """Return a cost with its earlier steps and its branches, as stored in an entry."""
    n_orders = DEFAULT_ORDERS.size
    steps = np.frombuffer(stored, dtype="<f8").reshape(-1, parts_of(cost).size)
    earlier, *branches = [Cost(row[:n_orders], *row[n_orders:].tolist()) for row in steps]
    return replace(cost, earlier=earlier, branches=tuple(branches))


def _as_bytes(numbers: np.ndarray) -> bytes:
    return numbers.astype("<f8").tobytes()
